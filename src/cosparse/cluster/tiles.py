"""How a picture is cut into tiles, and the work on one of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import cosparse
from cosparse.cluster.connection import on_worker
from cosparse.cluster.path import Path, Share, follow, heard, survey
from cosparse.cluster.pieces import Here
from cosparse.cluster.samples import Cell, Sample
from cosparse.operator import AnalysisOperator
from cosparse.reconstruction.prior import Region
from cosparse.reconstruction.rules import GROUPING, Grouping

Array = NDArray[Any]

TASKS = ("denoise", "inpaint", "upscale", "deblur")


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
        if self.task not in GROUPING or not self.options.get("grouping", True):
            return None
        return GROUPING[self.task][self.options.get("quality", "balanced")]

    def first_pass(self) -> Work:
        """The same without the second one."""
        return self if self.grouping is None else replace(self, options={**self.options, "grouping": False})

    def __call__(self, pixels: Array, mask: Array | None) -> Array:
        """The task on some of the pixels."""
        extra = () if mask is None else (mask,)
        options = {**self.options, "operator": self.operator, "channel_axis": -1 if self.colour else None}
        result: Array = getattr(cosparse, self.task)(pixels, *extra, **options)
        return result


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
    # Gaps are first filled from averages of ever larger blocks, which must lie alike too.
    return math.lcm(stride, 16 if work.task == "inpaint" else 1, work.grouping.step if work.grouping else 1)


def overlap_of(work: Work, unit: int) -> int:
    """Enough that the tiles' result is the whole picture's to 0.05 grey levels; measured, see docs/cluster.md."""
    reach = 4 * max(work.operator.patch_shape)
    if work.task == "inpaint":
        reach *= 2
    if work.task == "deblur":
        reach += 2 * max(np.shape(work.options["kernel"]))
    if work.grouping is not None:
        reach += 2 * work.grouping.passes * work.grouping.size  # similar patches from further off count for little
    return -(-reach // (work.factor * unit)) * unit


def listen(work: Work, crops: list[Array], masks: list[Array] | list[None], samples: list[Sample]) -> Share:
    """What the task wants to do with some samples; a task, see :func:`cosparse.cluster.path.survey`."""
    tasks, insides, weights = [], [], []
    for crop, mask, sample in zip(crops, masks, samples, strict=True):
        if mask is None or not mask.all():
            tasks.append(partial(work.first_pass(), crop, mask))
            rows, columns = (slice(part.start * work.factor, part.stop * work.factor) for part in sample.inside)
            insides.append((rows, columns))
            weights.append(sample.weight)
    return on_worker(work.version, heard, tasks, insides, weights)


def find_paths(
    work: Work, crops: list[Array], masks: list[Array] | list[None], samples: list[Sample]
) -> list[Path]:
    """The steps that all tiles will take, found by one task from so few samples that no other need help."""
    share = listen(work, crops, masks, samples)
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
    result = on_worker(work.version, follow, paths, lambda: work(pixels, known))
    return np.ascontiguousarray(grid.trim(result, place))
