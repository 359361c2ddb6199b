"""Photon noise made white and back."""

import numpy as np
import pytest

import cosparse
from cosparse import PoissonGaussian
from cosparse.reconstruction.stabilisation import Stabilisation

LIGHT = np.array([3.0, 10.0, 40.0, 120.0, 250.0])


@pytest.mark.parametrize("noise", [PoissonGaussian(2.0, 4.0, 1.0), PoissonGaussian(0.3), PoissonGaussian(1.0, 30.0)])
def test_the_noise_is_white_and_what_comes_back_has_no_bias(noise: PoissonGaussian):
    way = Stabilisation(noise)
    many = noise.sample(np.repeat(LIGHT[:, None], 200_000, axis=1), rng=0)
    roots = way.forward(many).astype(float)
    np.testing.assert_allclose(roots.std(axis=1)[1:], way.sigma, rtol=0.1)
    unbiased = way.back(roots.mean(axis=1))
    deviation = np.sqrt(noise.variance(LIGHT))
    assert (np.abs(unbiased - LIGHT) < 0.01 * deviation).all()
    algebraic = (roots.mean(axis=1) / way.sigma) ** 2 / 4 - 0.375 - (noise.read / noise.gain) ** 2
    assert abs(algebraic[0] * noise.gain + noise.offset - LIGHT[0]) > abs(unbiased[0] - LIGHT[0])


def test_the_inverse_rises_everywhere_and_joins_its_closed_form():
    way = Stabilisation(PoissonGaussian(1.0, 0.5))
    back = way.back(np.linspace(0, 30, 4000) * way.sigma).astype(float)
    steps = np.diff(back)
    assert (steps >= 0).all() and steps.max() < 0.2
    assert back[0] == 0.0  # darker than dark is dark


def test_channels_have_numbers_of_their_own():
    noise = PoissonGaussian((1.0, 4.0), (0.0, 2.0), (0.0, 10.0))
    page = np.full((4, 4, 2), 80.0)
    way = Stabilisation(noise)
    for channel in range(2):
        one = PoissonGaussian(*(np.atleast_1d(number)[channel] for number in (noise.gain, noise.read, noise.offset)))
        alone = Stabilisation(one)
        found = way.forward(page)[..., channel] / way.sigma
        np.testing.assert_allclose(found, alone.forward(page[..., channel]) / alone.sigma, rtol=1e-5)
    np.testing.assert_allclose(
        way.back(way.forward(page)), page, atol=1.1
    )  # the inverse is of means: a quarter of the gain more


@pytest.mark.parametrize("dtype", [np.uint16, np.float32])
def test_few_photons_are_repaired_better_than_by_any_one_level(dtype: type):
    from skimage import data

    clean = data.camera()[150:278, 180:308].astype(float)
    white = 20_000.0
    noise = PoissonGaussian(gain=1500.0, read=300.0, offset=500.0)
    noisy = noise.sample(clean / 255 * white + 500, rng=1).clip(0, 65535).astype(dtype)

    def quality(result):
        return cosparse.psnr(clean, (result.astype(float) - 500) / white * 255, data_range=255)

    known = quality(cosparse.denoise(noisy, noise=noise, data_range=white))
    single = [quality(cosparse.denoise(noisy, sigma, data_range=white)) for sigma in (1500.0, 2500.0, 3500.0)]
    assert known > max(single) + 0.3
    masked = quality(cosparse.inpaint(noisy, np.zeros(clean.shape, bool), noise=noise, data_range=white))
    assert masked > max(single)


def test_tiny_and_constant_pictures():
    noise = PoissonGaussian(0.02, 0.01)
    for shape in ((1, 1), (1, 9), (9, 2)):
        result = cosparse.denoise(np.full(shape, 0.5), noise=noise)
        assert result.shape == shape and np.abs(result - 0.5).max() < 0.02


def test_noise_is_told_once():
    image = np.full((16, 16), 0.5)
    with pytest.raises(ValueError, match="sigma, noise"):
        cosparse.denoise(image, 0.1, noise=PoissonGaussian(0.1))
    with pytest.raises(ValueError, match="noise: expected a model"):
        cosparse.denoise(image, noise=0.1)
    with pytest.raises(ValueError, match="map of noise levels has the image's shape"):
        cosparse.denoise(image, np.ones((4, 4)))
