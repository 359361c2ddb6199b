"""One repair: a fast preview of a reduced picture, then the whole one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import cosparse
from cosparse.images import from_working
from cosparse.operator import AnalysisOperator
from cosparse.pictures import enlarged_like
from cosparse.reconstruction.start import enlarge
from cosparse.studio.limits import Limits
from cosparse.studio.pictures import Array, Blur, Mask, Source, reduced, working
from cosparse.studio.session import Refused
from cosparse.studio.work import Counter, Step

TASKS = ("denoise", "inpaint", "upscale", "deblur")
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
    return _run(work, small, Counter(report), 255.0, factor, grouping=False)


def full(source: Source, job: Job, report: Callable[[Step], bool]) -> tuple[Array, list[float]]:
    """The whole picture in its own type and range, and the energy as it fell (of the brightness, where in colour)."""
    picture = source.picture
    counter = Counter(report)
    pixels = _run(picture.pixels, job, counter, picture.data_range)
    return pixels, counter.energies


def finish(source: Source, job: Job, pixels: Array, energies: list[float], seconds: float) -> Result:
    """Measure it, and bring what belongs to the picture to its size."""
    like = replace(source.picture, pixels=pixels)
    if job.task == "upscale":
        like = replace(enlarged_like(source.picture, job.factor), pixels=pixels)
    truth = source.truth
    if truth is None or truth.shape != pixels.shape:
        return Result(pixels, like, energies, seconds)
    before = source.picture.pixels
    if job.task == "upscale":
        bicubic = working(source.picture)
        planes = [bicubic] if bicubic.ndim == 2 else list(np.moveaxis(bicubic, -1, 0))
        large = np.stack([enlarge(np.ascontiguousarray(plane), job.factor) for plane in planes], axis=-1)
        before = from_working(large.reshape(pixels.shape), dtype=pixels.dtype, data_range=like.data_range)
    return Result(
        pixels, like, energies, seconds, _closeness(truth, before, like), _closeness(truth, pixels, like)
    )


def _closeness(truth: Array, image: Array, like: Any) -> Closeness:
    similarity = float("nan")
    if min(truth.shape[:2]) >= 11:
        similarity = cosparse.ssim(truth, image, data_range=like.data_range, channel_axis=like.channel_axis)
    return Closeness(cosparse.psnr(truth, image, data_range=like.data_range), similarity)


def _run(
    pixels: Array, job: Job, counter: Counter, data_range: float, factor: int = 1, grouping: bool = True
) -> Array:
    """`pixels` may be a smaller version, by `factor`, for which the kernel is smaller too."""
    sigma = job.sigma * data_range / 255.0
    options: dict[str, Any] = {
        "operator": job.operator,
        "quality": job.quality,
        "data_range": data_range,
        "channel_axis": -1 if pixels.ndim == 3 else None,
        "callback": counter,
    }
    if job.task == "denoise":
        return cosparse.denoise(pixels, sigma, grouping=grouping, **options)
    if job.task == "inpaint":
        return cosparse.inpaint(pixels, np.asarray(job.missing), sigma=sigma, grouping=grouping, **options)
    if job.task == "upscale":
        return cosparse.upscale(pixels, job.factor, sigma=sigma, **options)
    return cosparse.deblur(pixels, job.blur.kernel(factor), sigma=sigma, **options)
