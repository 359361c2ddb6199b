"""The noise of an image, found in it alone."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image
from repairs import noise
from scipy.ndimage import zoom
from skimage import data

import cosparse
from cosparse import Correlated, Gaussian, Map, PoissonGaussian, denoise, estimate_noise, estimate_sigma, psnr
from cosparse.reconstruction.estimation import blocks_noise
from cosparse.reconstruction.flat_blocks import mosaic

PLAIN = np.add.outer(np.linspace(20, 80, 128), np.linspace(20, 120, 128))


def saved(picture, quality):
    """As a JPEG, and read again."""
    file = io.BytesIO()
    Image.fromarray(np.rint(np.clip(picture, 0, 255)).astype(np.uint8)).save(file, "JPEG", quality=quality)
    return np.asarray(Image.open(file))


@pytest.mark.parametrize("sigma", [1, 5, 25, 50])
@pytest.mark.parametrize("name", ["plain", "camera", "brick"])
def test_white_noise_is_found_under_texture(name, sigma):
    clean = PLAIN if name == "plain" else getattr(data, name)()[100:300, 100:300].astype(float)
    found = estimate_noise(clean + noise(clean.shape, sigma), data_range=255)
    assert isinstance(found, Gaussian)
    assert found.sigma == pytest.approx(sigma, rel=0.06, abs=0.25)
    assert found.confidence > 0.7


@pytest.mark.slow
@pytest.mark.parametrize("name", ["grass", "gravel", "brick", "chelsea"])
def test_texture_is_not_taken_for_noise(name):
    """Fur, stones and grass stay as they are: 45 dB and more of a clean picture are kept."""
    clean = getattr(data, name)()[:256, :256]
    axis = -1 if clean.ndim == 3 else None
    assert cosparse.psnr(clean, cosparse.denoise(clean, channel_axis=axis, quality="fast")) > 45


@pytest.mark.parametrize("quality", [90, 75])
def test_noise_that_jpeg_has_taken_the_finest_part_of(quality):
    clean = data.camera()[:256, 100:356].astype(float)
    found = estimate_noise(saved(clean + noise(clean.shape, 12.75), quality))
    assert 11 < found.sigma < 20


def test_noise_of_colours_that_jpeg_has_taken():
    """Chroma has lost its noise to 4:2:0 and coarse steps, luma has not."""
    clean = data.astronaut()[:256, :256].astype(float)
    found = estimate_noise(saved(clean + noise(clean.shape, 12.75), 85), channel_axis=-1)
    assert 11 < found.sigma < 20


def test_noise_that_was_enlarged():
    """Hardly any of it is at the finest scale. Neighbours share it, and as one level it is that of low frequencies."""
    small = np.random.default_rng(0).standard_normal((129, 129))
    large = zoom(small, 2, order=1)[:256, :256]
    clean = data.camera()[:256, 100:356]
    noisy = clean + 13 * large / large.std()
    found = estimate_noise(noisy, data_range=255)
    assert isinstance(found, Correlated) and found.sigma == pytest.approx(13, rel=0.15)
    as_white = estimate_noise(noisy, "gaussian", data_range=255)
    assert isinstance(as_white, Gaussian) and 18 < as_white.sigma < 32
    by_both = (denoise(noisy, noise=one, data_range=255, quality="fast") for one in (None, as_white))
    smooth, white = (psnr(clean, result, data_range=255) for result in by_both)
    assert smooth > white + 1


def test_channels_have_spectra_of_their_own_noise():
    """Their mean has less, if it is not shared."""
    streaks = Correlated(9.0, kernel=np.ones((1, 5)))
    planes = np.stack([streaks.sample(PLAIN, seed) for seed in range(3)], axis=-1)
    found = estimate_noise(planes, "correlated", channel_axis=-1, data_range=255)
    assert found.sigma == pytest.approx(estimate_noise(planes[..., 0], "correlated", data_range=255).sigma, rel=0.15)


@pytest.mark.slow
def test_photon_noise_is_told_from_white_noise():
    clean = data.camera()[60:316, 60:316].astype(float)
    found = estimate_noise(PoissonGaussian(4.0, 6.0).sample(clean, 0), data_range=255)
    assert isinstance(found, PoissonGaussian)
    assert found.gain == pytest.approx(4.0, rel=0.1) and found.read == pytest.approx(6.0, rel=0.35)
    coloured = PoissonGaussian((2.0, 4.0), 5.0).sample(np.stack([clean, clean], -1), 1)
    both = estimate_noise(coloured, "poisson-gaussian", channel_axis=-1, data_range=255)
    assert both.gain == pytest.approx((2.0, 4.0), rel=0.15)


def test_saturated_pixels_do_not_count():
    clean = np.concatenate([np.full((128, 64), 2.0), PLAIN, np.full((128, 64), 254.0)], axis=1)
    seen = np.clip(np.rint(clean + noise(clean.shape, 12)), 0, 255).astype(np.uint8)
    assert estimate_noise(seen).sigma == pytest.approx(12, rel=0.07)


def test_a_map_follows_the_noise():
    levels = 4 + 26 * np.hypot(*np.mgrid[-1:1:256j, -1:1:256j])
    clean = data.camera()[:256, 100:356]
    found = estimate_noise(clean + noise(clean.shape, 1) * levels, "map", data_range=255)
    assert isinstance(found, Map) and found.sigma.shape == clean.shape
    assert np.sqrt(np.mean(np.log(found.sigma / levels) ** 2)) < 0.15


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
def test_any_type_in_its_own_units(dtype):
    white = {np.uint8: 255, np.uint16: 65535}.get(dtype, 1.0)
    values = np.clip(PLAIN + noise(PLAIN.shape, 9), 0, 255) * (white / 255)
    found = estimate_noise((np.rint(values) if white > 1 else values).astype(dtype))
    assert found.sigma == pytest.approx(9 * white / 255, rel=0.06)


@pytest.mark.parametrize("model", ["gaussian", "poisson-gaussian"])
def test_scale_and_shift_do_not_matter(model):
    noisy = PoissonGaussian(2.0, 4.0).sample(PLAIN, 0)
    first = estimate_noise(noisy, model, data_range=255)
    other = estimate_noise(4 * noisy + 1000, model, data_range=4 * 255)
    np.testing.assert_allclose(other.variance(4 * PLAIN + 1000), 16 * first.variance(PLAIN), rtol=0.02)


def test_the_same_every_time_and_from_the_blocks_alone():
    noisy = PLAIN + noise(PLAIN.shape, 9)
    first, again = (estimate_noise(noisy, data_range=255) for _ in range(2))
    assert first.sigma == again.sigma and first.confidence == again.confidence
    assert blocks_noise(mosaic(noisy), "auto", 255.0, None).sigma == first.sigma


@pytest.mark.slow
def test_pages_share_a_noise():
    pages = np.stack([PLAIN + noise(PLAIN.shape, 8), PLAIN[::-1] + noise(PLAIN.shape, 8)[::-1]])
    assert estimate_noise(pages, data_range=255).sigma == pytest.approx(8, rel=0.06)
    assert estimate_noise(pages, "map", data_range=255).sigma.shape == pages.shape
    photons = PoissonGaussian(3.0, 4.0).sample(np.stack([PLAIN, PLAIN.T]), 0)
    assert estimate_noise(photons, data_range=255).gain == pytest.approx(3.0, rel=0.15)


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (40, 2), (7, 9), (23, 50), (24, 24), (30, 30, 3)])
@pytest.mark.parametrize("model", ["auto", "gaussian", "poisson-gaussian", "map"])
def test_pictures_of_any_size_and_constants(shape, model):
    axis = -1 if len(shape) == 3 else None
    flat = estimate_noise(np.full(shape, 0.3), model, channel_axis=axis)
    assert flat.sigma == 0
    rough = estimate_noise(0.5 + noise(shape, 0.1), model, channel_axis=axis)
    assert 0 <= rough.confidence <= 1
    if min(shape[:2]) > 20:
        assert rough.variance(np.full(shape, 0.5)).mean() ** 0.5 == pytest.approx(0.1, rel=0.35)


@pytest.mark.slow
def test_denoise_uses_what_is_found():
    clean = data.camera()[60:316, 60:316].astype(float)
    counts = PoissonGaussian(8.0, 3.0).sample(clean, 0)
    found = estimate_noise(counts, data_range=255)
    options = {"data_range": 255, "quality": "fast"}
    np.testing.assert_array_equal(cosparse.denoise(counts, **options), cosparse.denoise(counts, noise=found, **options))
    level = estimate_sigma(counts, data_range=255)
    told, single = (cosparse.denoise(counts, sigma, **options) for sigma in (None, level))
    assert cosparse.psnr(clean, told, data_range=255) > cosparse.psnr(clean, single, data_range=255) + 0.5


def test_unknown_models_are_refused():
    with pytest.raises(ValueError, match="model: expected one of auto, gaussian"):
        estimate_noise(PLAIN, "laplace", data_range=255)


def test_pages_of_several_levels_have_their_mean():
    levels = np.array([5.0, 15.0])
    pages = np.stack([PLAIN + level * np.random.default_rng(0).standard_normal(PLAIN.shape) for level in levels])
    each = [estimate_noise(page, model="gaussian", data_range=255.0).sigma for page in pages]
    assert estimate_noise(pages, model="gaussian", data_range=255.0).sigma == pytest.approx(np.mean(each))
