"""Scratches, hairs and threads: a proposal of what should go, for a person to correct."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from skimage.filters import apply_hysteresis_threshold
from skimage.measure import label, regionprops_table

WIDTHS = (1.5, 4.0)  # pixels between the middle of a scratch and what is beside it: of narrow and of wider ones
DIRECTIONS = 8
ALONG = 15  # pixels of its length that are looked at together
AROUND = 61  # pixels of the surroundings that a scratch must stand out of
LEAST = 8.0  # grey levels that it must stand out by, whatever is around it
MOST = 40.0  # grey levels beyond which it does not stand out more: one sharp edge is no scratch
LONG = 30.0  # pixels, at least, from end to end
MARGIN = 1  # pixels that are marked about it, where it is faint
# How many times the ordinary ripple of its surroundings a scratch must reach somewhere, from clear ones to faint ones.
REACH = {1: 34.0, 2: 24.0, 3: 17.0, 4: 12.0, 5: 8.0}


def find(work: NDArray[Any], faint: int = 3) -> NDArray[np.bool_]:
    """Mark thin, long structures that are brighter or darker than what is on both sides of them.

    In each of some directions a pixel is compared with those to its left and right: it counts by as much as it is
    above the higher or below the lower one of both, less half of their difference, so that edges, of which one side is
    like the pixel, do not count. That is averaged along the direction, which leaves little of texture and noise, and
    the best direction is taken. Connected parts that reach a high value somewhere, in terms of what is usual around
    them, and half of it everywhere are kept if they are long.

    Parameters
    ----------
    work : (h, w) or (h, w, 3) array
        On 0..255.
    faint : int
        From 1, clear scratches only, to 5, faint ones too.

    Returns
    -------
    (h, w) bool array

    References
    ----------
    A. C. Kokaram: Detection and removal of line scratches in degraded motion picture sequences. EUSIPCO 1996: lines
    that stand out of a median of what is beside them.

    Examples
    --------
    >>> picture = np.full((64, 64), 100.0)
    >>> picture[:, 30:32] = 190
    >>> found = find(picture)
    >>> bool(found[:, 30:32].all()), bool(found[:, :27].any())
    (True, False)
    """
    grey = np.asarray(work if work.ndim == 2 else work.mean(axis=-1), np.float32)
    smooth = ndimage.gaussian_filter(grey, 0.6)
    bright, dark = (np.zeros(grey.shape, np.float32) for _ in range(2))
    for width in WIDTHS:
        for direction in np.arange(DIRECTIONS) * np.pi / DIRECTIONS:
            for sign, best in ((1, bright), (-1, dark)):
                np.maximum(best, _line(sign * smooth, width, direction), out=best)
    found = np.zeros(grey.shape, bool)
    for line in (bright, dark):
        ripple = ndimage.uniform_filter(np.minimum(line, MOST / 4), AROUND)
        high = np.maximum(REACH[faint] * ripple, LEAST)
        found |= _long(apply_hysteresis_threshold(line / high, 0.5, 1.0))
    disc = ndimage.iterate_structure(ndimage.generate_binary_structure(2, 1), MARGIN)
    return np.asarray(ndimage.binary_dilation(found, disc))


def _line(plane: NDArray[np.float32], width: float, direction: float) -> NDArray[np.float32]:
    """By how much each pixel is part of a line in this direction that is higher than both its sides."""
    side = round(width * -np.sin(direction)), round(width * np.cos(direction))
    left, right = _moved(plane, *side), _moved(plane, -side[0], -side[1])
    above = plane - np.maximum(left, right) - 0.5 * np.abs(left - right)
    np.clip(above, -MOST, MOST, out=above)
    total = np.zeros_like(above)
    for along in np.arange(ALONG) - ALONG // 2:
        total += _moved(above, round(along * np.cos(direction)), round(along * np.sin(direction)))
    return np.asarray(total / ALONG)


def _moved(plane: NDArray[np.float32], down: int, right: int) -> NDArray[np.float32]:
    """The plane moved by whole pixels, its border continued."""
    height, width = plane.shape
    rows = (np.arange(height) - down).clip(0, height - 1)
    columns = (np.arange(width) - right).clip(0, width - 1)
    return np.asarray(plane[rows][:, columns])


def _long(marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Those connected parts that are long."""
    parts = label(marked, connectivity=2)
    table = regionprops_table(parts, properties=("label", "bbox"))
    tall, wide = (table[f"bbox-{axis + 2}"] - table[f"bbox-{axis}"] for axis in (0, 1))
    keep = np.zeros(parts.max() + 1, bool)
    keep[table["label"]] = np.hypot(tall, wide) >= LONG
    return np.asarray(keep[parts])
