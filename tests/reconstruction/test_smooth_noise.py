"""Noise that was smoothed: its level and its width."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from cosparse.reconstruction.flat_blocks import BANDS, Level, band_energies, band_level, blocks_of, coefficients, mosaic
from cosparse.reconstruction.psf import gaussian_kernel
from cosparse.reconstruction.smooth_noise import FOUND, smooth_noise


def shares(kernel):
    """How much neighbours in a row share of noise that was filtered by a kernel."""
    padded = np.pad(kernel.astype(float), ((0, 0), (1, 1)))
    return (padded[:, 1:] * padded[:, :-1]).sum() / (padded**2).sum()


@pytest.mark.parametrize("width", [0.55, 0.85, 1.3])
@pytest.mark.parametrize("sigma", [3.0, 20.0])
def test_what_smoothed_noise_is_found_to_be(width, sigma):
    noise = gaussian_filter(np.random.default_rng(3).standard_normal((232, 232)), width)[20:-20, 20:-20]
    energies = band_energies(coefficients(blocks_of(mosaic(100 + sigma * noise / noise.std()))))
    found, error = smooth_noise([band_level(energies, band) for band in range(len(BANDS))])
    assert found.sigma == pytest.approx(sigma, rel=0.12) and 0 < error < 0.2 * sigma
    assert shares(found.kernel) == pytest.approx(shares(gaussian_kernel(width)), abs=0.05)


def test_the_table_is_what_it_finds_again():
    for width, *levels in FOUND[2:-1]:
        found, error = smooth_noise([Level(7 * level, 0.1 * level) for level in levels])
        assert found.sigma == pytest.approx(7, rel=0.02) and error < 1
        assert shares(found.kernel) == pytest.approx(shares(gaussian_kernel(width)), abs=0.01)


def test_white_noise_is_not_smooth_and_no_band_must_have_any():
    assert smooth_noise([Level(9.0, 0.3)] * 4) is None
    found, _ = smooth_noise([Level(9.0, 0.3), Level(4.0, 0.3), Level(0.0, 0.0), Level(0.0, 0.0)])
    assert 4 < found.sigma < 12
