"""PSNR and SSIM against their formulas."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from cosparse import psnr, ssim


@pytest.fixture(scope="module")
def pair(photograph):
    noise = np.random.default_rng(0).normal(0, 20, photograph.shape)
    return photograph, np.clip(photograph + noise, 0, 255).round().astype(np.uint8)


def test_psnr_by_hand_and_without_wrapping_around():
    a, b = np.array([[0, 255]], np.uint8), np.array([[1, 253]], np.uint8)
    assert psnr(a, b) == psnr(b, a) == pytest.approx(10 * np.log10(255**2 / 2.5))
    assert psnr(a, a) == np.inf


def test_psnr_does_not_depend_on_the_units(pair):
    a, b = pair
    expected = psnr(a, b)
    assert psnr(a / 255, b / 255) == pytest.approx(expected)
    assert psnr(a * np.uint16(257), b * np.uint16(257)) == pytest.approx(expected)
    assert psnr(a.astype(float), b.astype(float), data_range=255) == pytest.approx(expected)


def test_ssim_is_that_of_wang_2004(pair):
    """11x11 Gaussian of 1.5, population moments, the border of five pixels left out."""
    a, b = (image.astype(float) for image in pair)

    def mean(image):
        return gaussian_filter(image, 1.5, truncate=3.5)  # 3.5 · 1.5 rounds to a radius of 5

    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    ma, mb = mean(a), mean(b)
    va, vb, cov = mean(a * a) - ma**2, mean(b * b) - mb**2, mean(a * b) - ma * mb
    local = (2 * ma * mb + c1) * (2 * cov + c2) / ((ma**2 + mb**2 + c1) * (va + vb + c2))
    assert ssim(*pair) == pytest.approx(local[5:-5, 5:-5].mean(), rel=1e-6)


def test_ssim_of_colour_is_the_mean_over_channels(pair):
    a, b = (np.stack([image, image[::-1], image.T]) for image in pair)
    expected = np.mean([ssim(x, y) for x, y in zip(a, b, strict=True)])
    assert ssim(a, b, channel_axis=0) == pytest.approx(expected)
    assert ssim(np.moveaxis(a, 0, -1), np.moveaxis(b, 0, -1), channel_axis=-1) == pytest.approx(expected)


@pytest.mark.parametrize("metric", [psnr, ssim])
def test_what_cannot_be_compared_is_named(metric):
    with pytest.raises(ValueError, match="shapes differ"):
        metric(np.zeros((20, 20)), np.zeros((20, 21)))
    with pytest.raises(ValueError, match="empty"):
        metric(np.zeros((0, 20)), np.zeros((0, 20)))
    with pytest.raises(ValueError, match="^a: .*range"):
        metric(np.zeros((20, 20), int), np.zeros((20, 20), int))


def test_ssim_needs_a_window():
    for shape, axis in (((10, 20), None), ((3, 20, 10), 0), ((10, 20, 3), -1)):
        with pytest.raises(ValueError, match="11x11"):
            ssim(np.zeros(shape), np.zeros(shape), channel_axis=axis)


@pytest.mark.parametrize("measure", [psnr, ssim])
def test_images_on_different_scales_are_not_compared(measure, photograph):
    for other in (photograph / 255, photograph.astype(np.uint16)):
        with pytest.raises(ValueError, match="^a, b: .*different ranges"):
            measure(photograph, other)
        with pytest.raises(ValueError, match="^a, b: .*different ranges"):
            measure(other, photograph)
    assert measure(photograph, photograph.astype(float), data_range=255) in (1.0, float("inf"))


@pytest.mark.parametrize("measure", [psnr, ssim])
@pytest.mark.parametrize("span", [0, -1.0, float("nan"), float("inf")])
def test_the_data_range_is_positive(measure, span, photograph):
    with pytest.raises(ValueError, match="^data_range: "):
        measure(photograph, photograph, data_range=span)
