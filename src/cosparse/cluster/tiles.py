"""How a picture is cut into tiles, and the work on one of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

import cosparse
from cosparse.cluster.connection import on_worker
from cosparse.cluster.layout import Layout
from cosparse.cluster.sampling import Cell, Sample
from cosparse.cluster.steps import (
    Pieces,
    PosedPlane,
    PosedSample,
    Share,
    Steps,
    find_steps,
    steps_of_rounds,
    take_steps,
)
from cosparse.io.values import checked_range
from cosparse.noise import Correlated, Map, Noise, PoissonGaussian
from cosparse.reconstruction.bounds import Extremes
from cosparse.reconstruction.correlated import MARGIN
from cosparse.reconstruction.estimation import Model
from cosparse.reconstruction.noise_level import largest_level, typical_level
from cosparse.reconstruction.planes import open_image, refuse_far
from cosparse.reconstruction.prior import Region
from cosparse.reconstruction.psf import named_kernel
from cosparse.reconstruction.request import Request, Task
from cosparse.reconstruction.start import enlarged_side
from cosparse.reconstruction.tasks import TASKS

Array = NDArray[Any]


@dataclass(frozen=True)
class Assignment:
    """A task with all its options, the same for every tile. Noise in the picture's units, and known."""

    task: str
    options: dict[str, Any]
    colour: bool
    version: str = cosparse.__version__

    @property
    def factor(self) -> float:
        """How many times larger the result is."""
        found: float = self.options.get("factor", 1)
        return found if found % 1 else int(found)

    def knowing(self, **found: Any) -> Assignment:
        """The same with options that were found out."""
        return replace(self, options={**self.options, **found})

    def find_out(
        self,
        dtype: np.dtype[Any],
        noise: Callable[[Model], Noise],
        extremes: Callable[[], Extremes],
        levels: LevelsSeen | None = None,
    ) -> dict[str, Any]:
        """Options that depend on the pixels, if they are left to them: the whole picture decides, not each tile.

        They can be written down: photon noise as its numbers, beside the level that it has at middle grey.
        """
        found: dict[str, Any] = {}
        level, stated, unit = self.options.get("sigma"), self.options.get("noise"), self.options["data_range"] / 255
        if levels is not None:
            found |= {"sigma": levels.mean, "typical": levels.typical}
            level = levels.most
        elif stated is not None:
            level = largest_level(stated.scaled(1 / unit)) * unit
        elif TASKS[self.task].estimates_noise and level is None:
            estimated = noise("auto" if self.task == "denoise" else "gaussian")
            if isinstance(estimated, Correlated):  # how far tiles overlap was settled before it was found
                estimated = noise("gaussian")
            found["sigma"] = level = typical_level(estimated.scaled(1 / unit)) * unit
            if isinstance(estimated, PoissonGaussian):
                found["photons"] = {name: getattr(estimated, name) for name in ("gain", "read", "offset")}
        # What has no noise is returned as it came, which needs no bounds.
        idle = self.task == "denoise" and level == 0
        if self.options.get("bounds", "auto") == "auto" and dtype.kind == "f" and not idle:
            white = (0.0, self.options["data_range"])
            found["bounds"] = white if extremes().within(white, float(level or 0.0)) else None
        return found

    def colours(self, pixels: Any) -> Any:
        """Of a NumPy or Dask array, without transparency."""
        return pixels[..., :-1] if self.options.get("alpha") else pixels

    def request(self, pixels: Array, mask: Array | None, levels: Array | None = None) -> Request:
        """What is asked of the task for some of the pixels, and for the noise there if there is a map of it."""
        given = {**self.options} if mask is None else {**self.options, "mask": mask}
        typical, photons = given.pop("typical", None), given.pop("photons", None)
        if TASKS[self.task].masks:  # wide holes wait until all tiles are there
            given["fill"] = "smooth"
        if photons is not None:
            given |= {"sigma": None, "noise": PoissonGaussian(**photons)}
        if levels is not None:
            given["sigma"] = None if TASKS[self.task].estimates_noise else 0.0
            given["noise"] = Map(levels, typical=typical)
        axis = -1 if self.colour else None
        return TASKS[self.task].request(pixels, **given, channel_axis=axis, part=True)


