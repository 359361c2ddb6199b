"""Step lengths by interpolation: on from the minimum along a search line, though nothing is evaluated there.

Algorithm 2 wants the minimum along every search line, and gets a trial somewhere near it. The slopes a at the start
and b at the trial t tell where a parabola through them has its minimum, t·a / (a - b), and the gradient there is nearly
G + (G(t) - G)·a / (a - b), a mixture of the gradients at the ends (both transported there, where space is not flat).
So the next search starts from that minimum:

- Learning and repairs come further in as many evaluations: with the paper's penalty, learning is after 200 where a
  line search is after 400 (`python benchmarks/solvers.py learn`, and `repair`).
- Inexact steps make the next ones inexact too, and two runs that differ by rounding soon take different steps. From the
  minima they stay together, so that tiles can repeat the steps of a whole picture (see :mod:`cosparse.cluster.steps`).

What is reported, and what is returned, are the trials: there the value is known, and it never rises.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from cosparse.optimize.line_search import Array, Trial

REACH = 2.0  # trial lengths: as far the parabola is believed
DOUBT = 5  # trials in vain, after which it is not


@dataclass(frozen=True)
class Interpolation:
    """The next search starts from the minimum of the parabola along the last line.

    Parameters
    ----------
    trials : int
        Evaluations after which a search gives up.
    """

    trials: int = 40

    def accepts(self, trial: Trial, value: float, slope: float) -> bool:
        """On a parabola a slope as steep as at the start, but upwards, means as high as there."""
        return trial.value <= value and trial.slope <= -slope

    def factor(self, trial: Trial, value: float, slope: float) -> float:
        """To the minimum of the parabola, within reason."""
        shorter = slope / (slope - trial.slope) if trial.slope > 0 else 0.5
        return min(max(shorter, 0.1), 0.5)

    def step(self, t: float, optimum: float) -> float:
        """To the minimum of the parabola."""
        return min(optimum, REACH * t)

    def first_trial(self, t: float, optimum: float) -> float:
        """Between the last trial and its optimum, as optima alternate about a mean."""
        return math.sqrt(optimum * t)


def between(start: Array, end: Array, ratio: float) -> Array:
    """`ratio` of the way from one gradient to another, whose array is used for the result."""
    end -= start
    end *= float(ratio)
    end += start
    return end
