"""Pieces of other light meet what is about them; nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest

from cosparse.reconstruction.blending import blended


@pytest.fixture
def copied():
    """A texture of two channels with a hole that a piece from elsewhere fills, and where that came from."""
    image = np.random.default_rng(0).normal(120, 12, (60, 90, 2)).astype(np.float32)
    gap = np.zeros(image.shape[:2], bool)
    gap[20:40, 10:34] = True
    origins = np.full((*gap.shape, 2), -1, np.int32)
    origins[gap] = np.add(np.argwhere(gap), (0, 40))
    image[18:42, 48:76] = image[18:42, 8:36]  # where it fits
    return image, gap, origins


def test_a_piece_that_fits_stays_as_it_is(copied):
    image, gap, origins = copied
    np.testing.assert_array_equal(blended(image, gap, origins), image)


def test_a_step_of_light_is_spread(copied):
    image, gap, origins = copied
    truth = image.copy()
    image[20:40, 10:22] += 16
    image[20:40, 22:34, 1] -= 10  # two pieces, each lighter or darker than what they continue
    origins[20:40, 22:34] += [1, 0]
    found = blended(image, gap, origins)
    np.testing.assert_array_equal(found[~gap], image[~gap])

    def apart(picture):
        """From what the piece's own gradients would have at the left rim, where the difference is the light alone."""
        return np.abs((picture - truth)[20:40, 10]).mean(axis=0)

    assert (apart(found) < 0.25 * apart(image)).all()
    inside = np.abs(np.diff(found - image, axis=1)[24:36, 12:20])
    assert inside.max() < 4  # what is taken away is smooth
    more = blended(image + 30, gap, origins)
    np.testing.assert_allclose(more, found + 30, atol=0.02)


def test_a_hole_at_the_border_of_the_picture(copied):
    image, gap, origins = copied
    gap[20:40, :10] = True
    origins[20:40, :10] = np.add(np.argwhere(np.ones((20, 10))), (20, 40)).reshape(20, 10, 2)
    found = blended(image, gap, origins)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found[~gap], image[~gap])