@dataclass(frozen=True)
class LevelsSeen:
    """Of a page's map of noise levels, in the picture's units: the root mean square, that of each channel if they
    differ, and the largest."""

    mean: float
    typical: float | list[float]
    most: float

    @classmethod
    def of(cls, squares: Array, least: float, most: float) -> LevelsSeen:
        """From mean squares, of one or of each channel, and extremes, which refuse what no map can be."""
        if not (least > 0 and np.isfinite(most)):
            raise ValueError("sigma: a map of noise levels must be finite and positive everywhere")
        return cls(float(np.sqrt(np.mean(squares))), np.sqrt(squares).tolist(), float(most))


def assign(
    task: str, options: dict[str, Any], masked: bool, layout: Layout, dtype: np.dtype[Any], *, mapped: bool = False
) -> tuple[Assignment, Request]:
    """The work on a picture, and what the task makes of it, asked for a blank one: it refuses what it cannot do.

    `mapped` says that there is a map of the noise beside it.
    """
    if task == "reconstruct" or options.get("border") == "periodic":
        asked = "reconstruct" if task == "reconstruct" else "border='periodic'"
        raise ValueError(
            f"{asked}: every measurement depends on the whole picture, so that tiles cannot be repaired one by one; "
            f"use cosparse.{task} on a picture that fits in memory"
        )
    if task not in TASKS:
        raise ValueError(f"task: expected one of {', '.join(TASKS)}, got {task!r}")
    if options.get("source") is not None:
        raise ValueError("source: a tile sees only what is about it; leave it out, or repair the picture whole")
    if TASKS[task].compressed:
        raise ValueError("deblock: a JPEG is no file of tiles; use cosparse.deblock, or leave out --tile")
    unknown = set(options) - set(signature(TASKS[task].request).parameters)
    if unknown:
        raise TypeError(f"{task} has no option {', '.join(sorted(unknown))}")
    missing = [name for name in TASKS[task].needs if options.get(name) is None]
    if missing:
        raise TypeError(f"{missing[0]}: {task} needs it")
    if masked != TASKS[task].masks:
        raise ValueError("mask: inpaint needs one, and nothing else takes one")
    options = {"quality": "balanced", "bounds": "auto", **options, "alpha": layout.alpha}
    if "kernel" in TASKS[task].needs and isinstance(options.get("kernel"), str):
        options["kernel"] = named_kernel(options["kernel"])
    work = Assignment(task, options, layout.channels is not None)
    side = 64 + max(np.shape(options.get("kernel", ())), default=0)
    gap = np.eye(side, dtype=bool) if masked else None
    # Without noise there may be nothing to do; where it is still to be estimated, in much of it tiles look furthest.
    much = checked_range(dtype, options.get("data_range"), "image") if mapped or TASKS[task].estimates_noise else 0.0
    noisy = work if options.get("noise") is not None else work.knowing(sigma=options.get("sigma") or much)
    request = noisy.request(np.zeros((side, side, *layout.last), dtype), gap)
    assert request.asked[0] is not None
    return work.knowing(operator=request.asked[0].operator, data_range=request.caller.data_range), request


