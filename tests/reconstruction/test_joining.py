"""Copied pieces are joined where they disagree, and hardly touched elsewhere."""

from __future__ import annotations

import numpy as np

from cosparse import load_operator
from cosparse.reconstruction.joining import disagreement, joined


def from_right(gap, columns):
    """Origins of a gap, so many columns to the right."""
    places = np.moveaxis(np.indices(gap.shape), 0, -1) + np.array([0, columns])
    return np.where(gap[..., None], places, -1).astype(np.int32)


def test_pieces_disagree_where_they_meet_if_they_do():
    image = np.tile(np.arange(12, dtype=np.float32), (24, 2))[..., None] * 3  # repeats every 12 columns
    gap = np.zeros((24, 24), bool)
    gap[8:16, 2:10] = True
    origins = from_right(gap, 12)
    origins[8:12, 2:10, 0] -= 5  # of other rows that are the same
    np.testing.assert_array_equal(disagreement(image, gap, origins), 0)
    image[12:16, 2:10] += 7  # a piece that is lighter
    found = disagreement(image, gap, origins)
    np.testing.assert_allclose(found[11:13, 2:10], 7)
    np.testing.assert_allclose(found[13:15, [2, 9]], 7)  # along the rim
    assert not found[9:11, 3:9].any() and not found[13:15, 3:9].any() and not found[~gap].any()


def test_a_step_at_a_seam_is_smoothed_and_texture_stays(clean):
    truth = (clean[:60, :60, None] * 255).astype(np.float32)
    image = np.hstack([truth] * 3)
    gap = np.zeros(image.shape[:2], bool)
    gap[20:40, 20:40] = True
    origins = from_right(gap, 60)
    origins[20:40, 30:40, 1] += 60  # another piece, which fits
    image[29:31, [30, 150]] += 60  # but for its edge
    box = (slice(20, 40), slice(20, 40))
    found = joined(image, gap, origins, box, (load_operator("default"), "balanced", (0.0, 255.0)))
    assert np.abs(found - truth[box])[9:11, 10].mean() < 0.5 * 60
    assert np.abs(found - truth[box])[2:8, 2:8].mean() < 2
