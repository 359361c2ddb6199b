"""Gain and read noise from variances against brightness."""

from __future__ import annotations

import numpy as np
import pytest

import cosparse
from cosparse.reconstruction.flat_blocks import blocks_of, coefficients, mosaic
from cosparse.reconstruction.photons import fit_line

SHADES = np.add.outer(np.linspace(0, 90, 256), np.linspace(15, 110, 256))


def line_of(image, **more):
    return fit_line(coefficients(blocks_of(mosaic(np.asarray(image, np.float32)))), **more)


@pytest.mark.slow
@pytest.mark.parametrize(("gain", "read"), [(1.0, 5.0), (4.0, 10.0)])
def test_gain_and_read_noise(gain, read):
    found = line_of(cosparse.PoissonGaussian(gain, read).sample(SHADES, 0))
    assert found.parameters() == pytest.approx((gain, read, 0), rel=0.1)
    assert found.evidence > 60 and found.ratio > 1.6 and found.error < 0.1


def test_a_sensor_with_an_offset_has_a_line_that_meets_zero_there():
    gain, read, offset = line_of(cosparse.PoissonGaussian(3.0, 0.0).sample(SHADES, 0) + 100).parameters()
    assert gain == pytest.approx(3.0, rel=0.1) and read == 0
    assert offset == pytest.approx(100, abs=5)


@pytest.mark.slow
def test_an_intercept_a_little_below_zero_is_zero():
    for seed in range(2):
        assert line_of(cosparse.PoissonGaussian(5.0).sample(SHADES, seed)).intercept >= 0


def test_white_noise_is_no_evidence_of_photons():
    found = line_of(SHADES + 8 * np.random.default_rng(0).standard_normal(SHADES.shape))
    assert found.evidence < 10
    assert found.ratio == pytest.approx(1, abs=0.1)


def test_one_brightness_says_nothing():
    assert line_of(np.full((64, 64), 7.0)) is None
