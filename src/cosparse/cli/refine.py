"""The command refine."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

import cosparse
from cosparse.cli.console import UsageProblem
from cosparse.cli.learn import checked_target, explained, fail_if, read_pictures, report, saved
from cosparse.cli.options import DataRange, Force, Json, find_operator
from cosparse.cli.progress import View, sparkline

if TYPE_CHECKING:
    from cosparse.refinement import RefineProgress


def refine(
    operator: Annotated[str, typer.Argument(metavar="OP", hidden=True)],
    images: Annotated[list[str], typer.Argument(metavar="IMAGES", hidden=True)],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The refined operator's file.")],
    task: Annotated[
        str, typer.Option(metavar="TASK", help="denoise, inpaint, upscale, several (a,b), deblock, colours.")
    ] = "denoise",
    sigma: Annotated[str, typer.Option(metavar="X[:Y]", help="Noise on 0..255, one level or a range.")] = "5:50",
    steps: Annotated[int, typer.Option(metavar="N", help="Steps of training.", min=1)] = 1000,
    batch: Annotated[int, typer.Option(metavar="N", help="Crops in each.", min=1)] = 16,
    crop: Annotated[int, typer.Option(metavar="N", help="Their side, in pixels.")] = 72,
    stride: Annotated[int, typer.Option(metavar="N", help="Distance of patches, as in use.")] = 2,
    rate: Annotated[float, typer.Option(metavar="X", help="Factor on the steps' length; 0.4 for 12x12.")] = 1.0,
    stages: Annotated[int | None, typer.Option(metavar="N", help="Train so many steps instead of an energy.")] = None,
    pools: Annotated[int, typer.Option(metavar="N", help="Energies that their potentials look at.")] = 64,
    rough: Annotated[bool, typer.Option("--rough", help="Noise as found: misjudged, JPEG, cut off.")] = False,
    seed: Annotated[int, typer.Option(metavar="N", help="Same seed, same operator.", min=0)] = 0,
    checkpoint: Annotated[str | None, typer.Option(metavar="FILE", help="Keep the state of the run here.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint.")] = False,
    data_range: DataRange = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Train an operator so that its repairs come out best.

    OP: where to start, a file, the name of a shipped operator, or dct:7 for the
    cosines of 7x7 patches. IMAGES: clean photographs, a hundred if you can.
    """
    target = checked_target(output, checkpoint, resume, force)
    start, levels = _start(operator), _levels(sigma)
    tasks = [name.strip() for name in task.split(",")]
    reading = read_pictures(images, seed, data_range, colours="colours" in tasks)
    started = time.perf_counter()
    options = ("task", "sigma", "steps", "batch", "crop", "stride", "rate", "stages", "pools", "rough", "checkpoint")
    with explained(checkpoint, options), View("step", steps, _rows) as view:
        result = cosparse.refine_operator(
            start,
            reading.pictures,
            task=tasks,
            sigma=levels,
            stride=stride,
            steps=steps,
            batch=batch,
            crop=crop,
            rate=rate,
            stages=stages,
            pools=pools,
            rough=rough,
            rng=seed,
            data_range=255,
            checkpoint=checkpoint,
            callback=lambda progress: view(progress, progress.step, progress.loss),
        )
    figures = saved(result.operator, target) | {
        "steps": result.steps,
        "psnr_before": result.validations[0][1],
        "psnr": result.psnr,
        "dropped": result.dropped,
        "seconds": time.perf_counter() - started,
    }
    course = "{steps} steps, {seconds:.1f} s: held-out images {psnr_before:.2f} dB before, {psnr:.2f} dB now"
    report(result.operator, figures, course.format(**figures), json=json)
    fail_if(reading.problems)


def _start(name: str) -> cosparse.AnalysisOperator:
    if not name.startswith("dct:"):
        return find_operator(name)
    try:
        size = int(name[4:])
    except ValueError:
        size = 0
    if not 2 <= size <= 32:
        raise UsageProblem(f"{name}: after dct: comes the side of a patch, 2 to 32")
    return cosparse.AnalysisOperator.dct(size)


def _levels(text: str) -> tuple[float, float]:
    parts = text.split(":")
    try:
        low, high = float(parts[0]), float(parts[-1])
        if len(parts) > 2:
            raise ValueError
    except ValueError:
        raise UsageProblem(f"--sigma: expected a number or two with a colon, as 5:50, got {text!r}") from None
    return low, high


def _rows(progress: RefineProgress, losses: list[float]) -> list[tuple[str, str]]:
    return [("loss", f"{progress.loss:.4f}  {sparkline(losses)}"), ("held-out images", f"{progress.psnr:.3f} dB")]
