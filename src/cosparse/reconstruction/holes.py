"""Which parts of a mask are filled by copying: those that are wide, and the window that each hole is filled from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse.operator import AnalysisOperator
from cosparse.reconstruction.scales import DEEP, LEAST, REACH, copyable

Mask = NDArray[np.bool_]
Box = tuple[slice, slice]
Fill = Literal["auto", "smooth", "copy"]
FILLS: tuple[str, ...] = get_args(Fill)

FAR = 8.0  # pixels: a part is wide if some of it is farther from all that is known; as far as the prior's patches reach
SPOT = 16  # pixels of it so far: fewer are where two scratches cross
CORNER = 1.5  # times as far from its middle reach the corners of a hole, which are no narrow part of it
AROUND = 256  # pixels about a hole that are searched at least, and as many as it is long
SCARCE = 8  # times as many pixels to fill as patches to copy from: no more, or copies are all too many


@dataclass(frozen=True, eq=False)
class Hole:
    """A hole of a page: where it is, and what of the page it is filled from."""

    box: Box  # of the page
    window: Box  # the same grown
    pixels: Mask  # of the box: those of the hole
    scales: int  # at most

    @property
    def within(self) -> Box:
        """The box, as the window sees it."""
        rows, columns = (
            slice(own.start - outer.start, own.stop - outer.start)
            for own, outer in zip(self.box, self.window, strict=True)
        )
        return rows, columns


def wide_parts(missing: Mask) -> Mask:
    """The wide parts of what is missing: discs of which no pixel is known, about which most are.

    Between scattered pixels there are such discs too, but little is known about them: those parts are narrow.
    """
    from scipy import ndimage

    wide = np.zeros_like(missing)
    if not _blocks(missing):
        return wide
    spots, _ = ndimage.label(ndimage.distance_transform_edt(missing) > FAR)
    middles = (spots > 0) & (np.bincount(spots.ravel())[spots] >= SPOT)
    if missing.all() or not middles.any():
        return wide
    discs = missing & (ndimage.distance_transform_edt(~middles) <= CORNER * FAR)
    labels, _ = ndimage.label(discs, np.ones((3, 3)))
    for number, box in enumerate(ndimage.find_objects(labels), 1):
        around = grown(box, int(2 * FAR), missing.shape)
        part = labels[around] == number
        rim = (ndimage.distance_transform_edt(~part) <= 2 * FAR) & ~part
        if (~missing[around])[rim].mean() > 0.5:
            wide[around] |= part
    return wide


def _blocks(missing: Mask) -> bool:
    """Whether there may be such discs: a square in a coarse grid of which nothing is known. Quick, for most masks."""
    side = int(FAR)
    height, width = (extent // side * side for extent in missing.shape)
    if min(height, width) == 0:
        return False
    blocks = missing[:height, :width].reshape(height // side, side, width // side, side)
    return bool(blocks.all(axis=(1, 3)).any())


def find_holes(copied: Mask, everywhere: bool = False) -> Iterator[Hole]:
    """The parts of what is to be copied, each with its window; those that lie near together are one.

    A window is what a hole depends on, so that a tile of a large picture fills it as the whole would. With a source of
    the caller's that may lie `everywhere`, it is the whole page.
    """
    from scipy import ndimage

    near = ndimage.maximum_filter(copied, 4 * REACH + 1, mode="constant", cval=False)
    labels, _ = ndimage.label(near, np.ones((3, 3)))
    labels[~copied] = 0
    for number, box in enumerate(ndimage.find_objects(labels), 1):
        if box is None:
            continue
        longest = max(side.stop - side.start for side in box)
        window = grown(box, max(copied.shape) if everywhere else max(AROUND, longest), copied.shape)
        pixels = labels[box] == number
        depth = float(ndimage.distance_transform_edt(np.pad(pixels, 1)).max())
        yield Hole((box[0], box[1]), window, pixels, 1 + max(0, int(np.ceil(np.log2(depth / DEEP)))))


def enough_left(hole: Hole, source: Mask) -> bool:
    """Whether there is anything in the window to copy from."""
    return bool(copyable(source[hole.window]).sum() >= LEAST)


def plenty_left(hole: Hole, source: Mask) -> bool:
    """Whether so much is there that copies look natural."""
    return bool(copyable(source[hole.window]).sum() >= max(LEAST, int(hole.pixels.sum()) // SCARCE))


def grown(box: Box, pixels: int, shape: tuple[int, ...]) -> Box:
    """A box with so many pixels about it, as far as there are."""
    rows, columns = (
        slice(max(side.start - pixels, 0), min(side.stop + pixels, extent))
        for side, extent in zip(box, shape, strict=True)
    )
    return rows, columns


@dataclass(frozen=True, eq=False)
class Copying:
    """What is to be copied on one page: its holes, and where from."""

    holes: Sequence[Hole]
    copied: Mask  # (h, w): all that is filled by copying
    source: Mask  # and all that may be copied
    operator: AnalysisOperator  # what joins it
    quality: str
    seed: int = 0

    @property
    def parts(self) -> int:
        """Steps that are told of: the scales of every hole."""
        return sum(hole.scales for hole in self.holes)


@dataclass(frozen=True, eq=False)
class Wish:
    """How missing pixels are to be filled, as the caller says."""

    fill: Fill
    source: Mask | None  # (..., h, w)
    seed: int

    @classmethod
    def checked(cls, fill: object, source: ArrayLike | None, seed: object, shape: tuple[int, ...]) -> Wish:
        """Refuses what is no such wish, for an image of this shape without its channels."""
        if fill not in FILLS:
            raise ValueError(f"fill: expected one of {', '.join(FILLS)}, got {fill!r}")
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise ValueError(f"seed: expected a whole number from 0 on, got {seed!r}")
        allowed = None if source is None else np.asarray(source)
        if allowed is not None:
            if allowed.shape not in (shape, shape[-2:]):
                raise ValueError(f"source: has shape {allowed.shape}, the image {shape}; they must agree")
            if fill == "smooth":
                raise ValueError("source: with fill='smooth' nothing is copied; use 'auto' or 'copy', or leave it out")
            allowed = np.broadcast_to(allowed.astype(bool), shape).reshape(-1, *shape[-2:])
        return cls(cast(Fill, fill), allowed, int(seed))

    def of_page(self, number: int, missing: Mask, operator: AnalysisOperator, quality: str) -> Copying | None:
        """What of a page's missing pixels is filled by copying; None where nothing is."""
        source = None if self.source is None else self.source[number]
        return _copying(missing, source, self, operator, quality)


