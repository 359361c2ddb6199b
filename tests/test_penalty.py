"""The two penalties: one family, told apart by numbers the kernels understand."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosparse import Penalty
from cosparse.kernels import reference

PENALTIES = [Penalty.log(5e3), Penalty.log(0.1), Penalty.pnorm(), Penalty.pnorm(1.0, 1e-2)]


@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
def test_the_slope_is_the_derivative(penalty, taylor_slope):
    for v in (-0.7, 0.02, 3.0):
        rate = reference.penalise(np.array(v), penalty.code, penalty.nu, penalty.p)[1]
        scale = 0.02 * max(abs(v), 0.01)
        slope = taylor_slope(
            lambda t, v=v: float(reference.penalise(np.array(v + t), penalty.code, penalty.nu, penalty.p)[0]),
            float(rate),
            scale * 0.5 ** np.arange(5),
        )
        assert 1.9 < slope < 2.1


@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
def test_even_smallest_at_zero_and_growing(penalty):
    v = np.linspace(0, 5, 101)
    value, slope = reference.penalise(v, penalty.code, penalty.nu, penalty.p)
    mirrored, back = reference.penalise(-v, penalty.code, penalty.nu, penalty.p)
    np.testing.assert_array_equal(value, mirrored)
    np.testing.assert_array_equal(slope, -back)
    assert slope[0] == 0
    assert (np.diff(value) > 0).all()


def test_the_logarithm_is_the_limit_of_the_pnorm():
    v, nu, p = np.linspace(-2, 2, 41), 0.01, 1e-7
    near_zero = Penalty.pnorm(p, nu)
    power = reference.penalise(v, near_zero.code, nu, p)[0] - nu ** (p / 2) / p
    logarithm = Penalty.log(1 / nu)
    limit = reference.penalise(v, logarithm.code, logarithm.nu, 0.0)[0] / 2
    np.testing.assert_allclose(power, limit, atol=1e-6)


def test_the_papers_numbers():
    assert Penalty.pnorm() == Penalty("pnorm", 1e-6, 0.4, True)
    assert not Penalty.log().square


@given(
    st.one_of(
        st.builds(Penalty.log, st.floats(1e-6, 1e6), square=st.booleans()),
        st.builds(Penalty.pnorm, st.floats(1e-3, 1), st.floats(1e-9, 10), square=st.booleans()),
    )
)
def test_metadata_brings_it_back(penalty):
    metadata = penalty.to_metadata()
    assert all(isinstance(value, str) for value in metadata.values())
    assert Penalty.from_metadata(metadata) == penalty


def test_named():
    assert Penalty.named("log") == Penalty.log()
    assert Penalty.named("pnorm") == Penalty.pnorm()
    mine = Penalty.log(7)
    assert Penalty.named(mine) is mine
    with pytest.raises(ValueError, match="penalty: .*'l1'"):
        Penalty.named("l1")


@pytest.mark.parametrize("nu", [0, -1, float("nan"), float("inf"), 1e-42])
def test_a_scale_that_float32_cannot_use_is_refused(nu):
    with pytest.raises(ValueError, match="penalty: nu"):
        Penalty.log(nu)
    with pytest.raises(ValueError, match="penalty: nu"):
        Penalty.pnorm(nu=nu)


@pytest.mark.parametrize("p", [0, -0.4, 1.5, float("nan")])
def test_an_exponent_outside_the_family_is_refused(p):
    with pytest.raises(ValueError, match="penalty: p"):
        Penalty.pnorm(p)


def test_frozen_and_of_a_known_form():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Penalty.log().nu = 1.0
    with pytest.raises(ValueError, match="form"):
        Penalty("huber", 1.0)
