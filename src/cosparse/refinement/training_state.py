"""The state of a training run, and its steps by Adam."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[np.float64]]

CLIP = 3.0  # a crop's gradient is cut to so many times the median of its batch


@dataclass(frozen=True)
class TrainingState:
    """Everything the next step depends on, and what is to be reported at the end."""

    parameters: Arrays
    first: Arrays  # Adam's running means of the gradient
    second: Arrays  # and of its square
    step: int
    dropped: int
    losses: tuple[float, ...]
    best: Arrays
    validations: tuple[tuple[int, float], ...]

    @classmethod
    def begin(cls, parameters: Arrays, rates: Mapping[str, float]) -> TrainingState:
        """Before the first step."""
        zeros = {name: np.zeros_like(parameters[name]) for name in rates}
        return cls(parameters, zeros, zeros, 0, 0, (), parameters, ())

    def advanced(
        self,
        results: Sequence[tuple[float, Arrays]],
        dropped: int,
        rates: Mapping[str, float],
        moments: tuple[float, float],
    ) -> TrainingState:
        """One step of Adam, given the loss and gradient of every crop of a batch, but for those without one."""
        step = self.step + 1
        if not results:
            return replace(self, step=step, dropped=self.dropped + dropped, losses=(*self.losses, float("nan")))
        norms = np.array([np.linalg.norm(gradient["coordinates"]) for _, gradient in results])
        factors = np.minimum(1, CLIP * np.median(norms) / np.maximum(norms, 1e-30)) / len(results)
        new, first, second = dict(self.parameters), {}, {}
        for name, length in rates.items():
            gradient = sum(f * g[name] for f, (_, g) in zip(factors, results, strict=True))
            first[name] = moments[0] * self.first[name] + (1 - moments[0]) * gradient
            second[name] = moments[1] * self.second[name] + (1 - moments[1]) * gradient**2
            mean = first[name] / (1 - moments[0] ** step)
            size = np.sqrt(second[name] / (1 - moments[1] ** step))
            new[name] = self.parameters[name] - length * mean / (size + 1e-12)
        losses = (*self.losses, float(np.mean([value for value, _ in results])))
        return replace(
            self, parameters=new, first=first, second=second, step=step, dropped=self.dropped + dropped, losses=losses
        )
