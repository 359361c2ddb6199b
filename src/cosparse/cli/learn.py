"""The command learn."""

from __future__ import annotations

import contextlib
import math
import os
import time
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
    stderr,
    stdout,
    terminal,
)
from cosparse.cli.options import Force, Json, Scheduler
from cosparse.cli.progress import Bar
from cosparse.cli.spread import connected
from cosparse.images import find_images, read_grey, write_image
from cosparse.learning import LearnProgress

COUNT = 200_000
MEMORY = 64_000_000  # pixels of training images held at once
BARS = "▁▂▃▄▅▆▇█"


def learn(
    images: Annotated[list[str], typer.Argument(metavar="IMAGES", hidden=True)],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The operator's file.")
    ],
    rows: Annotated[int, typer.Option(metavar="N", help="Atoms; at least size squared.")] = 128,
    size: Annotated[int, typer.Option(metavar="N", help="Side of a patch, in pixels.")] = 8,
    count: Annotated[
        int | None, typer.Option(metavar="N", help=f"Training patches; {COUNT} if there are.")
    ] = None,
    iterations: Annotated[int, typer.Option(metavar="N", help="At most.", min=1)] = 400,
    seed: Annotated[int, typer.Option(metavar="N", help="Same seed, same operator.", min=0)] = 0,
    penalty: Annotated[
        str, typer.Option(metavar="log|pnorm", help="Measure of sparsity; pnorm is the paper's.")
    ] = "log",
    kappa: Annotated[
        float | None, typer.Option(metavar="X", help="Weight of the rank term.")
    ] = None,
    mu: Annotated[
        float | None, typer.Option(metavar="X", help="Weight against twin atoms.")
    ] = None,
    checkpoint: Annotated[
        str | None, typer.Option(metavar="FILE", help="Keep the state of the run here.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint.")] = False,
    scheduler: Scheduler = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Learn an operator from your own images.

    IMAGES: files, folders or patterns; four photographs are enough. No ground
    truth is needed. A picture of the atoms is written beside the operator.
    """
    target, drawing = Path(output), Path(output).with_suffix(".atoms.png")
    _check(target, drawing, checkpoint, resume, force)
    pictures, problems = ([], []) if scheduler else _read(images, seed)
    started = time.perf_counter()
    try:
        with contextlib.ExitStack() as stack:
            patches: Any
            if scheduler:
                client = stack.enter_context(connected(scheduler))
                patches = _on_workers(client, images, size, count, seed)
                problems.extend(patches.problems)
            else:
                patches = _patches(pictures, size, count, seed)
            view = stack.enter_context(View(iterations))
            result = cosparse.learn_operator(
                patches,
                rows,
                penalty=penalty,
                kappa=kappa,
                mu=mu,
                settings=cosparse.Settings(iterations=iterations),
                rng=seed,
                checkpoint=checkpoint,
                callback=view,
            )
    except ValueError as error:
        raise UsageProblem(_as_option(str(error))) from error
    except KeyboardInterrupt:
        kept = f"{checkpoint} keeps the state, --resume goes on from it"
        raise KeyboardInterrupt("stopped; " + (kept if checkpoint else "nothing kept")) from None
    operator = result.operator
    operator.save(target)
    write_image(drawing, operator.atoms_image(scale=6))
    figures: dict[str, Any] = {
        "output": str(target),
        "atoms": str(drawing),
        "patches": len(patches),
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


def _check(target: Path, drawing: Path, checkpoint: str | None, resume: bool, force: bool) -> None:
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


def _read(given: list[str], seed: int) -> tuple[list[NDArray[np.float32]], list[str]]:
    """Every readable image as grey on 0..1, of large collections a window each; and what failed."""
    files: dict[Path, None] = {}
    problems: list[str] = []
    for one in given:
        try:
            files.update(dict.fromkeys(find_images(one)))
        except (OSError, ValueError) as error:
            problems.append(str(error))
    rng, pictures = np.random.default_rng(seed), []
    with Bar(1) as bar:
        bar.begin("reading")
        for number, path in enumerate(files):
            try:
                grey = read_grey(path)
                if not np.isfinite(grey).all():
                    raise ValueError(f"{path}: holds NaN or infinite values; leave it out")
                pictures.append(_window(grey, MEMORY // len(files), rng) / np.float32(255))
            except Exception as error:
                problems.append(reason(error))
            bar.update((number + 1) / len(files), path.name[-40:])
    if not pictures:
        for problem in problems:
            complain(problem)
        complain("no image to learn from")
        raise typer.Exit(1)
    return pictures, problems


def _window(
    image: NDArray[np.float32], pixels: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    """At most so many pixels of an image, around a random place."""
    share = math.sqrt(min(1.0, pixels / image.size))
    height, width = (max(1, int(side * share)) for side in image.shape)
    top = int(rng.integers(image.shape[0] - height + 1))
    left = int(rng.integers(image.shape[1] - width + 1))
    return image[top : top + height, left : left + width].copy()


def _patches(
    pictures: list[NDArray[np.float32]], size: int, count: int | None, seed: int
) -> NDArray[np.float32]:
    """As many patches as asked for; if nothing was said, as many as there are up to the default."""
    if count is not None:
        return cosparse.sample_patches(pictures, size, count, rng=seed)
    places = sum(max(p.shape[0] - size + 1, 0) * max(p.shape[1] - size + 1, 0) for p in pictures)
    wanted = min(COUNT, max(places, 1))
    while True:
        try:
            return cosparse.sample_patches(pictures, size, wanted, rng=seed)
        except ValueError as error:
            if not str(error).startswith("count:"):
                raise
            wanted = wanted * 3 // 4  # the others are nearly constant
            if wanted < size * size:
                raise ValueError(
                    "the images hold too few patches that are not nearly constant; add others"
                ) from None


def _on_workers(client: Any, images: list[str], size: int, count: int | None, seed: int) -> Any:
    """Patches that stay on a cluster; IMAGES may be zarr arrays too."""
    from cosparse import cluster

    paths = [os.path.abspath(image) for image in images]
    return cluster.sample_patches(paths, size, COUNT if count is None else count, client=client, rng=seed)


def _as_option(text: str) -> str:
    """An argument's name in the library's message as the option that sets it."""
    name = text.split(":")[0]
    options = ("rows", "size", "count", "kappa", "mu", "penalty", "checkpoint")
    return "--" + text if name in options else text


def _tell(figures: dict[str, Any], operator: cosparse.AnalysisOperator, target: Path) -> None:
    say = stdout()
    table = Table(show_header=False, box=None, pad_edge=False)
    height, width = operator.patch_shape
    table.add_row(
        str(target),
        f"{len(operator.matrix)} atoms of {height}x{width}, condition {figures['condition']:.2f}, "
        f"coherence {figures['coherence']:.2f}",
    )
    table.add_row(figures["atoms"], "their picture")
    say.print(table)
    say.print(
        f"{figures['patches']} patches, {figures['iterations']} iterations, "
        f"{figures['seconds']:.1f} s: {figures['stop']}",
        soft_wrap=True,
    )
    say.print(
        f"Use it:  cosparse denoise photo.png --operator {target}", markup=False, soft_wrap=True
    )


class View:
    """The run as it goes: objective, condition, coherence. Nothing where no one watches."""

    def __init__(self, iterations: int) -> None:
        self.iterations, self.shown = iterations, terminal()
        self.started, self.drawn = time.monotonic(), 0.0
        self.objectives: list[float] = []
        self._live: Any = None

    def __enter__(self) -> View:
        if self.shown:
            from rich.live import Live

            self._live = Live(console=stderr(), transient=True, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def __call__(self, progress: LearnProgress) -> None:
        """The callback of learn_operator; draws five times a second."""
        self.objectives.append(progress.objective)
        now = time.monotonic()
        if self._live and now - self.drawn > 0.2:
            self.drawn = now
            self._live.update(self._table(progress, now - self.started), refresh=True)

    def _table(self, progress: LearnProgress, seconds: float) -> Table:
        from rich.progress_bar import ProgressBar

        operator = progress.operator
        left = seconds / len(self.objectives) * (self.iterations - progress.iteration)
        table = Table(show_header=False, box=None, pad_edge=False)
        table.add_row("iteration", f"{progress.iteration} of {self.iterations}, {left:.0f} s left")
        table.add_row("", ProgressBar(self.iterations, progress.iteration, width=40))
        table.add_row("objective", f"{progress.objective:.6g}  {sparkline(self.objectives)}")
        table.add_row("condition", f"{operator.condition:.3f}")
        table.add_row("coherence", f"{operator.coherence:.3f}")
        return table


def sparkline(values: list[float], width: int = 30) -> str:
    """A curve in one line of text.

    >>> sparkline([3.0, 2.0, 1.0, 1.0])
    '█▄▁▁'
    """
    picked = np.array(values)[np.linspace(0, len(values) - 1, min(width, len(values))).astype(int)]
    low, high = picked.min(), picked.max()
    heights = (picked - low) / max(high - low, 1e-30) * (len(BARS) - 1)
    return "".join(BARS[int(height)] for height in heights)
