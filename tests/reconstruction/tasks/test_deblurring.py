"""Deblurring with a known point spread function."""

from __future__ import annotations

import numpy as np
import pytest
from repairs import noise
from scipy.ndimage import convolve

from cosparse import PoissonGaussian, deblur, psnr
from cosparse.reconstruction import measurement


@pytest.mark.parametrize("border, mode", [("replicate", "nearest"), ("periodic", "wrap")])
@pytest.mark.parametrize(
    "kernel", [measurement.gaussian_kernel(1.6), np.ones((9, 9)), np.ones((2, 4))], ids=["gaussian", "box", "even"]
)
def test_deblurring_gains(border, mode, kernel, clean):
    blurred = convolve(clean, kernel / kernel.sum(), mode=mode) + noise(clean.shape, 2 / 255)
    for sigma in (2 / 255, None):
        sharp = deblur(blurred, kernel, sigma=sigma, border=border)
        assert psnr(clean, sharp) > psnr(clean, blurred) + 2


def test_kernels_have_names(clean):
    blurred = convolve(clean, measurement.gaussian_kernel(1.5), mode="nearest")
    expected = deblur(blurred, measurement.gaussian_kernel(1.5), sigma=0.01)
    np.testing.assert_array_equal(deblur(blurred, "gaussian:1.5", sigma=0.01), expected)


def test_photons_are_taken_for_a_map_of_levels(clean):
    photons = PoissonGaussian(gain=0.01, read=0.01)
    kernel = measurement.gaussian_kernel(1.2)
    blurred = photons.sample(convolve(clean[:48, :48], kernel, mode="nearest"), rng=0)
    found = deblur(blurred, kernel, noise=photons, quality="fast")
    assert psnr(clean[:48, :48], found) > psnr(clean[:48, :48], blurred) + 1
