"""Symmetric separable filters in one pass over an image: what whitened coordinates cost at every step."""

from __future__ import annotations

import numpy as np

from cosparse.kernels.compiling import compiled, inlined
from cosparse.kernels.fused import Single
from cosparse.kernels.threads import spread

BAND = 64  # rows of an image one task takes


@inlined
def _mirrored(place, extent):  # type: ignore[no-untyped-def]
    """A place beyond the border, seen in a mirror there: ... 1 0 | 0 1 2 | 2 1 ..., however far off."""
    return min(place % (2 * extent), 2 * extent - 1 - place % (2 * extent))


@compiled
def _smooth_rows(image, down, across, first, last, out):  # type: ignore[no-untyped-def]
    """Rows `first` to before `last` of the result, one after the other: down the columns, then along the row."""
    height, width = image.shape
    reach, wide = down.shape[0] - 1, across.shape[0] - 1
    line = np.empty(width + 2 * wide, np.float32)
    middle = line[wide : wide + width]
    for row in range(first, last):
        here = image[row]
        for x in range(width):
            middle[x] = down[0] * here[x]
        for j in range(1, reach + 1):
            factor = down[j]
            above, below = image[_mirrored(row - j, height)], image[_mirrored(row + j, height)]
            for x in range(width):
                middle[x] += factor * (above[x] + below[x])
        for j in range(1, wide + 1):
            line[wide - j] = middle[_mirrored(-j, width)]
            line[wide + width - 1 + j] = middle[_mirrored(width - 1 + j, width)]
        result = out[row]
        for x in range(width):
            result[x] = across[0] * middle[x]
        for j in range(1, wide + 1):
            factor = across[j]
            left, right = line[wide - j : wide - j + width], line[wide + j : wide + j + width]
            for x in range(width):
                result[x] += factor * (left[x] + right[x])


def smooth(image: Single, down: Single, across: Single) -> Single:
    """As `reference.smooth`, row by row; no two threads write to the same memory."""
    out = np.empty_like(image)
    height = len(image)

    def work(first: int) -> None:
        _smooth_rows(image, down, across, first, min(first + BAND, height), out)

    spread(work, range(0, height, BAND))
    return out