@dataclass(frozen=True)
class Grid:
    """Tiles of a picture: where each begins along the two axes, and how far they overlap, in pixels of the input.

    `unit` is what all of them begin at a multiple of, `reach` the overlap that would do without a second pass.
    """

    edges: tuple[tuple[int, ...], tuple[int, ...]]
    overlap: int
    factor: float
    unit: int
    reach: int

    @property
    def chunks(self) -> tuple[tuple[int, ...], ...]:
        """The tiles' sides."""
        return tuple(tuple(int(side) for side in np.diff(edges)) for edges in self.edges)

    @property
    def cells(self) -> list[Cell]:
        """All tiles, row by row."""
        rows, columns = (len(edges) - 1 for edges in self.edges)
        return [(i, j) for i in range(rows) for j in range(columns)]

    def region(self, cell: Cell) -> Region:
        """What a tile looks at: itself and the overlap, as far as the picture goes."""
        rows, columns = (
            slice(max(edges[i] - self.overlap, 0), min(edges[i + 1] + self.overlap, edges[-1]))
            for edges, i in zip(self.edges, cell, strict=True)
        )
        return rows, columns

    def target(self, cell: Cell) -> Region:
        """Where a tile's result goes."""
        rows, columns = (
            slice(enlarged_side(edges[i], self.factor), enlarged_side(edges[i + 1], self.factor))
            for edges, i in zip(self.edges, cell, strict=True)
        )
        return rows, columns

    def trim(self, result: Array, cell: Cell) -> Array:
        """A tile's result without the overlap."""
        rows, columns = (
            slice(
                there.start - enlarged_side(seen.start, self.factor),
                there.stop - enlarged_side(seen.start, self.factor),
            )
            for seen, there in zip(self.region(cell), self.target(cell), strict=True)
        )
        return result[rows, columns]


