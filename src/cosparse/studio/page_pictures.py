"""Pictures as the page holds them: opened within the limits, shown, written for download."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from cosparse.io.masks import white_mask
from cosparse.io.picture import Picture, losses, read_image, write_image
from cosparse.io.values import from_working, to_working
from cosparse.studio.limits import Limits, Refused

Array = NDArray[Any]
Mask = NDArray[np.bool_]
# Pictures to try the page on, from every installation of scikit-image: nothing is downloaded. The name of its file, and
# what it shows. The first two were not among the pictures `default` was learned from.
EXAMPLES = {
    "chelsea": "A cat",
    "camera": "A cameraman",
    "coffee": "A cup of coffee",
    "astronaut": "An astronaut",
    "rocket": "A rocket",
}


@dataclass(frozen=True, eq=False)
class Damage:
    """What the page itself did to a picture, to try a repair; so the truth is known."""

    words: str
    picture: Picture
    truth: Array
    missing: Mask | None = None


@dataclass(frozen=True, eq=False)
class Source:
    """The picture to repair: as it came, and as the page has damaged it."""

    name: str
    original: Picture
    damage: Damage | None = None

    @property
    def picture(self) -> Picture:
        """What is to be repaired."""
        return self.damage.picture if self.damage else self.original

    @property
    def missing(self) -> Mask | None:
        """The pixels that were dropped."""
        return self.damage.missing if self.damage else None

    @property
    def shape(self) -> tuple[int, int]:
        """(height, width)."""
        height, width = self.picture.pixels.shape[:2]
        return height, width


def example(name: str) -> Picture:
    """One of them, 8 bit, grey or colour."""
    from skimage import data

    pixels = np.ascontiguousarray(getattr(data, name)(), np.uint8)
    return Picture(pixels, channel_axis=-1 if pixels.ndim == 3 else None)


def open_picture(name: str, data: bytes, limits: Limits) -> Picture:
    """An upload, checked; what is wrong with it is said in one line."""
    picture = _single(name, data, limits, "the page repairs single pictures, the command line takes stacks")
    if not np.isfinite(picture.pixels).all():
        raise Refused(f"{name}: holds NaN or infinite values; fill them with: cosparse inpaint --mask nan.")
    if min(picture.pixels.shape[:2]) < 8:
        raise Refused(f"{name}: is smaller than 8x8 pixels; choose a larger picture.")
    return picture


def must_agree(name: str, shape: tuple[int, ...], source: Source) -> None:
    """Refuse what belongs to a picture and is of another size."""
    if shape != source.shape:
        one, other = ("{1} × {0}".format(*sides) for sides in (shape, source.shape))
        raise Refused(f"{name}: is {one} pixels, the picture {other}; they must agree.")


def open_mask(name: str, data: bytes, limits: Limits) -> Mask:
    """True where the picture is white."""
    return white_mask(_single(name, data, limits, "a mask has one"))


def open_grey(name: str, data: bytes, limits: Limits) -> NDArray[np.float32]:
    """A map of noise levels: the grey values on 0..255, of colours their mean."""
    work = _single(name, data, limits, "a map has one").working
    return work if work.ndim == 2 else np.asarray(work.mean(axis=-1), np.float32)


def _single(name: str, data: bytes, limits: Limits, wanted: str) -> Picture:
    try:
        picture = read_image(data, name=name, max_pixels=limits.pixels)
    except (ValueError, MemoryError) as error:
        # The person here has no argument to raise, but perhaps started the page.
        raise Refused(f"{error}.".replace("raise max_pixels", "cosparse studio --max-pixels raises it")) from None
    if picture.stack:
        raise Refused(f"{name}: has several pages; {wanted}.")
    return picture


def reduction(size: float, most: float) -> int:
    """The whole number by which height and width must be divided so that of `size` values at most so many are left.

    >>> reduction(100, 100), reduction(101, 100)
    (1, 2)
    """
    return max(1, math.ceil(math.sqrt(size / most)))


def reduced(work: Array, factor: int, missing: Mask | None = None) -> tuple[Array, Mask | None]:
    """Means of blocks of the known pixels; a block without any is missing.

    >>> reduced(np.array([[1.0, 3.0], [5.0, 7.0]]), 2)[0]
    array([[4.]], dtype=float32)
    """
    if factor == 1:
        return work, missing
    known = np.ones(work.shape[:2], np.float32) if missing is None else (~missing).astype(np.float32)
    count, colours = _blocks(known, factor), work.reshape(*known.shape, -1)
    mean = _blocks(colours * known[..., None], factor) / np.maximum(count, 1e-9)[..., None]
    small = np.asarray(mean, np.float32).reshape(*count.shape, *work.shape[2:])
    return small, None if missing is None else count == 0


def _blocks(values: Array, factor: int) -> Array:
    """Sums over blocks; those at the border may be smaller."""
    rows = np.add.reduceat(values, np.arange(0, values.shape[0], factor), axis=0)
    return np.asarray(np.add.reduceat(rows, np.arange(0, values.shape[1], factor), axis=1))


def write_view(path: Path, work: Array, limits: Limits) -> None:
    """What the browser shows: 8 bits, without loss, reduced only above so many pixels."""
    small, _ = reduced(work, reduction(work.shape[0] * work.shape[1], limits.view_pixels))
    Image.fromarray(from_working(small, dtype=np.uint8)).save(path, "PNG", compress_level=1)


def write_overlay(path: Path, mask: Mask, limits: Limits) -> None:
    """A mask as the stage lays it over the picture."""
    marked = reduced(mask.astype(np.float32), reduction(mask.size, limits.view_pixels))[0] > 0  # thin scratches stay
    rgba = np.zeros((*marked.shape, 4), np.uint8)
    rgba[marked] = (232, 51, 109, 255)
    Image.fromarray(rgba).save(path, "PNG")


FORMATS = {"png": "PNG", "tif": "TIFF", "jpg": "JPEG"}  # of downloads: their endings, and what they are called


def write_origins(path: Path, origins: Array, limits: Limits) -> None:
    """Where the pixels of holes were copied from, as the stage lays it over the picture.

    A copied pixel and the place it was copied from have the same colour: one for each place of the picture.
    """
    height, width = origins.shape[:2]
    copied = origins[..., 0] >= 0
    rows, columns = (origins[copied][:, axis].clip(0, side - 1) for axis, side in enumerate((height, width)))
    across, down = columns / max(width - 1, 1), rows / max(height - 1, 1)
    colour = np.stack([255 * across, 255 * (1 - down), 255 * (1 - across) * (0.4 + 0.6 * down)], axis=-1)
    rgba = np.zeros((height, width, 4), np.uint8)
    rgba[rows, columns] = np.concatenate([colour, np.full((len(rows), 1), 170)], axis=-1)
    rgba[copied] = np.concatenate([colour, np.full((len(rows), 1), 215)], axis=-1)
    smaller = reduction(height * width, limits.view_pixels)
    Image.fromarray(rgba[::smaller, ::smaller]).save(path, "PNG")


def own_format(picture: Picture) -> str:
    """The ending of the format that keeps most of a picture: TIFF of what came as such, PNG of all else."""
    return "tif" if picture.format == "tiff" else "png"


def lost(picture: Picture, ending: str) -> str:
    """What a download in this format leaves out, in words."""
    told, deep = [], picture.pixels.dtype != np.uint8
    if deep and ending == "jpg":
        told.append("8 bits of each colour are left")
    elif picture.pixels.dtype.kind == "f" and ending == "png":
        told.append("16 bits of each colour are left")
    if picture.alpha is not None and ending == "jpg":
        told.append("transparency cannot be kept in JPEG")
    return "; ".join((*told, *losses(picture, ending)))


def write_download(path: Path, picture: Picture, ending: str = "png") -> None:
    """A file with the picture's own depth, size and metadata, as far as the format holds them.

    Of float pixels PNG gets 16 bits; JPEG has 8 and no transparency, and is written at quality 95.
    """
    pixels, alpha = picture.pixels, picture.alpha
    if ending == "jpg":
        pixels, alpha = from_working(np.clip(picture.working, 0, 255), dtype=np.uint8), None
    elif ending == "png" and pixels.dtype.kind == "f":
        pixels = from_working(np.clip(picture.working, 0, 255), dtype=np.uint16)
    if alpha is not None and alpha.dtype != pixels.dtype:
        alpha = from_working(to_working(alpha), dtype=pixels.dtype)
    metadata = {name: value for name, value in picture.metadata.items() if name != "tiff"}
    write_image(path, pixels, like=replace(picture, alpha=alpha, metadata=metadata), format=ending)


def write_mask(path: Path, mask: Mask) -> None:
    """White where something is marked."""
    write_image(path, mask, format="png")


def write_thumbnail(path: Path, work: Array) -> None:
    """A small picture for a list."""
    small, _ = reduced(work, max(1, min(work.shape[:2]) // 96))
    Image.fromarray(from_working(small, dtype=np.uint8)).convert("RGB").save(path, "JPEG", quality=80)
