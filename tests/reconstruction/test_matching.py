"""Matching and voting: in a picture that repeats, a hole is found again."""

from __future__ import annotations

import numpy as np

from cosparse.reconstruction.matching import _most_like, _weights, finer_origins, first_origins, settle
from cosparse.reconstruction.scales import Scale, pyramid


def tiled(seed, size, period):
    """A picture of one random tile again and again."""
    tile = np.random.default_rng(seed).integers(0, 256, (period, period, 1)).astype(np.float32)
    return np.tile(tile, (-(-size // period), -(-size // period), 1))[:size, :size]


def test_what_repeats_is_restored_at_one_scale():
    truth = tiled(0, 70, 9)
    gap = np.zeros((70, 70), bool)
    gap[28:40, 30:44] = True
    (image, _, source), *_ = pyramid(np.where(gap[..., None], 0, truth), gap, ~gap)
    scale = Scale(image, gap, source, 1)
    bias = np.zeros(gap.shape, np.float32)
    origins, places = settle(scale, first_origins(scale, bias), bias, 3, lambda: True)
    np.testing.assert_allclose(scale.image[..., :1][gap], truth[gap], atol=1)
    offsets = (origins - scale.centres) % 9
    assert (offsets == 0).all(axis=1).mean() > 0.95
    assert ((places - scale.pixels) % 9 == 0).all(axis=1).mean() > 0.95
    assert scale.source[places[:, 0], places[:, 1]].all()


def test_patches_in_the_middle_of_a_very_deep_hole_still_count():
    gap = np.zeros((740, 740), bool)
    gap[10:730, 10:730] = True
    scale = Scale(np.zeros((740, 740, 1), np.float32), gap, ~gap, 1)
    weights = _weights(scale, np.ones(len(scale.centres), np.float32))
    assert scale.depth.max() > 350 and weights.min() > 1e-30


def test_finer_origins_point_where_the_coarse_ones_do():
    rng = np.random.default_rng(1)
    gap = np.zeros((96, 96), bool)
    gap[40:64, 40:64] = True
    image = np.where(gap[..., None], 0, rng.random((96, 96, 1)).astype(np.float32) * 255)
    fine, coarse = (Scale(one, hole, source, 1) for one, hole, source in pyramid(image, gap, ~gap))
    sources = np.argwhere(coarse.usable)
    origins = sources[rng.integers(0, len(sources), len(coarse.centres))].astype(np.int32)
    found = finer_origins(fine, coarse, origins)
    assert fine.usable[found[:, 0], found[:, 1]].all()
    parents = origins[coarse.index[tuple((fine.centres // 2).T)]]
    assert (np.abs(found - 2 * parents).max(axis=1) <= 3).mean() > 0.8


def test_what_is_not_trusted_hardly_counts():
    """Of two patches the one that fits where the target is known, though the other fits its guess."""
    rng = np.random.default_rng(2)
    image = rng.random((30, 40, 1)).astype(np.float32) * 255
    gap = np.zeros((30, 40), bool)
    gap[12:18, 12:18] = True
    scale = Scale(image, gap, ~gap, 1)
    target = np.array([[11, 11]], np.int32)
    patch = image[8:15, 8:15].copy()
    fits_known, fits_guess = patch.copy(), patch.copy()
    fits_known[-3:, -3:] += 100
    fits_guess[:4] += 60
    fits_guess[:4, ::2] -= 120
    trust = np.where(gap, np.float32(0.02), np.float32(1))
    found, _ = _most_like(scale, target, trust, np.stack([fits_guess, fits_known]), np.zeros(2, np.float32))
    assert found.tolist() == [1]
