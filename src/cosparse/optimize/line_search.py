"""The search along a direction for a trial that is good enough, and Armijo's rule for it (Algorithm 1)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Trial:
    """A point `t` directions along a search line: its value, and the gradient, the direction and the slope there."""

    t: float
    point: Array
    value: float
    gradient: Array
    direction: Array
    slope: float


class StepLength(Protocol):
    """How far to go along a direction. `value` is to be improved on, `slope` is that at the start of the line.

    `optimum` is the length that a trial should have had by the slopes at the start and there.
    """

    @property
    def trials(self) -> int:
        """Evaluations after which a search gives up."""

    def accepts(self, trial: Trial, value: float, slope: float) -> bool:
        """Whether the trial is good enough."""

    def factor(self, trial: Trial, value: float, slope: float) -> float:
        """By which the next trial is shorter than one that was not."""

    def step(self, t: float, optimum: float) -> float:
        """How far along the line the next one starts."""

    def first_trial(self, t: float, optimum: float) -> float:
        """The length at which the next search starts."""


def search(
    rule: StepLength, look: Callable[[float], Trial], value: float, slope: float, t: float, trials: int
) -> tuple[Trial | None, int]:
    """The first trial that is accepted, from `t` on to ever shorter ones, or None; and how many it took.

    A trial outside the domain (a rank lost, two atoms equal) has an infinite or undefined value and is rejected
    like any other.
    """
    for number in range(1, trials + 1):
        trial = look(t)
        if rule.accepts(trial, value, slope):
            return trial, number
        t *= rule.factor(trial, value, slope)
        del trial  # its arrays may be as large as pictures
    return None, trials


@dataclass(frozen=True)
class LineSearch:
    """Armijo backtracking: the next search starts from the accepted trial.

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

    def accepts(self, trial: Trial, value: float, slope: float) -> bool:
        """The Armijo condition."""
        return trial.value <= value + self.slope * trial.t * slope

    def factor(self, trial: Trial, value: float, slope: float) -> float:
        """c1, or to the minimum of the parabola."""
        if self.guess == "previous":
            return self.shrink
        excess = trial.value - value - slope * trial.t
        if not math.isfinite(excess) or excess <= 0:
            return 0.5
        return min(max(-slope * trial.t / (2 * excess), 0.1), self.shrink)

    def step(self, t: float, optimum: float) -> float:
        """To the trial."""
        return t

    def first_trial(self, t: float, optimum: float) -> float:
        """By the guess."""
        return optimum if self.guess == "secant" else t / self.shrink
