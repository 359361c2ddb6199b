"""Noise models: what they say of themselves is what they do."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosparse import Correlated, Gaussian, Map, Noise, PoissonGaussian

CLEAN = np.full((200, 200), 60.0)
RAMP = np.linspace(2, 20, 200) * np.ones((200, 1))
MODELS = [
    Gaussian(7.0),
    Map(RAMP),
    PoissonGaussian(3.0, 5.0, 10.0),
    PoissonGaussian(0.5),
    Correlated(6.0, kernel=np.ones((3, 5))),
    Correlated(6.0, psd=np.outer(np.arange(200), np.arange(200)) + 1.0),
]


@pytest.mark.parametrize("noise", MODELS, ids=repr)
def test_samples_have_the_mean_and_the_variance_that_the_model_says(noise: Noise):
    off = noise.sample(CLEAN, rng=3) - CLEAN
    variance = noise.variance(CLEAN)
    assert variance.shape == off.shape
    for half in (slice(0, 100), slice(100, 200)):  # of columns: a map differs there
        assert off[:, half].var() == pytest.approx(variance[:, half].mean(), rel=0.06)
    assert abs(off.mean()) < 0.02 * np.sqrt(variance.mean()) + 0.6 * isinstance(noise, Correlated)


@pytest.mark.parametrize("noise", MODELS, ids=repr)
def test_other_units_are_the_same_noise(noise: Noise):
    factor, shift = 4.0, 5.0
    moved = noise.scaled(factor, shift)
    np.testing.assert_allclose(moved.variance((CLEAN - shift) * factor), noise.variance(CLEAN) * factor**2, rtol=1e-5)
    np.testing.assert_allclose(
        moved.sample((CLEAN - shift) * factor, rng=0),
        (noise.sample(CLEAN, rng=0) - shift) * factor,
        rtol=1e-4,
        atol=1e-3,
    )


@pytest.mark.parametrize("noise", MODELS, ids=repr)
def test_models_travel_print_and_do_not_change(noise: Noise):
    assert repr(pickle.loads(pickle.dumps(noise))) == repr(noise)
    assert repr(noise).startswith(type(noise).__name__) and len(repr(noise)) < 90
    assert noise.confidence == 1.0
    with pytest.raises(AttributeError):
        noise.sigma = 1.0  # type: ignore[misc]


def test_a_spectrum_is_that_of_its_samples():
    noise = Correlated(2.0, kernel=[[1.0, 1.0, 0.5]])
    found = np.mean([np.abs(np.fft.fft2(noise.sample(np.zeros((16, 24)), rng=i))) ** 2 for i in range(600)], axis=0)
    np.testing.assert_allclose(found / (16 * 24), noise.spectrum((16, 24)), rtol=0.25)
    assert noise.spectrum((16, 24)).mean() == pytest.approx(4.0)


@given(st.floats(0.1, 1e3), st.floats(0, 100), st.floats(-1e3, 1e3))
def test_photon_noise_grows_with_light_from_the_read_noise(gain: float, read: float, offset: float):
    noise = PoissonGaussian(gain, read, offset)
    dark, light = noise.variance(np.array([offset - 5.0, offset + 10.0]))
    assert dark == pytest.approx(read**2)
    assert light == pytest.approx(read**2 + 10 * gain, rel=1e-6)


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: Gaussian(-1.0), "sigma"),
        (lambda: Gaussian(np.ones(3)), "sigma"),
        (lambda: Map(np.zeros((4, 4))), "small level"),
        (lambda: Map(np.full((4, 4), np.nan)), "sigma"),
        (lambda: Map(np.ones(4)), "two axes"),
        (lambda: PoissonGaussian(-2.0), "gain"),
        (lambda: PoissonGaussian(0.0, 3.0), "Gaussian"),
        (lambda: PoissonGaussian(1.0, -1.0), "read"),
        (lambda: PoissonGaussian(1.0, 1.0, np.inf), "offset"),
        (lambda: Correlated(1.0), "give one of them"),
        (lambda: Correlated(1.0, psd=-np.ones((4, 4))), "negative"),
        (lambda: Correlated(1.0, kernel=np.zeros((3, 3))), "kernel"),
        (lambda: Correlated(1.0, psd=np.ones((4, 4))).spectrum((5, 4)), "kernel instead"),
    ],
)
def test_what_no_noise_can_be_is_refused_by_name(make, word: str):
    with pytest.raises(ValueError, match=word):
        make()
