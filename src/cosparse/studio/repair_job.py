"""One repair: a fast preview of a reduced picture, then the whole one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import cosparse
from cosparse.io.picture import Picture
from cosparse.operator import AnalysisOperator
from cosparse.reconstruction.tasks import TASKS
from cosparse.repair import bicubic, repair
from cosparse.studio.limits import Limits
from cosparse.studio.page_pictures import Array, Blur, Mask, Source, reduced, working
from cosparse.studio.session import Refused
from cosparse.studio.work import Counter, Step

# Values (pixels times colours) of the repaired picture that a preview finishes within about two seconds on two cores.
PREVIEW = {"denoise": 800_000, "inpaint": 260_000, "upscale": 110_000, "deblur": 160_000}


@dataclass(frozen=True, eq=False)
class Job:
    """What to do. `sigma` is on 0..255; `operator` None is the one that goes with the quality."""

    task: str
    sigma: float = 0.0
    factor: int = 2
    blur: Blur = field(default_factory=Blur)
    missing: Mask | None = None
    operator: AnalysisOperator | None = None
    quality: str = "balanced"


@dataclass(frozen=True)
class Closeness:
    """To the truth."""

    db: float
    ssim: float


@dataclass(frozen=True, eq=False)
class Result:
    """A repaired picture, and how near it and the damaged one are to the truth, where that is known."""

    pixels: Array
    like: Any
    energies: list[float]
    seconds: float
    before: Closeness | None = None
    after: Closeness | None = None


def check(source: Source, job: Job, limits: Limits) -> None:
    """Refuse what cannot work before the machine is put to it."""
    if job.task == "inpaint":
        if job.missing is None or not job.missing.any():
            raise Refused("Nothing is marked yet: paint over what should go, add a mask, or drop pixels to try it.")
        if job.missing.all():
            raise Refused("The whole picture is marked; leave some of it, or nothing is known to start from.")
    height, width = source.shape
    if job.task == "upscale" and height * width * job.factor**2 > limits.pixels:
        raise Refused(
            f"{job.factor} times larger would be over {limits.pixels / 1e6:.0f} million pixels; "
            "choose a smaller factor or picture."
        )
    if not _fits(source, job, 1):
        raise Refused("The blur is larger than the picture; make it smaller.")


def reduction(source: Source, job: Job) -> int:
    """The whole number by which the preview is smaller: not so small that the blur no longer fits in."""
    values = source.picture.pixels.size * (job.factor**2 if job.task == "upscale" else 1)
    factor = min(math.ceil(math.sqrt(values / PREVIEW[job.task])), min(source.shape) // 16)
    return next((smaller for smaller in range(factor, 1, -1) if _fits(source, job, smaller)), 1)


def _fits(source: Source, job: Job, factor: int) -> bool:
    """Whether the kernel lies within the picture once both are reduced; it is rounded to odd widths."""
    if job.task != "deblur":
        return True
    sides = (-(-side // factor) for side in source.shape)
    return all(k <= side for k, side in zip(job.blur.kernel(factor).shape, sides, strict=True))


def preview(source: Source, job: Job, report: Callable[[Step], bool]) -> Array:
    """A first answer, float32 on 0..255, of a smaller picture. Noise averages out in blocks, so its level falls."""
    factor = reduction(source, job)
    work, missing = reduced(working(source.picture), factor, job.missing)
    if missing is not None and not missing.any():
        return work
    small = replace(job, sigma=job.sigma / factor, missing=missing, quality="fast")
    once = {"grouping": False} if TASKS[job.task].second_pass else {}
    return _run(Picture(work, None, source.picture.channel_axis), small, Counter(report), factor, **once).pixels


def full(source: Source, job: Job, report: Callable[[Step], bool]) -> tuple[Picture, list[float]]:
    """The whole picture in its own type and range, and the energy as it fell (of the brightness, where in colour)."""
    counter = Counter(report)
    return _run(source.picture, job, counter), counter.energies


def finish(source: Source, job: Job, like: Picture, energies: list[float], seconds: float) -> Result:
    """Measure it."""
    truth, pixels = source.truth, like.pixels
    if truth is None or truth.shape != pixels.shape:
        return Result(pixels, like, energies, seconds)
    before = source.picture.pixels
    if job.task == "upscale":
        before = bicubic(source.picture, job.factor).clip(0, like.data_range)
    return Result(pixels, like, energies, seconds, _closeness(truth, before, like), _closeness(truth, pixels, like))


def _closeness(truth: Array, image: Array, like: Any) -> Closeness:
    similarity = float("nan")
    if min(truth.shape[:2]) >= 11:
        similarity = cosparse.ssim(truth, image, data_range=like.data_range, channel_axis=like.channel_axis)
    return Closeness(cosparse.psnr(truth, image, data_range=like.data_range), similarity)


def _run(picture: Picture, job: Job, counter: Counter, factor: int = 1, **more: Any) -> Picture:
    """`picture` may be a smaller version, by `factor`, for which the kernel is smaller too."""
    if job.task == "inpaint":
        more["mask"] = job.missing
    elif job.task == "upscale":
        more["factor"] = job.factor
    elif job.task == "deblur":
        more["kernel"] = job.blur.kernel(factor)
    return repair(
        picture, job.task, sigma=job.sigma, operator=job.operator, quality=job.quality, callback=counter, **more
    ).picture
