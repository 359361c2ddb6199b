"""The first pass over a page: every plane by its energy or its steps; opponent colours in much noise together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cosparse.reconstruction.chroma import beside_luma, brought_up, opponents_of
from cosparse.reconstruction.engine import solve
from cosparse.reconstruction.planes import Channel, Plane
from cosparse.reconstruction.problem import Problem
from cosparse.reconstruction.watch import Watch
from cosparse.trained_steps import TrainedSteps


def first_pass(
    problems: list[Problem],
    channels: list[Channel],
    solved: Callable[[int], Plane],
    together: TrainedSteps | None,
    sigma: float,
    watch: Watch,
    shown: Callable[[list[Plane]], Plane],
    to_come: int,
) -> list[Plane]:
    """The planes of a page in full size, as the second pass takes them up.

    Each problem in turn is `solved`. With steps of luma and both opponents `together` these are denoised beside luma at
    half their size: instead, if their problems are of half the size too, else in the mean with what those gave.

    The watch is told which plane is at work, how the page is `shown` meanwhile, and how many parts are `to_come`.
    """
    planes = [problem.start for problem in problems]
    halves = [i for i, problem in enumerate(problems) if problem.half]
    alone = 1 if together is not None and halves else len(problems)
    watch.planes = alone + (together is not None)

    def whole(planes: list[Plane]) -> list[Plane]:
        small, noisy = [planes[i] for i in halves], [channels[i] for i in halves]
        found = dict(zip(halves, brought_up(small, planes[0], noisy, sigma), strict=True))
        return [found.get(i, plane) for i, plane in enumerate(planes)]

    def beside(point: Plane) -> list[Plane]:
        found = brought_up(opponents_of(point), planes[0], channels[1:], sigma)
        return [planes[0], *(found if halves else map(_mean, planes[1:], found))]

    def begin(turn: int, view: Callable[[Plane], list[Plane]]) -> None:
        watch.plane, watch.view = turn, lambda point: shown(view(point))
        watch.parts = to_come if turn == watch.planes - 1 else 0

    for i in range(alone):
        begin(i, lambda point, before=planes[:i], after=planes[i + 1 :]: whole([*before, point, *after]))  # type: ignore[misc]
        planes[i] = solved(i)
    if together is None or watch.stopped:
        return whole(planes)
    begin(alone, beside)
    both = beside_luma(problems[0].operator, together, planes[0], channels[1:], sigma)
    return beside(solve(both, watch=watch).image)


def _mean(one: Plane, other: Plane) -> Plane:
    return np.float32(0.5) * (one + other)
