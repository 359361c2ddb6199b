"""Nonlinear conjugate gradient over a geometry (Algorithm 2).

The loop learns operators (geometry: oblique) and repairs images (geometry: Euclidean). Where to go (an update rule) and
how far (a :class:`~cosparse.optimize.line_search.StepLength`) know nothing of each other. One iteration is a pure
function from :class:`State` to :class:`State`, so a run continues from a saved state as if it had never stopped.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple, Protocol

from cosparse.optimize.interpolating import DOUBT, Interpolation, between
from cosparse.optimize.line_search import Array, StepLength, Trial, search
from cosparse.optimize.result import Result, Stop

Objective = Callable[[Array], tuple[float, Array]]
SPAN = 4  # iterations: over so many a decrease is taken, as single trials come out well or badly


class Geometry(Protocol):
    """What the loop needs to know of the space it moves in."""

    def inner(self, a: Array, b: Array) -> float: ...
    def project(self, point: Array, vector: Array) -> Array: ...
    def step(self, point: Array, direction: Array, t: float) -> Array: ...
    def transport(self, vector: Array, point: Array, direction: Array, t: float) -> Array: ...


@dataclass(frozen=True)
class Products:
    """The inner products an update rule is made of.

    With G' the new gradient, G the old one and H the old direction (both transported) and Y = G' - G:
    new = <G', G'>, old = <G, G>, gy = <G', Y>, hy = <H, Y>.
    """

    new: float
    old: float
    gy: float
    hy: float


def fletcher_reeves(products: Products) -> float:
    """Eq. (28)."""
    return products.new / products.old


def hestenes_stiefel(products: Products) -> float:
    """Eq. (29)."""
    return products.gy / products.hy if products.hy else 0.0


def dai_yuan(products: Products) -> float:
    """Eq. (30)."""
    return products.new / products.hy if products.hy else 0.0


def hybrid(products: Products) -> float:
    """Eq. (43): the speed of HS with the safety of DY."""
    return max(0.0, min(dai_yuan(products), hestenes_stiefel(products)))


RULES: dict[str, Callable[[Products], float]] = {
    "hybrid": hybrid,
    "fr": fletcher_reeves,
    "hs": hestenes_stiefel,
    "dy": dai_yuan,
}


@dataclass(frozen=True)
class Settings:
    """When to stop, and how to move.

    Parameters
    ----------
    iterations : int
        Limit on the iterations.
    step_tolerance : float
        The paper's rule: stop when the iterate moved less than this (Frobenius norm).
    gradient_tolerance : float
        Stop when the norm of the gradient is below this.
    decrease_tolerance : float
        Stop when an iteration, in the mean of the last four, lowers the value by less than this fraction of it.
    rule : {"hybrid", "fr", "hs", "dy"}
        How the old direction enters the new one.
    first_step : float, optional
        Length of the first trial step; without it 1/‖G‖, Eq. (44).
    line_search : Interpolation or LineSearch
        How far to go along a direction; LineSearch is the paper's Algorithm 1.
    """

    iterations: int = 1000
    step_tolerance: float = 1e-4
    gradient_tolerance: float = 0.0
    decrease_tolerance: float = 0.0
    rule: str = "hybrid"
    first_step: float | None = None
    line_search: StepLength = field(default_factory=Interpolation)

    def __post_init__(self) -> None:
        if self.iterations < 0:
            raise ValueError(f"iterations: must not be negative, got {self.iterations!r}")
        if self.rule not in RULES:
            raise ValueError(f"rule: expected one of {', '.join(RULES)}, got {self.rule!r}")


class Step(NamedTuple):
    """An iteration in three numbers, by which it can be repeated.

    Its direction is `beta` times the one before, less the gradient; or if `beta` is None, it began (again) along the
    steepest way down from the trial before. The trial is `trial` directions from the base, the next base `length`.
    """

    beta: float | None
    trial: float
    length: float


@dataclass(frozen=True, eq=False)
class State:
    """Everything the next iteration depends on."""

    point: Array  # the last accepted trial
    value: float  # there
    norm: float  # of the gradient there
    base: Array  # where the next search starts
    gradient: Array  # at the base
    square: float  # of that gradient
    direction: Array  # along which the next search goes
    slope: float  # along it, at the base
    beta: float | None  # with which it was made
    guess: float  # how long the first trial is; 0: not known
    step: Step  # the last iteration's numbers
    change: float  # how far its trial was from its base
    iteration: int  # how many there were
    evaluations: int  # of the objective
    values: tuple[float, ...]  # at the start and after every iteration


def begin(objective: Objective, geometry: Geometry, point: Array) -> State:
    """The state before the first iteration: H = -G."""
    value, gradient = objective(point)
    if not math.isfinite(value):
        raise FloatingPointError(f"the objective is {value} at the start; start inside its domain")
    gradient = geometry.project(point, gradient)
    square = geometry.inner(gradient, gradient)
    return State(
        point=point,
        value=value,
        norm=math.sqrt(square),
        base=point,
        gradient=gradient,
        square=square,
        direction=-gradient,
        slope=-square,
        beta=None,
        guess=0.0,
        step=Step(None, 0.0, 0.0),
        change=math.inf,
        iteration=0,
        evaluations=1,
        values=(value,),
    )


def advance(objective: Objective, geometry: Geometry, held: list[State], settings: Settings) -> State:
    """One iteration: search along the direction, move, turn.

    The state is taken out of the list `held`: whoever held it alone lets its arrays go as soon as they are not needed,
    of a large image two planes less. If no step lowers the value, the state as it was is returned, but for the
    evaluations that it took to see that.
    """
    state = held[0]
    first = state.guess or settings.first_step or 1 / math.sqrt(state.square)
    rule, trial, evaluations = settings.line_search, None, state.evaluations
    interpolated = state.step.length != state.step.trial  # nothing has been evaluated at the base
    look = partial(_trial, objective, geometry, held)
    if state.square > 0:  # else on one line all the way, where nothing more can be told from slopes
        limit = DOUBT if interpolated else rule.trials
        trial, count = search(rule, look, state.value, state.slope, first, limit)
        evaluations += count
    if trial is None and interpolated:  # misled by a parabola: again from the last trial
        again = begin(objective, geometry, state.point)
        state = held[0] = replace(again, value=state.value, iteration=state.iteration, values=state.values)
        trial, count = search(rule, look, state.value, state.slope, first, rule.trials)
        evaluations += 1 + count
    held[0] = replace(state, evaluations=evaluations)
    del state
    return held.pop() if trial is None else _moved(geometry, held, trial, settings)


def _trial(objective: Objective, geometry: Geometry, held: list[State], t: float) -> Trial:
    """The point `t` directions from the base of the state that is held, and what is there."""
    state = held[0]
    point = geometry.step(state.base, state.direction, t)
    value, gradient = objective(point)
    direction = geometry.transport(state.direction, state.base, state.direction, t)
    if not math.isfinite(value):
        return Trial(t, point, value, gradient, direction, math.nan)
    gradient = geometry.project(point, gradient)
    return Trial(t, point, value, gradient, direction, geometry.inner(gradient, direction))


def _moved(geometry: Geometry, held: list[State], trial: Trial, settings: Settings) -> State:
    """The state after an accepted trial: a base as far along the line as a step goes, and a direction from there."""
    state = held.pop()
    base, direction, old, first, square = state.base, state.direction, state.gradient, state.slope, state.square
    beta_before, iteration, evaluations, values = state.beta, state.iteration + 1, state.evaluations, state.values
    del state
    t, point, gradient, slope = trial.t, trial.point, trial.gradient, trial.slope
    norm = math.sqrt(geometry.inner(gradient, gradient))
    change = t * math.sqrt(geometry.inner(direction, direction))
    optimum = secant(t, first, slope)
    length = settings.line_search.step(t, optimum)
    old = geometry.transport(old, base, direction, length)
    if length != t:
        carried = geometry.transport(direction, base, direction, length)
        base = geometry.step(base, direction, length)
        gradient = between(old, geometry.transport(gradient, point, trial.direction, length - t), length / t)
        slope = first + length / t * (slope - first)
    else:
        base, carried = point, trial.direction
    new = geometry.inner(gradient, gradient)
    gy, hy = new - geometry.inner(gradient, old), slope - first
    beta = RULES[settings.rule](Products(new, square, gy, hy))
    if not beta * slope < new:  # not a descent direction: start again from the steepest
        beta = 0.0
    del old
    direction = carried * float(beta)
    direction -= gradient
    return State(
        point=point,
        value=trial.value,
        norm=norm,
        base=base,
        gradient=gradient,
        square=new,
        direction=direction,
        slope=beta * slope - new,
        beta=beta,
        guess=settings.line_search.first_trial(t, optimum),
        step=Step(beta_before, t, length),
        change=change,
        iteration=iteration,
        evaluations=evaluations,
        values=(*values, trial.value),
    )


def secant(t: float, before: float, after: float) -> float:
    """Where the slope along the search line would be zero if it changed evenly; within reason."""
    optimum = t * before / (before - after) if after > before else math.inf
    return min(max(optimum, 0.1 * t), 3 * t)


def stopped(state: State, settings: Settings) -> Stop | None:
    """Why there is no further iteration, if so."""
    if state.norm <= settings.gradient_tolerance:
        return Stop.GRADIENT
    if state.change < settings.step_tolerance:
        return Stop.STEP
    if state.iteration >= SPAN:
        decrease = (state.values[-1 - SPAN] - state.value) / SPAN / max(abs(state.value), 1e-300)
        if decrease < settings.decrease_tolerance:
            return Stop.DECREASE
    return Stop.ITERATIONS if state.iteration >= settings.iterations else None


def conjugate_gradient(
    objective: Objective,
    geometry: Geometry,
    start: Array | State,
    settings: Settings | None = None,
    *,
    callback: Callable[[State], object] | None = None,
) -> Result:
    """Minimise `objective` from `start`, a point or a saved state.

    Parameters
    ----------
    objective : callable
        Takes a point; returns its value and Euclidean gradient, in an array that is not used again. Outside its domain
        the value is infinite.
    callback : callable, optional
        Called with the state after every iteration; returning True ends the run.

    Examples
    --------
    >>> import numpy as np
    >>> from cosparse.optimize import Euclidean, Settings, conjugate_gradient
    >>> def bowl(x): return 0.5 * float(x @ (x * [1.0, 10.0])), x * [1.0, 10.0]
    >>> exactly = Settings(step_tolerance=0, gradient_tolerance=1e-6)
    >>> result = conjugate_gradient(bowl, Euclidean(), np.array([3.0, 1.0]), exactly)
    >>> result.stop.converged, bool(np.allclose(result.point, 0, atol=1e-6))
    (True, True)
    """
    settings = settings or Settings()
    state = start if isinstance(start, State) else begin(objective, geometry, start)
    while (stop := stopped(state, settings)) is None:
        before, held = state.iteration, [state]
        del state
        state = advance(objective, geometry, held, settings)
        if state.iteration == before:
            stop = Stop.STALLED
            break
        if callback is not None and callback(state) is True:
            stop = Stop.CALLBACK
            break
    return Result(state.point, state.value, state.norm, stop, state.iteration, state.evaluations, state.values)
