"""The repair of a Dask array as a Dask array: nothing is computed before it is asked for, and then tile by tile.

What :mod:`cosparse.cluster.large_picture` finds out about a page by asking workers is found by tasks here, on whatever
scheduler computes the array: threads of this process, or a cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cosparse.cluster.connection import on_worker
from cosparse.cluster.layout import Layout
from cosparse.cluster.page import Page
from cosparse.cluster.page_values import extremes_of_parts, joined_extremes, noise_blocks, noise_of
from cosparse.cluster.sampling import Cell, Sampling, representative
from cosparse.cluster.sources import thinned
from cosparse.cluster.steps import Pieces, Steps, find_steps
from cosparse.cluster.tiles import (
    Assignment,
    Found,
    Grid,
    LevelsSeen,
    assign,
    check_values,
    divided,
    repair_tile,
    share_of,
)
from cosparse.noise import Noise
from cosparse.reconstruction.bounds import Extremes
from cosparse.reconstruction.estimation import Model
from cosparse.reconstruction.request import Request
from cosparse.reconstruction.tasks import TASKS

if TYPE_CHECKING:
    import dask.array as da
    from dask.delayed import Delayed

LARGEST = 2048  # pixels: the side of a tile, however large the array's chunks are
SAMPLING = Sampling(samples=512)  # of a page too large to look at: one task holds them all


def lazy_tiles(
    task: str,
    array: da.Array,
    layout: Layout,
    options: dict[str, Any],
    *,
    mask: da.Array | None = None,
    levels: da.Array | None = None,
    sampling: Sampling = SAMPLING,
) -> da.Array:
    """The repaired array, channels last as in `array`; `levels` is a map of its noise instead of a sigma.

    Its tiles are the array's chunks, unless these are so small that most of the work would be on overlaps, or larger
    than 2048 pixels. On a page too large to look at whole, the steps that all tiles take are those of 512 squares from
    evenly all over it.
    """
    import dask.array as da
    from dask.delayed import delayed

    work, request = assign(task, options, mask is not None, layout, array.dtype, mapped=levels is not None)
    grid = _grid(work, request, array, layout)
    array = array.rechunk(layout.chunks(grid.chunks))
    masks = None if mask is None else layout.masks(mask, grid.chunks)
    maps = None if levels is None else layout.levels(levels, grid.chunks)
    shared = delayed((work, grid), traverse=False)  # once for all tiles
    minimised = any(problem.plan.stages for problem in request.problems())

    def page(index: tuple[int, ...]) -> da.Array:
        own, levels = (one if one is None or one.ndim == 2 else one[index] for one in (masks, maps))
        there = Page(array[index], own, work, grid, sampling, levels)
        found = there.examined() if there.small else _by_samples(there, minimised)
        common = delayed(_common, pure=False)(shared, found)
        rows, columns = (range(len(sides)) for sides in grid.chunks)
        bands = [da.concatenate([tile(there, common, (i, j)) for j in columns], axis=1) for i in rows]
        whole: da.Array = da.concatenate(bands, axis=0)
        return whole

    def tile(there: Page, common: Delayed, cell: Cell) -> da.Array:
        region, target = grid.region(cell), grid.target(cell)
        parts = [None if one is None else one[region] for one in (there.mask, there.levels)]
        result = delayed(repair_tile, pure=False)(common, there.array[region], parts[0], cell, parts[1])
        return _made(result, (*(side.stop - side.start for side in target), *layout.last), array)

    return _stacked([page(index) for index in layout.pages], layout, work.factor)


def lazy_pages(task: str, array: da.Array, layout: Layout, options: dict[str, Any]) -> da.Array:
    """The same for what tiles cannot do: every page is repaired whole, by one task."""
    from dask.delayed import delayed

    work = Assignment(task, {**options, "alpha": layout.alpha}, layout.channels is not None)
    shared = delayed(work, traverse=False)
    whole, shape = delayed(_whole, pure=False), (*layout.size, *layout.last)
    return _stacked([_made(whole(shared, array[index]), shape, array) for index in layout.pages], layout)


def _whole(work: Assignment, pixels: NDArray[Any]) -> NDArray[Any]:
    """A page repaired; a task."""
    axis = -1 if work.colour else None
    return on_worker(work.version, lambda: TASKS[work.task].request(pixels, **work.options, channel_axis=axis).run())


def _made(result: Delayed, shape: tuple[int, ...], like: da.Array) -> da.Array:
    import dask.array as da

    found: da.Array = da.from_delayed(result, shape, like.dtype)
    return found


def _stacked(pages: list[da.Array], layout: Layout, factor: float = 1) -> da.Array:
    """Pages along the leading axes."""
    import dask.array as da

    return da.stack(pages).reshape(layout.shape(factor)) if layout.leading else pages[0]


def _grid(work: Assignment, request: Request, array: da.Array, layout: Layout) -> Grid:
    """Tiles as large as the array's chunks, within reason."""
    first = len(layout.leading)
    given = max(max(array.chunks[axis]) for axis in (first, first + 1))
    overlap = divided(work, request, layout.size, 2**40, None).overlap
    return divided(work, request, layout.size, min(max(given, 2 * overlap), max(LARGEST, 2 * overlap)), None)


