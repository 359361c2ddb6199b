"""A picture with a hole at several scales: what is known there, which patches touch the hole, which may be copied."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cosparse.kernels.copying_reference import Flags, Image, Places, shifts_of

Mask = NDArray[np.bool_]

REACH = 3  # pixels from the middle of a patch to its sides: patches of 7x7
DEEP = 8.0  # pixels: a hole is deep enough for a coarser scale if some of it is farther from all that is known
SLACK = 20.0  # grey levels by which a copied patch may be made lighter or darker
PULL = np.float32(0.15)  # what that costs, as a share of what it saves
TEXTURE = 2.0  # how much the strength of the texture counts beside the colours
WINDOW = 5  # pixels: the side of the squares over which that strength is taken
SPARE = 1  # times as many patches to copy from as to fill at least, for a coarser scale
LEAST = 200  # patches to copy from at least, at any scale
_BINOMIAL = np.array([1, 4, 6, 4, 1], np.float32) / 16


@dataclass(eq=False)
class Scale:
    """A picture at one scale while its hole is being filled."""

    image: Image  # (h, w, colours and texture); what is missing changes
    gap: Mask
    source: Mask  # what may be copied: known there
    colours: int
    depth: NDArray[np.float32] = field(init=False)  # of each pixel of the hole: how far it is to a known one
    usable: Flags = field(init=False)  # centres of patches to copy from
    centres: Places = field(init=False)  # of patches that touch the hole
    index: Places = field(init=False)  # (h, w): their numbers, -1 elsewhere
    pixels: Places = field(init=False)  # of the hole
    means: Image = field(init=False)  # of all patches, as the image now is
    slack: Image = field(init=False)

    def __post_init__(self) -> None:
        from scipy import ndimage

        near = touching(self.gap) & _inside(self.gap.shape)
        self.depth = np.asarray(ndimage.distance_transform_edt(self.gap), np.float32)
        self.usable = copyable(self.source).astype(np.uint8)
        self.centres = np.argwhere(near).astype(np.int32)
        self.index = np.full(self.gap.shape, -1, np.int32)
        self.index[near] = np.arange(len(self.centres))
        self.pixels = np.argwhere(self.gap).astype(np.int32)
        self.slack = np.where(np.arange(self.image.shape[2]) < self.colours, SLACK, 0).astype(np.float32)
        self.changed()

    def changed(self) -> None:
        """Take note that the image has."""
        self.means = box_means(self.image, 2 * REACH + 1)

    def shifts(self, origins: Places) -> Image:
        """By how much lighter or darker the patches are made that come from these origins."""
        return shifts_of(self.means, self.slack, self.centres, origins)

    def put(self, values: Image) -> float:
        """Give the hole's pixels their values; by how much these change, on average."""
        rows, columns = self.pixels.T
        change = float(np.abs(values - self.image[rows, columns])[:, : self.colours].mean())
        self.image[rows, columns] = values
        self.changed()
        return change


def pyramid(image: Image, gap: Mask, source: Mask) -> list[tuple[Image, Mask, Mask]]:
    """The picture with its texture, its hole and what may be copied: whole, half the size and so on.

    As long as the hole is deep, and enough is left to copy from.
    """
    from scipy import ndimage

    known = ~gap
    levels = [(np.concatenate([image, _texture(image, known)], axis=-1), gap, source & known)]
    while True:
        last, hole, allowed = levels[-1]
        if ndimage.distance_transform_edt(hole).max() <= DEEP or min(hole.shape) < 8 * REACH:
            return levels
        small, seen = _halved(last, ~hole)
        fewer = ndimage.minimum_filter(allowed, 3, mode="nearest")[::2, ::2] & seen
        if copyable(fewer).sum() < max(LEAST, SPARE * touching(~seen).sum()):
            return levels
        levels.append((small, ~seen, fewer))


def copyable(source: Mask) -> Mask:
    """The centres of patches all of whose pixels may be copied."""
    from scipy import ndimage

    whole = ndimage.minimum_filter(source, 2 * REACH + 1, mode="constant", cval=False)
    return np.asarray(whole & _inside(source.shape), bool)


def touching(gap: Mask) -> Mask:
    """The centres of patches that hold some of the hole."""
    from scipy import ndimage

    return np.asarray(ndimage.maximum_filter(gap, 2 * REACH + 1, mode="nearest"), bool)


def box_means(image: Image, side: int) -> Image:
    """The means of squares about all pixels, each channel by itself."""
    from scipy import ndimage

    return np.asarray(ndimage.uniform_filter(image, (side, side, 0), mode="nearest"), np.float32)


def _inside(shape: tuple[int, ...]) -> Mask:
    inside = np.zeros(shape, bool)
    inside[REACH : shape[0] - REACH, REACH : shape[1] - REACH] = True
    return inside


def _halved(image: Image, known: Mask) -> tuple[Image, Mask]:
    """Every second pixel of the smoothed picture, of what is known alone; known where all about it is."""
    from scipy import ndimage

    def smooth(values: Image) -> Image:
        for axis in (0, 1):
            values = ndimage.convolve1d(values, _BINOMIAL, axis=axis, mode="mirror")
        return values[::2, ::2]

    share = smooth(known.astype(np.float32))[..., None]
    seen = ndimage.minimum_filter(known, 3, mode="nearest")[::2, ::2]
    small = smooth(image * known[..., None]) / np.maximum(share, np.float32(1e-6))
    return np.ascontiguousarray(small, np.float32), np.ascontiguousarray(seen)


def _texture(image: Image, known: Mask) -> Image:
    """How strong the texture is down and across: mean absolute differences of neighbours that are known."""
    grey, kinds = image.mean(axis=-1), []
    for axis in (0, 1):
        steps = np.abs(np.diff(grey, axis=axis, append=grey.take([-1], axis)))
        both = known & np.roll(known, -1, axis)
        sums = box_means(np.stack([steps * both, both.astype(np.float32)], axis=-1), WINDOW)
        kinds.append(sums[..., 0] / np.maximum(sums[..., 1], np.float32(1e-3)))
    return (TEXTURE * np.stack(kinds, axis=-1)).astype(np.float32)
