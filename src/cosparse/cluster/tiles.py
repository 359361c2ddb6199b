"""How a picture is cut into tiles, and the work on one of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import cosparse
from cosparse.cluster.connection import on_worker
from cosparse.cluster.sampling import Cell, Sample
from cosparse.cluster.steps import Path, Share, follow, shared, survey
from cosparse.cluster.vectors import Here
from cosparse.operator import AnalysisOperator
from cosparse.reconstruction.bounds import Extremes
from cosparse.reconstruction.planes import open_image, refuse_far
from cosparse.reconstruction.prior import Region
from cosparse.reconstruction.request import Request
from cosparse.reconstruction.stages import Grouping
from cosparse.reconstruction.tasks import TASKS

Array = NDArray[Any]


@dataclass(frozen=True)
class Work:
    """A task with all its options, the same for every tile. Noise in the picture's units, and known."""

    task: str
    operator: AnalysisOperator
    options: dict[str, Any]
    colour: bool
    version: str = cosparse.__version__

    @property
    def factor(self) -> int:
        """How many times larger the result is."""
        return int(self.options["factor"]) if self.task == "upscale" else 1

    @property
    def grouping(self) -> Grouping | None:
        """The second pass, if there is one."""
        if not self.options.get("grouping", True):
            return None
        return TASKS[self.task].second_pass.get(self.options.get("quality", "balanced"))

    @property
    def unknown_noise(self) -> bool:
        """Whether the noise is to be estimated."""
        return TASKS[self.task].estimates_noise and self.options.get("sigma") is None

    def knowing(self, **found: Any) -> Work:
        """The same with options that were found out."""
        return replace(self, options={**self.options, **found})

    def undecided(self, dtype: np.dtype[Any]) -> bool:
        """Whether the bounds depend on the values: then the whole picture decides, not each tile.

        What has no noise is returned as it came, which needs no bounds.
        """
        idle = self.task == "denoise" and self.options.get("sigma") == 0
        return self.options.get("bounds", "auto") == "auto" and dtype.kind == "f" and not idle

    def bounds(self, extremes: Extremes) -> tuple[float, float] | None:
        """Those of a float picture with such values."""
        sigma = float(self.options.get("sigma") or 0.0)
        white = (0.0, self.options["data_range"])
        return white if extremes.within(white, sigma) else None

    def colours(self, pixels: Any) -> Any:
        """Of a NumPy or Dask array, without transparency."""
        return pixels[..., :-1] if self.options.get("alpha") else pixels

    def first_pass(self) -> Work:
        """The same without the second one."""
        return self if self.grouping is None else replace(self, options={**self.options, "grouping": False})

    def request(self, pixels: Array, mask: Array | None) -> Request:
        """What is asked of the task for some of the pixels."""
        given = {} if mask is None else {"mask": mask}
        axis = -1 if self.colour else None
        return TASKS[self.task].request(
            pixels, **given, **self.options, operator=self.operator, channel_axis=axis, part=True
        )


@dataclass(frozen=True)
class Grid:
    """Tiles of a picture: where each begins along the two axes, and how far they overlap, in pixels of the input."""

    edges: tuple[tuple[int, ...], tuple[int, ...]]
    overlap: int
    factor: int = 1

    @property
    def chunks(self) -> tuple[tuple[int, ...], ...]:
        """The tiles' sides."""
        return tuple(tuple(int(side) for side in np.diff(edges)) for edges in self.edges)

    @property
    def places(self) -> list[Cell]:
        """All tiles, row by row."""
        rows, columns = (len(edges) - 1 for edges in self.edges)
        return [(i, j) for i in range(rows) for j in range(columns)]

    def target(self, place: tuple[int, ...]) -> Region:
        """Where a tile's result goes."""
        rows, columns = (
            slice(edges[i] * self.factor, edges[i + 1] * self.factor)
            for edges, i in zip(self.edges, place, strict=True)
        )
        return rows, columns

    def trim(self, result: Array, place: tuple[int, ...]) -> Array:
        """A tile's result without the overlap; at the picture's border there is none."""
        cut = []
        for edges, i in zip(self.edges, place, strict=True):
            first = 0 if i == 0 else self.overlap * self.factor
            cut.append(slice(first, first + (edges[i + 1] - edges[i]) * self.factor))
        return result[tuple(cut)]


