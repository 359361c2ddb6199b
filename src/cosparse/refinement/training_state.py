"""The state of a training run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cosparse.refinement.parameters import RATES, Parameters

Arrays = dict[str, NDArray[np.float64]]


@dataclass(frozen=True)
class TrainingState:
    """Everything the next step depends on, and what is to be reported at the end."""

    parameters: Parameters
    first: Arrays  # Adam's running means of the gradient
    second: Arrays  # and of its square
    step: int
    dropped: int
    losses: tuple[float, ...]
    best: Parameters
    validations: tuple[tuple[int, float], ...]

    @classmethod
    def begin(cls, parameters: Parameters) -> TrainingState:
        """Before the first step."""
        zeros = {name: np.zeros_like(getattr(parameters, name)) for name in RATES}
        return cls(parameters, zeros, zeros, 0, 0, (), parameters, ())
