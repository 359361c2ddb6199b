"""Between which values a result must lie: as the caller says, or what the data show."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Pair = tuple[float, float]
Bounds = Literal["auto"] | None | tuple[float | None, float | None]

BLOCK = 8  # pixels: means of such blocks show what lies outside when noise hides it in single pixels


@dataclass(frozen=True)
class Extremes:
    """The least and the largest of some pixels, and of the means of blocks of them if there are whole ones.

    `count` is how many pixels.
    """

    count: int
    pixels: Pair
    blocks: Pair | None

    @classmethod
    def of(cls, page: NDArray[Any], known: NDArray[np.bool_] | None = None) -> Extremes:
        """Those of a page (h, w[, channels]); only pixels that are known count, and blocks without others."""
        seen = page if known is None else page[known]
        means = block_means(page, known)
        pixels = float(seen.min()), float(seen.max())
        return cls(seen.size, pixels, (float(means.min()), float(means.max())) if means.size else None)

    def within(self, bounds: Pair, sigma: float) -> bool:
        """Whether values of this range, and noise of standard deviation sigma, explain them.

        Of `count` normal deviates the largest is about sqrt(2 ln count); one more is allowed. The mean over a block
        has an eighth of the noise.

        >>> Extremes(10_000, (-0.3, 1.1), (0.0, 0.98)).within((0, 1), sigma=0.1)
        True
        >>> Extremes(10_000, (-0.3, 1.1), (-0.2, 0.98)).within((0, 1), sigma=0.1)
        False
        """
        reach = sigma * (math.sqrt(2 * math.log(max(self.count, 2))) + 1)
        rounding = 1e-6 * (bounds[1] - bounds[0])
        for ends, slack in ((self.pixels, reach), (self.blocks or bounds, reach / BLOCK)):
            if ends[0] < bounds[0] - slack - rounding or ends[1] > bounds[1] + slack + rounding:
                return False
        return True


def block_means(page: NDArray[Any], known: NDArray[np.bool_] | None) -> NDArray[Any]:
    """Of all whole blocks without missing pixels; flat."""
    height, width = (side // BLOCK * BLOCK for side in page.shape[:2])
    if not height or not width:
        return np.zeros(0)

    def blocks(values: NDArray[Any]) -> NDArray[Any]:
        return values[:height, :width].reshape(height // BLOCK, BLOCK, width // BLOCK, BLOCK, *values.shape[2:])

    if known is None:
        return np.asarray(blocks(page).mean(axis=(1, 3), dtype=np.float32))
    whole = blocks(known).all(axis=(1, 3))
    return np.asarray(blocks(np.where(known if page.ndim == 2 else known[..., None], page, 0)).mean(axis=(1, 3))[whole])


def stated(bounds: object) -> Pair | None:
    """Bounds that a caller gave as a pair, with infinity for an open side; None if none are wanted.

    >>> stated((0, None))
    (0.0, inf)
    """
    if bounds is None:
        return None
    try:
        ends: Any = bounds
        low, high = ends
        pair = -math.inf if low is None else float(low), math.inf if high is None else float(high)
    except (TypeError, ValueError):
        raise ValueError(f"bounds: expected 'auto', None or (low, high), got {bounds!r}") from None
    if not pair[0] < pair[1]:
        raise ValueError(f"bounds: the lower must be less than the upper, got {bounds!r}")
    return pair


def known_bounds(bounds: object, dtype: np.dtype[Any]) -> tuple[Pair | None, bool]:
    """Bounds that are stated, or of a type of whole numbers; and whether that settles it: floats say nothing."""
    if bounds != "auto":
        return stated(bounds), True
    if dtype.kind == "b":
        return (0.0, 1.0), True
    if dtype.kind in "ui":
        return (float(np.iinfo(dtype).min), float(np.iinfo(dtype).max)), True
    return None, False
