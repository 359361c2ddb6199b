"""Antialiased bicubic shrinking in float, as the super-resolution literature makes its small images."""

from __future__ import annotations

import numpy as np


def _weights(size: int, factor: int) -> np.ndarray:
    """(size // factor, size): the cubic kernel (a = -0.5) stretched by the factor, borders mirrored."""
    centre = (np.arange(size // factor) + 0.5) * factor - 0.5
    matrix = np.zeros((size // factor, size))
    for tap in range(-2 * factor - 1, 2 * factor + 2):
        place = np.floor(centre).astype(int) + tap
        x = np.abs(centre - place) / factor
        near, far = 1.5 * x**3 - 2.5 * x**2 + 1, -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2
        factors = np.where(x <= 1, near, np.where(x < 2, far, 0))
        mirrored = np.where(place < 0, -place - 1, np.where(place >= size, 2 * size - 1 - place, place))
        np.add.at(matrix, (np.arange(len(centre)), mirrored), factors)
    return matrix / matrix.sum(axis=1, keepdims=True)


def shrink(image: np.ndarray, factor: int) -> np.ndarray:
    """The image, its sides divided by `factor`."""
    rows, columns = (_weights(side, factor) for side in image.shape)
    return (rows @ image @ columns.T).astype(np.float32)
