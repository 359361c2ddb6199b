"""A task, and what it is asked for: an array of any kind, taken apart, posed, solved and put together again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.operator import AnalysisOperator
from cosparse.optimize import conjugate_gradient
from cosparse.reconstruction.bounds import Pair
from cosparse.reconstruction.engine import Descend, solve
from cosparse.reconstruction.planes import Caller, Channel, Pages, Plane, take_apart
from cosparse.reconstruction.problem import Problem
from cosparse.reconstruction.second_pass import filter_groups, parts_of
from cosparse.reconstruction.stages import Grouping
from cosparse.reconstruction.watch import Callback, Watch


@dataclass(frozen=True, eq=False)
class Asked:
    """What is asked for one page, on 0..255: all that a plane's problem depends on beside its pixels.

    Attributes
    ----------
    operator, quality, weight
        As the caller of the task said.
    sigma : float
        The noise of the page.
    gaps, trust : (h, w) arrays or None
        Of inpainting: what is missing, and how much each known pixel counts.
    factor : int
        Of upscaling.
    measure : LinearOperator or None
        Of deblurring.
    """

    operator: AnalysisOperator
    quality: str
    weight: float | None
    sigma: float
    gaps: NDArray[np.bool_] | None = None
    trust: Plane | None = None
    factor: int = 1
    measure: Any = None


@dataclass(frozen=True, eq=False)
class Task:
    """One kind of repair: the only place that knows what it is called, poses, needs and how far it looks.

    Attributes
    ----------
    name, word : str
        "denoise", and what its results are called: photo.denoised.png.
    pose : callable
        The problem of a channel, given what is asked.
    request : callable
        What a caller asks for, checked.
    second_pass : mapping of str to Grouping
        By quality; empty if there is none.
    estimates_noise : bool
        Whether a noise level that is not given is estimated.
    needs, takes : tuple of str
        Options that must be given, and that may be, beside those that all tasks have.
    reach : int
        How many patch sizes a pixel looks in each direction, about, for as long as a repair takes.
    unit : int
        Pixels: what tiles must begin at a multiple of, beside the distance of patches.
    """

    name: str
    word: str
    pose: Callable[[Channel, Asked], Problem]
    request: Callable[..., Request]
    second_pass: Mapping[str, Grouping] = field(default_factory=dict)
    estimates_noise: bool = False
    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    reach: int = 4
    unit: int = 1


@dataclass(frozen=True, eq=False)
class Request:
    """A repair of one array, ready to run.

    Attributes
    ----------
    pose : callable
        The task's.
    pages : (n, h, w[, channels]) array
        On 0..255.
    caller : Caller
        What the array was like.
    asked : tuple of (Asked or None)
        For every page; None where there is nothing to repair.
    limits : list
        Between which values the result of every page lies, in the caller's units.
    grouping : Grouping or None
        The second pass.
    close : callable
        The caller's array again, from repaired pages.
    """

    pose: Callable[[Channel, Asked], Problem]
    pages: Pages
    caller: Caller
    asked: tuple[Asked | None, ...]
    limits: list[Pair | None]
    grouping: Grouping | None
    close: Callable[[Pages], NDArray[Any]]

    @property
    def sigmas(self) -> tuple[float, ...]:
        """The noise of every page, as it was given or estimated."""
        return tuple(0.0 if asked is None else asked.sigma for asked in self.asked)

    def problems(self, number: int = 0) -> list[Problem]:
        """Those of a page's planes."""
        asked = self.asked[number]
        return [] if asked is None else [self.pose(channel, asked) for channel in self._apart(number)[0]]

    def run(self, callback: Callback = None, descend: Descend = conjugate_gradient) -> NDArray[Any]:
        """The repaired array; `descend` as in :func:`cosparse.solve`."""
        watch = Watch(callback)
        pages = []
        for number in range(len(self.pages)):
            watch.on_page(number, len(self.pages))
            pages.append(self._repaired(number, watch, descend))
        return self.close(np.stack(pages))

    def _apart(self, number: int) -> tuple[list[Channel], Callable[[list[Plane]], Plane]]:
        return take_apart(self.pages[number], self.caller.working_bounds(self.limits[number]))

    def _repaired(self, number: int, watch: Watch, descend: Descend) -> Plane:
        asked = self.asked[number]
        if asked is None:
            return np.asarray(self.pages[number])
        channels, join = self._apart(number)
        problems = [self.pose(channel, asked) for channel in channels]
        planes = [problem.start for problem in problems]
        offset = np.float32(self.caller.scale(self.caller.offset))

        def shown(planes: list[Plane]) -> Plane:
            return np.asarray(join(planes) + offset if offset else join(planes))

        parts = 0 if self.grouping is None else parts_of(self.grouping, planes[0].shape[0], asked.sigma)
        for i, problem in enumerate(problems):

            def view(point: Plane, before: list[Plane] = planes[:i], after: list[Plane] = planes[i + 1 :]) -> Plane:
                return shown([*before, point, *after])

            watch.on_plane(i, len(problems), view, parts if i == len(problems) - 1 else 0)
            planes[i] = solve(problem, watch=watch, descend=descend).image
        if self.grouping is None or watch.stopped:
            return join(planes)
        known = None if asked.gaps is None else ~asked.gaps

        def report(number: int, now: list[Plane]) -> bool:
            return watch.part(number, now[-1], lambda point: shown(now))

        return join(filter_groups(channels, planes, asked.sigma, self.grouping, report, known))
