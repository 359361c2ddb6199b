"""The command learn."""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.table import Table

import cosparse
from cosparse.cli.console import UsageProblem, complain, json_line, reason, stdout
from cosparse.cli.on_cluster import connected, in_zarr
from cosparse.cli.options import DataRange, Force, Json, Scheduler
from cosparse.cli.progress import Bar, View, sparkline
from cosparse.cli.reading import read_picture
from cosparse.cli.targets import tell_unread
from cosparse.io.find import find_images, unread_files
from cosparse.io.picture import write_image
from cosparse.learning import LearnProgress
from cosparse.patches import colour_images, grey_images, sample_up_to

Pages = list[NDArray[np.float32]]
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
    target = checked_target(output, checkpoint, resume, force)
    if scheduler is None and any(map(in_zarr, images)):
        scheduler = "local"
    reading = Reading() if scheduler else read_pictures(images, seed, data_range)
    problems = reading.problems
    started = time.perf_counter()
    options = ("rows", "size", "count", "kappa", "mu", "penalty", "checkpoint")
    with explained(checkpoint, options), contextlib.ExitStack() as stack:
        patches: Any
        if scheduler:
            client = stack.enter_context(connected(scheduler))
            paths, most = [os.path.abspath(image) for image in images], COUNT if count is None else count
            patches = cosparse.cluster.sample_patches(paths, size, most, client=client, data_range=data_range, rng=seed)
            problems.extend(patches.problems)
        elif count is not None:
            patches = cosparse.sample_patches(reading.pictures, size, count, rng=seed, data_range=255)
        else:
            patches = sample_up_to(reading.pictures, size, COUNT, rng=seed, data_range=255)
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
    figures = saved(result.operator, target) | {
        "patches": len(patches),
        **({} if scheduler else {"files": reading.files, "pages": len(reading.pictures), "skipped": reading.skipped}),
        "iterations": result.iterations,
        "objective": float(result.objective),
        "condition": result.operator.condition,
        "coherence": result.operator.coherence,
        "seconds": time.perf_counter() - started,
        "stop": result.stop.value,
    }
    course = "{patches} patches{source}, {iterations} iterations, {seconds:.1f} s: {stop}"
    report(result.operator, figures, course.format(source=_source(figures), **figures), json=json)
    fail_if(problems)


def checked_target(output: str, checkpoint: str | None, resume: bool, force: bool) -> Path:
    """Where the operator goes; what would end in a loss is refused before the work begins."""
    target = Path(output)
    if target.suffix != ".safetensors":
        raise UsageProblem(f"{target}: an operator's file ends with .safetensors; name it so")
    for path in (target, _drawing(target)):
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
    return target


@contextlib.contextmanager
def explained(checkpoint: str | None, options: tuple[str, ...]) -> Iterator[None]:
    """The library's complaints with the option's name for the argument's, and what Ctrl-C leaves behind, in words."""
    try:
        yield
    except ValueError as error:
        text = str(error)
        raise UsageProblem("--" + text if text.split(":")[0] in options else text) from error
    except KeyboardInterrupt:
        kept = f"{checkpoint} keeps the state, --resume goes on from it" if checkpoint else "nothing kept"
        raise KeyboardInterrupt(f"stopped; {kept}") from None


@dataclass(frozen=True)
class Reading:
    """Training images: every page as grey on 0..255, of how many files; what failed, and how many could not be read."""

    pictures: list[NDArray[np.float32]] = field(default_factory=list)
    files: int = 0
    problems: list[str] = field(default_factory=list)
    skipped: int = 0


def read_pictures(given: list[str], seed: int, data_range: float | None = None, *, colours: bool = False) -> Reading:
    """Every readable image, of large collections a window each; grey, or of red, green and blue."""
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
                pages = _pages(path, data_range, colour_images if colours else grey_images)
                most = MEMORY // len(files) // len(pages)
                pictures += [_window(page, most, rng) for page in pages]
                used += 1
            except Exception as error:
                problems.append(reason(error))
            bar.update((number + 1) / len(files), path.name[-40:])
    if not pictures:
        fail_if([*problems, "no image to learn from"])
    return Reading(pictures, used, problems, len(unread))


def _pages(path: Path, data_range: float | None, pages_of: Callable[..., Pages]) -> Pages:
    picture = read_picture(path, data_range)
    if not np.isfinite(picture.pixels).all():
        raise ValueError(f"{path}: holds NaN or infinite values; leave it out")
    if pages_of is colour_images and picture.channel_axis is None:
        raise ValueError(f"{path}: is grey; colours are learned from pictures in colour")
    return pages_of([picture.pixels], picture.data_range)


def _window(image: NDArray[np.float32], pixels: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """At most so many pixels of an image, around a random place."""
    share = math.sqrt(min(1.0, pixels / image.size))
    height, width = (max(1, int(side * share)) for side in image.shape[:2])
    top = int(rng.integers(image.shape[0] - height + 1))
    left = int(rng.integers(image.shape[1] - width + 1))
    return image[top : top + height, left : left + width].copy()


def _source(figures: dict[str, Any]) -> str:
    """Of how many images, and pages where that is more."""
    if "files" not in figures:
        return ""
    files, pages = figures["files"], figures["pages"]
    images = f"{files} image{'s' * (files > 1)}"
    return f" from {images}" if pages == files else f" from all {pages} pages of {images}"


def saved(operator: cosparse.AnalysisOperator, target: Path) -> dict[str, Any]:
    """Write the operator and the picture of its atoms; where they are."""
    operator.save(target)
    write_image(_drawing(target), operator.atoms_image(scale=6))
    return {"output": str(target), "atoms": str(_drawing(target))}


def _drawing(target: Path) -> Path:
    return target.with_suffix(".atoms.png")


def report(operator: cosparse.AnalysisOperator, figures: dict[str, Any], course: str, *, json: bool) -> None:
    """What was written, how it went, and the next command."""
    if json:
        json_line(figures)
        return
    table = Table(show_header=False, box=None, pad_edge=False)
    height, width = operator.patch_shape
    table.add_row(
        figures["output"],
        f"{len(operator.matrix)} atoms of {height}x{width}, condition {operator.condition:.2f}, "
        f"coherence {operator.coherence:.2f}",
    )
    table.add_row(figures["atoms"], "their picture")
    stdout().print(table)
    stdout().print(course, soft_wrap=True)
    use = f"Use it:  cosparse denoise photo.png --operator {figures['output']}"
    stdout().print(use, markup=False, soft_wrap=True)


def fail_if(problems: list[str]) -> None:
    """Say what could not be used, and end with the exit code for it."""
    for problem in problems:
        complain(problem)
    if problems:
        raise typer.Exit(1)


def _rows(progress: LearnProgress, objectives: list[float]) -> list[tuple[str, str]]:
    operator = progress.operator
    return [
        ("objective", f"{progress.objective:.6g}  {sparkline(objectives)}"),
        ("condition", f"{operator.condition:.3f}"),
        ("coherence", f"{operator.coherence:.3f}"),
    ]
