"""One repair: a fast preview of a reduced picture, then the whole one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import cosparse
from cosparse.io.picture import Picture
from cosparse.reconstruction import Progress
from cosparse.repair import bicubic, repair
from cosparse.studio.limits import Limits, Refused
from cosparse.studio.noise_seen import reduced_noise
from cosparse.studio.page_pictures import Array, Source, reduced, reduction
from cosparse.studio.page_tasks import PAGE_TASKS, Job

Report = Callable[[Progress], bool]


@dataclass(frozen=True)
class Closeness:
    """To the truth."""

    db: float
    ssim: float


@dataclass(frozen=True, eq=False)
class PageResult:
    """A repaired picture, and the energy as it fell, if there was one (of the brightness, where in colour).

    `origins` are the row and column that each pixel of a wide hole was copied from, -1 elsewhere, if any were.
    """

    picture: Picture
    energies: list[float]
    origins: Array | None = None


def check(source: Source, job: Job, limits: Limits) -> None:
    """Refuse what cannot work before the machine is put to it."""
    if job.task.masks:
        if job.missing is None or not job.missing.any():
            raise Refused("Nothing is marked yet: paint over what should go, add a mask, or drop pixels to try it.")
        if job.missing.all():
            raise Refused("The whole picture is marked; leave some of it, or nothing is known to start from.")
    if job.task.compressed and source.picture.jpeg is None:
        raise Refused(
            f"{source.name}: is not a JPEG as it was saved, and Deblock goes by the tables in the file; "
            "open the JPEG itself, or save it as a coarse one to try it."
        )
    if job.factor % 1 and job.made_by == "gaussian":
        raise Refused(f"Made small by a Gaussian: not {job.factor:g} times; choose Bicubic, or a whole factor.")
    height, width = source.shape
    if job.factor > 1 and height * width * job.factor**2 > limits.pixels:
        most = f"{limits.pixels / 1e6:.0f} million pixels"
        raise Refused(f"{job.factor:g} times larger would be over {most}; choose a smaller factor or picture.")
    if job.blur is not None:
        job.blur.check(source.picture)


def preview(source: Source, job: Job, report: Report) -> Array:
    """A first answer, float32 on 0..255, of a smaller picture. Noise averages out in blocks, so its level falls."""
    factor = _preview_reduction(source, job)
    work, missing = reduced(source.picture.working, factor, job.missing)
    if missing is not None and not missing.any():
        return work
    small = replace(job, noise=reduced_noise(job.noise, factor), missing=missing, quality="fast")
    once = {"grouping": False} if job.task.second_pass else {}
    return _run(small, Picture(work, None, source.picture.channel_axis), report, factor, **once).pixels


def _preview_reduction(source: Source, job: Job) -> int:
    """The whole number by which the preview is smaller: not so small that the blur no longer fits in."""
    values = source.picture.pixels.size * job.factor**2
    wanted = range(min(reduction(values, PAGE_TASKS[job.task.name].preview), min(source.shape) // 16), 1, -1)
    return next((factor for factor in wanted if job.blur is None or job.blur.fits(source.picture, factor)), 1)


def full(source: Source, job: Job, report: Report) -> PageResult:
    """The whole picture in its own type and range."""
    energies: list[float] = []
    origins: Array | None = None

    def watch(progress: Progress) -> bool:
        nonlocal origins
        if progress.filling is not None:
            origins = progress.filling.origins
        if progress.plane == 0 and not progress.second_pass and not math.isnan(progress.energy):
            energies.append(progress.energy)
        return report(progress)

    return PageResult(_run(job, source.picture, watch), energies, origins)


def closeness(source: Source, job: Job, found: Picture) -> tuple[Closeness, Closeness] | None:
    """Of the picture before and after, where the truth is known; before enlarging is interpolated."""
    truth = source.damage.truth if source.damage else None
    if truth is None or truth.shape != found.pixels.shape:
        return None
    before = source.picture.pixels
    if job.factor > 1:
        before = bicubic(source.picture, job.factor).clip(0, found.data_range)
    return _closeness(truth, before, found), _closeness(truth, found.pixels, found)


def _closeness(truth: Array, image: Array, like: Picture) -> Closeness:
    similarity = float("nan")
    if min(truth.shape[:2]) >= 11:
        similarity = cosparse.ssim(truth, image, data_range=like.data_range, channel_axis=like.channel_axis)
    return Closeness(cosparse.psnr(truth, image, data_range=like.data_range), similarity)


def _run(job: Job, picture: Picture, report: Report, reduction: int = 1, **more: Any) -> Picture:
    """`picture` may be a smaller version, for which the kernel is smaller too."""
    kernel = job.made_by if job.blur is None else job.blur.kernel(reduction)
    asked = {"mask": job.missing, "kernel": kernel, "factor": job.factor if job.factor > 1 else None}
    more |= {name: value for name, value in asked.items() if value is not None}
    luma, chroma = job.strengths
    if not job.task.compressed:
        more["noise"] = job.noise.scaled(picture.data_range / 255.0)
    more |= {"luma": luma, "chroma": chroma, "operator": job.operator, "quality": job.quality, **job.options}
    return repair(picture, job.task.name, callback=report, **more).picture
