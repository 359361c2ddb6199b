"""Steps to the minimum along a line: exact where the objective is a parabola, given up where one misleads."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cosparse.optimize import Euclidean, Interpolation, LineSearch, Oblique, Settings, between, conjugate_gradient
from cosparse.optimize.line_search import Trial


@pytest.mark.parametrize(("n", "seed"), [(2, 0), (5, 1), (12, 2), (30, 3)])
def test_as_many_steps_as_dimensions_are_enough(n, seed):
    """On a quadratic the interpolated minima are the true ones, though no trial is; one step more to see that."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((n, n)))[0]
    a, b = (
        turn * np.linspace(1, 1.9, n) @ turn.T,
        rng.standard_normal(n),
    )  # so even that the parabola is always believed
    settings = Settings(step_tolerance=0, gradient_tolerance=1e-6, first_step=0.8)
    result = conjugate_gradient(
        lambda x: (float(0.5 * x @ a @ x - b @ x), a @ x - b), Euclidean(), np.ones(n), settings
    )
    assert result.iterations <= n + 2
    np.testing.assert_allclose(result.point, np.linalg.solve(a, b), atol=1e-5)


def test_on_spheres_it_comes_further_than_a_line_search():
    """The smallest eigenvectors of some matrices, each by one row that moves on its sphere."""
    rng = np.random.default_rng(0)
    roots = rng.standard_normal((12, 20, 20))
    forms = roots @ roots.transpose(0, 2, 1)
    start = Oblique().random_point(12, 20, rng)
    lowest = np.linalg.eigvalsh(forms)[:, 0].sum()

    def objective(x):
        images = np.einsum("rij,rj->ri", forms, x)
        return float((x * images).sum()), 2 * images

    left = {}
    for rule in (LineSearch(), Interpolation()):
        result = conjugate_gradient(objective, Oblique(), start, Settings(60, 0.0, line_search=rule))
        left[type(rule)] = result.value - lowest, result.evaluations
    assert 0 < left[Interpolation][0] < left[LineSearch][0]
    assert left[Interpolation][1] <= left[LineSearch][1]


def test_where_a_parabola_misleads_it_begins_again():
    """Downhill to a cliff at 1.5: the first trial is at 1, and the slope says to go on to 2."""
    calls = []

    def cliff(x):
        calls.append(x[0])
        return (float(-x[0]) if x[0] < 1.5 else math.inf), np.array([-1.0])

    seen = []
    settings = Settings(iterations=12, first_step=1.0)
    result = conjugate_gradient(cliff, Euclidean(), np.zeros(1), settings, callback=seen.append)
    assert max(calls) > 2 and [state.step.beta for state in seen[:2]] == [None, None]
    assert 1.4 < result.point[0] < 1.5 and (np.diff(result.values) <= 0).all()
    assert result.evaluations == len(calls)


@pytest.mark.parametrize(
    ("value", "slope", "accepted", "factor"),
    [(9.0, 0.5, True, None), (9.0, 2.5, False, 0.4 / 1.4), (11.0, 0.1, False, 0.5), (math.inf, math.nan, False, 0.5)],
)
def test_a_trial_is_neither_higher_nor_steeper_than_the_start(value, slope, accepted, factor):
    trial = Trial(1.0, np.zeros(1), value, np.zeros(1), np.zeros(1), slope)
    assert Interpolation().accepts(trial, 10.0, -1.0) is accepted
    if factor is not None:
        assert Interpolation().factor(trial, 10.0, -1.0) == pytest.approx(factor)


def test_between_two_gradients():
    start, end = np.array([1.0, 2.0], np.float32), np.array([3.0, 2.0], np.float32)
    assert between(start, end.copy(), 1.5).tolist() == [4.0, 2.0]
    assert start.tolist() == [1.0, 2.0]
