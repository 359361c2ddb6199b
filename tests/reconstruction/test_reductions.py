"""Reductions: the filters of other programs, borders and all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosparse.reconstruction import measurement
from cosparse.reconstruction.start import enlarge


@pytest.mark.parametrize("name", measurement.FILTERS)
@given(size=st.tuples(st.integers(1, 12), st.integers(1, 12)), factor=st.integers(2, 8), seed=st.integers(0, 2**31))
def test_reduction_is_pillows(name, size, factor, seed):
    """In its float mode, borders and all."""
    from PIL import Image

    image = np.random.default_rng(seed).uniform(0, 255, (size[0] * factor, size[1] * factor)).astype(np.float32)
    expected = Image.fromarray(image).resize(size[::-1], Image.Resampling[name.upper()])
    small = measurement.reduction(factor, image.shape, name).forward(image)
    np.testing.assert_allclose(small, np.asarray(expected), atol=2e-4)


@pytest.mark.parametrize("name", ["bicubic", "lanczos"])
@pytest.mark.parametrize("size", [(20, 16), (2, 6)])
def test_a_reduction_by_one_and_a_half_is_pillows(name, size):
    from PIL import Image

    image = np.random.default_rng(0).uniform(0, 255, [side * 3 // 2 for side in size]).astype(np.float32)
    expected = Image.fromarray(image).resize(size[::-1], Image.Resampling[name.upper()])
    small = measurement.reduction(1.5, image.shape, name).forward(image)
    np.testing.assert_allclose(small, np.asarray(expected), atol=2e-4)


def test_a_box_of_one_and_a_half_takes_what_it_covers():
    """Of three pixels two: each one whole and half of the middle one. (Pillow takes whole pixels, two and one.)"""
    small = measurement.reduction(1.5, (1, 6), "box").forward(np.array([[3, 6, 9, 0, 3, 0]], np.float32))
    np.testing.assert_allclose(small, [[4, 8, 1, 1]], atol=1e-5)


@pytest.mark.parametrize("name", measurement.FILTERS)
def test_parts_of_an_image_are_reduced_as_the_whole(name):
    """What begins at a block's edge has the same phases; only at its border it does not see beyond."""
    image = np.random.default_rng(0).random((60, 48)).astype(np.float32)
    whole, part = (measurement.reduction(3, one.shape, name).forward(one) for one in (image, image[15:51, 9:45]))
    np.testing.assert_allclose(part[3:-3, 3:-3], whole[5:17, 3:15][3:-3, 3:-3], atol=1e-6)


def test_an_unknown_reduction_is_refused():
    with pytest.raises(ValueError, match="kernel: expected one of gaussian, bicubic, box, lanczos.*'mitchell'"):
        measurement.reduction(2, (8, 8), "mitchell")
    with pytest.raises(ValueError, match="every 1.5-th pixel cannot be kept; for that factor, bicubic, box, lanczos"):
        measurement.reduction(1.5, (8, 8), "gaussian")


@pytest.mark.parametrize("kernel", measurement.REDUCTIONS)
@pytest.mark.parametrize("factor", [2, 3, 4])
def test_resizing_keeps_a_constant(factor, kernel):
    A = measurement.reduction(factor, (factor * 2, factor * 5), kernel)
    np.testing.assert_allclose(A.matvec(np.full(A.shape[1], 7, np.float32)), 7, rtol=1e-5)
    np.testing.assert_allclose(enlarge(np.full((1, 3), 7, np.float32), factor), 7, rtol=1e-5)