def divided(work: Assignment, request: Request, size: tuple[int, int], tile: int, overlap: int | None) -> Grid:
    """The grid of a picture; a last tile too narrow to stand alone goes to its neighbour.

    Tiles begin where their patches lie as the whole picture's do. An overlap that is not given is enough for their
    result to be the whole picture's to 0.05 grey levels; measured, see docs/cluster.md.
    """
    task, patch, first = TASKS[work.task], work.options["operator"].patch_shape, request.denoised
    units = [_units(one, patch) for one in (request, first, request.completion) if one is not None]
    unit = math.lcm(task.unit, *(one for each in units for one in each))
    unit *= 2 if work.factor % 1 else 1  # of which 1.5 times is whole, and still a multiple of all these
    pixels, more = _looks(task, request, patch), _looks_further(request, patch)
    pixels += 2 * max(np.shape(work.options.get("kernel", ())), default=0)
    noise = work.options.get("noise")
    if isinstance(noise, Correlated) and noise.kernel is not None:
        pixels += min(3 * (max(noise.kernel.shape) - 1), MARGIN)  # as far as what neighbours share is looked for
    if request.completion is not None:
        pixels += _looks(TASKS["denoise"], replace(request, completion=None), patch)
    if first is not None:
        pixels += math.ceil(work.factor) * (_looks(TASKS["denoise"], first, patch) + _looks_further(first, patch))
    elif isinstance(work.options.get("noise"), PoissonGaussian) and request.problems()[0].measure is not None:
        # Its variances are those of a denoised estimate.
        pixels += math.ceil(work.factor) * TASKS["denoise"].reach * max(patch)
    reach, enough = (math.ceil(count / (work.factor * unit)) * unit for count in (pixels, pixels + more))
    overlap = enough if overlap is None else -(-overlap // unit) * unit
    if tile < overlap:
        raise ValueError(
            f"tile: {tile} pixels are fewer than the overlap of {overlap}; use tiles of {4 * overlap} or more"
        )
    step = -(-tile // unit) * unit
    rows, columns = (
        (*(start for start in range(0, side, step) if start == 0 or side - start >= max(overlap, 2)), side)
        for side in size
    )
    return Grid((rows, columns), overlap, work.factor, unit, reach)


def _units(request: Request, patch: tuple[int, int]) -> list[int]:
    """Distances at which patches lie; their strides do not depend on the noise."""
    problems = replace(request, completion=None).problems()
    strides = [(1 + problem.half) * min(problem.plan.stride, *patch) for problem in problems]
    after, second = request.correction, request.second_pass
    return [*strides, second.step if second else 1, after.stride if after else 1]


def _looks(task: Task, request: Request, patch: tuple[int, int]) -> int:
    """How far a pixel looks: a trained step exactly as far as a patch reaches; at half the size further, but what is
    there counts little."""
    return max(task.reach * max(patch), max(len(problem.steps) for problem in request.problems()) * (max(patch) - 1))


def _looks_further(request: Request, patch: tuple[int, int]) -> int:
    """Similar patches from further off count for little; the steps of a correction look less far than they do."""
    after, second = request.correction, request.second_pass
    if second is not None:
        return 2 * second.passes * second.size
    return 0 if after is None else len(after) * (max(patch) - 1)


@dataclass(frozen=True)
class Found:
    """What all tiles of a page share: options that depend on its pixels, noise and bounds, and the steps to take."""

    options: dict[str, Any]
    steps: list[Steps]


def check_values(work: Assignment, pixels: Array, missing: Array | None) -> None:
    """Refuse a picture, or a sample of its values, as the task itself would if it saw the whole."""
    seen = work.colours(pixels)
    seen = seen.ravel() if missing is None else seen[~missing].ravel()
    if seen.size == 0:
        raise ValueError("mask: all pixels are missing; nothing is known to start from")
    if seen.dtype.kind not in "bu":
        working, caller = open_image(seen[None], work.options["data_range"], None)
        refuse_far(working[~np.isnan(working)], caller, caller.scale(work.options.get("sigma") or 0.0))


def examine(work: Assignment, pixels: Array, missing: Array | None, alone: bool, levels: Array | None = None) -> Found:
    """What is to be known of a page small enough for one task; its steps only if it has more than this one tile."""

    def look() -> dict[str, Any]:
        check_values(work, pixels, missing)
        seen, known = work.colours(pixels), None if missing is None else ~missing
        given = {"data_range": work.options["data_range"], "channel_axis": -1 if work.colour else None}
        noise = partial(cosparse.estimate_noise, seen, **given)
        map_seen = None
        if levels is not None:
            map_seen = LevelsSeen.of(np.square(levels, dtype=float).mean(axis=(0, 1)), levels.min(), levels.max())
        return work.find_out(pixels.dtype, noise, lambda: Extremes.of(seen, known), map_seen)

    found = on_worker(work.version, look)
    if alone:
        return Found(found, [])
    if isinstance(work.options.get("noise"), Correlated):
        request = work.knowing(**found).request(pixels, missing, levels)
        if request.in_rounds:
            return Found(found, on_worker(work.version, steps_of_rounds, request))
    inside = (slice(0, pixels.shape[0]), slice(0, pixels.shape[1]))
    share = share_of(work.knowing(**found), [pixels], [missing], [Sample(inside, inside)], [levels])
    return Found(found, on_worker(work.version, find_steps, Pieces(None, [share])))


def share_of(
    work: Assignment,
    crops: list[Array],
    masks: list[Array | None],
    samples: list[Sample],
    maps: list[Array | None] | None = None,
) -> Share:
    """What the task minimises for some samples; a task, see :func:`cosparse.cluster.steps.find_steps`."""

    def share() -> Share:
        found = []
        for crop, mask, sample, levels in zip(crops, masks, samples, maps or [None] * len(crops), strict=True):
            request = None if mask is not None and mask.all() else work.request(crop, mask, levels)
            problems = [] if request is None or request.in_rounds else request.problems()  # rounds have no common steps
            rows, columns = (
                slice(enlarged_side(part.start, work.factor), enlarged_side(part.stop, work.factor))
                for part in sample.inside
            )
            if problems:  # there are none where no pixel is missing
                planes = [PosedPlane.of(problem) for problem in problems]
                found.append(PosedSample(planes, (rows, columns), sample.weight))
        return Share(found)

    return on_worker(work.version, share)


def repair_tile(
    common: tuple[Assignment, Grid, Found],
    pixels: Array,
    missing: Array | None,
    cell: Cell,
    levels: Array | None = None,
) -> Array:
    """A tile with its overlap, repaired and trimmed; a task."""
    work, grid, found = common
    if missing is not None and missing.all():
        rows, columns = grid.target(cell)
        raise ValueError(
            f"mask: no pixel is known around rows {rows.start} to {rows.stop}, columns {columns.start} to "
            f"{columns.stop}; use larger tiles"
        )
    request = work.knowing(**found.options).request
    result = on_worker(work.version, lambda: take_steps(found.steps, request(pixels, missing, levels)))
    return np.ascontiguousarray(grid.trim(result, cell))
