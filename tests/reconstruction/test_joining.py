"""Copied pieces are joined at their seams, and hardly touched elsewhere."""

from __future__ import annotations

import numpy as np

from cosparse import load_operator
from cosparse.reconstruction.joining import joined, seams


def test_seams_are_where_neighbours_come_from_apart():
    gap = np.zeros((20, 20), bool)
    gap[5:15, 5:15] = True
    origins = np.moveaxis(np.indices(gap.shape), 0, -1).astype(np.int32) + 40
    origins[:, 10:] += 7
    found = seams(gap, origins)
    assert found[5:15, 9:11].all() and found[5, 5:15].all() and found[5:15, 14].all()
    assert not found[7:13, 7:8].any() and not found[~gap].any()


def test_a_step_at_a_seam_is_smoothed_and_texture_stays(clean):
    image = (clean[:60, :60, None] * 255).astype(np.float32)
    gap = np.zeros((60, 60), bool)
    gap[20:40, 20:40] = True
    origins = np.moveaxis(np.indices(gap.shape), 0, -1).astype(np.int32)  # all of it fits
    origins[:, 30:] += 5
    off = image.copy()
    off[29:31, 29:31] += 60  # at the seam of two pieces
    box = (slice(20, 40), slice(20, 40))
    found = joined(off, gap, origins, box, (load_operator("default"), "balanced", (0.0, 255.0)))
    wrong = np.abs(found - image[box])[9:11, 9:11].mean()
    assert wrong < 0.5 * 60
    assert np.abs(found - image[box])[2:8, 2:8].mean() < 2
