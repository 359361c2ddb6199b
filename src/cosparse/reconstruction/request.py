"""A task, and what it is asked for: an array of any kind, taken apart, posed, solved and put together again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse.keywords import settled
from cosparse.operator import AnalysisOperator, chosen_operator
from cosparse.optimize import conjugate_gradient
from cosparse.reconstruction.bounds import Bounds, Pair
from cosparse.reconstruction.engine import Descend, solve
from cosparse.reconstruction.noise import page_levels
from cosparse.reconstruction.planes import (
    Caller,
    Channel,
    Pages,
    Plane,
    close_image,
    open_image,
    page_bounds,
    refuse_far,
    take_apart,
)  # fmt: skip
from cosparse.reconstruction.problem import Problem
from cosparse.reconstruction.second_pass import filter_groups, parts_of
from cosparse.reconstruction.stages import Grouping, Quality, as_refined, checked_quality
from cosparse.reconstruction.watch import Callback, Watch


class RepairKeywords(TypedDict, total=False):
    """Keywords of every task as type checkers and editors see them: the fields of Repairing."""

    bounds: Bounds
    data_range: float | None
    channel_axis: int | None
    alpha: bool
    callback: Callback


class Common(RepairKeywords, total=False):
    """What can be asked of every task's request: the fields of Options."""

    operator: AnalysisOperator | str | None
    weight: float | None
    quality: Quality
    part: bool


@dataclass(frozen=True)
class Repairing:
    """What every task takes: how its array is laid out, and who is told; :func:`denoise` says what each means."""

    bounds: Bounds = "auto"
    data_range: float | None = None
    channel_axis: int | None = None
    alpha: bool = False
    callback: Callback = None


@dataclass(frozen=True)
class Options(Repairing):
    """What is asked of a task. A `part` of a larger image is not judged by its own range of values."""

    operator: AnalysisOperator | str | None = None
    weight: float | None = None
    quality: Quality = "balanced"
    part: bool = False


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
    masks : bool
        Whether it takes a mask, of pixels that are missing.
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
    masks: bool = False
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
    asked : list of (Asked or None)
        For every page; None where there is nothing to repair.
    limits : list
        Between which values the result of every page lies, in the caller's units.
    second_pass : Grouping or None
    larger : callable or None
        What brings the transparency to the size of the result, if that is another.
    finish : callable or None
        What is done to the caller's array at last.
    callback : callable or None
        Who is told of iterations.
    """

    pose: Callable[[Channel, Asked], Problem]
    pages: Pages
    caller: Caller
    asked: list[Asked | None]
    limits: list[Pair | None]
    second_pass: Grouping | None = None
    larger: Callable[[Plane], Plane] | None = None
    finish: Callable[[NDArray[Any]], NDArray[Any]] | None = None
    callback: Callback = None

    @classmethod
    def of(
        cls,
        pose: Callable[[Channel, Asked], Problem],
        image: ArrayLike,
        sigma: float | None,
        given: Mapping[str, Any],
        known: NDArray[np.bool_] | None = None,
    ) -> Request:
        """What every task asks for an array: for each page the operator and its noise, given or estimated.

        Where pixels are not `known`, (n, h, w), there may be NaN.
        """
        options = settled(None, Options, given)
        checked_quality(options.quality)
        pages, caller = open_image(
            image, options.data_range, options.channel_axis, alpha=options.alpha, nan=known is not None
        )
        seen = pages if known is None else pages[known]
        if known is not None and np.isnan(seen).any():
            raise ValueError("image: holds NaN or infinity in pixels that the mask calls known; mark them as missing")
        levels = page_levels(pages, caller, sigma)
        if not options.part:
            refuse_far(seen, caller, sigma)
        limits = page_bounds(pages, caller, options.bounds, levels, known)
        asked = Asked(as_refined(chosen_operator(options.operator)), options.quality, options.weight, 0.0)
        return cls(
            pose, pages, caller, [replace(asked, sigma=level) for level in levels], limits, callback=options.callback
        )

    @property
    def sigmas(self) -> tuple[float, ...]:
        """The noise of every page, as it was given or estimated."""
        return tuple(0.0 if asked is None else asked.sigma for asked in self.asked)

    def problems(self, number: int = 0) -> list[Problem]:
        """Those of a page's planes."""
        asked = self.asked[number]
        return [] if asked is None else [self.pose(channel, asked) for channel in self._apart(number)[0]]

    def run(self, descend: Descend = conjugate_gradient) -> NDArray[Any]:
        """The repaired array; `descend` as in :func:`cosparse.solve`."""
        watch = Watch(self.callback)
        pages = []
        for number in range(len(self.pages)):
            watch.page, watch.pages = number, len(self.pages)
            pages.append(self._repaired(number, watch, descend))
        result = close_image(np.stack(pages), self.caller, self.limits, self.larger)
        return result if self.finish is None else self.finish(result)

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

        parts = 0 if self.second_pass is None else parts_of(self.second_pass, planes[0].shape[0], asked.sigma)
        for i, problem in enumerate(problems):

            def view(point: Plane, before: list[Plane] = planes[:i], after: list[Plane] = planes[i + 1 :]) -> Plane:
                return shown([*before, point, *after])

            watch.on_plane(i, len(problems), view, parts if i == len(problems) - 1 else 0)
            planes[i] = solve(problem, watch=watch, descend=descend).image
        if self.second_pass is None or watch.stopped:
            return join(planes)
        known = None if asked.gaps is None else ~asked.gaps

        def report(number: int, now: list[Plane]) -> bool:
            return watch.part(number, now[-1], lambda point: shown(now))

        return join(filter_groups(channels, planes, asked.sigma, self.second_pass, report, known))
