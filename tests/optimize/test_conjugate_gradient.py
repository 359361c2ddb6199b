"""The two loops: their rules, stops and counts; that one can be taken up anywhere and the other is not misled."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosparse.optimize import Euclidean, Settings, State, Stop, conjugate_gradient, flat_conjugate_gradient
from cosparse.optimize.conjugate_gradient import RULES, Products, advance, begin
from cosparse.optimize.line_search import LineSearch

PLAIN = Euclidean()
either = pytest.mark.parametrize("minimise", [conjugate_gradient, flat_conjugate_gradient])


def quadratic(n, seed, spread=10.0):
    """0.5 xᵀAx - bᵀx with eigenvalues from 1 to `spread`: the function, A, and its minimum."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((n, n)))[0]
    a = turn * np.linspace(1, spread, n) @ turn.T
    b = rng.standard_normal(n)
    return (lambda x: (float(0.5 * x @ a @ x - b @ x), a @ x - b)), a, np.linalg.solve(a, b)


def rosenbrock(x):
    value = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    return float(value), np.array([-2 * (1 - x[0]) - 400 * x[0] * (x[1] - x[0] ** 2), 200 * (x[1] - x[0] ** 2)])


@given(st.integers(2, 8), st.integers(0, 2**31))
def test_on_a_quadratic_with_exact_steps_all_rules_are_one(n, seed):
    objective, a, minimum = quadratic(n, seed)
    x = np.random.default_rng(seed).standard_normal(n)
    gradient = objective(x)[1]
    direction = -gradient
    for _ in range(n - 1):
        x = x - (gradient @ direction) / (direction @ a @ direction) * direction
        old, gradient = gradient, objective(x)[1]
        if np.linalg.norm(gradient) < 1e-6:
            break  # there before time: only rounding is left to compare
        products = Products(
            new=gradient @ gradient,
            old=old @ old,
            gy=gradient @ (gradient - old),
            hy=direction @ (gradient - old),
        )
        betas = [rule(products) for rule in RULES.values()]
        np.testing.assert_allclose(betas, betas[0], rtol=1e-5)
        direction = betas[0] * direction - gradient
    x = x - (gradient @ direction) / (direction @ a @ direction) * direction
    np.testing.assert_allclose(x, minimum, atol=1e-5)  # conjugate directions: n steps are enough


def test_the_hybrid_takes_the_smaller_and_never_turns_back():
    assert RULES["hybrid"](Products(new=1.0, old=1.0, gy=3.0, hy=2.0)) == 0.5  # DY
    assert RULES["hybrid"](Products(new=3.0, old=1.0, gy=1.0, hy=2.0)) == 0.5  # HS
    assert RULES["hybrid"](Products(new=1.0, old=1.0, gy=-1.0, hy=2.0)) == 0.0
    for rule in ("hybrid", "hs", "dy"):
        assert RULES[rule](Products(new=1.0, old=1.0, gy=1.0, hy=0.0)) == 0.0


@pytest.mark.parametrize("guess", ["secant", "previous"])
@pytest.mark.parametrize("rule", RULES)
def test_every_rule_finds_the_minimum_of_a_quadratic(rule, guess):
    objective, _, minimum = quadratic(12, 0)
    settings = Settings(
        iterations=500,
        step_tolerance=0,
        gradient_tolerance=1e-7,
        rule=rule,
        line_search=LineSearch(guess=guess),
    )
    result = conjugate_gradient(objective, PLAIN, np.ones(12), settings)
    assert result.stop is Stop.GRADIENT and result.stop.converged
    assert result.gradient_norm <= 1e-7
    np.testing.assert_allclose(result.point, minimum, atol=1e-6)


@either
@pytest.mark.parametrize("rule", RULES)
def test_down_a_curved_valley(minimise, rule):
    settings = Settings(iterations=2000, step_tolerance=0, gradient_tolerance=1e-6, rule=rule)
    result = minimise(rosenbrock, PLAIN, np.array([-1.2, 1.0]), settings)
    assert result.value < 1e-5 * result.values[0]
    np.testing.assert_allclose(result.point, 1, atol=0.01)


def test_the_secant_guess_needs_fewer_evaluations_than_the_papers():
    objective = quadratic(40, 1, 100.0)[0]
    counts = {}
    for guess in ("secant", "previous"):
        settings = Settings(step_tolerance=0, gradient_tolerance=1e-4, line_search=LineSearch(guess=guess))
        counts[guess] = conjugate_gradient(objective, PLAIN, np.ones(40), settings).evaluations
    assert counts["secant"] < 0.7 * counts["previous"]


@either
def test_counts_and_values_are_true(minimise):
    calls = []
    objective = quadratic(6, 2)[0]

    def counted(x):
        calls.append(x)
        return objective(x)

    seen = []
    result = minimise(counted, PLAIN, np.ones(6), Settings(iterations=9, step_tolerance=0), callback=seen.append)
    assert result.evaluations == len(calls)
    assert result.iterations == len(seen) == 9
    assert len(result.values) == 10
    assert result.values[0] == objective(np.ones(6))[0]
    assert result.value == result.values[-1] == objective(result.point)[0]
    assert (np.diff(result.values) < 0).all()
    assert [state.iteration for state in seen] == list(range(1, 10))


def uphill(x):
    """A gradient that points the wrong way: no step along it lowers the value."""
    return float(x @ x), -2 * x


