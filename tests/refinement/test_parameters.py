"""What training changes, and that it is the operator in another form."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cosparse import AnalysisOperator, Prior
from cosparse.refinement.parameters import RATES, Parameters, zero_mean_basis


@pytest.mark.parametrize("shape", [(4, 4), (3, 5)])
def test_the_basis_is_orthonormal_and_blind_to_the_mean(shape):
    basis = zero_mean_basis(shape)
    np.testing.assert_allclose(basis @ basis.T, np.eye(len(basis)), atol=1e-12)
    np.testing.assert_allclose(basis.sum(axis=1), 0, atol=1e-12)


def test_parameters_and_operator_are_two_views_of_one_thing():
    rng = np.random.default_rng(0)
    numbers = Parameters(rng.standard_normal((7, 8)), *rng.standard_normal((3, 7)))
    again = Parameters.of(numbers.operator((3, 3)))
    for name in RATES:
        np.testing.assert_allclose(getattr(again, name), getattr(numbers, name), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("sigma", [5.0, 25.0, 50.0])
def test_training_starts_where_the_tasks_stand(sigma, photograph):
    """With an operator that was never refined, the prior at every noise is the one that repairs use."""
    plain = AnalysisOperator.dct(4)
    image = photograph[:40, :40].astype(np.float32)
    started = Parameters.of(plain).operator((4, 4))
    ours, theirs = Prior.of(started, sigma), Prior.of(plain, sigma)
    assert ours.stride == theirs.stride
    assert ours(image)[0] == pytest.approx(theirs(image)[0], rel=1e-4)


def test_the_chain_rule_against_differences():
    """Of a sum that is linear in the atoms and the weights at some noise."""
    rng, sigma, shape = np.random.default_rng(0), 60.0, (3, 3)
    numbers = Parameters(rng.standard_normal((5, 8)), *rng.standard_normal((3, 5)))
    by_atom, by_weight = rng.standard_normal((5, 9)), rng.standard_normal(5)

    def value(numbers):
        t = np.log(sigma / 25)
        atoms = np.exp(numbers.scale_exponents * t)[:, None] * numbers.coordinates @ zero_mean_basis(shape)
        return np.vdot(by_atom, atoms) + by_weight @ np.exp(numbers.log_weights + numbers.weight_exponents * t)

    for name, slope in numbers.gradient(shape, sigma, by_atom, by_weight).items():
        step = 1e-5 * rng.standard_normal(slope.shape)
        ahead, behind = (value(replace(numbers, **{name: getattr(numbers, name) + s * step})) for s in (1, -1))
        assert ahead - behind == pytest.approx(2 * np.vdot(slope, step), rel=1e-6), name
