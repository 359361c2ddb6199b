"""A correction: a few trained steps from what was made of pixels without noise that are missing, or were never there.

How far off the energy and the second pass are depends on how little was known. The numbers of the steps follow that as
those of denoising follow the noise, by a level: 25 times the share of pixels that are missing about a place, or a
quarter of that for each factor by which a picture was enlarged.

Patches lie two pixels apart, and training saw so many pictures: what the steps give hangs a little on which way is up.
At the quality "best" they are taken four times, turned by a quarter each time, and the mean is the result.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cosparse.kernels.reference import patch_means
from cosparse.noise import Map
from cosparse.reconstruction.engine import solve
from cosparse.reconstruction.local_noise import grid
from cosparse.reconstruction.planes import Plane
from cosparse.reconstruction.problem import Problem
from cosparse.reconstruction.stages import Plan
from cosparse.trained_steps import REFERENCE_SIGMA, TrainedSteps

WINDOW = 15  # pixels: the side of the squares over which shares are taken
LEAST = 0.1  # shares below are taken for this one
NEAR = 5  # pixels: what is farther from all that is known is not corrected, as training never saw its like
TYPICAL = 0.5 * REFERENCE_SIGMA  # of all masks alike, so that tiles have the grid of levels that the whole has


def missing_level(gaps: NDArray[np.bool_]) -> float:
    """Of pixels that are missing everywhere alike."""
    return REFERENCE_SIGMA * max(float(gaps.mean()), LEAST)


def missing_levels(gaps: NDArray[np.bool_]) -> Map:
    """About every pixel."""
    share = patch_means(gaps.astype(np.float32), (WINDOW, WINDOW), (1, 1)).clip(LEAST)
    return Map((REFERENCE_SIGMA * share).astype(np.float32), typical=TYPICAL)


def near_known(gaps: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The missing pixels that have a known one nearby."""
    side = 2 * NEAR + 1
    return np.asarray(gaps & (patch_means(gaps.astype(np.float32), (side, side), (1, 1)) < 1))


def enlarged_level(factor: float) -> float:
    """Of a picture that is enlarged."""
    return REFERENCE_SIGMA / 4 * factor


def correct(problem: Problem, image: Plane, steps: TrainedSteps, factor: float, quality: str) -> Plane:
    """What the steps make of an image that was found for a problem."""
    found = [solve(corrected(problem, image, one, factor)).image for one in turns_of(steps, quality)]
    return np.asarray(sum(found[1:], start=found[0]) / np.float32(len(found)))


def turns_of(steps: TrainedSteps, quality: str) -> list[TrainedSteps]:
    """The steps as they are taken: turned every way if there is time, and patches are square."""
    turns = 4 if quality == "best" and steps.side**2 * steps.planes == steps.atoms.shape[2] else 1
    return [steps, *(steps.turned(quarters) for quarters in range(1, turns))]


def corrected(problem: Problem, image: Plane, steps: TrainedSteps, factor: float = 1) -> Problem:
    """The steps from an image that was found for a problem: held pixels stay, and what was measured pulls."""
    plan = Plan((), steps.stride)
    if problem.free is None:
        taken = tuple(steps.at(enlarged_level(factor)))
        # What is repeated beyond the border tells the outermost pixels nothing: only there steps lose, by 1 dB.
        within = np.zeros(image.shape, bool)
        within[1:-1, 1:-1] = True
        return replace(problem, plan=plan, start=image, steps=taken, free=within, bounds=None)
    levels = missing_levels(problem.free)
    taken = tuple(steps.at(TYPICAL, grid(levels)))
    near = near_known(problem.free)
    return replace(problem, plan=plan, start=image, data=image, steps=taken, noise=levels, free=near, bounds=None)
