"""Wide parts are found, narrow ones left alone; every hole has its window."""

from __future__ import annotations

import numpy as np
import pytest

from cosparse import inpaint
from cosparse.reconstruction.holes import AROUND, FAR, find_holes, wide_parts


def mask(*boxes, shape=(120, 140)):
    found = np.zeros(shape, bool)
    for top, bottom, left, right in boxes:
        found[top:bottom, left:right] = True
    return found


@pytest.mark.parametrize("share", [0.5, 0.9, 0.97, 0.99])
def test_scattered_pixels_are_no_holes(share):
    assert not wide_parts(np.random.default_rng(0).random((200, 200)) < share).any()


def test_scratches_and_text_are_narrow_and_a_square_is_wide_with_its_corners():
    scratch = mask((0, 120, 20, 30), (50, 60, 0, 140), (0, 120, 80, 80 + 2 * int(FAR) - 3))
    assert not wide_parts(scratch).any()
    square = mask((40, 80, 60, 100))
    np.testing.assert_array_equal(wide_parts(square), square)


def test_a_scratch_that_leads_into_a_hole_stays_narrow():
    square, scratch = mask((40, 80, 60, 100)), mask((58, 62, 0, 140))
    wide = wide_parts(square | scratch)
    assert wide[square].all()
    assert not wide[:, :50].any() and not wide[:, 110:].any()


def test_nothing_known_is_no_hole_and_a_picture_of_few_pixels_has_none():
    assert not wide_parts(np.ones((60, 60), bool)).any()
    assert not wide_parts(np.ones((5, 5), bool)).any()


def test_holes_near_together_are_one_and_windows_are_of_the_picture():
    near = mask((40, 60, 20, 40), (40, 60, 45, 65), (40, 60, 110, 130))
    found = list(find_holes(near))
    assert [hole.box for hole in found] == [(slice(40, 60), slice(20, 65)), (slice(40, 60), slice(110, 130))]
    assert found[0].window == (slice(0, 120), slice(0, 140))
    (far,) = find_holes(mask((400, 460, 400, 420), shape=(900, 900)))
    assert far.window == (slice(400 - AROUND, 460 + AROUND), slice(400 - AROUND, 420 + AROUND))
    assert far.pixels.all() and far.within == (slice(AROUND, AROUND + 60), slice(AROUND, AROUND + 20))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"fill": "best"}, "fill: expected one of auto, smooth, copy"),
        ({"seed": -1}, "seed: expected a whole number"),
        ({"seed": 0.5}, "seed: expected a whole number"),
        ({"source": np.ones((3, 3), bool)}, "source: has shape"),
        ({"source": np.ones((64, 64), bool), "fill": "smooth"}, "source: with fill='smooth'"),
        ({"source": np.zeros((64, 64), bool), "fill": "copy"}, "source: too little is left to copy from"),
        ({"source": np.zeros((64, 64), bool)}, "source: too little is left to copy from"),
    ],
)
def test_what_cannot_be_is_refused_by_name(options, problem):
    with pytest.raises(ValueError, match=problem):
        inpaint(np.zeros((64, 64)), mask((20, 40, 20, 40), shape=(64, 64)), **options)


def test_nothing_left_to_copy_is_refused_or_with_auto_filled_smoothly():
    image = np.add.outer(np.arange(40.0), np.arange(40.0)) / 80
    missing = mask((4, 40, 4, 40), shape=(40, 40))
    with pytest.raises(ValueError, match="mask: too little is known"):
        inpaint(image, missing, fill="copy")
    np.testing.assert_array_equal(inpaint(image, missing), inpaint(image, missing, fill="smooth"))