@either
@pytest.mark.parametrize(
    ("stop", "objective", "settings", "callback"),
    [
        (Stop.STEP, quadratic(6, 3)[0], Settings(step_tolerance=1e-2), None),
        (
            Stop.GRADIENT,
            quadratic(6, 3)[0],
            Settings(step_tolerance=0, gradient_tolerance=1e-3),
            None,
        ),
        (
            Stop.DECREASE,
            quadratic(6, 3)[0],
            Settings(step_tolerance=0, decrease_tolerance=1e-3),
            None,
        ),
        (Stop.ITERATIONS, quadratic(6, 3)[0], Settings(step_tolerance=0, iterations=3), None),
        (Stop.STALLED, uphill, Settings(line_search=LineSearch(trials=7)), None),
        (Stop.CALLBACK, quadratic(6, 3)[0], Settings(), lambda state: state.iteration == 2),
    ],
    ids=lambda value: value.name if isinstance(value, Stop) else "",
)
def test_every_way_to_stop(minimise, stop, objective, settings, callback):
    result = minimise(objective, PLAIN, np.ones(6), settings, callback=callback)
    assert result.stop is stop
    assert result.stop.converged is (stop not in (Stop.ITERATIONS, Stop.CALLBACK))
    if stop is Stop.DECREASE:
        *_, before, last = result.values
        assert before - last < 1e-3 * abs(last)
    if stop is Stop.CALLBACK:
        assert result.iterations == 2
    if stop is Stop.STALLED:
        assert result.evaluations == 1 + 7  # those in vain count too


@either
def test_at_the_minimum_there_is_nothing_to_do(minimise):
    result = minimise(lambda x: (float(x @ x), 2 * x), PLAIN, np.zeros(3))
    assert (result.stop, result.iterations, result.evaluations) == (Stop.GRADIENT, 0, 1)


@either
def test_no_iterations_is_the_start(minimise):
    objective = quadratic(4, 4)[0]
    result = minimise(objective, PLAIN, np.ones(4), Settings(iterations=0))
    assert (result.stop, result.iterations) == (Stop.ITERATIONS, 0)
    np.testing.assert_array_equal(result.point, 1)


@either
@pytest.mark.parametrize("outside", [math.inf, math.nan])
def test_a_barrier_is_never_crossed(minimise, outside):
    def barrier(x):
        if x[0] <= 0:
            return outside, np.full(1, outside)
        return float(x[0] - math.log(x[0])), 1 - 1 / x

    # The first trial lands far outside.
    settings = Settings(step_tolerance=0, gradient_tolerance=1e-8, first_step=1e3)
    seen = []
    result = minimise(
        barrier,
        PLAIN,
        np.array([4.0]),
        settings,
        callback=lambda state: seen.append(state.point[0]),
    )
    assert result.point[0] == pytest.approx(1)
    assert min(seen) > 0


@either
def test_a_start_outside_the_domain_is_an_error(minimise):
    for bad in (math.inf, math.nan):
        with pytest.raises(FloatingPointError, match="start"):
            minimise(lambda x, bad=bad: (bad, x), PLAIN, np.ones(2))


def test_a_direction_that_does_not_descend_is_replaced():
    objective = quadratic(5, 5)[0]
    state = begin(objective, PLAIN, np.ones(5))
    lost = State(**{**vars(state), "direction": state.gradient})
    following = advance(objective, PLAIN, lost, Settings())
    plain = advance(objective, PLAIN, state, Settings())
    assert following.value == plain.value < state.value


def test_taken_up_anywhere_it_ends_in_the_same_bits():
    settings = Settings(iterations=40, step_tolerance=0)
    states = []
    start = np.array([-1.2, 1.0])
    whole = conjugate_gradient(rosenbrock, PLAIN, start, settings, callback=states.append)
    for state in states[::7]:
        again = conjugate_gradient(rosenbrock, PLAIN, state, settings)
        assert again.point.tobytes() == whole.point.tobytes()
        assert (again.values, again.evaluations) == (whole.values, whole.evaluations)


@either
def test_the_start_is_not_written_to(minimise):
    start = np.ones(5)
    start.flags.writeable = False
    minimise(quadratic(5, 6)[0], PLAIN, start, Settings(iterations=5))


@either
def test_float32_stays_float32(minimise):
    def bowl(x):
        return float(x @ x), 2 * x

    result = minimise(bowl, PLAIN, np.ones(4, np.float32), Settings(iterations=3))
    assert result.point.dtype == np.float32


@pytest.mark.parametrize("bad", [{"iterations": -1}, {"rule": "pr"}])
def test_settings_are_checked(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        Settings(**bad)


@pytest.mark.parametrize(("n", "seed"), [(2, 0), (5, 1), (12, 2), (30, 3)])
def test_in_flat_space_as_many_steps_as_dimensions_are_enough(n, seed):
    """On a quadratic the interpolated minima are the true ones, though no trial is; one step more to see that."""
    objective, _, minimum = quadratic(n, seed, 1.9)  # so even that the parabola is always believed
    settings = Settings(step_tolerance=0, gradient_tolerance=1e-6, first_step=0.8)
    result = flat_conjugate_gradient(objective, PLAIN, np.ones(n), settings)
    assert result.iterations <= n + 2
    np.testing.assert_allclose(result.point, minimum, atol=1e-5)


def test_where_a_parabola_misleads_it_begins_again():
    """Downhill to a cliff at 1.5: the first trial is at 1, and the slope says to go on to 2."""
    calls = []

    def cliff(x):
        calls.append(x[0])
        return (float(-x[0]) if x[0] < 1.5 else math.inf), np.array([-1.0])

    seen = []
    settings = Settings(iterations=12, first_step=1.0)
    result = flat_conjugate_gradient(cliff, PLAIN, np.zeros(1), settings, callback=seen.append)
    assert max(calls) > 2 and [landing.kept for landing in seen[:2]] == [None, None]
    assert 1.4 < result.point[0] < 1.5 and (np.diff(result.values) <= 0).all()
    assert result.evaluations == len(calls)
