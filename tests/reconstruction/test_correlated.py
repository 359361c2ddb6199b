"""Noise that neighbours share: told from a residual, and taken away."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import fftconvolve
from skimage.data import astronaut, camera

from cosparse import Correlated, deblur, denoise, inpaint, psnr, upscale
from cosparse.operator import load_operator
from cosparse.reconstruction import measurement
from cosparse.reconstruction.correlated import Separation, Spectrum, patch_covariances, whitened
from cosparse.reconstruction.planes import Channel
from cosparse.reconstruction.problem import Problem
from cosparse.reconstruction.stages import Plan
from cosparse.testing import dot_test

STREAK = np.ones((1, 9)) / 3


def streaks(shape, sigma, seed=0):
    """Noise that was not wrapped around the borders."""
    white = np.random.default_rng(seed).standard_normal((shape[0], shape[1] + 8))
    return sigma * fftconvolve(white, STREAK, mode="valid")


def covariance(shape):
    """Of all pixels of such noise of level 1, one by one."""
    rows, columns = (place.ravel() for place in np.indices(shape))
    lag = np.abs(columns[:, None] - columns)
    return np.where(rows[:, None] == rows, np.maximum(0, 9 - lag) / 9, 0)


def test_the_noise_in_a_residual_is_what_the_covariance_says():
    """C(C + v)⁻¹r by a matrix of all pixels, and by filters that imagine the noise beyond the borders."""
    shape, C = (6, 40), covariance((6, 40))
    residual = streaks(shape, 1.0) + 0.5 * np.random.default_rng(1).standard_normal(shape)
    wanted = (C @ np.linalg.solve(C + 0.25 * np.eye(len(C)), residual.ravel())).reshape(shape)
    found = Separation(Spectrum.of(Correlated(1.0, kernel=STREAK), shape), shape).noise(residual, 0.25, times=100)
    np.testing.assert_allclose(found, wanted, atol=5e-3)


def test_the_covariance_of_a_patch():
    found = patch_covariances(
        Correlated(2.0, kernel=STREAK), [Channel(np.zeros((1, 1), np.float32), 0.5)], (30, 30), (4, 8)
    )
    np.testing.assert_allclose(found[0], covariance((4, 8)) + 1e-3 * np.eye(32), atol=1e-9)


def test_a_whitened_measurement_has_its_adjoint_and_white_noise():
    A = measurement.blur(np.ones((3, 3)) / 9, (24, 30))
    problem = Problem(load_operator(), Plan((), 1), np.zeros((24, 30), np.float32), np.zeros(720, np.float32), A)
    noise = Correlated(5.0, kernel=np.array([[1, 4.0, 1]]))
    dot_test(whitened(problem, noise, 1.0).measure, rng=0)
    drawn = np.stack([noise.sample(np.zeros((24, 30)), rng=i) for i in range(200)])
    white = np.stack(
        [
            whitened(Problem(problem.operator, problem.plan, problem.start, one.ravel(), A), noise, 1.0).data
            for one in drawn
        ]
    )
    power = (np.abs(np.fft.fft2(white.reshape(-1, 24, 30))) ** 2).mean(axis=0) / 720
    assert np.median(power) == pytest.approx(25, rel=0.1)
    assert np.corrcoef(white[:, 100], white[:, 101])[0, 1] < 0.3 < np.corrcoef(drawn[:, 3, 10], drawn[:, 3, 11])[0, 1]


def test_white_noise_in_other_words_is_the_same(photograph):
    image = photograph.astype(float) + np.random.default_rng(0).normal(0, 15, photograph.shape)
    wanted = denoise(image, 15, data_range=255)
    for same in (
        Correlated(15, kernel=[[1.0]]),
        Correlated(15, kernel=[[0, 2.0, 0]]),
        Correlated(15, psd=np.ones(image.shape)),
    ):
        np.testing.assert_array_equal(denoise(image, noise=same, data_range=255), wanted)


@pytest.mark.parametrize("operator", ["staged", pytest.param("default", marks=pytest.mark.slow)])
def test_knowing_what_neighbours_share_is_worth_much(operator):
    clean = camera()[100:196, 150:246].astype(float)
    noisy = clean + streaks(clean.shape, 25)
    options = {"operator": operator, "quality": "fast", "data_range": 255}
    white = denoise(noisy, 25, **options)
    found = denoise(noisy, noise=Correlated(25, kernel=STREAK), **options)
    assert psnr(clean, found, data_range=255) > psnr(clean, white, data_range=255) + 2
    rounds = {"noise": Correlated(25, kernel=STREAK), "bounds": None, "grouping": False, **options}
    np.testing.assert_allclose(denoise(noisy + 40, **rounds) - 40, denoise(noisy, **rounds), atol=0.05)


def test_colours_pages_and_their_units():
    clean = astronaut()[60:108, 200:248] / 255
    noise = Correlated(0.1, kernel=STREAK)
    noisy = clean + np.stack([streaks((48, 48), 0.1, seed) for seed in range(3)], axis=-1)
    found = denoise(noisy, noise=noise, channel_axis=-1, quality="fast")
    assert psnr(clean, found) > psnr(clean, denoise(noisy, 0.1, channel_axis=-1, quality="fast")) + 1
    pages = denoise(np.stack([noisy[..., 0], noisy[..., 1]]), noise=noise, quality="fast")
    np.testing.assert_array_equal(pages[1], denoise(noisy[..., 1], noise=noise, quality="fast"))


def test_the_middle_of_a_tile_is_as_in_the_whole():
    clean = camera()[100:196, 100:300].astype(float)
    noisy, noise = clean + streaks(clean.shape, 15), Correlated(15, kernel=STREAK)
    options = {"data_range": 255, "quality": "fast", "grouping": False, "bounds": None}
    whole, tile = (denoise(part, noise=noise, **options) for part in (noisy, noisy[:, :140]))
    assert np.sqrt(np.mean((whole[:, :76] - tile[:, :76]) ** 2)) < 0.3
    assert np.abs(whole[:, :76] - tile[:, :76]).max() < 2


def test_measurements_are_whitened():
    clean = camera()[100:164, 150:214].astype(float)
    noise = Correlated(6, kernel=STREAK)
    blurred = measurement.blur(np.ones((3, 3)) / 9, clean.shape).matvec(clean.ravel()).reshape(clean.shape)
    noisy = blurred + streaks(clean.shape, 6)
    white, found = deblur(noisy, "box:3", sigma=6, data_range=255), deblur(noisy, "box:3", noise=noise, data_range=255)
    assert psnr(clean, found, data_range=255) > psnr(clean, white, data_range=255) + 0.5
    assert upscale(noisy[:24, :24], 2, noise=noise, data_range=255, quality="fast").shape == (48, 48)


def test_what_cannot_be_done_is_refused():
    image = np.zeros((32, 32))
    with pytest.raises(ValueError, match="psd: has shape"):
        denoise(image, noise=Correlated(0.1, psd=np.ones((16, 16))))
    with pytest.raises(ValueError, match="fill in without a noise first"):
        inpaint(image, np.eye(32, dtype=bool), noise=Correlated(0.1, kernel=STREAK))
    with pytest.raises(ValueError, match="negative"):
        Correlated(0.1, psd=-np.ones((32, 32)))


def test_the_callback_sees_the_rounds_and_stops_them():
    noisy = camera()[100:148, 150:198] + streaks((48, 48), 20)
    seen = []
    denoise(
        noisy,
        noise=Correlated(20, kernel=STREAK),
        data_range=255,
        quality="fast",
        callback=lambda p: seen.append(p) or len(seen) == 2,
    )
    assert [progress.iteration for progress in seen] == [1, 2]
