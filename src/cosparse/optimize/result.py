"""How an optimisation ended. Not converging is a result, not an error."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Stop(Enum):
    """Why the iteration ended."""

    STEP = "the iterate moved less than the step tolerance"
    GRADIENT = "the gradient fell below the gradient tolerance"
    DECREASE = "the value fell by less than the decrease tolerance"
    ITERATIONS = "the iteration limit was reached"
    STALLED = "no step along the search direction lowers the value any further"
    CALLBACK = "the callback asked to stop"

    @property
    def converged(self) -> bool:
        """Whether a tolerance, not a limit, ended the iteration."""
        return self in (Stop.STEP, Stop.GRADIENT, Stop.DECREASE, Stop.STALLED)


@dataclass(frozen=True, eq=False)
class Result:
    """Where the iteration ended, and what it took to get there."""

    point: NDArray[Any]
    value: float
    gradient_norm: float
    stop: Stop
    iterations: int
    evaluations: int
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if not np.isfinite(self.value):
            raise FloatingPointError(f"the objective ended at {self.value}")
