"""Several planes under one measurement."""

from __future__ import annotations

import numpy as np
import pytest
from skimage.data import astronaut, camera

from cosparse import AnalysisOperator, Penalty, Prior
from cosparse.reconstruction import measurement
from cosparse.reconstruction.joint import JointPrior, Mixing, OfParts, complex_of, parts_of, turned
from cosparse.testing import dot_test

SHAPE = (24, 20)


def joint(mixing: Mixing) -> JointPrior:
    count = len(mixing.matrix)
    return JointPrior(
        (Prior(AnalysisOperator.dct(4), Penalty.log(0.05)),) * count, (1.0, 2.0, 3.0, 4.0)[:count], mixing
    )


@pytest.fixture(scope="module")
def colours():
    return np.ascontiguousarray(astronaut()[60:84, 200:220], np.float32)


@pytest.fixture(scope="module")
def waves():
    """A complex image (h, w, 1) whose phase changes smoothly."""
    down, across = np.indices(SHAPE) / 20
    return (camera()[100:124, 200:220] * np.exp(1j * (down + 2 * across))).astype(np.complex64)[..., None]


def test_the_gradient_is_that_of_the_value(colours, waves):
    """Also where pixels are turned first."""
    turn = np.conj(waves) / np.abs(waves)
    cases = {
        "colours": (Mixing.of_channels(3), colours),
        "channels": (Mixing.of_channels(2), colours[..., :2]),
        "parts": (Mixing.of_parts(1), parts_of(waves)),
        "turned": (Mixing(np.eye(2, dtype=np.float32), turn), parts_of(waves)),
    }
    for name, (mixing, image) in cases.items():
        prior, image = joint(mixing), image.reshape(*SHAPE, -1)
        direction = np.random.default_rng(0).standard_normal(image.shape).astype(np.float32)
        ahead, behind = (prior(image + step * direction)[0] for step in (np.float32(0.1), np.float32(-0.1)))
        assert 5 * (ahead - behind) == pytest.approx(float(np.vdot(prior(image)[1], direction)), rel=2e-3), name


def test_colours_measured_alone_have_the_energy_of_their_planes(colours):
    """½‖s - y‖² is the sum over planes of their own misfits over gain²."""
    mixing = Mixing.of_channels(3)
    other = colours[::-1].copy()
    planes = zip(mixing.apart(colours), mixing.apart(other), mixing.gains, strict=True)
    apart = sum(float(np.square(a - b).sum()) / gain**2 for a, b, gain in planes)
    assert apart == pytest.approx(float(np.square(colours - other).sum()), rel=1e-5)


def test_parts_and_back(waves):
    np.testing.assert_array_equal(complex_of(parts_of(waves)), waves)
    A = measurement.fourier_sampling(measurement.radial_mask(SHAPE, 0.5))
    dot_test(A, dtype=complex)
    dot_test(OfParts(A))
    np.testing.assert_allclose(OfParts(A).matvec(parts_of(waves).ravel()), A.matvec(waves.ravel()), rtol=1e-5)


def test_turning_leaves_the_magnitude(waves):
    prior = turned(joint(Mixing.of_parts(1)), parts_of(waves))
    along, across = prior.mixing.apart(parts_of(waves))
    assert np.abs(along - np.abs(waves[..., 0])).mean() < 0.02 * np.abs(waves).mean()
    assert np.abs(across).mean() < 0.15 * np.abs(waves).mean()
    black = turned(joint(Mixing.of_parts(1)), np.zeros((*SHAPE, 2), np.float32))
    np.testing.assert_array_equal(black.mixing.turn, 1)
