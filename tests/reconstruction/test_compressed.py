"""JPEGs, seen in their pixels, and how noisy they are."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image
from repairs import noise
from skimage import data

from cosparse import Gaussian, estimate_noise
from cosparse.reconstruction.compressed import Zeros, compressed_level, zeros_of
from cosparse.reconstruction.flat_blocks import Level


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


def test_twice_the_noise_is_about_twice_the_level():
    found = [compressed_level([Level(s, 0.1 * s)] * 3 + [Level(0.3 * s, 0.03 * s)], Zeros(0.6, 0.1)) for s in (6, 12)]
    assert 4 < found[0].sigma < 12
    assert 1.5 < found[1].sigma / found[0].sigma < 3


def test_photons_are_not_looked_for_in_a_jpeg():
    """Its steps leave more of the noise where there is more of it, as if it grew with brightness."""
    clean = np.tile(np.linspace(30, 220, 256), (256, 1))
    counts = clean + noise(clean.shape, 1) * np.sqrt(2 * clean)
    assert not isinstance(estimate_noise(counts, data_range=255), Gaussian)
    found = estimate_noise(saved(counts, 80))
    assert isinstance(found, Gaussian) and 10 < found.sigma < 30
