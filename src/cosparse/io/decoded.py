"""What every codec hands over, and what all of them must check."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cosparse.io.pixel_size import turned
from cosparse.io.values import Array, default_range
from cosparse.jpeg import Jpeg


class RefusedError(ValueError):
    """A reason worded for the user, to which the file's name is then prefixed."""


@contextmanager
def naming(shown: str, otherwise: str) -> Iterator[None]:
    """Begin the message of every error with the file's name; with `otherwise` if it is not one of ours.

    A damaged file makes decoders raise nearly anything: it all becomes a ValueError of one line.
    """
    try:
        yield
    except MemoryError:
        raise
    except RefusedError as error:
        raise ValueError(f"{shown}: {error}") from None
    except Exception as error:
        raise ValueError(f"{shown}: {otherwise.format(one_line(error))}") from error


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples as they come from a file or go into one, alpha included, (h, w[, c]) after `leading` axes of pages.

    `axes` has a letter for each leading axis, None where the file does not say; `notes` say what was left behind;
    `jpeg` says how the file was compressed, if it is one.
    """

    values: Array
    leading: int = 0
    orientation: int = 1
    metadata: dict[str, Any] = field(default_factory=dict)
    axes: str | None = None
    notes: tuple[str, ...] = ()
    jpeg: Jpeg | None = None

    @property
    def channels(self) -> int:
        """1 grey, 2 grey and alpha, 3 colour, 4 colour and alpha."""
        return int(self.values.shape[-1]) if self.values.ndim - self.leading == 3 else 1

    @property
    def colour(self) -> bool:
        return self.channels >= 3

    @property
    def has_alpha(self) -> bool:
        return self.channels in (2, 4)

    @property
    def letters(self) -> str | None:
        """One for each axis: pages, rows and columns, samples of a pixel; None where those of the pages are unknown."""
        axes = self.axes or ""
        last = "S" * (self.values.ndim - self.leading - 2)
        return f"{axes}YX{last}" if len(axes) == self.leading else None

    def upright(self) -> Samples:
        """Turned the right way up, of a type that can be stored, without metadata that says nothing."""
        values, row, column = self.values, self.leading, self.leading + 1
        metadata = {key: value for key, value in self.metadata.items() if value}
        if self.orientation >= 5:
            values = values.swapaxes(row, column)
            metadata = turned(metadata)
        if self.orientation in (2, 3, 6, 7):
            values = np.flip(values, column)
        if self.orientation in (3, 4, 7, 8):
            values = np.flip(values, row)
        jpeg = self.jpeg and replace(self.jpeg, orientation=self.orientation)
        return replace(self, values=storable(values), orientation=1, metadata=metadata, jpeg=jpeg)

    def split(self) -> tuple[Array, Array | None]:
        """The pixels, and the transparency if there is any."""
        if not self.has_alpha:
            return np.ascontiguousarray(self.values), None
        pixels = self.values[..., :3] if self.colour else self.values[..., 0]
        return np.ascontiguousarray(pixels), np.ascontiguousarray(self.values[..., -1])


def storable(values: Array) -> Array:
    """Return samples as native uint8, uint16 or float32, or refuse."""
    dtype = values.dtype
    if values.size == 0:
        raise RefusedError("holds no pixels; it is damaged, save or copy it again")
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return values.astype(np.float32, copy=False)
    if dtype.kind not in "ui":
        raise RefusedError(f"holds {dtype} values; convert it to 8 bit, 16 bit or float32")
    target: np.dtype[Any] = np.dtype(np.uint8 if dtype.itemsize == 1 else np.uint16)
    if dtype != target and (values.min() < 0 or values.max() > np.iinfo(target).max):
        raise RefusedError(
            f"holds {dtype} values from {values.min()} to {values.max()}, which do not fit "
            f"{target}; convert it to {target} or float32"
        )
    return values.astype(target, copy=False)


def from_bits(values: Array) -> Array:
    """Of 1 bit, black and white; others as they are."""
    return values.astype(np.uint8) * np.uint8(255) if values.dtype == bool else values


def joined(pixels: Array, alpha: Array | None, grey: int | None) -> Samples:
    """Return storable samples with alpha as last channel.

    The last of three axes or more is colour if 3 or 4 long, unless pixels of at most `grey` axes are known to be grey.
    """
    pixels = from_bits(pixels)
    if pixels.dtype.kind == "f":
        pixels = pixels.astype(np.float32)
    elif pixels.dtype.kind != "u" or pixels.dtype.itemsize > 2:
        raise RefusedError(f"cannot write {pixels.dtype} pixels; convert to uint8, uint16 or float32")
    if pixels.size == 0 or pixels.ndim < 2:
        raise RefusedError(f"cannot write shape {pixels.shape}; use (h, w), (h, w, 3) or a stack")
    colour = pixels.ndim > max(2, grey or 0) and pixels.shape[-1] in (3, 4)
    leading = pixels.ndim - colour - 2
    pixels = pixels.astype(pixels.dtype.newbyteorder("="), copy=False)
    if alpha is not None and not (colour and pixels.shape[-1] == 4):
        if alpha.shape != pixels.shape[: 2 + leading]:
            raise RefusedError(
                f"pixels are {pixels.shape} but like.alpha is {alpha.shape}; resize it, or drop it "
                "with dataclasses.replace(like, alpha=None)"
            )
        alpha = _rescaled(alpha, pixels.dtype)[..., None]
        pixels = np.concatenate([pixels if colour else pixels[..., None], alpha], axis=-1)
    return Samples(np.ascontiguousarray(pixels), leading)


def _rescaled(alpha: Array, dtype: np.dtype[Any]) -> Array:
    """The same transparency in another type."""
    if alpha.dtype == dtype:
        return alpha
    values: Array = alpha * (default_range(dtype) / default_range(alpha))
    return (np.rint(values) if dtype.kind == "u" else values).astype(dtype)


def straight(values: Array) -> Array:
    """Colours divided by the alpha they were multiplied with, as Mac software stores them."""
    colours, alpha = values[..., :-1], values[..., -1:]
    top = default_range(values)
    part = alpha / top
    colours = np.divide(colours, part, out=np.zeros(colours.shape), where=part > 0)
    if values.dtype.kind == "u":
        colours = np.rint(np.minimum(colours, top))
    return np.concatenate([colours.astype(values.dtype), alpha], axis=-1)


def check_size(size: tuple[int, int], max_pixels: int, pages: int = 1) -> None:
    """Refuse an image that would not fit in memory, before it is decoded."""
    if size[0] * size[1] * pages > max_pixels:
        shape = f"{size[0]}x{size[1]}" + (f"x{pages}" if pages > 1 else "")
        raise RefusedError(f"is {shape} pixels, over the limit of {max_pixels}; raise max_pixels")


def left_behind(number: int, what: str, many: str = "") -> str:
    """A note that so many further frames, series or thumbnails are not kept.

    >>> left_behind(2, "frame")
    '2 other frames in the file are not kept'
    """
    if number == 1:
        return f"1 other {what} in the file is not kept"
    return f"{number} other {many or what + 's'} in the file are not kept"


def one_line(error: BaseException) -> str:
    """What an exception says, as part of a sentence."""
    return " ".join(str(error).split())[:200] or type(error).__name__
