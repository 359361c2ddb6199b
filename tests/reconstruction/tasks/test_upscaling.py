"""Upscaling: better than interpolation."""

from __future__ import annotations

import numpy as np
import pytest
from repairs import noise
from scipy.ndimage import convolve

from cosparse import deblur, psnr, upscale
from cosparse.reconstruction import measurement
from cosparse.reconstruction.start import enlarge


@pytest.mark.parametrize("factor, gain", [(2, 1.5), (3, 1.0), (4, 0.7)])
def test_upscaling_beats_bicubic(factor, gain, clean):
    A = measurement.downsampling(factor, clean.shape)
    small = A.matvec(clean.ravel()).reshape(A.data_shape)
    bicubic = enlarge(small.astype(np.float32), factor)
    assert psnr(clean, upscale(small, factor)) > psnr(clean, bicubic) + gain
    noisy = small + noise(small.shape, 8 / 255)
    bicubic = enlarge(noisy.astype(np.float32), factor)
    assert psnr(clean, upscale(noisy, factor, sigma=8 / 255)) > psnr(clean, bicubic) + 0.3


def test_what_rings_stays_in_range():
    """Black and white bars: without limits both go past the range at every edge."""
    bars = np.kron(np.arange(8) % 2, np.ones((48, 6)))
    kernel = np.ones((1, 5)) / 5
    blurred = convolve(bars, kernel, mode="nearest")
    for result in (deblur(blurred, kernel, sigma=0.01), upscale(bars[::2, ::2], 2)):
        assert result.min() == 0 and result.max() == 1
