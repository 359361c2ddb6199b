"""The filters that programs make pictures smaller by, and the factors that upscaling knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def _cubic(x: Array) -> Array:
    """Keys' cubic with a = -0.5, for distances x >= 0."""
    near, far = 1.5 * x**3 - 2.5 * x**2 + 1, -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


# By name: the weight of a pixel by its distance in pixels of the small image, and the distance where that ends.
FILTERS: dict[str, tuple[Callable[[Array], Array], float]] = {
    "bicubic": (_cubic, 2.0),
    "box": (lambda x: np.where(x == 0.5, 0.5, x < 0.5), 0.5),
    "lanczos": (lambda x: np.where(x < 3, np.sinc(x) * np.sinc(x / 3), 0), 3.0),
}
REDUCTIONS = ("gaussian", *FILTERS)
FACTORS = (1.5, 2, 3, 4, 8)  # of upscaling
USUAL = "bicubic"  # what upscaling takes a small image to be made by: docs/upscaling.md


def averages(kernel: str, size: int, factor: float) -> Any:
    """The (size/factor, size) sparse matrix of a reduction along one axis; each row sums to one."""
    from scipy.sparse import csr_array

    weight, reach = FILTERS[kernel]
    count = round(size / factor) if factor % 1 else int(-(-size // factor))
    centre = (np.arange(count) + 0.5) * factor - 0.5
    taps = np.floor(centre).astype(int)[:, None] + np.arange(-int(reach * factor), int(reach * factor) + 2)
    weights = np.where((taps >= 0) & (taps < size), weight(np.abs(taps - centre[:, None]) / factor), 0)
    weights /= weights.sum(axis=1, keepdims=True)
    row, tap = np.nonzero(weights)
    return csr_array((weights[row, tap].astype(np.float32), (row, taps[row, tap])), shape=(count, size))
