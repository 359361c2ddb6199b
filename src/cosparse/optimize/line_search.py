"""Armijo backtracking along a curve (Algorithm 1)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
Objective = Callable[[Array], tuple[float, Array]]


@dataclass(frozen=True)
class Trial:
    """An accepted step: its length, where it leads, and how many evaluations finding it took."""

    t: float
    point: Array
    value: float
    gradient: Array
    evaluations: int


@dataclass(frozen=True)
class LineSearch:
    """Settings of the search.

    Parameters
    ----------
    guess : {"secant", "previous"}
        Where a search starts. "previous" is the paper's: the last step divided by `shrink`. "secant" starts
        from the length the last step should have had by the slopes at its two ends, and needs half
        the evaluations.
    shrink : float
        The factor c1 of Algorithm 1. The secant guess goes to the minimum of the parabola through the
        failed trial instead, kept between 0.1 and `shrink` of it.
    slope : float
        The factor c2 of the Armijo condition f(t) <= f(0) + c2·t·<G, H>.
    trials : int
        Evaluations after which the search gives up.
    """

    guess: str = "secant"
    shrink: float = 0.9
    slope: float = 1e-2
    trials: int = 40

    def __post_init__(self) -> None:
        if self.guess not in ("secant", "previous"):
            raise ValueError(f"guess: expected 'secant' or 'previous', got {self.guess!r}")
        if not 0 < self.shrink < 1:
            raise ValueError(f"shrink: must lie in (0, 1), got {self.shrink!r}")
        if not 0 < self.slope < 0.5:
            raise ValueError(f"slope: must lie in (0, 0.5), got {self.slope!r}")

    def search(
        self, objective: Objective, curve: Callable[[float], Array], value: float, slope: float, t: float
    ) -> Trial | None:
        """The first step length t, t·c1, ... that meets the Armijo condition, or None.

        A trial outside the domain (a rank lost, two atoms equal) has an infinite or undefined value and
        fails the condition like any other.
        """
        for trial in range(1, self.trials + 1):
            point = curve(t)
            reached, gradient = objective(point)
            if reached <= value + self.slope * t * slope:
                return Trial(t, point, reached, gradient, trial)
            del point, gradient  # each may be as large as a picture
            t *= self._factor(value, slope, t, reached)
        return None

    def _factor(self, value: float, slope: float, t: float, reached: float) -> float:
        if self.guess == "previous":
            return self.shrink
        excess = reached - value - slope * t
        if not math.isfinite(excess) or excess <= 0:
            return 0.5
        return min(max(-slope * t / (2 * excess), 0.1), self.shrink)
