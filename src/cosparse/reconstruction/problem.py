"""What a task asks of the engine for one grey plane."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.kernels.reference import LocalWeights
from cosparse.noise import Map
from cosparse.operator import AnalysisOperator
from cosparse.optimize import Euclidean, Settings, Whitened
from cosparse.reconstruction.bounds import Pair
from cosparse.reconstruction.energy import Energy, Image
from cosparse.reconstruction.intervals import Intervals
from cosparse.reconstruction.local_noise import grid, patch_levels, precision, relative_variance
from cosparse.reconstruction.noise_level import typical_level
from cosparse.reconstruction.prior import Prior
from cosparse.reconstruction.stages import Plan, Stage, first_step
from cosparse.reconstruction.whitening import filters
from cosparse.trained_steps import Step

Space = Euclidean | Whitened


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
        The first image; for steps of several planes (h, w, planes).
    data : array or None
        y; None where the data are held exactly instead.
    measure : LinearOperator or None
        A; None is the identity.
    trust : array or None
        W², of the shape of the data: a factor on the squared misfit of each, 0 where it is missing. None is 1
        everywhere, or without `measure` what `noise` makes of it.
    free : (h, w) bool array or None
        The pixels that may change; None is all. The others are held as they start: the limit of Eq. (49) for
        noiseless pixels as the weight goes to zero.
    bounds : (low, high) or None
        The range of the pixels; leaving it costs its squared excess, Eq. (48).
    steps : tuple of Step
        Of a staged operator: taken from the start one after the other, instead of minimising anything. The plan has no
        stages then.
    half : bool
        Whether it is posed for a plane of half the size: who solves it brings the result up, see
        :func:`cosparse.reconstruction.chroma.brought_up`.
    noise : Map or None
        The noise of each pixel of the start, if it is not the same everywhere: which prior each patch has, see
        :mod:`cosparse.reconstruction.local_noise`. Plan and steps are for its typical level.
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
    half: bool = False
    noise: Map | None = None
    within: Intervals | None = None

    def __post_init__(self) -> None:
        if self.noise is not None and self.trust is None and self.measure is None:
            object.__setattr__(self, "trust", precision(self.noise))

    @property
    def planes(self) -> int:
        """How many there are."""
        return math.prod(self.start.shape[2:])

    @property
    def patch_shape(self) -> tuple[int, int]:
        """Of the operator, or of steps of several planes, whose patches are square."""
        if self.start.ndim == 2:
            return self.operator.patch_shape
        side = math.isqrt(self.steps[0].atoms.shape[1] // self.planes)
        return side, side

    def energies(self) -> list[Energy]:
        """The energy of every stage."""
        stride, levels = min(self.plan.stride, *self.operator.patch_shape), None
        if self.noise is not None and self.plan.stages:
            levels = patch_levels(self.noise, self.operator.patch_shape, (stride, stride))
        return [
            Energy(
                Prior(self.operator.at(stage.sigma), stage.penalty, stride, self._local(stage, levels)), stage.weight,
                self.data, self.measure, self.bounds, self.trust,
            )
            for stage in self.plan.stages
        ]  # fmt: skip

    def _local(self, stage: Stage, levels: NDArray[np.intp] | None) -> LocalWeights | None:
        """What the prior of a stage is at each level of the noise, in proportion to the data's weight there."""
        if self.noise is None or levels is None:
            return None
        ratios = grid(self.noise) / typical_level(self.noise)
        local = stage.local or [stage.at(ratio) for ratio in ratios]
        each, scale = [self.operator.at(one.sigma) for one in local], self.operator.at(stage.sigma).scale
        weights = [
            own.weights * (one.weight / stage.weight / ratio**2)
            for own, one, ratio in zip(each, local, ratios, strict=True)
        ]
        factors = [np.divide(own.scale, scale, out=np.zeros_like(scale), where=scale > 0) for own in each]
        return LocalWeights(levels, np.stack(weights), np.stack(factors))

    def geometries(self) -> list[Space]:
        """Of every stage: which pixels may change, and in what units and coordinates, so that all converge alike."""
        unit = None
        if self.noise is not None:
            unit = relative_variance(self.noise)
            # Through a measurement pixels see the data of others, noisier or less so: half of the way is better there.
            unit = unit if self.measure is None else np.sqrt(unit)
        return [self._space(stage, unit) for stage in self.plan.stages]

    def _space(self, stage: Stage, unit: Image | None) -> Space:
        if not stage.whitened:
            return Euclidean(self.free, unit)
        prior = Prior(self.operator.at(stage.sigma), stage.penalty)
        down, across = filters(prior, stage.weight, stage.whitened, None if self.data is None else 1.0)
        return Whitened(down, across, self.free, unit)

    def settings(self) -> list[Settings]:
        """Of every stage: its iterations, and where its first line search begins."""
        if not self.plan.stages:
            return []
        first = self.plan.stages[0]
        step = first_step(first, self.operator.at(first.sigma))
        # A stage ends after its iterations, not by a tolerance.
        return [Settings(iterations=one.iterations, step_tolerance=0.0, first_step=step) for one in self.plan.stages]
