"""First images: bicubic enlargement is what it was, at a cost in proportion to the pixels."""

from __future__ import annotations

import numpy as np
import pytest

from cosparse.reconstruction.start import bicubic, enlarge


def dense(size, factor):
    """The interpolation written pixel by pixel: Keys' cubic convolution, a = -1/2, borders replicated."""
    matrix = np.zeros((size * factor, size))
    for row in range(size * factor):
        centre = (row + 0.5) / factor - 0.5
        for pixel in range(int(np.floor(centre)) - 1, int(np.floor(centre)) + 3):
            t = abs(centre - pixel)
            share = 1.5 * t**3 - 2.5 * t**2 + 1 if t <= 1 else -0.5 * t**3 + 2.5 * t**2 - 4 * t + 2
            matrix[row, min(max(pixel, 0), size - 1)] += share
    return matrix


@pytest.mark.parametrize("factor", [1, 2, 3, 4])
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (2, 3), (40, 33)])
def test_enlarging_isbicubic(shape, factor):
    plane = np.random.default_rng(0).uniform(0, 255, shape).astype(np.float32)
    large = enlarge(plane, factor)
    expected = dense(shape[0], factor) @ plane @ dense(shape[1], factor).T
    assert large.dtype == np.float32
    assert large.flags.c_contiguous
    np.testing.assert_allclose(large, expected, rtol=0, atol=2e-4)


def test_each_pixel_costs_four_products_along_an_axis():
    for size in (100, 10_000):
        assert bicubic(size, 3).nnz <= 4 * 3 * size
