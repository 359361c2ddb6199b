"""Training the steps that denoise both opponent colours at half their size, beside luma that is held.

An atom sees either luma or the two colours. Through the pools luma then says where colours may change, but not how:
what is grey stays grey, and opposite colours become opposite ones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cosparse.operator import AnalysisOperator
from cosparse.reconstruction.chroma import UNITS, beside_luma, brought_up, halved, opponents_of
from cosparse.reconstruction.engine import solve
from cosparse.reconstruction.planes import OPPONENT, Channel, Plane, take_apart
from cosparse.reconstruction.problem import Problem
from cosparse.reconstruction.request import Asked
from cosparse.reconstruction.tasks import TASKS
from cosparse.refinement.bilevel import Crop, Image
from cosparse.refinement.parameters import zero_mean_basis
from cosparse.refinement.staged import Array, Staged, StagedParameters, with_floors

SIDE, ATOMS = 6, 176  # pixels of a side of their patches, at half size; and how many atoms new steps have
SEEN = 35  # of these, so many see luma
JUDGED = 1 / 16  # errors of colours are judged as those of so much of the noise: so much smaller they are


@dataclass(frozen=True)
class StagedColours(Staged):
    """Training of such steps, as :func:`cosparse.refinement.train.refine_operator` runs it. A crop is of colours."""

    task: str = "colours"

    def begin(self) -> dict[str, Array]:
        """The numbers that training starts with."""
        there = self.start.steps.get(self.task)
        if there is not None and (len(there), there.pools.shape[1]) == (self.stages, self.pools):
            return dict(vars(StagedParameters.of_steps(there, (there.side, there.side))))
        begun = StagedParameters.begun(_atoms(), self.stages, self.pools, self.task)
        # A pixel lies in so many patches, and every colour has so few of the atoms.
        return dict(vars(begun)) | {"own": begun.own * (ATOMS / SIDE**2)}

    def operator(self, parameters: dict[str, Array]) -> AnalysisOperator:
        """The operator as tasks will use it: that of the start, with these steps."""
        low, high = self.sigma
        side = int(np.sqrt(parameters["coordinates"].shape[2] // 3 + 1))
        steps = StagedParameters(**parameters).steps((side, side), self.stride, (low / 2, high / 2), 3)
        return dataclasses.replace(self.start, steps={**self.start.steps, self.task: steps})

    def finished(self, parameters: dict[str, Array], provenance: dict[str, str]) -> AnalysisOperator:
        """What training ends with."""
        operator = super().finished(parameters, provenance)
        steps = operator.steps[self.task]
        steps = with_floors(steps, (steps.side, steps.side))
        return dataclasses.replace(operator, steps={**operator.steps, self.task: steps})

    def gradient(
        self, parameters: dict[str, Array], operator: AnalysisOperator, crop: Crop
    ) -> tuple[float, dict[str, Array]]:
        """As in :meth:`Staged.gradient`; what an atom does not see, it does not come to see."""
        value, found = super().gradient(parameters, operator, crop)
        return value, found | {"coordinates": found["coordinates"] * (parameters["coordinates"] != 0)}

    def begun(self, operator: AnalysisOperator, crop: Crop) -> Problem:
        """Both colours beside luma as "balanced" has it, without the second pass."""
        return self._posed(operator, crop)[1]

    def repaired(self, operator: AnalysisOperator, crop: Crop) -> Image:
        """As the task repairs it: red, green and blue."""
        luma, problem, colours, join = self._posed(operator, crop)
        smalls = opponents_of(solve(problem).image)
        return join([luma, *brought_up(smalls, luma, colours, crop.sigma)])

    def judged(self, crop: Crop, problem: Problem) -> tuple[float, Image, float]:
        """Half of the noise is left at half the size; what is held is as it should be."""
        truth = problem.start.copy()
        for i in (1, 2):
            truth[..., i] = halved(crop.truth @ OPPONENT[i]) / UNITS[i]
        return crop.sigma / 2, truth, crop.sigma * JUDGED

    def _posed(
        self, operator: AnalysisOperator, crop: Crop
    ) -> tuple[Plane, Problem, list[Channel], Callable[[list[Plane]], Plane]]:
        channels, join = take_apart(crop.measured, None)
        luma = solve(TASKS["denoise"].pose(channels[0], Asked(operator, "balanced", None, crop.sigma))).image
        return (
            luma,
            beside_luma(operator, operator.steps[self.task], luma, channels[1:], crop.sigma),
            channels[1:],
            join,
        )


def _atoms() -> Array:
    """A few cosines of luma, those of each colour, and some of both colours together."""
    rng, count = np.random.default_rng(0), SIDE**2 - 1
    coarse = np.argsort(np.add.outer(range(SIDE), range(SIDE)).ravel()[1:], kind="stable")
    every = np.eye(len(zero_mean_basis((SIDE, SIDE), 3)))
    atoms = [*every[coarse[:SEEN]], *every[count:]]
    while len(atoms) < ATOMS:
        place = coarse[int(rng.integers(count) * rng.random())]
        together = (every[place + count * np.arange(1, 3)] * rng.normal(size=(2, 1))).sum(axis=0)
        atoms.append(together / np.linalg.norm(together))
    shaken = np.array(atoms) + 0.05 * rng.standard_normal((ATOMS, len(every)))
    of_luma = np.arange(len(every)) < count
    return np.where(np.arange(ATOMS)[:, None] < SEEN, shaken * of_luma, shaken * ~of_luma)