def _copying(
    missing: Mask, source: Mask | None, wish: Wish, operator: AnalysisOperator, quality: str
) -> Copying | None:
    fill = wish.fill
    if fill == "smooth" or not missing.any():
        return None
    copied = missing.copy() if fill == "copy" else wide_parts(missing)
    if not copied.any():
        return None
    allowed = ~missing if source is None else source & ~missing
    asked_for = fill == "copy" or source is not None  # who says where from does not want it smooth
    holes = []
    for hole in find_holes(copied, everywhere=source is not None):
        if asked_for and not enough_left(hole, allowed):
            raise ValueError(_nothing_left(hole, source is not None))
        if asked_for or plenty_left(hole, allowed):
            holes.append(hole)
        else:
            copied[hole.box] &= ~hole.pixels
    return Copying(holes, copied, allowed, operator, quality, wish.seed) if holes else None


def _nothing_left(hole: Hole, chosen: bool) -> str:
    rows, columns = hole.box
    where = f"for the hole at rows {rows.start} to {rows.stop}, columns {columns.start} to {columns.stop}"
    side = 2 * REACH + 1
    if chosen:
        return f"source: too little is left to copy from {where}: mark more, in squares of {side}x{side} known pixels"
    return (
        f"mask: too little is known about it to copy from {where}: squares of {side}x{side} known pixels are copied; "
        "use fill='smooth', or fill='auto', which copies where it can"
    )
