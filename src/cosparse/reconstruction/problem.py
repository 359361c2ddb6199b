"""What a task asks of the engine for one grey plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.operator import AnalysisOperator
from cosparse.optimize import Settings
from cosparse.reconstruction.bounds import Pair
from cosparse.reconstruction.energy import Energy, Image
from cosparse.reconstruction.intervals import Intervals
from cosparse.reconstruction.prior import Prior
from cosparse.reconstruction.stages import Plan, first_step
from cosparse.trained_steps import Step


@dataclass(frozen=True, eq=False)
class Problem:
    """Eq. (49) for one plane on 0..255, as a continuation over stages, and where to start.

    Parameters
    ----------
    operator : AnalysisOperator
        The prior.
    plan : Plan
        The stages: at which noise level the operator is taken, its weight and sharpness, how many iterations; and how
        far apart patches lie.
    start : (h, w) array
        The first image.
    data : array or None
        y; None where the data are held exactly instead.
    measure : LinearOperator or None
        A; None is the identity.
    trust : (h, w) array or None
        Without `measure`: a factor on the squared misfit of each pixel, 0 where it is missing. None is 1 everywhere.
    free : (h, w) bool array or None
        The pixels that may change; None is all. The others are held as they start: the limit of Eq. (49) for
        noiseless pixels as the weight goes to zero.
    bounds : (low, high) or None
        The range of the pixels; leaving it costs its squared excess, Eq. (48).
    steps : tuple of Step
        Of a staged operator: taken from the start one after the other, instead of minimising anything. The plan has no
        stages then.
    within : Intervals or None
        Of a JPEG: where every coefficient of a block lies. The last stage's result is brought there, and that of each
        trained step into the middle of it.
    """

    operator: AnalysisOperator
    plan: Plan
    start: Image
    data: NDArray[Any] | None = None
    measure: Any = None
    trust: Image | None = None
    free: NDArray[np.bool_] | None = None
    bounds: Pair | None = None
    steps: tuple[Step, ...] = ()
    within: Intervals | None = None

    def energies(self) -> list[Energy]:
        """The energy of every stage."""
        stride = min(self.plan.stride, *self.operator.patch_shape)
        return [
            Energy(
                Prior(self.operator.at(stage.sigma), stage.penalty, stride), stage.weight, self.data, self.measure,
                self.bounds, self.trust,
            )
            for stage in self.plan.stages
        ]  # fmt: skip

    def settings(self) -> list[Settings]:
        """Of every stage: its iterations, and where its first line search begins."""
        if not self.plan.stages:
            return []
        first = self.plan.stages[0]
        step = first_step(first, self.operator.at(first.sigma))
        # A stage ends after its iterations, not by a tolerance.
        return [Settings(iterations=one.iterations, step_tolerance=0.0, first_step=step) for one in self.plan.stages]
