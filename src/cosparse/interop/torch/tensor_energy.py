"""What a repaired tensor minimises, Eq. (49), by the same conjugate gradient as arrays, on the tensor's own device."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from cosparse.interop.torch.tensor_patches import Sides
from cosparse.interop.torch.tensor_prior import AnalysisPrior, levels_of, sparsity
from cosparse.interop.torch.tensor_spaces import TensorSpace
from cosparse.operator import AnalysisOperator
from cosparse.optimize import Result, Settings, State, conjugate_gradient
from cosparse.reconstruction.bounds import Pair
from cosparse.reconstruction.engine import check_finite
from cosparse.reconstruction.stages import Stage, first_step
from cosparse.reconstruction.watch import Watch

Map = Callable[[torch.Tensor], torch.Tensor]
Valued = Callable[[torch.Tensor], tuple[float, torch.Tensor]]


@dataclass(frozen=True, eq=False)
class TensorEnergy:
    """½‖W(A s - y)‖² + b(s) + g(s) and its gradient, on images of 0..255: the twin of `reconstruction.energy.Energy`.

    `prior` gives weight·g and its gradient.
    """

    prior: Valued
    data: torch.Tensor | None = None
    forward: Map | None = None
    adjoint: Map | None = None
    bounds: Pair | None = None
    trust: torch.Tensor | None = None

    def __call__(self, image: torch.Tensor) -> tuple[float, torch.Tensor]:
        value, gradient = self.prior(image)
        if self.data is not None:
            misfit, pull = self.misfit(image)
            value += misfit
            gradient = gradient + pull
        if self.bounds is not None:
            excess = image - image.clamp(*self.bounds)
            value += float((excess * excess).sum())
            gradient = gradient + 2 * excess
        return value, gradient

    def misfit(self, image: torch.Tensor) -> tuple[float, torch.Tensor]:
        """½‖W(A s - y)‖² and its gradient."""
        residual = (image if self.forward is None else self.forward(image)) - self.data
        pull = residual if self.trust is None else residual * self.trust
        value = 0.5 * float((residual.conj() * pull).real.sum())
        back = pull if self.adjoint is None else self.adjoint(pull)
        return value, (back.real if back.is_complex() else back).to(image.dtype)


def prior_of(
    operator: AnalysisOperator, stage: Stage, stride: int, like: torch.Tensor, times: float = 1.0
) -> Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]:
    """weight·g of a stage, times a factor, for planes (n, h, w): value (n,) and gradient."""
    steps: Sides = (min(stride, operator.patch_shape[0]), min(stride, operator.patch_shape[1]))
    there = operator.at(stage.sigma)
    factor = stage.weight * times * steps[0] * steps[1]
    atoms = torch.as_tensor(there.atoms, dtype=like.dtype, device=like.device)[None]
    weights = torch.as_tensor(there.weights * factor, dtype=like.dtype, device=like.device)[None]
    return lambda planes: sparsity(planes, atoms, weights, stage.penalty, operator.patch_shape, steps)


def minimise(
    energies: Sequence[TensorEnergy],
    settings: Sequence[Settings],
    start: torch.Tensor,
    *,
    spaces: Sequence[TensorSpace] | None = None,
    watch: Watch | None = None,
    weights: Sequence[float] = (),
    revise: Callable[[TensorEnergy, torch.Tensor], TensorEnergy] | None = None,
) -> tuple[list[Result], TensorEnergy]:
    """Minimise energies in turn, each from the last one's result; the results, and the last energy as it was.

    Each in a space of its own, or all in plain space. `revise` may change those after the first, given what that ended
    with.
    """
    watch, image, done = watch or Watch(), start, 0
    results: list[Result] = []
    limit, energy = sum(one.iterations for one in settings), energies[0]
    for stage, (energy, one) in enumerate(zip(energies, settings, strict=True)):
        if revise is not None and stage:
            energy = revise(energy, results[0].point)
        weight = weights[stage] if weights else math.nan

        def report(state: State, done: int = done, stage: int = stage, weight: float = weight) -> bool:
            return watch.iteration(done + state.iteration, limit, state.value, state.point, stage, weight)

        space: Any = TensorSpace() if spaces is None else spaces[stage]
        result = conjugate_gradient(energy, space, image, one, callback=report)
        image, done = result.point, done + result.iterations
        results.append(result)
        if watch.stopped:
            break
    check_finite(float(image.sum()))
    return results, energy


def stage_settings(stages: Sequence[Stage], operator: AnalysisOperator) -> list[Settings]:
    """Of every stage: its iterations, and where its first line search begins."""
    step = first_step(stages[0], operator.at(stages[0].sigma))
    return [Settings(iterations=one.iterations, step_tolerance=0.0, first_step=step) for one in stages]


def single(prior: Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]) -> Valued:
    """That of one plane (h, w), its value a number."""

    def valued(plane: torch.Tensor) -> tuple[float, torch.Tensor]:
        value, gradient = prior(plane[None])
        return float(value), gradient[0]

    return valued


@torch.no_grad()
def proximal(
    prior: AnalysisPrior, image: torch.Tensor, step: float, sigma: float | torch.Tensor | None, iterations: int
) -> torch.Tensor:
    """argmin over x of ½‖x - image‖² + step·g(x), each image of a batch by itself."""
    settings = Settings(iterations=iterations, step_tolerance=0.0, decrease_tolerance=1e-7, first_step=0.1)
    levels = levels_of(prior.sigma if sigma is None else sigma, image, 255.0)
    found = []
    for one, level in zip(image.to(prior.matrix.dtype), levels, strict=True):

        def valued(point: torch.Tensor, level: torch.Tensor = level) -> tuple[float, torch.Tensor]:
            value, gradient = prior.value_and_gradient(point[None], level)
            return step * float(value), step * gradient[0]

        space: Any = TensorSpace()
        found.append(conjugate_gradient(TensorEnergy(valued, one), space, one, settings).point)
    return torch.stack(found).to(image.dtype)


def with_bounds(energy: TensorEnergy, bounds: Pair | None) -> TensorEnergy:
    """The same within bounds."""
    return replace(energy, bounds=bounds)
