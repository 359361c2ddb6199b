"""The noise of an image, given or estimated."""

from __future__ import annotations

import numpy as np
import pytest
from repairs import REPAIRS, noise

import cosparse
from cosparse import estimate_sigma


@pytest.mark.parametrize("sigma", [5, 25, 50])
def test_noise_is_estimated(sigma, photograph):
    noisy = photograph + noise(photograph.shape, sigma)
    assert estimate_sigma(noisy, data_range=255) == pytest.approx(sigma, rel=0.15)
    assert estimate_sigma(noisy / 255) == pytest.approx(sigma / 255, rel=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("task", ["denoise", "deblur"])
@pytest.mark.parametrize("shift", [0, 1])
def test_every_page_has_a_noise_of_its_own(task, shift, colour):
    """Estimated: little, much, none at all. The last keeps every bit of its double precision."""
    page = colour[:20, :24] / 255
    pages = np.stack([page + noise(page.shape, 0.02), page + noise(page.shape, 0.2), np.full_like(page, 1 / 3)])
    axis = -1 if shift else None
    pages = pages if shift else pages[..., 0]
    options = {"sigma": None, "channel_axis": axis}
    expected = np.stack([REPAIRS[task](page, **options) for page in pages])
    np.testing.assert_array_equal(REPAIRS[task](pages, **options), expected)
    levels = [estimate_sigma(page, channel_axis=axis) for page in pages]
    assert levels[1] > 5 * levels[0] > 5 * levels[2] == 0
    if shift:
        options["channel_axis"] = 0
        first = REPAIRS[task](np.moveaxis(pages, -1, 0), **options)
        np.testing.assert_array_equal(np.moveaxis(first, 0, -1), expected)


@pytest.mark.parametrize("sigma", [1e-300, 2e-227, 1e-40, 1e-14])
def test_a_level_of_next_to_nothing_is_none(sigma):
    """Not a division by it."""
    image = np.linspace(0, 1, 120).reshape(10, 12)
    for model in (cosparse.Gaussian(sigma), cosparse.PoissonGaussian(gain=sigma**2 or sigma, read=sigma)):
        np.testing.assert_allclose(cosparse.denoise(image, noise=model, quality="fast"), image, atol=1e-9)
