"""What training changes: the same operator as plain numbers."""

from __future__ import annotations

import numpy as np
import pytest

from cosparse import AnalysisOperator, Penalty
from cosparse.reconstruction.energy import Energy
from cosparse.reconstruction.prior import Prior
from cosparse.reconstruction.stages import plan
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


def test_training_starts_where_the_rules_stand(photograph):
    """The start's energy at noise 25 is the one that denoising with the plain operator minimises."""
    plain = AnalysisOperator.dct(4)
    image = photograph[:40, :40].astype(np.float32)
    stage = plan("denoise", 25.0, "balanced", None, plain).stages[-1]
    started = Parameters.of(plain).operator((4, 4)).at(25.0)
    ours = Energy(Prior(started, Penalty.log(1.0), 2), 1.0, image)(image)[0]
    theirs = Energy(Prior(plain, stage.penalty, 2), stage.weight, image)(image)[0]
    assert ours == pytest.approx(theirs, rel=1e-4)