def divided(shape: tuple[int, ...], tile: int, overlap: int, factor: int, unit: int) -> Grid:
    """The grid; tiles begin at multiples of `unit`, a last one too narrow to stand alone goes to its neighbour."""
    if tile < overlap:
        raise ValueError(
            f"tile: {tile} pixels are fewer than the overlap of {overlap}; use tiles of {4 * overlap} or more"
        )
    step = -(-tile // unit) * unit
    edges = []
    for size in shape[:2]:
        starts = [start for start in range(0, size, step) if start == 0 or size - start >= max(overlap, 2)]
        edges.append((*starts, size))
    return Grid((edges[0], edges[1]), overlap, factor)


def unit_of(work: Work, stride: int) -> int:
    """What a tile's first pixel must be a multiple of for its patches to lie where the whole picture's do."""
    return math.lcm(stride, TASKS[work.task].unit, work.grouping.step if work.grouping else 1)


def overlap_of(work: Work, unit: int) -> int:
    """Enough that the tiles' result is the whole picture's to 0.05 grey levels; measured, see docs/cluster.md."""
    reach = TASKS[work.task].reach * max(work.operator.patch_shape)
    if "kernel" in work.options:
        reach += 2 * max(np.shape(work.options["kernel"]))
    if work.grouping is not None:
        reach += 2 * work.grouping.passes * work.grouping.size  # similar patches from further off count for little
    return -(-reach // (work.factor * unit)) * unit


@dataclass(frozen=True)
class Found:
    """What all tiles of a page share: options that depend on its pixels, noise and bounds, and the steps to take."""

    options: dict[str, Any]
    paths: list[Path]


def check_values(work: Work, pixels: Array, missing: Array | None) -> None:
    """Refuse a picture, or a sample of its values, as the task itself would if it saw the whole."""
    seen = work.colours(pixels)
    seen = seen.ravel() if missing is None else seen[~missing].ravel()
    if seen.size == 0:
        raise ValueError("mask: all pixels are missing; nothing is known to start from")
    if seen.dtype.kind not in "bu":
        working, caller = open_image(seen[None], work.options["data_range"], None)
        refuse_far(working[~np.isnan(working)], caller, work.options.get("sigma"))


def examine(work: Work, pixels: Array, missing: Array | None, alone: bool) -> Found:
    """What is to be known of a page small enough for one task; its steps only if it has more than this one tile."""

    def look() -> dict[str, Any]:
        check_values(work, pixels, missing)
        found: dict[str, Any] = {}
        knowing = work
        if work.unknown_noise:
            span, axis = work.options["data_range"], -1 if work.colour else None
            alpha = bool(work.options.get("alpha"))
            found["sigma"] = cosparse.estimate_sigma(pixels, data_range=span, channel_axis=axis, alpha=alpha)
            knowing = work.knowing(**found)
        if knowing.undecided(pixels.dtype):
            known = None if missing is None else ~missing
            found["bounds"] = knowing.bounds(Extremes.of(work.colours(pixels), known))
        return found

    found = on_worker(work.version, look)
    if alone:
        return Found(found, [])
    inside = (slice(0, pixels.shape[0]), slice(0, pixels.shape[1]))
    return Found(found, find_paths(work.knowing(**found), [pixels], [missing], [Sample(inside, inside)]))


def share_of(work: Work, crops: list[Array], masks: list[Array | None], samples: list[Sample]) -> Share:
    """What the task minimises for some samples; a task, see :func:`cosparse.cluster.steps.survey`."""

    def share() -> Share:
        requests, insides, weights = [], [], []
        for crop, mask, sample in zip(crops, masks, samples, strict=True):
            if mask is None or not mask.all():
                requests.append(work.request(crop, mask))
                rows, columns = (slice(part.start * work.factor, part.stop * work.factor) for part in sample.inside)
                insides.append((rows, columns))
                weights.append(sample.weight)
        return shared(requests, insides, weights)

    return on_worker(work.version, share)


def find_paths(work: Work, crops: list[Array], masks: list[Array | None], samples: list[Sample]) -> list[Path]:
    """The steps that all tiles will take, found by one task from so few samples that no other need help."""
    share = share_of(work, crops, masks, samples)
    return on_worker(work.version, survey, Here(), [share])


def repair_block(
    pixels: Array, *mask: Array, work: Work, grid: Grid, paths: list[Path], block_info: Any = None
) -> Array:
    """A tile with its overlap, repaired and trimmed: the function that `map_overlap` maps."""
    place = block_info[0]["chunk-location"][:2]
    known = mask[0].reshape(mask[0].shape[:2]) if mask else None
    if known is not None and known.all():
        rows, columns = grid.target(place)
        raise ValueError(
            f"mask: no pixel is known around rows {rows.start} to {rows.stop}, columns {columns.start} to "
            f"{columns.stop}; use larger tiles"
        )
    result = on_worker(work.version, lambda: follow(paths, work.request(pixels, known)))
    return np.ascontiguousarray(grid.trim(result, place))
