"""Noise told from texture by the energies of blocks."""

from __future__ import annotations

import numpy as np
import pytest

from cosparse.reconstruction.flat_blocks import (
    BANDS,
    MOST,
    SIDE,
    band_energies,
    band_level,
    blocks_of,
    coefficients,
    cut_off,
    mosaic,
    noise_level_of,
    sampled,
)

FREEDOM = 28


def energies(variances, seed=0):
    """Means of so many squares of normal deviates."""
    rng = np.random.default_rng(seed)
    return variances * rng.chisquare(FREEDOM, np.shape(variances)) / FREEDOM


@pytest.mark.parametrize("textured", [0.0, 0.5, 0.8])
def test_noise_is_what_all_blocks_share(textured):
    """However many of them have texture beside it, and however strong."""
    rng = np.random.default_rng(1)
    texture = np.where(rng.random(600) < textured, np.exp(rng.normal(2, 1, 600)), 0)
    level = noise_level_of(energies(9.0 + texture), FREEDOM)
    assert level.sigma == pytest.approx(3.0, rel=0.12)
    assert 0 < level.error < 0.4


def test_texture_alone_is_no_noise():
    """Energies that differ more than those of noise: their least says nothing."""
    level = noise_level_of(energies(np.exp(np.random.default_rng(0).normal(3, 0.8, 2000))), FREEDOM)
    assert level.surely() < 1.0 < np.exp(1.5)


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_levels_follow_the_scale(factor):
    some = energies(np.full(300, 4.0))
    first, scaled = (noise_level_of(times * some, FREEDOM).sigma for times in (1, factor**2))
    assert scaled == pytest.approx(factor * first)


def test_nothing_is_said_of_nothing():
    assert noise_level_of(np.zeros(100), FREEDOM).sigma == 0
    assert noise_level_of(np.zeros(0), FREEDOM).sigma == 0


def test_white_noise_is_the_same_in_all_bands():
    found = band_energies(coefficients(blocks_of(mosaic(7 * np.random.default_rng(0).standard_normal((200, 180))))))
    levels = [band_level(found, band).sigma for band in range(len(BANDS))]
    np.testing.assert_allclose(levels[1:], 7, rtol=0.08)
    assert levels[0] == pytest.approx(7, rel=0.2)  # of only seven coefficients


def test_blocks_cover_small_pictures_and_sample_large_ones():
    for side in (SIDE, 24, 181, 5000):
        rows = sampled(side).reshape(-1, SIDE)
        assert len(rows) <= MOST and rows[0, 0] == 0 and rows[-1, -1] == side - 1
        assert (np.diff(rows, axis=1) == 1).all()
    assert set(sampled(60)) == set(range(60))


def test_blocks_with_values_cut_off_are_left_out():
    plane = np.random.default_rng(0).normal(10, 10, (96, 96)).astype(np.float32)
    clipped = plane.copy()
    clipped[:, :48] = clipped[:, :48].clip(5)
    clipped[:, 48:] += 100
    assert cut_off(clipped) == (5.0, np.inf)
    assert cut_off(plane) == (-np.inf, np.inf)
    assert blocks_of(mosaic(clipped)).min() > 5
    np.testing.assert_array_equal(blocks_of(np.zeros((64, 64))), np.zeros((64, 8, 8)))
