"""Denoising: what it gains, and from whom."""

from __future__ import annotations

import numpy as np
import pytest
from repairs import noise

from cosparse import AnalysisOperator, denoise, psnr


@pytest.mark.parametrize("sigma, gain", [(10, 4.5), (25, 7.5), (50, 10)])
@pytest.mark.parametrize("quality", ["fast", "balanced", "best"])
def test_denoising_gains(sigma, gain, quality, clean):
    noisy = clean + noise(clean.shape, sigma / 255)
    given = psnr(clean, denoise(noisy, sigma / 255, quality=quality))
    assert given > psnr(clean, noisy) + gain
    assert psnr(clean, denoise(noisy, quality=quality)) > given - 0.3  # sigma estimated


@pytest.mark.parametrize("sigma", [10, 25, 50])
def test_the_learned_operator_beats_the_dct_it_could_have_been(sigma, photograph):
    image = photograph / 255
    noisy = image + noise(image.shape, sigma / 255)
    learned = psnr(image, denoise(noisy, sigma / 255))
    for factor in (0.7, 1.0, 1.4):  # the cosines may choose their weight
        operator = AnalysisOperator.dct(8)
        assert learned > psnr(image, denoise(noisy, sigma / 255, operator=operator, weight=factor))


def test_colour_gains_from_its_channels(colour):
    image = colour / 255
    noisy = image + noise(image.shape, 0.1)
    together = denoise(noisy, 0.1, channel_axis=-1)
    alone = np.stack([denoise(noisy[..., c], 0.1) for c in range(3)], axis=-1)
    assert psnr(image, together) > psnr(image, alone) + 0.3
