"""The spectrum of noise, from a picture alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import zoom
from scipy.signal import fftconvolve
from skimage.data import camera

from cosparse import Correlated, Gaussian, denoise, psnr
from cosparse.reconstruction.spectrum import LARGEST, _fine_spectrum, _of_noise_alone, estimate_correlated


def streaked(clean, sigma=25.0):
    """With horizontal streaks of noise, not wrapped around the borders."""
    kernel = np.ones((1, 15)) / np.sqrt(15)
    white = np.random.default_rng(0).standard_normal((clean.shape[0], clean.shape[1] + 14))
    return clean + sigma * fftconvolve(white, kernel, mode="valid"), Correlated(sigma, kernel=kernel)


def test_noise_alone_is_seen_as_it_is():
    noisy, noise = streaked(np.full((160, 160), 100.0))
    found = estimate_correlated(noisy.astype(np.float32))
    assert found.sigma == pytest.approx(25, rel=0.15) and found.confidence > 0.9
    wanted, got = (one.spectrum((64, 64)) for one in (noise, found))
    assert np.corrcoef(wanted.ravel(), got.ravel())[0, 1] > 0.9


def test_white_noise_looks_white():
    noisy = 100 + 20 * np.random.default_rng(0).standard_normal((160, 160)).astype(np.float32)
    found = estimate_correlated(noisy)
    assert found.sigma == pytest.approx(20, rel=0.05)
    spectrum = found.spectrum((64, 64))
    assert spectrum.min() > 0.6 * 400 and spectrum.max() < 1.5 * 400


def test_resized_noise_is_seen():
    """White noise enlarged with the picture has no fine detail left that wavelets could see it in."""
    clean = camera()[100:260, 150:310].astype(float)
    noisy = zoom(clean + np.random.default_rng(0).normal(0, 13, clean.shape), 2, order=1)
    truth = (noisy - zoom(clean, 2, order=1)).std()
    found = estimate_correlated(noisy.astype(np.float32))
    assert found.sigma == pytest.approx(truth, rel=0.25)
    assert found.spectrum((64, 64))[32, 32] < 0.1 * truth**2


def test_a_narrow_band_does_not_leak_into_other_frequencies():
    """Diagonal waves, and where they have no power: there borders that do not fit each other would show."""
    rows, columns = np.mgrid[-30:31, -30:31]
    kernel = np.exp(-(rows**2 + columns**2) / 200) * np.cos(rows + columns)
    noise = fftconvolve(np.random.default_rng(0).standard_normal((316, 316)), kernel, mode="valid")
    got = _fine_spectrum(noise)
    wanted = Correlated(noise.std(), kernel=kernel).spectrum(got.shape)
    assert got[wanted < 1e-7 * wanted.max()].max() < 1e-4 * got.max()
    band = wanted > 1e-3 * wanted.max()
    assert np.abs(10 * np.log10(got / wanted))[band].mean() < 2.5
    assert got.mean() == pytest.approx(noise.var(), rel=0.2)


@pytest.mark.slow
def test_the_picture_alone_tells_most_of_what_there_is_to_gain():
    clean = camera()[:256, 100:356].astype(float)
    noisy, noise = streaked(clean)
    white, given, alone = (
        psnr(clean, denoise(noisy, noise=one, data_range=255, quality="fast"), data_range=255)
        for one in (Gaussian(noise.sigma), noise, estimate_correlated(noisy.astype(np.float32)))
    )
    assert alone - white > 0.6 * (given - white) > 2


def test_of_pictures_that_say_nothing():
    assert estimate_correlated(np.full((64, 64), 7, np.float32)).sigma == 0
    for shape in ((1, 1), (2, 30), (20, 20)):
        found = estimate_correlated(np.random.default_rng(0).normal(0, 9, shape).astype(np.float32))
        assert 0 <= found.sigma < 20 and found.confidence == 0


def test_of_a_large_picture_the_middle_is_looked_at():
    rng = np.random.default_rng(0)
    noisy = rng.standard_normal((40, LARGEST + 60)).astype(np.float32)
    ends = noisy.copy()
    ends[:, :20], ends[:, -20:] = 1000, 0
    assert estimate_correlated(ends).sigma == estimate_correlated(noisy).sigma


def test_what_does_not_look_like_noise_is_held_under_its_neighbours():
    power, likeness = np.full((32, 32), 100.0), np.ones((32, 32))
    power[5, 7], likeness[5, 7] = 1e6, 0.0
    np.testing.assert_allclose(_of_noise_alone(power, likeness), 100.0)
