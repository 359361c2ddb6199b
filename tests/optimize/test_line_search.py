"""The search along a line by Armijo's rule: what it accepts, where it looks, when it gives up."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cosparse.optimize.line_search import LineSearch, Trial, search

guesses = st.sampled_from(["secant", "previous"])


def searched(rule, f, slope, t):
    """Search along the real line from 0; every trial is recorded."""
    tried = []

    def look(t):
        tried.append(t)
        return Trial(t, np.array([t]), f(t), np.zeros(1), np.ones(1), 0.0)

    accepted, count = search(rule, look, f(0.0), slope, t, rule.trials)
    assert count == len(tried)
    return accepted, tried


@given(
    guess=guesses,
    shrink=st.floats(0.1, 0.95),
    slope_factor=st.floats(1e-4, 0.49),
    coefficients=st.tuples(st.floats(-5, -0.1), st.floats(-3, 3), st.floats(-3, 3), st.floats(0.1, 3)),
    t=st.floats(1e-3, 100),
)
def test_an_accepted_step_meets_the_armijo_condition(guess, shrink, slope_factor, coefficients, t):
    a, b, c, d = coefficients

    def quartic(x):
        return a * x + b * x**2 + c * x**3 + d * x**4

    rule = LineSearch(guess=guess, shrink=shrink, slope=slope_factor, trials=200)
    accepted, tried = searched(rule, quartic, a, t)
    assert accepted is not None
    assert accepted.value == quartic(accepted.t) <= slope_factor * accepted.t * a < 0
    assert tried[0] == t and tried[-1] == accepted.t == accepted.point[0]
    # It is the first that does: every one before it failed.
    assert all(quartic(x) > slope_factor * x * a for x in tried[:-1])
    assert all(later < earlier for earlier, later in pairwise(tried))


def test_the_papers_search_shrinks_by_its_factor():
    accepted, tried = searched(LineSearch(guess="previous", shrink=0.9, slope=0.01), lambda x: x**2 - 2 * x, -2.0, 4.0)
    np.testing.assert_allclose(tried, 4 * 0.9 ** np.arange(len(tried)), rtol=1e-12)
    assert accepted.t < 2 * (1 - 0.01) <= tried[-2]  # the condition holds just below 1.98


def test_the_secant_search_goes_to_the_minimum_of_the_parabola():
    accepted, tried = searched(LineSearch(), lambda x: x**2 - 2 * x, -2.0, 4.0)
    assert tried == [4.0, pytest.approx(1.0)]
    assert accepted.value == pytest.approx(-1.0)


@pytest.mark.parametrize("outside", [math.inf, math.nan])
@pytest.mark.parametrize("guess", ["secant", "previous"])
@given(edge=st.floats(1e-3, 0.9), t=st.floats(0.95, 50))
def test_a_step_out_of_the_domain_is_backed_away_from(outside, guess, edge, t):
    assume(t > edge)
    accepted, tried = searched(
        LineSearch(guess=guess, trials=200), lambda x: outside if x >= edge else -x + 0.1 * x**2, -1.0, t
    )
    assert accepted.t < edge
    assert math.isfinite(accepted.value)
    assert tried[0] >= edge


@pytest.mark.parametrize("guess", ["secant", "previous"])
@pytest.mark.parametrize("f", [lambda x: x, lambda x: math.nan if x else 0.0])
def test_it_gives_up_after_its_trials(guess, f):
    accepted, tried = searched(LineSearch(guess=guess, trials=13), f, -1.0, 1.0)
    assert accepted is None
    assert len(tried) == 13


@pytest.mark.parametrize("bad", [{"guess": "wolfe"}, {"shrink": 0.0}, {"shrink": 1.0}, {"slope": 0.0}, {"slope": 0.5}])
def test_settings_are_checked(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        LineSearch(**bad)
