"""Pictures as the page holds them: opened within the limits, damaged to try a repair, shown, written for download."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.io.picture import Picture, read_image, write_image
from cosparse.io.values import from_working, to_working
from cosparse.reconstruction import measurement
from cosparse.reconstruction.psf import Kernel, box_kernel, disk_kernel, motion_kernel
from cosparse.studio.limits import Limits
from cosparse.studio.session import Refused

Array = NDArray[Any]
Mask = NDArray[np.bool_]


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


@dataclass(frozen=True, eq=False)
class Source:
    """The picture to repair. `truth` is known where the page itself did the damage."""

    name: str
    picture: Picture
    original: Picture
    truth: Array | None = None
    missing: Mask | None = None
    damage: str = ""

    @property
    def shape(self) -> tuple[int, int]:
        """(height, width)."""
        height, width = self.picture.pixels.shape[:2]
        return height, width


def open_picture(name: str, data: bytes, limits: Limits) -> Source:
    """An upload, checked; what is wrong with it is said in one line."""
    try:
        picture = read_image(data, name=name, max_pixels=limits.pixels)
    except (ValueError, MemoryError) as error:
        # The person here has no argument to raise, but perhaps started the page.
        raise Refused(f"{error}.".replace("raise max_pixels", "cosparse studio --max-pixels raises it")) from None
    if picture.stack:
        raise Refused(f"{name}: has several pages; the page repairs single pictures, the command line takes stacks.")
    if not np.isfinite(picture.pixels).all():
        raise Refused(f"{name}: holds NaN or infinite values; fill them with: cosparse inpaint --mask nan.")
    if min(picture.pixels.shape[:2]) < 8:
        raise Refused(f"{name}: is smaller than 8x8 pixels; choose a larger picture.")
    return Source(name, picture, picture)


def example(name: str, pixels: Array) -> Source:
    """One of the pictures that come along."""
    picture = Picture(pixels, channel_axis=-1 if pixels.ndim == 3 else None)
    return Source(f"{name}.png", picture, picture)


# --- damage ---------------------------------------------------------------------------------------


def add_noise(source: Source, sigma: float) -> Source:
    """Gaussian noise of the given standard deviation on 0..255, rounded and clipped as a camera would."""
    work = working(source.original)
    noise = np.random.default_rng(0).normal(0, sigma, work.shape)
    return _damaged(source, work + noise, source.original.pixels, f"noise of σ = {sigma:g} added")


def drop_pixels(source: Source, share: float) -> Source:
    """Lose pixels at random places."""
    height, width = source.original.pixels.shape[:2]
    missing = np.random.default_rng(0).random((height, width)) < share
    work = working(source.original)
    work[missing] = 0
    made = _damaged(source, work, source.original.pixels, f"{missing.mean():.0%} of the pixels dropped")
    return replace(made, missing=missing)


def shrink(source: Source, factor: int) -> Source:
    """The picture at a fraction of its width and height, as the method assumes small pictures came about."""
    height, width = (side // factor * factor for side in source.original.pixels.shape[:2])
    if min(height, width) < 8 * factor:
        raise Refused("The picture is too small to shrink it first; choose a larger one.")
    truth = source.original.pixels[:height, :width]
    measure = measurement.downsampling(factor, (height, width))
    work = _by_colour(working(source.original)[:height, :width], measure.forward)
    made = _damaged(source, work, truth, f"shrunk {factor} times")
    return replace(made, picture=replace(made.picture, alpha=None))


def blur(source: Source, blurred: Blur) -> Source:
    """The picture out of focus or shaken."""
    kernel = _fitting(blurred.kernel(), source.original)
    measure = measurement.blur(kernel, source.original.pixels.shape[:2])
    work = _by_colour(working(source.original), measure.forward)
    return _damaged(source, work, source.original.pixels, f"blurred ({blurred.kind}, {blurred.size:g})")


def _damaged(source: Source, work: Array, truth: Array, what: str) -> Source:
    like = source.original
    pixels = from_working(np.clip(work, 0, 255), dtype=like.pixels.dtype, data_range=like.data_range)
    return replace(source, picture=replace(like, pixels=pixels), truth=truth, missing=None, damage=what)


def _fitting(kernel: Kernel, picture: Picture) -> Kernel:
    if any(k > s for k, s in zip(kernel.shape, picture.pixels.shape[:2], strict=True)):
        raise Refused("The blur is larger than the picture; make it smaller.")
    return kernel


def _by_colour(work: Array, change: Any) -> Array:
    if work.ndim == 2:
        return np.asarray(change(work))
    return np.stack([change(np.ascontiguousarray(work[..., c])) for c in range(3)], axis=-1)


# --- smaller, shown, written ----------------------------------------------------------------------


def working(picture: Picture) -> NDArray[np.float32]:
    """Its pixels as float32 on 0..255."""
    return to_working(picture.pixels, data_range=picture.data_range)


def reduced(work: Array, factor: int, missing: Mask | None = None) -> tuple[Array, Mask | None]:
    """Means of blocks of the known pixels; a block without any is missing.

    >>> reduced(np.array([[1.0, 3.0], [5.0, 7.0]]), 2)[0]
    array([[4.]], dtype=float32)
    """
    if factor == 1:
        return work, missing
    known = np.ones(work.shape[:2], np.float32) if missing is None else (~missing).astype(np.float32)
    weight = known if work.ndim == 2 else known[..., None]
    count = _blocks(known, factor)
    total = _blocks(work * weight, factor)
    mean = total / np.maximum(count if work.ndim == 2 else count[..., None], 1e-9)
    return np.asarray(mean, np.float32), None if missing is None else count == 0


def _blocks(values: Array, factor: int) -> Array:
    """Sums over blocks; those at the border may be smaller."""
    rows = np.add.reduceat(values, np.arange(0, values.shape[0], factor), axis=0)
    return np.asarray(np.add.reduceat(rows, np.arange(0, values.shape[1], factor), axis=1))


def write_view(path: Path, work: Array, pixels: int) -> None:
    """What the browser shows: 8 bits, without loss, reduced only above so many pixels."""
    from PIL import Image

    factor = int(np.ceil(np.sqrt(work.shape[0] * work.shape[1] / pixels)))
    small, _ = reduced(work, factor)
    Image.fromarray(from_working(small, dtype=np.uint8)).save(path, "PNG", compress_level=1)


def write_download(path: Path, pixels: Array, like: Picture) -> None:
    """A PNG of the picture's own depth and size; of float pixels, which PNG cannot hold, 16 bits."""
    if pixels.dtype.kind == "f":
        work = np.clip(to_working(pixels, data_range=like.data_range), 0, 255)
        pixels = from_working(work, dtype=np.uint16)
    if like.alpha is not None and like.alpha.dtype != pixels.dtype:
        alpha = from_working(to_working(like.alpha), dtype=pixels.dtype)
        like = replace(like, alpha=alpha)
    metadata = {name: value for name, value in like.metadata.items() if name != "tiff"}
    write_image(path, pixels, like=replace(like, metadata=metadata), format="png")
