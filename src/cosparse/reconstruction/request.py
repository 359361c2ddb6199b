"""A task, and what it is asked for: an array of any kind, taken apart, posed, solved and put together again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse.kernels.threads import one_blas_thread
from cosparse.keywords import settled
from cosparse.noise import Correlated, Gaussian, Noise, PoissonGaussian
from cosparse.operator import AnalysisOperator, chosen_operator
from cosparse.optimize import conjugate_gradient
from cosparse.reconstruction.bounds import Bounds, Pair
from cosparse.reconstruction.chroma import is_together, taken_noise
from cosparse.reconstruction.correction import correct
from cosparse.reconstruction.correlated import denoise_in_rounds, whitened
from cosparse.reconstruction.engine import Descend, solve
from cosparse.reconstruction.estimation import Model
from cosparse.reconstruction.first_pass import first_pass
from cosparse.reconstruction.holes import Copying
from cosparse.reconstruction.noise_level import largest_level, page_noises, stated_noise, typical_level
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
from cosparse.reconstruction.reductions import USUAL
from cosparse.reconstruction.second_pass import filter_groups, parts_of
from cosparse.reconstruction.stabilisation import Stabilisation
from cosparse.reconstruction.stages import Grouping, Quality, as_refined, checked_quality
from cosparse.reconstruction.watch import Callback, Watch
from cosparse.trained_steps import TrainedSteps

Apart = Callable[[Plane, Pair | None], tuple[list[Channel], Callable[[list[Plane]], Plane]]]


class RepairKeywords(TypedDict, total=False):
    """Keywords of every task as type checkers and editors see them: the fields of Repairing."""

    noise: Noise | None
    luma: float
    chroma: float
    bounds: Bounds
    data_range: float | None
    channel_axis: int | None
    alpha: bool
    max_memory: float | None
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

    noise: Noise | None = None
    luma: float = 1.0
    chroma: float = 1.0
    bounds: Bounds = "auto"
    data_range: float | None = None
    channel_axis: int | None = None
    alpha: bool = False
    max_memory: float | None = None
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
    """What is asked for one page, on 0..255: all that a plane's problem depends on beside its pixels."""

    operator: AnalysisOperator
    quality: str
    weight: float | None  # like the operator and the quality, as the caller of the task said
    sigma: float  # the noise of the page: one number for all of it
    gaps: NDArray[np.bool_] | None = None  # (h, w), of inpainting: what is missing
    trust: Plane | None = None  # of inpainting: how much each known pixel counts
    factor: float = 1  # of upscaling
    kernel: Any = USUAL  # of upscaling: what the small image was made by, a name or an array
    measure: Any = None  # of deblurring: a LinearOperator
    noise: Noise | None = None  # what kind of noise, on 0..255, if it is not white and the same everywhere


@dataclass(frozen=True, eq=False)
class Task:
    """One kind of repair: the only place that knows what it is called, poses, needs and how far it looks."""

    name: str  # "denoise"
    word: str  # what its results are called: photo.denoised.png
    pose: Callable[[Channel, Asked], Problem]  # the problem of a channel, given what is asked
    request: Callable[..., Request]  # what a caller asks for, checked
    second_pass: Mapping[str, Grouping] = field(default_factory=dict)  # by quality; empty if there is none
    estimates_noise: bool = False  # whether a noise level that is not given is estimated
    needs: tuple[str, ...] = ()  # options that must be given, beside those that all tasks have
    takes: tuple[str, ...] = ()  # and those that may be
    masks: bool = False  # whether it takes a mask, of pixels that are missing
    reach: int = 4  # how many patch sizes a pixel looks in each direction, about, for as long as a repair takes
    compressed: bool = False  # whether it undoes a JPEG: told its tables, and nothing of noise
    unit: int = 1  # pixels: what tiles must begin at a multiple of, beside the distance of patches


