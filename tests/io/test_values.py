"""Between what files hold and what the kernels work on; which value is white."""

from __future__ import annotations

import numpy as np
import pytest
from picture_files import tiff
from pixels import same

from cosparse.io.picture import read_image
from cosparse.io.values import default_range, from_working, to_working


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, ">u2"])
def test_every_integer_comes_back(dtype):
    values = np.arange(int(default_range(dtype)) + 1).astype(dtype)
    same(from_working(to_working(values), dtype=dtype), values)


def test_working_values():
    same(to_working([[False, True]]), np.array([[0, 255]], np.float32))
    same(to_working(np.array([0, 0.5, np.nan])), np.array([0, 127.5, np.nan], np.float32))
    same(to_working(np.array([-1000, 3095], np.int16), data_range=4095)[1:], np.float32([3095 / 4095 * 255]))
    mine = np.full((3, 4), 7, np.float32, order="F")
    work = to_working(mine, data_range=255)
    assert not np.shares_memory(work, mine)
    assert work.flags.c_contiguous
    same(from_working([-1.0, 0.5, 1.5, 1e9], dtype=np.uint8), np.array([0, 0, 2, 255], np.uint8))
    same(from_working([-51.0, 510.0], dtype=np.float64), np.array([-0.2, 2.0]))
    same(from_working([100, 200], dtype=bool), np.array([False, True]))
    same(from_working([-255.0, 255.0], dtype=np.int16, data_range=4095), np.array([-4095, 4095], np.int16))
    assert from_working([1e9], dtype=np.uint32)[0] == 2**32 - 1
    with pytest.raises(ValueError, match="values: hold NaN"):
        from_working([np.nan], dtype=np.uint8)


@pytest.mark.parametrize(("image", "options", "says"), [
    (np.zeros((2, 2), int), {}, "photo: int64 values have no agreed range; pass data_range"),
    (np.zeros((2, 2), complex), {}, "photo: holds complex128"),
    (np.zeros((0, 2)), {}, "photo: is empty"),
    (np.array([np.inf]), {}, "photo: has infinite"),
    (np.array([1e300]), {}, "photo: has infinite"),
    (np.ma.masked_equal([1.0, 2.0], 1.0), {}, "photo: has masked"),
    (np.zeros(2), {"data_range": 0}, "data_range: must be positive"),
    (np.zeros(2), {"data_range": np.nan}, "data_range: must be positive"),
])  # fmt: skip
def test_values_that_are_refused(image, options, says):
    with pytest.raises(ValueError, match=f"^{says}"):
        to_working(image, name="photo", **options)


@pytest.mark.parametrize(("values", "expected"), [
    ([0, 1], 1), ([0, np.nan], 1), ([np.nan, np.nan], 1), ([0, np.inf, 0.5], 1), ([0, 200], 255), ([-0.1, 1.3], 1),
    ([-40, 290], 255), ([0] * 99 + [4000] * 99, 4000), ([-1000] * 9 + [3000] * 9, 4000), ([-1000, -1000], 255),
    ([0.5] * 299 + [900], 1),  # a single hot pixel says nothing
])  # fmt: skip
def test_range_of_a_float_tiff(values, expected):
    picture = read_image(tiff(np.array([values], np.float32)))
    assert picture.data_range == expected
    np.testing.assert_array_equal(picture.pixels, np.array([values], np.float32))


def test_noise_does_not_change_the_range():
    """Over ten times: a large file is judged by a sample."""
    clean = np.linspace(0, 1, 1200 * 1000, dtype=np.float32).reshape(1200, 1000)
    noisy = clean + 0.1 * np.random.default_rng(0).standard_normal(clean.shape, np.float32)
    for scale in (1.0, 255.0):
        assert read_image(tiff(scale * noisy)).data_range == scale == read_image(tiff(scale * clean)).data_range
