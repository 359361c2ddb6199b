"""How the axes of a picture are read: pages, then rows and columns, then channels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from cosparse.reconstruction.start import enlarged_side

Index = tuple[int, ...]  # where a page is along the leading axes; () of a single picture
ChannelAxis = int | None | Literal["auto"]


@dataclass(frozen=True)
class Layout:
    """The lengths of the leading axes, which count pages, of rows and columns, and of a last axis of channels.

    >>> Layout((2, 5), (480, 640))
    Layout(leading=(2, 5), size=(480, 640), channels=None, alpha=False)
    >>> print(_)
    10 pages of 480x640 pixels
    """

    leading: tuple[int, ...]
    size: tuple[int, int]
    channels: int | None = None
    alpha: bool = False

    def __str__(self) -> str:
        count = math.prod(self.leading)
        pages = "" if not self.leading else f"{count} page{'s' * (count != 1)} of "
        channels = "" if self.channels is None else f", {self.channels} channel{'s' * (self.channels != 1)}"
        return f"{pages}{self.size[0]}x{self.size[1]} pixels{channels}{' with transparency' * self.alpha}"

    @property
    def last(self) -> tuple[int, ...]:
        """The axis of channels, if there is one."""
        return () if self.channels is None else (self.channels,)

    @property
    def pages(self) -> list[Index]:
        """All of them, in the order of the array."""
        return list(np.ndindex(*self.leading))

    def shape(self, factor: float = 1) -> tuple[int, ...]:
        """Of the whole array, or of one so many times larger."""
        return (*self.leading, *(enlarged_side(side, factor) for side in self.size), *self.last)

    def chunks(self, sides: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
        """Dask's chunks: each page alone, its rows and columns in these parts, its channels together."""
        return (*((1,) * count for count in self.leading), *sides, *((count,) for count in self.last))

    def masks(self, masks: Any, sides: tuple[tuple[int, ...], ...]) -> Any:
        """A Dask array of what is missing, one for all pages or one for each, in the parts of a page."""
        pages = (*self.leading, *self.size)
        if masks.shape not in (pages, self.size):
            raise ValueError(f"mask: has shape {masks.shape}, the picture {pages}; they must agree")
        return masks.rechunk(((1,) * (masks.ndim - 2)) + sides).astype(bool)

    def levels(self, levels: Any, sides: tuple[tuple[int, ...], ...]) -> Any:
        """A Dask array of noise levels, of all pages, of each or of each channel too, in the parts of a page."""
        pages = (*self.leading, *self.size)
        colours = () if self.channels is None else (self.channels - self.alpha,)
        if self.alpha and levels.shape == self.shape():
            levels = levels[..., :-1]
        if levels.shape not in (self.size, pages, pages + colours):
            raise ValueError(f"sigma: has shape {levels.shape}, the picture {self.shape()}; they must agree")
        inner = len(colours) if colours and levels.shape == pages + colours else 0
        leading = levels.ndim - inner - 2
        return levels.rechunk(((1,) * leading) + sides + ((-1,) * inner))


def layout_of(source: Any, channel_axis: ChannelAxis = "auto", alpha: bool | None = None) -> Layout:
    """The layout of an array or a file, as the caller says, or a file that knows.

    Of other arrays three axes whose last is at most 4 long, and the others longer, are rows, columns and channels; all
    else has pages along its leading axes. That the last channel is transparency, only TIFF files know.
    """
    shape, name = tuple(source.shape), named(source)
    if len(shape) < 2 or 0 in shape:
        raise ValueError(f"{name}: expected (h, w), pages of it (..., h, w), or either with channels last; got {shape}")
    knows = getattr(source, "colour", None)
    if channel_axis == "auto":
        colour = knows if knows is not None else len(shape) == 3 and shape[2] <= 4 < min(shape[:2])
    elif channel_axis is None:
        colour = False
    elif channel_axis in (-1, len(shape) - 1) and len(shape) > 2:
        colour = True
    else:
        raise ValueError(f"channel_axis: expected -1 or None, got {channel_axis!r}; move the channels of {shape} last")
    if knows is not None and knows != colour:
        raise ValueError(f"channel_axis: {name} says that it has {'' if knows else 'no '}channels; leave it out")
    if alpha is None:
        alpha = bool(getattr(source, "alpha", False))
    if alpha and (not colour or shape[-1] < 2):
        raise ValueError(f"alpha: {name} has no channel beside a first; pass channel_axis=-1, or alpha=False")
    end = len(shape) - colour
    return Layout(shape[: end - 2], (shape[end - 2], shape[end - 1]), shape[-1] if colour else None, alpha)


def named(source: Any) -> str:
    """A source as its user knows it: a file by its path."""
    return getattr(source, "shown", "source")
