"""What a task asks for planes of tensors, and what the energy answers: the twin of `reconstruction.problem`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from cosparse.interop.torch.tensor_door import Opened, TensorOptions, at_work_of, strengths
from cosparse.interop.torch.tensor_energy import TensorEnergy, minimise, prior_of, single, stage_settings
from cosparse.interop.torch.tensor_measures import TensorMeasure
from cosparse.interop.torch.tensor_prior import opponents
from cosparse.interop.torch.tensor_spaces import space_of
from cosparse.interop.torch.tensor_steps import join
from cosparse.operator import AnalysisOperator, chosen_operator
from cosparse.reconstruction.bounds import Pair
from cosparse.reconstruction.stages import Plan, as_refined
from cosparse.reconstruction.watch import Watch


@dataclass(frozen=True, eq=False)
class PlaneProblem:
    """What a task asks for one plane (h, w): the twin of :class:`cosparse.Problem`."""

    plan: Plan
    start: torch.Tensor
    data: torch.Tensor | None = None
    measure: TensorMeasure | None = None
    trust: torch.Tensor | None = None
    free: torch.Tensor | None = None
    bounds: Pair | None = None

    def solve(self, operator: AnalysisOperator, watch: Watch) -> torch.Tensor:
        """The minimiser of its last stage."""
        stages, seen = self.plan.stages, None if self.measure is None else self.measure.of_one()
        energies = [
            TensorEnergy(
                single(prior_of(operator, stage, self.plan.stride, self.start)), self.data,
                seen.forward if seen else None, seen.adjoint if seen else None, self.bounds, self.trust,
            )
            for stage in stages
        ]  # fmt: skip
        settings, weights = stage_settings(stages, operator), [stage.weight for stage in stages]
        spaces = [space_of(operator, stage, self.data is not None, self.free) for stage in stages]
        results, _ = minimise(energies, settings, self.start, spaces=spaces, watch=watch, weights=weights)
        return results[-1].point


# Of a plane, its noise, its bounds, and which image it is of; None leaves it as it came.
Pose = Callable[[torch.Tensor, float, Pair | None, int], PlaneProblem | None]


def by_energy(
    opened: Opened,
    levels: list[float],
    bounds: list[Pair | None],
    options: TensorOptions,
    pose: Pose,
    watch: Watch,
    least: float = 0.0,
) -> list[list[torch.Tensor]]:
    """For every image its planes as the energy's minimisers, one after the other.

    Noise is taken for as strong as the options say, but at least for `least` of what it is.
    """
    operator = as_refined(chosen_operator(options.operator))
    pages = []
    for number, level in enumerate(levels):
        seen = opponents(opened.batch[number : number + 1])
        limits, planes = at_work_of(bounds[number], opened), []
        for index, ((plane, gain), strength) in enumerate(zip(seen, strengths(options, len(seen)), strict=True)):
            watch.page, watch.pages, watch.plane, watch.planes = number, len(levels), index, len(seen)
            own = level * gain * max(strength, least)
            problem = pose(plane[0], own, None if len(seen) == 3 and index else limits, number)
            if problem is None:
                planes.append(plane[0])
            else:
                planes.append(problem.start if watch.stopped else problem.solve(operator, watch))
        pages.append(planes)
    return pages


def closed(opened: Opened, pages: list[list[torch.Tensor]], bounds: list[Pair | None]) -> torch.Tensor:
    """The planes of all images as the caller's tensor."""
    stacked = [torch.stack(planes) for planes in zip(*pages, strict=True)]
    return opened.close(join(stacked), bounds)
