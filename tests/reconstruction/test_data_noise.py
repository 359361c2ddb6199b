"""Measurements that are not all as noisy."""

from __future__ import annotations

import numpy as np
import pytest

from cosparse import Correlated, Map, PoissonGaussian, psnr, reconstruct
from cosparse.reconstruction import measurement
from cosparse.reconstruction.data_noise import DataNoise


@pytest.fixture(scope="module")
def clean(photograph):
    return (photograph[40:72, 90:122] / 255).astype(np.float32)


def every_pixel(shape):
    return np.eye(shape[0] * shape[1], dtype=np.float32)


def test_the_same_for_all_is_a_number(clean):
    A = measurement.fourier_sampling(measurement.radial_mask(clean.shape, 0.5))
    y = A.matvec(clean.ravel())
    one, all_ = (reconstruct(y, A, clean.shape, sigma=sigma) for sigma in (0.03, np.full(y.shape, 0.03)))
    np.testing.assert_allclose(all_.image, one.image, atol=1e-3)
    assert all_.residual == pytest.approx(one.residual, rel=1e-2)


@pytest.mark.slow
def test_noisier_measurements_count_less(clean):
    """Of each pixel once with little noise or once with much: which it is says the array."""
    rng, A = np.random.default_rng(0), every_pixel(clean.shape)
    sigma = np.where(rng.random(len(A)) < 0.5, 0.02, 0.3)
    y = A @ clean.ravel() + sigma * rng.standard_normal(len(A))
    numbers = [reconstruct(y, A, clean.shape, sigma=one).image for one in (0.03, 0.1, 0.2)]
    best = max(psnr(clean, image) for image in numbers)
    mapped = reconstruct(y, A, clean.shape, sigma=sigma)
    assert psnr(clean, mapped.image) > best + 3
    again = reconstruct(y.reshape(clean.shape), A, clean.shape, noise=Map(sigma.reshape(clean.shape)))
    np.testing.assert_array_equal(again.image, mapped.image)
    assert mapped.residual == pytest.approx(np.linalg.norm(A @ mapped.image.ravel() - y) / np.linalg.norm(y), rel=1e-4)


@pytest.mark.slow
def test_photons_are_weighed_by_the_image_so_far(clean):
    A, model = every_pixel(clean.shape), PoissonGaussian(0.01, 0.01)
    y = model.sample(A @ clean.ravel(), rng=0)
    level = float(np.sqrt(model.variance(clean).mean()))
    number = reconstruct(y, A, clean.shape, sigma=level).image
    assert psnr(clean, reconstruct(y, A, clean.shape, noise=model).image) > psnr(clean, number) + 0.3


def test_the_level_of_all_is_that_of_as_many_that_say_as_much():
    noise = DataNoise.of(np.array([10.0, 10.0, 1e6, 1e6]), None, (4,), 1.0, False)
    level, trust = noise.weighed(np.zeros(4))
    assert level == pytest.approx(10 * np.sqrt(2))
    np.testing.assert_allclose(trust, [2, 2, 0, 0], atol=1e-6)


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"sigma": np.ones(5)}, "sigma: has shape"),
        ({"sigma": np.zeros(64)}, "small level"),
        ({"noise": Map(np.ones((3, 3)))}, "sigma: has shape"),
        ({"noise": Correlated(1.0, kernel=np.ones((1, 3)))}, "noise: expected"),
        ({"noise": PoissonGaussian(1.0), "sigma": 2.0}, "one of them"),
    ],
)
def test_what_no_noise_of_the_data_can_be_is_refused(more, word):
    with pytest.raises(ValueError, match=word):
        reconstruct(np.zeros(64), every_pixel((8, 8)), (8, 8), **more)


def test_photons_are_not_counted_in_complex_numbers():
    with pytest.raises(ValueError, match="complex"):
        reconstruct(np.zeros(64, complex), every_pixel((8, 8)), (8, 8), noise=PoissonGaussian(1.0))


def test_photons_without_any_noise_are_believed_as_far_as_numbers_go():
    noise = DataNoise(PoissonGaussian(1e-130, 0.0, 20.0))
    for level, trust in (noise.first(np.zeros(3)), noise.weighed(np.array([0.0, 20.0, 255.0]))):
        assert 0 < level < 0.1 and (trust is None or np.isfinite(trust).all())
