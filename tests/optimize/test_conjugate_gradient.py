"""The loop: its rules, stops and counts, with either way to choose a step length; that it can be taken up anywhere."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosparse.optimize import Euclidean, Interpolation, LineSearch, Oblique, Settings, Stop, conjugate_gradient
from cosparse.optimize.conjugate_gradient import RULES, SPAN, Products, advance, begin, stopped

PLAIN = Euclidean()
either = pytest.mark.parametrize("step_length", [LineSearch, Interpolation])


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
            new=gradient @ gradient, old=old @ old, gy=gradient @ (gradient - old), hy=direction @ (gradient - old)
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


@pytest.mark.parametrize(
    "line_search",
    [LineSearch("secant"), LineSearch("previous"), Interpolation()],
    ids=["secant", "previous", "between"],
)
@pytest.mark.parametrize("rule", RULES)
def test_every_rule_finds_the_minimum_of_a_quadratic(rule, line_search):
    objective, _, minimum = quadratic(12, 0)
    settings = Settings(500, step_tolerance=0, gradient_tolerance=1e-7, rule=rule, line_search=line_search)
    result = conjugate_gradient(objective, PLAIN, np.ones(12), settings)
    assert result.stop is Stop.GRADIENT and result.stop.converged
    assert result.gradient_norm <= 1e-7
    np.testing.assert_allclose(result.point, minimum, atol=1e-6)


@either
@pytest.mark.parametrize("rule", RULES)
def test_down_a_curved_valley(step_length, rule):
    settings = Settings(2000, step_tolerance=0, gradient_tolerance=1e-6, rule=rule, line_search=step_length())
    result = conjugate_gradient(rosenbrock, PLAIN, np.array([-1.2, 1.0]), settings)
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
def test_counts_and_values_are_true(step_length):
    calls = []
    objective = quadratic(6, 2)[0]

    def counted(x):
        calls.append(x)
        return objective(x)

    seen = []
    settings = Settings(iterations=9, step_tolerance=0, line_search=step_length())
    result = conjugate_gradient(counted, PLAIN, np.ones(6), settings, callback=seen.append)
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
        (Stop.GRADIENT, quadratic(6, 3)[0], Settings(step_tolerance=0, gradient_tolerance=1e-3), None),
        (Stop.DECREASE, quadratic(6, 3)[0], Settings(step_tolerance=0, decrease_tolerance=1e-3), None),
        (Stop.ITERATIONS, quadratic(6, 3)[0], Settings(step_tolerance=0, iterations=3), None),
        (Stop.STALLED, uphill, Settings(), None),
        (Stop.CALLBACK, quadratic(6, 3)[0], Settings(), lambda state: state.iteration == 2),
    ],
    ids=lambda value: value.name if isinstance(value, Stop) else "",
)
def test_every_way_to_stop(step_length, stop, objective, settings, callback):
    settings = replace(settings, line_search=step_length(trials=7))
    result = conjugate_gradient(objective, PLAIN, np.ones(6), settings, callback=callback)
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
def test_at_the_minimum_there_is_nothing_to_do(step_length):
    settings = Settings(line_search=step_length())
    result = conjugate_gradient(lambda x: (float(x @ x), 2 * x), PLAIN, np.zeros(3), settings)
    assert (result.stop, result.iterations, result.evaluations) == (Stop.GRADIENT, 0, 1)


def test_no_iterations_is_the_start():
    objective = quadratic(4, 4)[0]
    result = conjugate_gradient(objective, PLAIN, np.ones(4), Settings(iterations=0))
    assert (result.stop, result.iterations) == (Stop.ITERATIONS, 0)
    np.testing.assert_array_equal(result.point, 1)


@either
@pytest.mark.parametrize("outside", [math.inf, math.nan])
def test_a_barrier_is_never_crossed(step_length, outside):
    def barrier(x):
        if x[0] <= 0:
            return outside, np.full(1, outside)
        return float(x[0] - math.log(x[0])), 1 - 1 / x

    # The first trial lands far outside.
    settings = Settings(step_tolerance=0, gradient_tolerance=1e-8, first_step=1e3, line_search=step_length())
    seen = []
    result = conjugate_gradient(barrier, PLAIN, np.array([4.0]), settings, callback=seen.append)
    assert result.point[0] == pytest.approx(1)
    assert min(state.point[0] for state in seen) > 0


def test_a_start_outside_the_domain_is_an_error():
    for bad in (math.inf, math.nan):
        with pytest.raises(FloatingPointError, match="start"):
            conjugate_gradient(lambda x, bad=bad: (bad, x), PLAIN, np.ones(2))


def test_a_direction_that_does_not_descend_is_replaced():
    """A step down to a wall: going on, with so much more gradient than before, would be going up it."""

    def wall(x):
        return (1.0, np.array([-1.0])) if x[0] == 0 else (0.5, np.array([5.0]))

    settings = Settings(rule="fr", line_search=LineSearch())
    state = advance(wall, PLAIN, [begin(wall, PLAIN, np.zeros(1))], settings)
    assert RULES["fr"](Products(25.0, 1.0, 0.0, 0.0)) * 5 > 25
    assert (state.beta, state.slope, state.direction.tolist()) == (0.0, -25.0, [-5.0])


def on_spheres(x):
    """Coordinates to the fourth power: as uneven as a unit vector can be is the minimum."""
    return -float((x**4).sum()), -4 * x**3


@either
@pytest.mark.parametrize(
    ("objective", "geometry", "start"),
    [
        (rosenbrock, PLAIN, np.array([-1.2, 1.0])),
        (on_spheres, Oblique(), Oblique().random_point(5, 4, np.random.default_rng(0))),
    ],
    ids=["plain", "oblique"],
)
def test_taken_up_anywhere_it_ends_in_the_same_bits(step_length, objective, geometry, start):
    settings = Settings(iterations=40, step_tolerance=0, line_search=step_length())
    states = []
    whole = conjugate_gradient(objective, geometry, start, settings, callback=states.append)
    kept = [state.point.copy() for state in states]
    for state in states[::7]:
        again = conjugate_gradient(objective, geometry, state, settings)
        assert again.point.tobytes() == whole.point.tobytes()
        assert (again.values, again.evaluations) == (whole.values, whole.evaluations)
    assert all((state.point == point).all() for state, point in zip(states, kept, strict=True))


@either
def test_the_start_is_not_written_to(step_length):
    start = np.ones(5)
    start.flags.writeable = False
    conjugate_gradient(quadratic(5, 6)[0], PLAIN, start, Settings(iterations=5, line_search=step_length()))


@either
def test_float32_stays_float32(step_length):
    def bowl(x):
        return float(x @ x), 2 * x

    settings = Settings(iterations=3, line_search=step_length())
    result = conjugate_gradient(bowl, PLAIN, np.ones(4, np.float32), settings)
    assert result.point.dtype == np.float32


@pytest.mark.parametrize("bad", [{"iterations": -1}, {"rule": "pr"}])
def test_settings_are_checked(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        Settings(**bad)


def test_without_a_tolerance_values_that_stand_still_are_no_reason_to_stop():
    settings = Settings(iterations=100, decrease_tolerance=0.0, step_tolerance=0.0)
    state = begin(lambda x: (float(x @ x), 2 * x), PLAIN, np.ones(2))
    still = replace(state, iteration=SPAN, values=(state.value,) * (SPAN + 1), change=1.0)
    assert stopped(still, settings) is None
    assert stopped(still, replace(settings, decrease_tolerance=1e-9)) is Stop.DECREASE
