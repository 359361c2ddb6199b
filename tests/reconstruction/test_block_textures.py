"""Noise beside textures: the line of variances where no block is flat, and in any unit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

import cosparse
from cosparse.reconstruction.block_textures import GROUPS, SIZES, group_energies, most_likely_line, textures
from cosparse.reconstruction.flat_blocks import blocks_of, coefficients, mosaic


def textured(contrast):
    """Bright on one side, dark on the other, rough everywhere: stronger where it is bright, as if it were photons."""
    rng = np.random.default_rng(5)
    rough = sum(gaussian_filter(rng.standard_normal((256, 256)), width) * width for width in (0.6, 1.5, 4.0))
    shades = np.tile(np.linspace(30, 200, 256), (256, 1))
    strength = gaussian_filter(np.exp(rng.standard_normal((256, 256)) * 8), 6)
    return shades * (1 + contrast * rough / rough.std() * strength / strength.mean())


def blocks(image):
    return coefficients(blocks_of(mosaic(np.asarray(image, np.float32))))


def test_groups_hold_every_coefficient_but_the_mean():
    assert sorted(np.unique(GROUPS)) == list(range(-1, len(SIZES)))
    assert SIZES.sum() == 63
    found = np.random.default_rng(0).standard_normal((20, 8, 8)).astype(np.float32)
    np.testing.assert_allclose(
        group_energies(found).sum(axis=1), (found**2).sum(axis=(1, 2)) - found[:, 0, 0] ** 2, 1e-4
    )


def test_kinds_of_texture_are_finer_the_weaker():
    variances, share = textures()
    assert variances.shape == (len(share), len(SIZES)) and (variances > 0).all()
    assert share.sum() == pytest.approx(1)
    assert np.median(variances[:, 0] / variances[:, -1]) > 30  # what is coarse is strong in photographs


@pytest.mark.parametrize("contrast", [0.0, 0.05])
def test_texture_is_no_noise(contrast):
    truth = cosparse.PoissonGaussian(2.0, 8.0)
    gain, intercept = most_likely_line(blocks(truth.sample(textured(contrast), 1)), (3.0, 100.0))
    assert gain == pytest.approx(2.0, rel=0.1)
    assert intercept == pytest.approx(64.0, rel=0.25)


def test_values_may_be_in_any_unit():
    noisy = cosparse.PoissonGaussian(2.0, 8.0).sample(np.tile(np.linspace(60, 150, 128), (128, 1)), 0)
    gain, intercept = most_likely_line(blocks(noisy), (1.0, 50.0))
    small = most_likely_line(blocks(noisy / 1000), (1e-3, 50e-6))
    assert small == pytest.approx((gain / 1000, intercept / 1e6), rel=0.01)


def test_an_intercept_is_below_zero_only_if_that_is_sure():
    dark = cosparse.PoissonGaussian(3.0, 0.0, 40.0).sample(np.tile(np.linspace(60, 200, 160), (160, 1)), 0)
    assert most_likely_line(blocks(dark), (3.0, -100.0))[1] == pytest.approx(-120, rel=0.25)
    light = cosparse.PoissonGaussian(3.0, 0.0).sample(textured(0.05), 0)
    assert most_likely_line(blocks(light), (3.0, -30.0))[1] == 0
