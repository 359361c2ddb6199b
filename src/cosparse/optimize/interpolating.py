"""Conjugate gradient in flat space, where the gradient between two points can be interpolated.

Algorithm 2 wants the minimum along every search line, and gets a trial somewhere near it. The slopes at the two ends
tell where a parabola through them has its minimum, and in flat space the gradient there is nearly a mixture of the
gradients at the ends. So the next search starts from that minimum, and nothing need be evaluated there:

- A repair comes further in as many iterations.
- Inexact steps make the next ones inexact too, and two runs that differ by rounding soon take different steps. From the
  minima they stay together, so that tiles can repeat the steps of a whole picture (see :mod:`cosparse.cluster.steps`).

What is reported, and what is returned, are the trials: there the value is known, and it never rises.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from cosparse.optimize.conjugate_gradient import RULES, Flat, Products, Settings, secant
from cosparse.optimize.line_search import Objective
from cosparse.optimize.result import Result, Stop

Array = NDArray[Any]
REACH = 2.0  # trial lengths: as far the parabola is believed
DOUBT = 5  # trials in vain, after which it is not
SPAN = 4  # iterations: over so many a decrease is taken, as single trials land well or badly


@dataclass(frozen=True)
class Landing:
    """An iteration: the trial it ended with, and the numbers that lead there and on.

    Its direction is `kept` times the one before, less the gradient; or if `kept` is None, it began (again) along the
    steepest way down from the trial before. The trial is `trial` directions from where the search started, the next
    search starts `onward` directions from there.
    """

    iteration: int
    point: Array
    value: float
    kept: float | None
    trial: float
    onward: float


class _Walk:
    """The iterates. Their arrays are as large as a picture: none is kept for longer than it is needed."""

    base: Array  # where a search starts
    point: Array  # the last trial
    gradient: Array  # at the base
    direction: Array
    slope: float  # along it
    square: float  # of the gradient
    kept: float | None

    def __init__(self, objective: Objective, geometry: Flat, start: Array, settings: Settings) -> None:
        self.objective, self.geometry, self.settings = objective, geometry, settings
        self.turned = RULES[settings.rule]
        self.evaluations = 0
        self.landed: Array | None = None  # the gradient at the last trial
        self.values = [self._begin(start)]
        self.norm, self.change = math.sqrt(self.square), math.inf
        self.guess = settings.first_step or 1 / (self.norm or 1.0)  # Eq. (44)

    def _begin(self, point: Array) -> float:
        """Take the steepest way down from a point, whose value is returned."""
        value, gradient = self.objective(point)
        self.evaluations += 1
        self.base = self.point = point
        self.gradient = self.geometry.project(point, gradient)
        self.direction, self.kept = -self.gradient, None
        self.square = self.geometry.inner(self.gradient, self.gradient)
        self.slope = -self.square
        return value

    def land(self) -> Landing | None:
        """Search along the direction; None when no step lowers the value."""
        t, interpolated = self.guess, self.base is not self.point
        for _ in range(DOUBT if interpolated else self.settings.line_search.trials):
            point = self.geometry.step(self.base, self.direction, t)
            value, gradient = self.objective(point)
            self.evaluations += 1
            gradient = self.geometry.project(point, gradient)
            slope = self.geometry.inner(gradient, self.direction)
            # On a parabola a slope as steep as at the start, but upwards, means as high as there.
            if value <= self.values[-1] and slope <= -self.slope:
                return self._landed(t, point, value, gradient, slope)
            del point, gradient
            shorter = self.slope / (self.slope - slope) if slope > 0 else 0.5
            t *= min(max(shorter, 0.1), 0.5)
        if not interpolated:
            return None
        self._begin(self.point)
        return self.land()

    def _landed(self, t: float, point: Array, value: float, gradient: Array, slope: float) -> Landing:
        self.point, self.landed = point, gradient
        self.trial, self.landed_slope = t, slope
        self.norm = math.sqrt(self.geometry.inner(gradient, gradient))
        if self.settings.step_tolerance > 0:
            self.change = t * math.sqrt(self.geometry.inner(self.direction, self.direction))
        optimum = secant(t, self.slope, slope)
        self.onward = min(optimum, REACH * t)
        self.guess = math.sqrt(optimum * t)  # optima alternate about a mean
        self.values.append(value)
        return Landing(len(self.values) - 1, point, value, self.kept, t, self.onward)

    def turn(self) -> None:
        """Go to the minimum of the parabola along the search line, and choose the next direction there."""
        if self.landed is None:
            return
        ratio = self.onward / self.trial
        slope = self.slope + ratio * (self.landed_slope - self.slope)
        self.base = self.geometry.step(self.base, self.direction, self.onward)
        old, gradient, self.landed = self.gradient, between(self.gradient, self.landed, ratio), None
        new = self.geometry.inner(gradient, gradient)
        change = new - self.geometry.inner(gradient, old)
        self.kept = self.turned(Products(new=new, old=self.square, gy=change, hy=slope - self.slope))
        self.gradient, self.square, self.slope = gradient, new, self.kept * slope - new
        if new == 0:  # on one line all the way, where nothing more can be told from slopes
            self._begin(self.point)
        elif self.slope < 0:
            self.direction *= gradient.dtype.type(self.kept)
            self.direction -= gradient
        else:  # not a descent direction
            self.direction, self.kept, self.slope = -gradient, 0.0, -new

    def ended(self) -> Stop | None:
        """Why there is no further iteration, if so."""
        settings = self.settings
        if self.norm <= settings.gradient_tolerance:
            return Stop.GRADIENT
        if self.change < settings.step_tolerance:
            return Stop.STEP
        if self._decrease() < settings.decrease_tolerance:
            return Stop.DECREASE
        return Stop.ITERATIONS if len(self.values) > settings.iterations else None

    def _decrease(self) -> float:
        """Of an iteration, as a fraction of the value; the mean of the last ones."""
        if len(self.values) <= SPAN:
            return math.inf
        return (self.values[-1 - SPAN] - self.values[-1]) / SPAN / max(abs(self.values[-1]), 1e-300)


def between(start: Array, end: Array, ratio: float) -> Array:
    """`ratio` of the way from one gradient to another, whose array is used for the result."""
    end -= start
    end *= end.dtype.type(ratio)
    end += start
    return end


def flat_conjugate_gradient(
    objective: Objective,
    geometry: Flat,
    start: Array,
    settings: Settings | None = None,
    *,
    callback: Callable[[Landing], object] | None = None,
) -> Result:
    """Minimise `objective` from `start`.

    If the slope along a search line is a at its start and b at the trial t, its minimum is taken to lie at
    t·a / (a - b) and the gradient there to be G + (G(t) - G)·a / (a - b).

    Parameters
    ----------
    objective : callable
        Takes a point; returns its value and gradient, in an array that is not used again. Outside its domain the value
        is infinite.
    settings : Settings, optional
        Of its line search only the number of trials counts here.
    callback : callable, optional
        Called after every iteration; returning True ends the run.

    Examples
    --------
    >>> import numpy as np
    >>> from cosparse.optimize import Euclidean, Settings, flat_conjugate_gradient
    >>> def bowl(x): return 0.5 * float(x @ (x * [1.0, 10.0])), x * [1.0, 10.0]
    >>> exactly = Settings(step_tolerance=0, gradient_tolerance=1e-6)
    >>> result = flat_conjugate_gradient(bowl, Euclidean(), np.array([3.0, 1.0]), exactly)
    >>> result.stop.converged, bool(np.allclose(result.point, 0, atol=1e-6))
    (True, True)
    """
    walk = _Walk(objective, geometry, start, settings or Settings())
    if not math.isfinite(walk.values[0]):
        raise FloatingPointError(f"the objective is {walk.values[0]} at the start; start inside its domain")
    while (stop := walk.ended()) is None:
        walk.turn()
        landing = walk.land()
        if landing is None:
            stop = Stop.STALLED
            break
        if callback is not None and callback(landing) is True:
            stop = Stop.CALLBACK
            break
        del landing
    return Result(
        point=walk.point,
        value=walk.values[-1],
        gradient_norm=walk.norm,
        stop=stop,
        iterations=len(walk.values) - 1,
        evaluations=walk.evaluations,
        values=tuple(walk.values),
    )
