"""Nonlinear conjugate gradient over a geometry (Algorithm 2).

The loop learns operators (geometry: oblique). One iteration is a pure function from :class:`State` to :class:`State`,
so a run continues from a saved state exactly as if it had never stopped. Images are repaired by the same method as it
can be done in flat space: see :mod:`cosparse.optimize.interpolating`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from numpy.typing import NDArray

from cosparse.optimize.line_search import LineSearch, Objective
from cosparse.optimize.result import Result, Stop

Array = NDArray[Any]


class Flat(Protocol):
    """What there is to know of a flat space."""

    def inner(self, a: Array, b: Array) -> float: ...
    def project(self, point: Array, vector: Array) -> Array: ...
    def step(self, point: Array, direction: Array, t: float) -> Array: ...


class Geometry(Flat, Protocol):
    """What the loop needs to know of the space it moves in, flat or not."""

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
        Stop when an iteration lowers the value by less than this fraction of it.
    rule : {"hybrid", "fr", "hs", "dy"}
        How the old direction enters the new one.
    first_step : float, optional
        Length of the first trial step; without it 1/‖G‖, Eq. (44).
    line_search : LineSearch
        How far to go along a direction (Algorithm 1).
    """

    iterations: int = 1000
    step_tolerance: float = 1e-4
    gradient_tolerance: float = 0.0
    decrease_tolerance: float = 0.0
    rule: str = "hybrid"
    first_step: float | None = None
    line_search: LineSearch = field(default_factory=LineSearch)

    def __post_init__(self) -> None:
        if self.iterations < 0:
            raise ValueError(f"iterations: must not be negative, got {self.iterations!r}")
        if self.rule not in RULES:
            raise ValueError(f"rule: expected one of {', '.join(RULES)}, got {self.rule!r}")


@dataclass(frozen=True)
class State:
    """Everything the next iteration depends on.

    `step` is the length of the last step, `optimum` the length its two slopes say it should have had, and
    `change` how far it moved the point.
    """

    point: Array
    value: float
    gradient: Array
    direction: Array
    step: float
    optimum: float
    change: float
    iteration: int
    evaluations: int
    values: tuple[float, ...]


def begin(objective: Objective, geometry: Geometry, point: Array) -> State:
    """The state before the first iteration: H = -G."""
    value, slope = objective(point)
    if not math.isfinite(value):
        raise FloatingPointError(f"the objective is {value} at the start; start inside its domain")
    gradient = geometry.project(point, slope)
    return State(point, value, gradient, -gradient, 0.0, 0.0, math.inf, 0, 1, (value,))


def advance(objective: Objective, geometry: Geometry, state: State, settings: Settings) -> State | None:
    """One iteration: search along the direction, move, turn. None when no step lowers the value."""
    direction = state.direction
    slope = geometry.inner(state.gradient, direction)
    if not slope < 0:  # not a descent direction: start again from the steepest
        direction = -state.gradient
        slope = geometry.inner(state.gradient, direction)
    length = math.sqrt(geometry.inner(direction, direction))
    if length == 0:
        return None
    accepted = settings.line_search.search(
        objective,
        lambda t: geometry.step(state.point, direction, t),
        state.value,
        slope,
        _first_trial(state, settings, length),
    )
    if accepted is None:
        return None

    t, point = accepted.t, accepted.point
    gradient = geometry.project(point, accepted.gradient)
    carried = geometry.transport(direction, state.point, direction, t)
    old = geometry.transport(state.gradient, state.point, direction, t)
    new = geometry.inner(gradient, gradient)
    new_slope = geometry.inner(gradient, carried)
    beta = RULES[settings.rule](
        Products(
            new=new,
            old=geometry.inner(old, old),
            gy=new - geometry.inner(gradient, old),
            hy=new_slope - geometry.inner(old, carried),
        )
    )
    turned = carried * carried.dtype.type(beta)
    turned -= gradient
    return State(
        point=point,
        value=accepted.value,
        gradient=gradient,
        direction=turned,
        step=t,
        optimum=secant(t, slope, new_slope),
        change=t * length,
        iteration=state.iteration + 1,
        evaluations=state.evaluations + accepted.evaluations,
        values=(*state.values, accepted.value),
    )


def secant(t: float, before: float, after: float) -> float:
    """Where the slope along the search line would be zero if it changed evenly; within reason."""
    optimum = t * before / (before - after) if after > before else math.inf
    return min(max(optimum, 0.1 * t), 3 * t)


def _first_trial(state: State, settings: Settings, length: float) -> float:
    """Where the line search starts."""
    if state.iteration == 0:
        return settings.first_step or 1 / length  # H = -G here
    if settings.line_search.guess == "secant":
        return state.optimum
    return state.step / settings.line_search.shrink


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
        Takes a point; returns its value and Euclidean gradient. Outside its domain the value is infinite.
    callback : callable, optional
        Called with the state after every iteration; returning True ends the run.

    Examples
    --------
    >>> import numpy as np
    >>> from cosparse.optimize import Euclidean, Settings, conjugate_gradient
    >>> def bowl(x): return 0.5 * float(x @ (x * [1.0, 10.0])), x * [1.0, 10.0]
    >>> exactly = Settings(step_tolerance=0, gradient_tolerance=1e-6)
    >>> result = conjugate_gradient(bowl, Euclidean(), np.array([3.0, 1.0]), exactly)
    >>> result.stop.converged, bool(np.allclose(result.point, 0, atol=1e-4))
    (True, True)
    """
    settings = settings or Settings()
    state = start if isinstance(start, State) else begin(objective, geometry, start)
    stop = None
    while stop is None:
        norm = math.sqrt(geometry.inner(state.gradient, state.gradient))
        if norm <= settings.gradient_tolerance or norm == 0:
            stop = Stop.GRADIENT
        elif state.change < settings.step_tolerance:
            stop = Stop.STEP
        elif _decrease(state) < settings.decrease_tolerance:
            stop = Stop.DECREASE
        elif state.iteration >= settings.iterations:
            stop = Stop.ITERATIONS
        else:
            following = advance(objective, geometry, state, settings)
            if following is None:
                stop = Stop.STALLED
                break
            state = following
            if callback is not None and callback(state) is True:
                stop = Stop.CALLBACK
    return Result(
        point=state.point,
        value=state.value,
        gradient_norm=math.sqrt(geometry.inner(state.gradient, state.gradient)),
        stop=stop,
        iterations=state.iteration,
        # A search that gave up has used all its trials, and left no state to count them in.
        evaluations=state.evaluations + settings.line_search.trials * (stop is Stop.STALLED),
        values=state.values,
    )


def _decrease(state: State) -> float:
    """The last iteration's decrease as a fraction of the value."""
    if len(state.values) < 2:
        return math.inf
    return (state.values[-2] - state.values[-1]) / max(abs(state.values[-1]), 1e-300)
