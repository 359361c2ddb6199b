"""The command learn."""

from __future__ import annotations

import contextlib
import math
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.table import Table

import cosparse
from cosparse.cli.console import (
    UsageProblem,
    complain,
    json_line,
    reason,
    stdout,
)
from cosparse.cli.on_cluster import connected, in_zarr
from cosparse.cli.options import DataRange, Force, Json, Scheduler
from cosparse.cli.progress import Bar, View, sparkline
from cosparse.cli.reading import read_picture
from cosparse.cli.targets import tell_unread
from cosparse.io.find import find_images, unread_files
from cosparse.io.picture import write_image
from cosparse.learning import LearnProgress
from cosparse.patches import grey_images, sample_up_to

COUNT = 200_000
MEMORY = 64_000_000  # pixels of training images held at once


def learn(
    images: Annotated[list[str], typer.Argument(metavar="IMAGES", hidden=True)],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The operator's file.")],
    rows: Annotated[int, typer.Option(metavar="N", help="Atoms; at least size squared.")] = 128,
    size: Annotated[int, typer.Option(metavar="N", help="Side of a patch, in pixels.")] = 8,
    count: Annotated[int | None, typer.Option(metavar="N", help=f"Training patches; {COUNT} if there are.")] = None,
    iterations: Annotated[int, typer.Option(metavar="N", help="At most.", min=1)] = 400,
    seed: Annotated[int, typer.Option(metavar="N", help="Same seed, same operator.", min=0)] = 0,
    penalty: Annotated[
        str, typer.Option(metavar="log|pnorm", help="Measure of sparsity; pnorm is the paper's.")
    ] = "log",
    kappa: Annotated[float | None, typer.Option(metavar="X", help="Weight of the rank term.")] = None,
    mu: Annotated[float | None, typer.Option(metavar="X", help="Weight against twin atoms.")] = None,
    checkpoint: Annotated[str | None, typer.Option(metavar="FILE", help="Keep the state of the run here.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint.")] = False,
    data_range: DataRange = None,
    scheduler: Scheduler = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Learn an operator from your own images.

    IMAGES: files, folders or patterns; four photographs are enough, and of a
    stack every page is used. No ground truth is needed. A picture of the atoms
    is written beside the operator.
    """
    target, drawing = Path(output), Path(output).with_suffix(".atoms.png")
    check_files(target, drawing, checkpoint, resume, force)
    if scheduler is None and any(map(in_zarr, images)):
        scheduler = "local"
    reading = Reading() if scheduler else read_pictures(images, seed, data_range)
    problems = reading.problems
    started = time.perf_counter()
    try:
        with contextlib.ExitStack() as stack:
            patches: Any
            if scheduler:
                client = stack.enter_context(connected(scheduler))
                patches = _on_workers(client, images, size, count, data_range, seed)
                problems.extend(patches.problems)
            else:
                patches = _patches(reading.pictures, size, count, seed)
            view = stack.enter_context(View("iteration", iterations, _rows))
            result = cosparse.learn_operator(
                patches,
                rows,
                penalty=penalty,
                kappa=kappa,
                mu=mu,
                settings=cosparse.Settings(iterations=iterations),
                rng=seed,
                checkpoint=checkpoint,
                callback=lambda progress: view(progress, progress.iteration, progress.objective),
            )
    except ValueError as error:
        raise UsageProblem(_as_option(str(error))) from error
    except KeyboardInterrupt:
        raise stopped(checkpoint) from None
    operator = result.operator
    operator.save(target)
    write_image(drawing, operator.atoms_image(scale=6))
    figures: dict[str, Any] = {
        "output": str(target),
        "atoms": str(drawing),
        "patches": len(patches),
        **({} if scheduler else {"files": reading.files, "pages": len(reading.pictures), "skipped": reading.skipped}),
        "iterations": result.iterations,
        "objective": float(result.objective),
        "condition": operator.condition,
        "coherence": operator.coherence,
        "seconds": time.perf_counter() - started,
        "stop": result.stop.value,
    }
    if json:
        json_line(figures)
    else:
        _tell(figures, operator, target)
    for problem in problems:
        complain(problem)
    if problems:
        raise typer.Exit(1)


def stopped(checkpoint: str | None) -> KeyboardInterrupt:
    """What Ctrl-C leaves behind, in words."""
    kept = f"{checkpoint} keeps the state, --resume goes on from it"
    return KeyboardInterrupt("stopped; " + (kept if checkpoint else "nothing kept"))


def check_files(target: Path, drawing: Path, checkpoint: str | None, resume: bool, force: bool) -> None:
    """Refuse what would end in a loss, before the work begins."""
    if target.suffix != ".safetensors":
        raise UsageProblem(f"{target}: an operator's file ends with .safetensors; name it so")
    for path in (target, drawing):
        if path.is_dir():
            raise UsageProblem(f"{path}: is a folder; name a file in it")
        if path.exists() and not force:
            raise UsageProblem(f"{path}: exists; add --force to replace it")
    if not target.parent.is_dir():
        raise UsageProblem(f"{target}: the folder {target.parent} does not exist; create it first")
    if resume and checkpoint is None:
        raise UsageProblem("--resume: say from which file, with --checkpoint FILE")
    if checkpoint is not None and Path(checkpoint).exists() != resume:
        raise UsageProblem(
            f"{checkpoint}: does not exist; leave --resume out to begin"
            if resume
            else f"{checkpoint}: exists; add --resume to go on from it, or remove it"
        )


@dataclass(frozen=True)
class Reading:
    """Training images: every page as grey on 0..1, of how many files; what failed, and how many could not be read."""

    pictures: list[NDArray[np.float32]] = field(default_factory=list)
    files: int = 0
    problems: list[str] = field(default_factory=list)
    skipped: int = 0


def read_pictures(given: list[str], seed: int, data_range: float | None = None) -> Reading:
    """Every readable image, of large collections a window each."""
    files: dict[Path, None] = {}
    problems: list[str] = []
    unread: dict[Path, None] = {}
    for one in given:
        unread.update(dict.fromkeys(unread_files(one)))
        try:
            files.update(dict.fromkeys(find_images(one)))
        except (OSError, ValueError) as error:
            problems.append(str(error))
    tell_unread(list(unread))
    rng, pictures, used = np.random.default_rng(seed), [], 0
    with Bar(1) as bar:
        bar.begin("reading")
        for number, path in enumerate(files):
            try:
                pages = _grey_pages(path, data_range)
                most = MEMORY // len(files) // len(pages)
                pictures += [_window(page, most, rng) / np.float32(255) for page in pages]
                used += 1
            except Exception as error:
                problems.append(reason(error))
            bar.update((number + 1) / len(files), path.name[-40:])
    if not pictures:
        for problem in problems:
            complain(problem)
        complain("no image to learn from")
        raise typer.Exit(1)
    return Reading(pictures, used, problems, len(unread))


def _grey_pages(path: Path, data_range: float | None) -> list[NDArray[np.float32]]:
    picture = read_picture(path, data_range)
    if not np.isfinite(picture.pixels).all():
        raise ValueError(f"{path}: holds NaN or infinite values; leave it out")
    return grey_images([picture.pixels], picture.data_range)


def _window(image: NDArray[np.float32], pixels: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """At most so many pixels of an image, around a random place."""
    share = math.sqrt(min(1.0, pixels / image.size))
    height, width = (max(1, int(side * share)) for side in image.shape)
    top = int(rng.integers(image.shape[0] - height + 1))
    left = int(rng.integers(image.shape[1] - width + 1))
    return image[top : top + height, left : left + width].copy()


def _patches(pictures: list[NDArray[np.float32]], size: int, count: int | None, seed: int) -> NDArray[np.float32]:
    """As many patches as asked for; if nothing was said, as many as there are up to the default."""
    if count is not None:
        return cosparse.sample_patches(pictures, size, count, rng=seed)
    return sample_up_to(pictures, size, COUNT, rng=seed)


def _on_workers(
    client: Any, images: list[str], size: int, count: int | None, data_range: float | None, seed: int
) -> Any:
    """Patches that stay on a cluster; IMAGES may be zarr arrays too."""
    from cosparse import cluster

    paths = [os.path.abspath(image) for image in images]
    return cluster.sample_patches(
        paths, size, COUNT if count is None else count, client=client, data_range=data_range, rng=seed
    )


def _as_option(text: str) -> str:
    """An argument's name in the library's message as the option that sets it."""
    name = text.split(":")[0]
    options = ("rows", "size", "count", "kappa", "mu", "penalty", "checkpoint")
    return "--" + text if name in options else text


def _tell(figures: dict[str, Any], operator: cosparse.AnalysisOperator, target: Path) -> None:
    say = stdout()
    tell_files(operator, target, figures["atoms"])
    say.print(
        f"{figures['patches']} patches{_source(figures)}, {figures['iterations']} iterations, "
        f"{figures['seconds']:.1f} s: {figures['stop']}",
        soft_wrap=True,
    )
    tell_use(target)


def _source(figures: dict[str, Any]) -> str:
    """Of how many images, and pages where that is more."""
    if "files" not in figures:
        return ""
    files, pages = figures["files"], figures["pages"]
    images = f"{files} image{'s' * (files > 1)}"
    return f" from {images}" if pages == files else f" from all {pages} pages of {images}"


def tell_files(operator: cosparse.AnalysisOperator, target: Path, drawing: str) -> None:
    """What was written."""
    table = Table(show_header=False, box=None, pad_edge=False)
    height, width = operator.patch_shape
    table.add_row(
        str(target),
        f"{len(operator.matrix)} atoms of {height}x{width}, condition {operator.condition:.2f}, "
        f"coherence {operator.coherence:.2f}",
    )
    table.add_row(drawing, "their picture")
    stdout().print(table)


def tell_use(target: Path) -> None:
    """The next command."""
    line = f"Use it:  cosparse denoise photo.png --operator {target}"
    stdout().print(line, markup=False, soft_wrap=True)


def _rows(progress: LearnProgress, objectives: list[float]) -> list[tuple[str, str]]:
    operator = progress.operator
    return [
        ("objective", f"{progress.objective:.6g}  {sparkline(objectives)}"),
        ("condition", f"{operator.condition:.3f}"),
        ("coherence", f"{operator.coherence:.3f}"),
    ]