@dataclass(frozen=True, eq=False)
class Request:
    """A repair of one array, ready to run."""

    pose: Callable[[Channel, Asked], Problem]  # the task's
    pages: Pages  # (n, h, w[, channels]) on 0..255
    caller: Caller  # what the array was like
    asked: list[Asked | None]  # for every page; None where there is nothing to repair
    limits: list[Pair | None]  # between which values the result of every page lies, in the caller's units
    second_pass: Grouping | None = None
    correction: TrainedSteps | None = None  # taken from what all else gives, of pixels without noise
    colours: TrainedSteps | None = None  # for opponents of half size beside luma
    larger: Callable[[Plane], Plane] | None = None  # brings the transparency to the size of the result, if another
    finish: Callable[[NDArray[Any]], NDArray[Any]] | None = None  # what is done to the caller's array at last
    stabilised: Sequence[Stabilisation | None] = ()  # how pages were made to have white noise, if any were
    strengths: tuple[float, float] = (1.0, 1.0)  # how much of the noise of luma and of chroma is removed
    blends: bool = False  # whether less than all of it is so by mixing result and image: then the grain stays natural
    callback: Callback = None  # who is told of iterations
    apart: Apart = take_apart  # how a page becomes the planes to repair, and these a page again
    copies: Sequence[Copying | None] = ()  # of inpainting: what of every page is filled from elsewhere, if anything is
    denoised: Request | None = None  # what has taken the noise off the pages, if that was done first
    completion: Request | None = None  # what fills in missing pixels first, so that steps which need all can follow

    @classmethod
    def of(
        cls,
        pose: Callable[[Channel, Asked], Problem],
        image: ArrayLike,
        sigma: ArrayLike | None,
        given: Mapping[str, Any],
        known: NDArray[np.bool_] | None = None,
        model: Model = "gaussian",
    ) -> Request:
        """What every task asks for an array: for each page the operator and its noise, given or estimated.

        Where pixels are not `known`, (n, h, w), there may be NaN. Noise that is estimated is of the `model`.
        """
        options = settled(None, Options, given)
        checked_quality(options.quality)
        pages, caller = open_image(
            image, options.data_range, options.channel_axis, alpha=options.alpha, nan=known is not None
        )
        seen = pages if known is None else pages[known]
        if known is not None and np.isnan(seen).any():
            raise ValueError("image: holds NaN or infinity in pixels that the mask calls known; mark them as missing")
        noises = page_noises(pages, caller, stated_noise(sigma, options.noise), model)
        levels, most = [typical_level(noise) for noise in noises], [largest_level(noise) for noise in noises]
        if not options.part:
            refuse_far(seen, caller, max(most, default=0.0))
        limits = page_bounds(pages, caller, options.bounds, most, known)
        asked = Asked(as_refined(chosen_operator(options.operator)), options.quality, options.weight, 0.0)
        each: list[Asked | None] = [
            replace(asked, sigma=level, noise=None if isinstance(noise, Gaussian) else noise)
            for level, noise in zip(levels, noises, strict=True)
        ]
        strengths = _strength("luma", options.luma), _strength("chroma", options.chroma)
        return cls(pose, pages, caller, each, limits, callback=options.callback, strengths=strengths)

    def with_white_noise(self) -> Request:
        """With photon noise made white by a root of every value: for tasks that know of nothing but pixels."""
        noises = [None if asked is None else asked.noise for asked in self.asked]
        ways = [Stabilisation(noise) if isinstance(noise, PoissonGaussian) else None for noise in noises]
        if not any(ways):
            return self
        pages = np.stack(
            [page if way is None else way.forward(page) for page, way in zip(self.pages, ways, strict=True)]
        )
        asked = [
            asked and (asked if way is None else replace(asked, sigma=way.sigma, noise=None))
            for asked, way in zip(self.asked, ways, strict=True)
        ]
        return replace(self, pages=pages, asked=asked, stabilised=ways)

    @property
    def sigmas(self) -> tuple[float, ...]:
        """The noise of every page on 0..255, as it was given or estimated: one number for each."""
        if self.denoised is not None:
            return self.denoised.sigmas
        ways = self.stabilised or [None] * len(self.asked)
        return tuple(
            0.0 if asked is None else asked.sigma if way is None else way.level(page)
            for asked, way, page in zip(self.asked, ways, self.pages, strict=True)
        )

    @property
    def kinds(self) -> tuple[Noise, ...]:
        """What kind of noise the pages have, in the caller's units, where it is not white and the same everywhere."""
        if self.denoised is not None:
            return self.denoised.kinds
        ways = self.stabilised or [None] * len(self.asked)
        there = [
            None if asked is None else asked.noise if way is None else way.noise
            for asked, way in zip(self.asked, ways, strict=True)
        ]
        unit = self.caller.data_range / 255.0
        return tuple(noise.scaled(unit, -self.caller.offset / unit) for noise in there if noise is not None)

    def problems(self, number: int = 0) -> list[Problem]:
        """Those of a page's planes, of which the first are meant if others follow."""
        if self.completion is not None:
            return self.completion.problems(number)
        asked = self.asked[number]
        return [] if asked is None else [self._posed(channel, asked) for channel in self._apart(number)[0]]

    @property
    def in_rounds(self) -> bool:
        """Whether noise is taken away in rounds, the problems of which depend on what came out before."""
        correlated = any(asked is not None and isinstance(asked.noise, Correlated) for asked in self.asked)
        return correlated and all(problem.measure is None for problem in self.problems())

    def run(self, descend: Descend = conjugate_gradient) -> NDArray[Any]:
        """The repaired array; `descend` as in :func:`cosparse.solve`."""
        result = close_image(self.repaired(descend), self.caller, self.limits, self.larger)
        return result if self.finish is None else self.finish(result)

    def repaired(self, descend: Descend = conjugate_gradient, watch: Watch | None = None) -> Pages:
        """The repaired pages, on 0..255."""
        watch = watch or Watch(self.callback)
        if self.completion is not None:
            filled = self.completion.repaired(descend, watch)
            request = self.following(filled)
            # Who stops it at once has what is filled in, and without noise.
            return request.repaired(descend, watch) if not watch.stopped else request.unstabilised(filled)
        pages = []
        for number in range(len(self.pages)):
            watch.page, watch.pages = number, len(self.pages)
            with one_blas_thread():  # once for all planes: to find the library takes longer than a step of a small one
                pages.append(self._filled(number, self._repaired(number, watch, descend), watch))
        return np.stack(pages)

    def _filled(self, number: int, page: Plane, watch: Watch) -> Plane:
        """A page with its wide holes filled, where there are any."""
        work = self._copying(number)
        if work is None:
            return page
        from cosparse.reconstruction.filling import fill_page

        limits = self.limits[number]
        bounds = limits and self.caller.working_bounds(limits)
        return fill_page(page, work, bounds, watch)

    def _copying(self, number: int) -> Copying | None:
        return self.copies[number] if self.copies else None

    def following(self, filled: Pages) -> Request:
        """What follows where missing pixels were filled in."""
        none = np.zeros(filled.shape[1:3], bool)
        gaps = [none if asked is None or asked.gaps is None else asked.gaps for asked in self.asked]
        missing = np.stack(gaps).reshape(*filled.shape[:3], *(1,) * (filled.ndim - 3))
        return replace(self, pages=np.where(missing, filled, self.pages), completion=None)

    def unstabilised(self, pages: Pages) -> Pages:
        """Pages as they were before photon noise was made white."""
        ways = self.stabilised or [None] * len(pages)
        return np.stack([page if way is None else way.back(page) for page, way in zip(pages, ways, strict=True)])

    def _apart(self, number: int) -> tuple[list[Channel], Callable[[list[Plane]], Plane]]:
        limits = self.limits[number]
        bounds = limits and self.caller.working_bounds(limits)
        stabilised = self.stabilised[number] if self.stabilised else None
        channels, join = self.apart(self.pages[number], None if stabilised else bounds)
        channels = [
            replace(channel, gain=channel.gain * (max(strength, 1.0) if self.blends else strength))
            for channel, strength in zip(channels, self._strength_of(channels), strict=True)
        ]
        if stabilised is None:
            return channels, join
        back = stabilised.back

        def joined(planes: list[Plane]) -> Plane:
            page = back(join(planes))
            return page if bounds is None else page.clip(*bounds)

        return channels, joined

    def _strength_of(self, channels: list[Channel]) -> list[float]:
        """Of every channel: three are luma and two of chroma, of other numbers all are like luma."""
        luma, chroma = self.strengths
        return [luma, chroma, chroma] if len(channels) == 3 else [luma] * len(channels)

    def _blended(self, channels: list[Channel], planes: list[Plane]) -> list[Plane]:
        """Some of what was taken away put back, where not all of the noise is to be removed."""
        parts = [min(strength, 1.0) if self.blends else 1.0 for strength in self._strength_of(channels)]
        return [
            plane if part == 1 else channel.plane + np.float32(part) * (plane - channel.plane)
            for channel, plane, part in zip(channels, planes, parts, strict=True)
        ]

    def _posed(self, channel: Channel, asked: Asked) -> Problem:
        problem = self.pose(channel, asked)
        if not isinstance(asked.noise, Correlated) or problem.measure is None:
            return problem
        return whitened(problem, asked.noise, channel.gain)

    def _solved(self, problem: Problem, channel: Channel, asked: Asked, watch: Watch, descend: Descend) -> Plane:
        """A plane; without a measurement that could be whitened, correlated noise is taken away in rounds."""
        if not isinstance(asked.noise, Correlated) or problem.measure is not None or watch.stopped:
            return solve(problem, watch=watch, descend=descend).image

        def white(level: float, plane: Plane) -> Problem:
            return self.pose(Channel(plane, 1.0, channel.bounds), replace(asked, sigma=level, noise=None))

        return denoise_in_rounds(white, channel, asked.noise, asked.quality, watch, descend)

    def _repaired(self, number: int, watch: Watch, descend: Descend) -> Plane:
        asked = self.asked[number]
        copied = self._copying(number)
        watch.parts = follow = 0 if copied is None else copied.parts
        if asked is None:
            return np.asarray(self.pages[number])
        channels, join = self._apart(number)
        problems = [self._posed(channel, asked) for channel in channels]
        offset = np.float32(self.caller.scale(self.caller.offset))

        def shown(planes: list[Plane]) -> Plane:
            return np.asarray(join(planes) + offset if offset else join(planes))

        correction = None if asked.sigma else self.correction
        parts = 0
        if self.second_pass is not None:
            parts = parts_of(self.second_pass, channels[0].plane.shape[0], asked.sigma)
        to_come = parts + (correction is not None) + follow
        halves = any(problem.half for problem in problems)
        together = is_together(asked.quality, taken_noise(channels[-1], asked.sigma), asked.noise, halves)

        def solved(i: int) -> Plane:
            return self._solved(problems[i], channels[i], asked, watch, descend)

        steps = self.colours if together else None
        planes = first_pass(problems, channels, solved, steps, asked.sigma, watch, shown, to_come)

        def report(number: int, now: list[Plane]) -> bool:
            return watch.part(number, now[-1], lambda point: shown(now))

        if self.second_pass is not None and not watch.stopped:
            known = None if asked.gaps is None else ~asked.gaps
            planes = filter_groups(channels, planes, asked.sigma, self.second_pass, report, known, asked.noise)
        if correction is not None and not watch.stopped:
            planes = [
                correct(problem, plane, correction, asked.factor, asked.quality)
                for problem, plane in zip(problems, planes, strict=True)
            ]
            report(parts + 1, planes)
        return join(self._blended(channels, planes))


def _strength(name: str, given: float) -> float:
    """How much of the noise to remove: 1 is all of it, above are those who like it smoother."""
    if not 0 <= given <= 10:
        raise ValueError(f"{name}: a strength between 0, which removes nothing, and 10, got {given!r}; 1 is usual")
    return float(given)
