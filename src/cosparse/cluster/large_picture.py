"""Repair a picture larger than memory, tile by tile; what is done stays done."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from cosparse._version import __version__
from cosparse.cluster.connection import gathered, may_pass, outcome_of, using, while_staffed
from cosparse.cluster.layout import ChannelAxis, layout_of, named
from cosparse.cluster.page import Page
from cosparse.cluster.sampling import Cell, Sampling
from cosparse.cluster.sources import TIFF, Source, as_dask, description_of, identity_of, opened, write_tiff
from cosparse.cluster.tiles import Found, assign, divided, repair_tile
from cosparse.cluster.unfinished import Unfinished, check_target, write_tile
from cosparse.cluster.wide_holes import fill_holes
from cosparse.identity import described
from cosparse.io.atomic import replacing
from cosparse.noise import Map
from cosparse.reconstruction.bounds import Pair, known_bounds
from cosparse.reconstruction.start import enlarged_side

if TYPE_CHECKING:
    from distributed import Client

log = logging.getLogger(__name__)
RETRIES = 2  # of a tile that failed
ACCIDENTS = 16  # tiles: if more fail, something is wrong that does not pass
AHEAD = 4  # small pages looked at together, for every thread
Given: TypeAlias = "Source | str | os.PathLike[str]"
Tile = tuple[int, Cell]  # the number of a page, and where on it


@dataclass(frozen=True)
class Tiling:
    """How a picture is read and cut, as in :func:`repair_picture`, and on which parts its steps are found."""

    tile: int = 1024
    overlap: int | None = None
    channel_axis: ChannelAxis = "auto"
    alpha: bool | None = None
    sampling: Sampling = field(default_factory=Sampling)


@dataclass(frozen=True)
class TileReport:
    """How a repair by tiles went.

    Attributes
    ----------
    tiles, resumed : int
        Of all pages; those that were there from an earlier run.
    sigma : float
        The noise in the picture's units, on average over pages.
    tile, overlap : int
        In pixels of the input.
    data_range : float
        The value of white.
    sigmas, bounds : tuple
        Of each page: its noise, and between which values its result lies, or None.
    layout : str
        How the axes were read: "12 pages of 512x512 pixels".
    lost : tuple of str
        What of the source besides pixels does not stand in the target, a line each.
    """

    tiles: int
    resumed: int
    sigma: float
    tile: int
    overlap: int
    data_range: float = 1.0
    sigmas: tuple[float, ...] = ()
    bounds: tuple[Pair | None, ...] = ()
    layout: str = ""
    lost: tuple[str, ...] = ()

    @property
    def pages(self) -> int:
        """How many were repaired, one after the other."""
        return len(self.sigmas)


def repair_picture(
    task: str,
    source: Given,
    target: str | os.PathLike[str],
    *,
    mask: Given | None = None,
    client: Client | None = None,
    force: bool = False,
    callback: Callable[[int, int], object] | None = None,
    **options: Any,
) -> TileReport:
    """Denoise, inpaint, upscale or deblur a picture larger than memory.

    The result is that of the task on the whole picture to 0.05 grey levels of 255, root mean square; docs/cluster.md
    has what was measured. An interrupted run leaves `target` + ".part"; the same call goes on from its finished tiles.

    Parameters
    ----------
    task : {"denoise", "inpaint", "upscale", "deblur"}
    source : path, zarr array, Dask array or NumPy array
        (h, w), pages of it (..., h, w), or either with channels last; a path names a zarr array, an OME-Zarr group or a
        tiled TIFF that the workers see too. Each page is repaired on its own, with its own noise if that is estimated.
    target : path
        Of the result, zarr or a (Big)TIFF by its ending; on a disk that the workers see too. Of an OME-Zarr group zarr
        is such a group again, with as many sizes of the picture.
    mask : the same kinds as `source`, optional
        For "inpaint": (h, w) for all pages, or one for each; True or not zero where a pixel is missing.
    tile : int
        Side of a tile in pixels. A worker needs about 50 bytes a pixel and thread.
    overlap : int, optional
        How far a tile looks beyond its border; chosen from the task if not given.
    channel_axis : {"auto", -1, None}
        Whether the last axis is of channels. "auto": as a TIFF says; of arrays, if there are three axes of which the
        last is at most 4 long and the others are longer. All other leading axes count pages.
    alpha : bool, optional
        Whether the last channel is transparency, which is kept as it is. By default as a TIFF says; not in arrays.
    client : distributed.Client, optional
        The cluster; without it a local one, as long as the call lasts.
    force : bool
        Replace a picture at `target`, and forget tiles of another repair. Nothing else is ever replaced or removed.
    callback : callable, optional
        Called with the number of tiles done and of all, after each.
    **options
        Those of the task: sigma, noise, factor, kernel, operator, weight, quality, grouping, fill, seed, data_range,
        bounds, max_memory (of a tile). A `sigma` left out of "denoise" or "deblur" is estimated over the whole page,
        and bounds that depend on the values are chosen from them. As a map of noise levels it is of the same kinds as
        `source`, and (h, w) for all pages, or of the shape of the pages or of the picture.

    Returns
    -------
    TileReport

    Examples
    --------
    >>> from cosparse import cluster
    >>> report = cluster.repair_picture("denoise", "scan.zarr", "clean.zarr")  # doctest: +SKIP
    """
    goal = Path(target)
    check_target(goal, force)
    source = opened(source)
    own = [name for name in options if name in Tiling.__dataclass_fields__]
    tiling = Tiling(**{name: options.pop(name) for name in own})
    with using(client) as workers:
        try:
            return TiledRepair(task, source, mask, goal, tiling, options).run(workers, force, callback)
        except ValueError as problem:
            first, _, rest = str(problem).partition(": ")
            if first != "image":
                raise
            raise ValueError(f"{named(source)}: {rest}") from problem  # not by what the task calls it


class TiledRepair:
    """One repair: its arrays, its grid, and the folder of its finished tiles."""

    def __init__(
        self, task: str, source: Given, mask: Given | None, goal: Path, tiling: Tiling, options: dict[str, Any]
    ) -> None:
        self.source, self.mask = opened(source), None if mask is None else opened(mask)
        self.map, options = _map_of(options)
        self.goal, self.tiling = goal, tiling
        as_dask(self.source)  # refuses what is no array
        self.layout = layout_of(self.source, tiling.channel_axis, tiling.alpha)
        self.pages = self.layout.pages
        self.dtype: np.dtype[Any] = np.dtype(self.source.dtype)
        mapped = self.map is not None
        self.work, request = assign(task, options, mask is not None, self.layout, self.dtype, mapped=mapped)
        self.grid = divided(self.work, request, self.layout.size, tiling.tile, tiling.overlap)
        self.description = description_of(self.source).enlarged(self.work.factor)
        self.group = None if goal.suffix.lower() in TIFF else self.description.group
        self.unfinished = Unfinished(goal, "" if self.group is None else "0")
        self.array = as_dask(self.source, self.layout.chunks(self.grid.chunks))
        sides = self.grid.chunks
        self.masks = None if self.mask is None else self.layout.masks(as_dask(self.mask, name="mask"), sides)
        self.levels = None if self.map is None else self.layout.levels(as_dask(self.map, name="sigma"), sides)

    def page(self, number: int) -> Page:
        """One of the pages, and what is to be done there."""
        index = self.pages[number]
        mask = self.masks if self.masks is None or self.masks.ndim == 2 else self.masks[index]
        levels = self.levels if self.levels is None or self.levels.ndim == 2 else self.levels[index]
        return Page(self.array[index], mask, self.work, self.grid, self.tiling.sampling, levels)

    def run(self, client: Client, force: bool, callback: Callable[[int, int], object] | None = None) -> TileReport:
        """All pages, in turn, or some at a time if they are small; then the result under its name."""
        self.unfinished.begin(self._identity(), force)
        done, tiles = self.unfinished.done(), len(self.pages) * len(self.grid.cells)
        if done:
            log.info("%s: %d of %d tiles are there already", self.unfinished.folder, len(done), tiles)
        numbers = count(len(done) + 1)

        def one_more() -> None:
            if callback is not None:
                callback(next(numbers), tiles)

        together = AHEAD * max(1, sum(client.nthreads().values())) if self.page(0).small else 1
        options: list[dict[str, Any]] = []  # of every page
        for first in range(0, len(self.pages), together):
            found = self._prepared(client, range(first, min(first + together, len(self.pages))))
            options += [{**self.work.options, **one.options} for one in found.values()]
            todo = [(number, cell) for number in found for cell in self.grid.cells]
            todo = [tile for tile in todo if _mark(*tile) not in done]
            # Those that failed for a reason that may pass, once more and again when the others are done.
            for left in range(RETRIES, -1, -1):
                todo = self._tried(client, found, todo, one_more, patient=left > 0) if todo else []
            for number, one in found.items():
                store, index = str(self.unfinished.pixels), self.pages[number]
                fill_holes(client, self.page(number), store, index, one.options)
        lost = self._finish(force)
        for line in lost:
            log.warning("%s: %s", self.goal, line)
        sigmas = tuple(float(page.get("sigma") or 0.0) for page in options)
        return TileReport(
            tiles, len(done), float(np.mean(sigmas)), self.tiling.tile, self.grid.overlap, options[0]["data_range"],
            sigmas, tuple(known_bounds(page["bounds"], self.dtype)[0] for page in options), str(self.layout), lost,
        )  # fmt: skip

    def _identity(self) -> dict[str, Any]:
        """What must be the same for a run to go on from another's tiles."""
        mapped = {} if self.map is None else {"map": identity_of(self.map)}
        options = {name: value for name, value in self.work.options.items() if name != "max_memory"}
        return described(
            version=__version__, task=self.work.task, **options, source=identity_of(self.source),
            layout=str(self.layout), mask="" if self.mask is None else identity_of(self.mask), tile=self.tiling.tile,
            overlap=self.grid.overlap, **mapped,
        )  # fmt: skip

    def _prepared(self, client: Client, numbers: Sequence[int]) -> dict[int, Found]:
        """Noise, bounds and steps of some pages, and an array for their tiles; nothing is left if that fails."""
        try:
            found = self._found(client, numbers)
            factor = self.work.factor
            sides = (*(1 for _ in self.layout.leading), *(enlarged_side(side[0], factor) for side in self.grid.chunks))
            self.unfinished.create(
                shape=self.layout.shape(factor), chunks=(*sides, *self.layout.last), dtype=self.dtype,
                **self.description.for_zarr()[0],
            )  # fmt: skip
        except BaseException:
            if not self.unfinished.done():
                self.unfinished.clear()  # nothing to go on from
            raise
        return found

    def _found(self, client: Client, numbers: Sequence[int]) -> dict[int, Found]:
        """Noise, bounds and steps of some pages, kept for a later run."""
        known = {number: self.unfinished.page(number) for number in numbers}
        unseen = [number for number, found in known.items() if found is None]
        pages = [self.page(number) for number in unseen]
        if pages and pages[0].small:
            new = gathered(client, client.compute([page.examined() for page in pages]))
        else:
            new = [page.found(client) for page in pages]
        for number, found in zip(unseen, new, strict=True):
            self.unfinished.keep_page(number, found)
            known[number] = found
        return {number: found for number, found in known.items() if found is not None}

    def _tried(
        self, client: Client, found: dict[int, Found], todo: list[Tile], one_more: Callable[[], None], patient: bool
    ) -> list[Tile]:
        """Tiles that failed, if it may pass and one is patient; anything else is raised."""
        from dask.delayed import delayed
        from distributed import as_completed

        repair, write = delayed(repair_tile, pure=False), delayed(write_tile, pure=False)
        store, marks = str(self.unfinished.pixels), self.unfinished.folder / "done"
        pages = {number: self.page(number) for number in {number for number, _ in todo}}
        # A task of its own, so that it is sent once to each worker and not along with every tile.
        common = {number: delayed((self.work, self.grid, found[number]), traverse=False) for number in pages}

        def repaired(number: int, cell: Cell) -> Any:
            page, region = pages[number], self.grid.region(cell)
            missing = None if page.mask is None else page.mask[region]
            levels = None if page.levels is None else page.levels[region]
            pixels = repair(common[number], page.array[region], missing, cell, levels)
            mark = str(marks / _mark(number, cell))
            return write(pixels, store, mark, self.pages[number], self.grid.target(cell))

        futures = client.compute([repaired(*tile) for tile in todo])
        which = {future.key: tile for future, tile in zip(futures, todo, strict=True)}
        failed: list[Tile] = []
        try:
            with while_staffed(client, lambda: futures), self.unfinished.explained():
                ready: Any = as_completed(futures, client.loop)
                for future in ready:
                    if future.status == "finished":
                        one_more()
                        future.release()
                        continue
                    problem = outcome_of(future)
                    accident = future.status == "error" and may_pass(problem) and len(failed) < ACCIDENTS
                    if not (patient and accident):
                        raise problem
                    log.info("%s: a tile failed and is tried again (%s)", self.goal, problem)
                    failed.append(which[future.key])
        finally:
            client.cancel(futures, force=True)
        return failed

    def _finish(self, force: bool) -> tuple[str, ...]:
        """The result under its own name, and nothing else left; returns what of the source is not in it."""
        check_target(self.goal, force)  # hours may have passed
        with self.unfinished.explained():
            if self.goal.suffix.lower() in TIFF:
                with replacing(self.goal) as temporary:
                    lost = write_tiff(self.unfinished.pixels, temporary, self.goal, self.layout, self.description)
            else:
                lost = self.description.for_zarr()[1]
                if self.group is not None:
                    self.group.write(self.unfinished.store)
                elif self.goal.name.lower().endswith(".ome.zarr"):
                    lost = (*lost, "it is a zarr array and no OME-Zarr group: such are made of OME-Zarr groups alone")
                if self.goal.exists():
                    self.unfinished.set_aside()
                os.replace(self.unfinished.store, self.goal)
            self.unfinished.clear()
        return lost


def _map_of(options: dict[str, Any]) -> tuple[Source | None, dict[str, Any]]:
    """A map of noise levels that stands among a task's options, and the others."""
    sigma, noise = options.get("sigma"), options.get("noise")
    if isinstance(noise, Map) and sigma is None:
        sigma = noise.sigma
    elif noise is not None or sigma is None or (np.ndim(sigma) == 0 and not isinstance(sigma, str | os.PathLike)):
        return None, options
    return opened(sigma), {name: value for name, value in options.items() if name not in ("sigma", "noise")}


def _mark(number: int, cell: Cell) -> str:
    """What a finished tile of a page is noted as."""
    return f"{number}.{cell[0]}.{cell[1]}"
