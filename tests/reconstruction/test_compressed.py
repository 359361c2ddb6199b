"""JPEGs, seen in their pixels, and how noisy they are."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image
from repairs import noise
from skimage import data

from cosparse import Gaussian, estimate_noise
from cosparse.jpeg import YCC, Jpeg
from cosparse.reconstruction.compressed import compressed_level, steps_of, zeros_of
from cosparse.reconstruction.flat_blocks import coefficients


def saved(picture, quality):
    """As a JPEG, and read again."""
    file = io.BytesIO()
    Image.fromarray(np.rint(np.clip(picture, 0, 255)).astype(np.uint8)).save(file, "JPEG", quality=quality)
    return np.asarray(Image.open(file))


@pytest.mark.parametrize("sigma", [0, 5, 20])
@pytest.mark.parametrize("quality", [75, 90])
def test_a_jpeg_is_seen_in_its_pixels(quality, sigma):
    noisy = data.brick()[:256, :256] + noise((256, 256), sigma)
    compressed = saved(noisy, quality).astype(float)
    assert zeros_of(compressed).jpeg
    assert not zeros_of(np.rint(noisy)).jpeg
    assert not zeros_of(compressed[2:, 3:]).jpeg  # cropped since


def test_what_says_nothing_is_no_jpeg():
    for plane in (np.zeros((64, 64)), np.zeros((1, 1)), np.ones((9, 300)), noise((12, 12), 1)):
        assert not zeros_of(plane).jpeg


@pytest.mark.parametrize("quality", [60, 75, 90])
@pytest.mark.parametrize("name", ["camera", "astronaut"])
def test_the_steps_of_a_jpeg_are_found_in_its_coefficients(name, quality):
    picture = getattr(data, name)()[:256, :256]
    noisy = saved(picture + noise(picture.shape, 8), quality).astype(float)
    luma = noisy if noisy.ndim == 2 else noisy @ YCC[0]
    inside = noisy.reshape(32, 8, 32, -1).transpose(0, 2, 1, 3).reshape(1024, -1)
    whole = (inside.min(axis=1) > 0) & (inside.max(axis=1) < 255)
    found = coefficients(luma.reshape(32, 8, 32, 8).swapaxes(1, 2).reshape(-1, 8, 8)[whole])
    steps, table = steps_of(found), Jpeg.standard(quality).quantization[0]
    shown = (np.abs(found) > 2).sum(axis=0) > 10  # those that are not nearly always zero
    assert np.mean((steps == table)[shown]) > 0.95
    assert np.mean(np.abs(np.log(steps / table)) < 0.6) > 0.95


@pytest.mark.parametrize("quality", [90, 75])
@pytest.mark.parametrize("sigma", [6, 12, 24])
def test_the_level_follows_the_noise(sigma, quality):
    """Though of a busy picture no block is flat, and nearly all fine coefficients are zero."""
    clean = data.gravel()[:256, :256].astype(float)
    found = compressed_level(saved(clean + noise(clean.shape, sigma), quality).astype(np.float32))
    assert 0.7 < found.sigma / sigma < 1.7


def test_photons_are_not_looked_for_in_a_jpeg():
    """Its steps leave more of the noise where there is more of it, as if it grew with brightness."""
    clean = np.tile(np.linspace(30, 220, 256), (256, 1))
    counts = clean + noise(clean.shape, 1) * np.sqrt(2 * clean)
    assert not isinstance(estimate_noise(counts, data_range=255), Gaussian)
    found = estimate_noise(saved(counts, 80))
    assert isinstance(found, Gaussian) and 10 < found.sigma < 30
