"""A picture with a hole at several scales."""

from __future__ import annotations

import numpy as np

from cosparse.reconstruction.scales import REACH, Scale, _texture, copyable, pyramid, touching


def test_nothing_of_the_hole_is_seen_at_any_scale():
    """Whatever stands in the hole, known pixels of all scales are the same, and none is copied from it."""
    rng = np.random.default_rng(0)
    image = rng.random((200, 220, 2)).astype(np.float32) * 255
    gap = np.zeros((200, 220), bool)
    gap[60:110, 90:150] = True
    other = np.where(gap[..., None], np.float32(1e4), image)
    levels = [pyramid(one, gap, ~gap) for one in (image, other)]
    assert len(levels[0]) == len(levels[1]) == 3
    for (one, hole, source), (two, same, _) in zip(*levels, strict=True):
        np.testing.assert_array_equal(hole, same)
        np.testing.assert_allclose(one[~hole], two[~hole], rtol=1e-5)
        assert not (source & hole).any()


def test_patches_to_copy_lie_wholly_in_the_source():
    source = np.zeros((30, 30), bool)
    source[5:20, 8:25] = True
    rows, columns = np.nonzero(copyable(source))
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (5 + REACH, 19 - REACH, 8 + REACH, 24 - REACH)
    touched = touching(~source)
    assert not touched[rows, columns].any()


def test_a_scale_counts_each_patch_once():
    gap = np.zeros((40, 40), bool)
    gap[:9, 10:20] = True  # at the border
    scale = Scale(np.zeros((40, 40, 3), np.float32), gap, ~gap, 1)
    np.testing.assert_array_equal(scale.index[tuple(scale.centres.T)], np.arange(len(scale.centres)))
    assert (scale.centres >= REACH).all()
    assert scale.slack.tolist() == [scale.slack[0], 0, 0]


def test_texture_is_that_of_known_neighbours_alone():
    image, known = np.full((20, 20, 1), 100, np.float32), np.ones((20, 20), bool)
    known[9, 8] = False
    image[~known] = 255
    assert not _texture(image, known)[2:-2, 2:-2].any()
