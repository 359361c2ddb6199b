"""Which pixels are missing, as pictures say it."""

from __future__ import annotations

import numpy as np
import pytest

from cosparse.io.masks import nan_mask, painted_mask, transparent_mask, white_mask, widened
from cosparse.io.picture import Picture

RED = np.array([255, 0, 0], np.float32)


def test_white_is_missing_where_it_can_be_seen():
    deep = Picture(np.array([[0, 32767, 32768, 65535]], np.uint16), data_range=65535.0)
    np.testing.assert_array_equal(white_mask(deep), [[False, False, True, True]])
    pixels = np.array([[[255, 255, 255], [255, 255, 0], [255, 0, 0], [255, 255, 255]]], np.uint8)
    alpha = np.array([[255, 255, 255, 100]], np.uint8)
    np.testing.assert_array_equal(white_mask(Picture(pixels, channel_axis=-1)), [[True, True, False, True]])
    np.testing.assert_array_equal(white_mask(Picture(pixels, alpha, -1)), [[True, True, False, False]])


def test_what_is_more_transparent_than_not():
    alpha = np.array([[0, 127, 128, 255]], np.uint8)
    np.testing.assert_array_equal(transparent_mask(Picture(alpha, alpha)), [[True, True, False, False]])
    with pytest.raises(ValueError, match="has no transparency"):
        transparent_mask(Picture(alpha))


def test_a_pixel_is_nan_if_one_of_its_colours_is():
    pixels = np.zeros((2, 2, 3), np.float32)
    pixels[0, 1, 2] = np.nan
    np.testing.assert_array_equal(nan_mask(pixels, True), [[False, True], [False, False]])
    assert nan_mask(pixels, False).shape == (2, 2, 3)  # three columns
    assert not nan_mask(np.zeros((2, 2), np.uint8), False).any()


def test_a_painted_colour_is_near_in_each_of_its_three():
    pixels = np.array([[[235, 20, 20], [235, 21, 0], [np.nan, 0, 0]]], np.float32)
    np.testing.assert_array_equal(painted_mask(pixels, RED, 20, True), [[True, False, False]])
    with pytest.raises(ValueError, match="is grey, no pixel has that colour"):
        painted_mask(pixels[..., 0], RED, 20, False)


@pytest.mark.parametrize("pages", [(), (2,), (2, 3)])
def test_widening_stays_on_its_page(pages):
    mask = np.zeros((*pages, 9, 9), bool)
    mask[(0,) * len(pages)][4, 4] = True
    wide = widened(mask, 2)
    first = wide[(0,) * len(pages)]
    distance = np.hypot(*np.mgrid[-4:5, -4:5])
    np.testing.assert_array_equal(first, distance <= 2.5)
    assert wide.sum() == first.sum()
    np.testing.assert_array_equal(widened(mask, 0), mask)