def _common(shared: tuple[Assignment, Grid], found: Found) -> tuple[Assignment, Grid, Found]:
    """What all tiles of a page are told; a task."""
    return (*shared, found)


def _by_samples(page: Page, minimised: bool) -> Delayed:
    """A task that finds out about a page from parts of it; its steps only if anything is minimised."""
    from dask.delayed import delayed

    work, colours, given = page.work, page.work.colours(page.array), page.work.options
    some = Layout((), page.array.shape[:2], *page.array.shape[2:])
    mapped, noise, extremes, samples = [None] * 4
    if page.levels is not None:
        squares = (page.levels.astype(float) ** 2).mean(axis=(0, 1))
        mapped = delayed(_together, pure=False)(squares, page.levels.min(), page.levels.max())
    elif TASKS[work.task].estimates_noise and given.get("sigma") is None and given.get("noise") is None:
        noise = noise_blocks(colours)
    if given["bounds"] == "auto" and page.array.dtype.kind == "f":
        extremes = delayed(joined_extremes, pure=False)(extremes_of_parts(colours, page.mask))
    if minimised:
        unit = page.grid.unit
        side = max(1, round(page.sampling.side / (work.factor * unit))) * unit
        cells = representative(np.ones([-(-size // side) for size in some.size]), page.sampling.samples)
        samples = delayed(_together, pure=False)(*page.samples(cells, side, page.sampling.rim))
    few = [None if one is None else thinned(one, some) for one in (page.array, page.mask)]
    task: Delayed = delayed(_looked, pure=False)((work, colours.shape), *few, mapped, noise, extremes, samples)
    return task


def _together(*parts: Any) -> tuple[Any, ...]:
    """Values that belong together; a task of its own, as Dask mixes up arrays and tasks within one argument."""
    return parts


def _looked(
    page: tuple[Assignment, tuple[int, ...]],
    few: NDArray[Any],
    missing: NDArray[Any] | None,
    levels: tuple[Any, ...] | None,
    blocks: NDArray[Any] | None,
    extremes: Extremes | None,
    samples: tuple[Any, ...] | None,
) -> Found:
    """What is known of a page from what was seen of it; a task."""
    work, shape = page

    def noise(model: Model) -> Noise:
        assert blocks is not None
        return noise_of(blocks, shape, work.options["data_range"], model)

    def ends() -> Extremes:
        assert extremes is not None
        return extremes

    def look() -> dict[str, Any]:
        check_values(work, few, missing)
        return work.find_out(few.dtype, noise, ends, None if levels is None else LevelsSeen.of(*levels))

    found = on_worker(work.version, look)
    steps: list[Steps] = []
    if samples is not None:
        share = share_of(work.knowing(**found), *samples)
        steps = on_worker(work.version, find_steps, Pieces(None, [share]))
    return Found(found, steps)
