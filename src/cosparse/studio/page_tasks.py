"""What the page adds to a task: how a picture is damaged to try it, and how large a preview may be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import Any

import numpy as np
from PIL import Image

from cosparse.io.picture import Picture, read_image
from cosparse.io.values import from_working
from cosparse.noise import Gaussian, Map, Noise, PoissonGaussian
from cosparse.operator import AnalysisOperator
from cosparse.reconstruction import measurement
from cosparse.reconstruction.psf import Kernel, box_kernel, disk_kernel, motion_kernel
from cosparse.reconstruction.request import Task
from cosparse.repair import by_plane
from cosparse.studio.limits import Refused
from cosparse.studio.page_pictures import Array, Damage, Mask

COARSE = 10  # the quality of a JPEG that is made to try deblocking


@dataclass(frozen=True)
class Blur:
    """A kernel by its kind; `size` is half its width, roughly, so that kinds can be exchanged."""

    kind: str = "gaussian"
    size: float = 2.0
    angle: float = 0.0

    def kernel(self, reduction: int = 1) -> Kernel:
        """As an array; for a picture reduced by a whole number, smaller.

        >>> Blur("box", 2).kernel().shape
        (5, 5)
        """
        size = max(self.size / reduction, 0.3)
        if self.kind == "box":
            return box_kernel(2 * max(1, round(size)) + 1)
        if self.kind == "disk":
            return disk_kernel(max(size, 0.6))
        if self.kind == "motion":
            return motion_kernel(2 * size + 1, self.angle)
        return measurement.gaussian_kernel(size)

    def fits(self, picture: Picture, reduction: int = 1) -> bool:
        """Whether the kernel lies within the picture once both are reduced; it is rounded to odd widths."""
        sides = (-(-side // reduction) for side in picture.pixels.shape[:2])
        return all(k <= side for k, side in zip(self.kernel(reduction).shape, sides, strict=True))

    def check(self, picture: Picture) -> None:
        """Refuse one that does not fit."""
        if not self.fits(picture):
            raise Refused("The blur is larger than the picture; make it smaller.")


@dataclass(frozen=True, eq=False)
class Job:
    """What to do. The noise is on 0..255, the strengths are those of luma and chroma.

    A factor of 1, no blur, nothing missing: the task does not ask for it.
    """

    task: Task
    noise: Noise = field(default_factory=lambda: Gaussian(0.0))
    quality: str = "balanced"
    operator: AnalysisOperator | None = None
    factor: float = 1
    made_by: str | None = None  # of upscaling: the name of a reduction
    blur: Blur | None = None
    missing: Mask | None = None
    strengths: tuple[float, float] = (1.0, 1.0)
    options: dict[str, Any] = field(default_factory=dict)  # of those that the task takes besides


@dataclass(frozen=True)
class PageTask:
    """What the button says that makes a repair necessary, what it does, and how many values (pixels times colours) of
    the repaired picture a preview finishes within about two seconds on two cores; 0 where there is none."""

    offer: str
    damage: Callable[[Picture, Job], Damage]
    preview: int


def _add_noise(picture: Picture, job: Job) -> Damage:
    """Noise of the kind that was stated, rounded and clipped as a camera would."""
    noise, coloured = job.noise, picture.channel_axis is not None
    if isinstance(noise, Gaussian) and noise.sigma < 10:  # at the estimate of a clean picture one would see nothing
        noise = Gaussian(25.0)
    if isinstance(noise, Map) and coloured:
        noise = Map(np.repeat(noise.sigma[..., None], picture.pixels.shape[-1], axis=-1))
    return _damaged(picture, noise.sample(picture.working, 0), _noise_in_words(noise, picture.data_range))


def _noise_in_words(noise: Noise, white: float) -> str:
    if isinstance(noise, PoissonGaussian):
        return f"photon noise of gain {noise.scaled(white / 255).gain:g} added"
    return f"noise of σ = {noise.sigma:g} added" if isinstance(noise, Gaussian) else "noise by the map added"


def _drop_pixels(picture: Picture, job: Job) -> Damage:
    """Lose pixels at random places."""
    missing = np.random.default_rng(0).random(picture.pixels.shape[:2]) < 0.9
    work = picture.working
    work[missing] = 0
    return replace(_damaged(picture, work, f"{missing.mean():.0%} of the pixels dropped"), missing=missing)


def _shrink(picture: Picture, job: Job) -> Damage:
    """The picture at a fraction of its width and height, made small as the method is told that it was."""
    unit = int(job.factor if job.factor % 1 == 0 else 2 * job.factor)  # such sides fit in twice or so often
    height, width = (side // unit * unit for side in picture.pixels.shape[:2])
    if min(height, width) < 8 * job.factor:
        raise Refused("The picture is too small to shrink it first; choose a larger one.")
    truth = replace(picture, pixels=picture.pixels[:height, :width], alpha=None)
    measure = measurement.reduction(job.factor, (height, width), job.made_by or measurement.USUAL)
    return _measured(truth, measure, f"shrunk {job.factor:g} times")


def _blur(picture: Picture, job: Job) -> Damage:
    """The picture out of focus or shaken."""
    blur = job.blur or Blur()
    blur.check(picture)
    measure = measurement.blur(blur.kernel(), picture.pixels.shape[:2])
    return _measured(picture, measure, f"blurred ({blur.kind}, {blur.size:g})")


def _save_coarsely(picture: Picture, job: Job) -> Damage:
    """The picture as a JPEG of few bytes."""
    truth = from_working(np.clip(picture.working, 0, 255), dtype=np.uint8)
    file = BytesIO()
    Image.fromarray(truth).save(file, "JPEG", quality=COARSE)
    saved = replace(read_image(file.getvalue()), metadata=picture.metadata)
    return Damage(f"saved as a JPEG of quality {COARSE}", saved, truth)


def _measured(truth: Picture, measure: measurement.Measurement, words: str) -> Damage:
    return _damaged(truth, by_plane(replace(truth, pixels=truth.working), measure.forward), words)


def _damaged(truth: Picture, work: Array, words: str) -> Damage:
    pixels = from_working(np.clip(work, 0, 255), dtype=truth.pixels.dtype, data_range=truth.data_range)
    return Damage(words, replace(truth, pixels=pixels), truth.pixels)


PAGE_TASKS = {
    "denoise": PageTask("Add noise to try it", _add_noise, 800_000),
    "inpaint": PageTask("Drop 90 % of the pixels to try it", _drop_pixels, 260_000),
    "upscale": PageTask("Shrink it first to try it", _shrink, 110_000),
    "deblur": PageTask("Blur it first to try it", _blur, 160_000),
    "deblock": PageTask("Save it as a coarse JPEG to try it", _save_coarsely, 0),
}
