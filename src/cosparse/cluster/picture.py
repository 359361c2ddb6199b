"""Repair a picture larger than memory, tile by tile; what is done stays done."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import cosparse
from cosparse.cluster.care import (
    FORMAT,
    RECORD,
    begun,
    check,
    check_target,
    cleared,
    explained,
    naming,
    write_tile,
)
from cosparse.cluster.connection import gathered, may_pass, using, while_staffed
from cosparse.cluster.layout import ChannelAxis, layout_of, named
from cosparse.cluster.page import Page
from cosparse.cluster.sampling import Cell
from cosparse.cluster.sources import TIFF, OnDisk, as_dask, description_of, identity_of, write_tiff
from cosparse.cluster.tiles import Found, Grid, Work, divided, overlap_of, repair_block, unit_of
from cosparse.identity import described, differing
from cosparse.io.atomic import replacing
from cosparse.io.values import default_range
from cosparse.operator import chosen_operator
from cosparse.reconstruction.bounds import Pair, stated, type_bounds
from cosparse.reconstruction.psf import named_kernel
from cosparse.reconstruction.stages import plan

log = logging.getLogger(__name__)
RETRIES = 2  # of a tile that failed
ACCIDENTS = 16  # tiles: if more fail, something is wrong that does not pass
AHEAD = 4  # small pages looked at together, for every thread


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
    source: Any,
    target: str | os.PathLike[str],
    *,
    mask: Any = None,
    tile: int = 1024,
    overlap: int | None = None,
    channel_axis: ChannelAxis = "auto",
    alpha: bool | None = None,
    client: Any = None,
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
        (h, w), pages of it (..., h, w), or either with channels last; a path names a zarr array or a tiled TIFF that
        the workers see too. Each page is repaired on its own, with its own noise if that is estimated.
    target : path
        Of the result, a zarr array or a (Big)TIFF by its ending; on a disk that the workers see too.
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
        Those of the task: sigma, factor, kernel, operator, weight, quality, grouping, data_range, bounds. A `sigma`
        left out of "denoise" or "deblur" is estimated over the whole page, and bounds that depend on the values are
        told from them.

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
    with using(client) as own:
        if isinstance(source, str | os.PathLike):
            source = OnDisk(source)
        with naming(source):
            job = _Job(task, source, mask, goal, tile, overlap, dict(options), channel_axis, alpha)
            return job.run(own, force, callback)


class _Job:
    """One repair: its arrays, its grid, and the folder of its finished tiles."""

    def __init__(
        self, task: str, source: Any, mask: Any, goal: Path, tile: int, overlap: int | None, options: dict[str, Any],
        channel_axis: ChannelAxis = "auto", alpha: bool | None = None,
    ) -> None:  # fmt: skip
        self.source, self.goal, self.part = source, goal, goal.with_name(goal.name + ".part")
        check(task, mask, options)
        as_dask(source)  # refuses what is no array
        self.layout = layout_of(source, channel_axis, alpha)
        self.pages = self.layout.pages
        options = {"quality": "balanced", "bounds": "auto", **options, "alpha": self.layout.alpha}
        if options.get("data_range") is None:
            options["data_range"] = default_range(source.dtype, name=named(source))
        if not isinstance(options["bounds"], str) or options["bounds"] != "auto":
            options["bounds"] = stated(options["bounds"])
        if isinstance(options.get("kernel"), str):
            options["kernel"] = named_kernel(options["kernel"])
        operator = chosen_operator(options.pop("operator", None))
        self.work = Work(task, operator, options, self.layout.channels is not None)
        # The steps between patches do not depend on the noise.
        chosen = plan(task, 1.0, options["quality"], options.get("weight"), operator)
        self.unit = unit_of(self.work, min(chosen.stride, *operator.patch_shape))
        self.overlap = overlap_of(self.work, self.unit) if overlap is None else -(-overlap // self.unit) * self.unit
        self.grid: Grid = divided(self.layout.size, tile, self.overlap, self.work.factor, self.unit)
        self.tile = tile
        self.array = as_dask(source, self.layout.chunks(self.grid.chunks))
        self.mask, self.mask_identity = None, ""
        if mask is not None:
            found = as_dask(mask, name="mask")
            pages = (*self.layout.leading, *self.layout.size)
            if found.shape not in (pages, self.layout.size):
                raise ValueError(f"mask: has shape {found.shape}, the picture {pages}; they must agree")
            self.mask = found.rechunk(((1,) * (found.ndim - 2)) + self.grid.chunks).astype(bool)
            self.mask_identity = identity_of(mask)

    def page(self, number: int) -> Page:
        """One of the pages, and what is to be done there."""
        place = self.pages[number]
        mask = self.mask if self.mask is None or self.mask.ndim == 2 else self.mask[place]
        return Page(self.array[place], mask, self.work, self.grid, self.unit)

    def run(self, client: Any, force: bool, callback: Callable[[int, int], object] | None) -> TileReport:
        """All pages, in turn, or some at a time if they are small; then the result under its name."""
        self._begin(force)
        there = {name for name in os.listdir(self.part / "done") if not name.startswith(".")}
        count, tiles = len(self.pages), len(self.grid.places)
        resumed = len(there)
        if resumed:
            log.info("%s: %d of %d tiles are there already", self.part, resumed, count * tiles)
        together = AHEAD * max(1, sum(client.nthreads().values())) if self.page(0).small else 1
        report = _Tally(callback, resumed, count * tiles)
        sigmas: list[float] = []
        bounds: list[Pair | None] = []
        for first in range(0, count, together):
            numbers = range(first, min(first + together, count))
            try:
                found = self._found(client, numbers)
                lost = self._store()
            except BaseException:
                if not os.listdir(self.part / "done"):
                    cleared(self.part)  # nothing to go on from
                raise
            for number in numbers:
                sigmas.append(float(self.work.knowing(**found[number].options).options.get("sigma") or 0.0))
                bounds.append(self._bounds(found[number]))
            todo = [(number, place) for number in numbers for place in self.grid.places]
            todo = [one for one in todo if _mark(*one) not in there]
            self._repair(client, found, todo, report)
        lost = self._finish(force, lost)
        for line in lost:
            log.warning("%s: %s", self.goal, line)
        return TileReport(
            count * tiles, resumed, float(np.mean(sigmas)), self.tile, self.overlap, self.work.options["data_range"],
            tuple(sigmas), tuple(bounds), str(self.layout), lost,
        )  # fmt: skip

    def _begin(self, force: bool) -> None:
        """The folder for this repair: a new one, or that of an earlier run of the same."""
        asked = self._identity()
        saved = begun(self.part)
        if saved is not None:
            others = differing(saved["job"], asked) if saved.get("format") == FORMAT else ["version"]
            if not others:
                return
            if not force:
                raise FileExistsError(
                    f"{self.part}: holds tiles of another repair, which differs in {', '.join(others)}; "
                    "remove it, or pass force=True (--force)"
                )
            cleared(self.part)
        with explained(self.goal):
            self.part.mkdir(exist_ok=True)
            with replacing(self.part / RECORD) as temporary:
                temporary.write_text(json.dumps({"format": FORMAT, "job": asked}))
            for name in ("done", "pages"):
                (self.part / name).mkdir(exist_ok=True)

    def _identity(self) -> dict[str, Any]:
        """What must be the same for a run to go on from another's tiles."""
        return described(
            version=cosparse.__version__, task=self.work.task, operator=self.work.operator, **self.work.options,
            source=identity_of(self.source), layout=str(self.layout), mask=self.mask_identity, tile=self.tile,
            overlap=self.overlap,
        )  # fmt: skip

    def _store(self) -> tuple[str, ...]:
        """An empty array for the tiles, if there is none yet; returns what of the source it cannot keep."""
        import zarr

        factor = self.work.factor
        told, lost = description_of(self.source).enlarged(factor).for_zarr(len(self.layout.shape()))
        store, fresh = self.part / "tiles.zarr", self.part / "fresh.zarr"
        if not store.exists():
            sides = tuple(sides[0] * factor for sides in self.grid.chunks)
            chunks = (*(1 for _ in self.layout.leading), *sides, *self.layout.last)
            with explained(self.goal):
                zarr.create_array(
                    fresh, shape=self.layout.shape(factor), chunks=chunks, dtype=self.source.dtype, overwrite=True,
                    **told,
                )  # fmt: skip
                os.replace(fresh, store)
        return lost

    def _found(self, client: Any, numbers: Sequence[int]) -> dict[int, Found]:
        """Noise, bounds and steps of some pages, kept for a later run."""
        found: dict[int, Found] = {}
        unseen = []
        for number in numbers:
            saved = self.part / "pages" / f"{number}.json"
            if saved.exists():
                told = json.loads(saved.read_text())
                found[number] = Found(told["options"], [[tuple(step) for step in path] for path in told["paths"]])
            else:
                unseen.append(number)
        pages = [self.page(number) for number in unseen]
        if pages and pages[0].small:
            new = gathered(client, client.compute([page.examined() for page in pages]))
        else:
            new = [page.found(client) for page in pages]
        for number, one in zip(unseen, new, strict=True):
            with explained(self.goal), replacing(self.part / "pages" / f"{number}.json") as temporary:
                temporary.write_text(json.dumps({"options": one.options, "paths": one.paths}))
            found[number] = one
        return found

    def _bounds(self, found: Found) -> Pair | None:
        """Between which values the result of a page lies."""
        bounds = found.options.get("bounds", self.work.options["bounds"])
        return type_bounds(np.dtype(self.source.dtype)) if bounds == "auto" else stated(bounds)

    def _repair(self, client: Any, found: dict[int, Found], todo: list[tuple[int, Cell]], report: _Tally) -> None:
        """These tiles; those that failed for a reason that may pass, once more and again when the others are done."""
        for left in range(RETRIES, -1, -1):
            if todo:
                todo = self._tried(client, found, todo, report, patient=left > 0)

    def _tried(
        self, client: Any, found: dict[int, Found], todo: list[tuple[int, Cell]], report: _Tally, patient: bool
    ) -> list[tuple[int, Cell]]:
        """Tiles that failed, if it may pass and one is patient; anything else is raised."""
        from dask.delayed import delayed
        from distributed import as_completed

        write = delayed(write_tile, pure=False)
        blocks = {number: self._repaired(number, found[number]) for number in {number for number, _ in todo}}
        tasks = [
            write(blocks[number][place], str(self.part), _mark(number, place), self.pages[number],
                  self.grid.target(place))
            for number, place in todo
        ]  # fmt: skip
        futures = client.compute(tasks)
        which = {future.key: one for future, one in zip(futures, todo, strict=True)}
        failed: list[tuple[int, Cell]] = []
        try:
            with while_staffed(client, lambda: futures), explained(self.goal, self.part):
                ready: Any = as_completed(futures, client.loop, with_results=True, raise_errors=False)
                for future, outcome in ready:
                    if future.status == "finished":
                        report.one_more()
                        future.release()
                        continue
                    problem = outcome[1] if isinstance(outcome, tuple) else outcome
                    accident = future.status == "error" and may_pass(problem) and len(failed) < ACCIDENTS
                    if not (patient and accident):
                        raise problem
                    log.info("%s: a tile failed and is tried again (%s)", self.goal, problem)
                    failed.append(which[future.key])
        finally:
            client.cancel(futures, force=True)
        return failed

    def _repaired(self, number: int, found: Found) -> Any:
        """The tiles of a page, as an array of Dask's delayed blocks."""
        import dask.array as da
        from dask.delayed import delayed

        page = self.page(number)
        factor, sides = self.work.factor, self.grid.chunks
        inputs = [page.array]
        if page.mask is not None:
            inputs.append(page.mask[..., None] if self.work.colour else page.mask)
        depth = {axis: self.overlap if len(page.array.chunks[axis]) > 1 else 0 for axis in range(page.array.ndim)}
        # As tasks of their own, so that they are sent once to each worker and not along with every tile.
        work = self.work.knowing(**found.options)
        shared = {
            name: delayed(value, traverse=False)
            for name, value in (("work", work), ("grid", self.grid), ("paths", found.paths))
        }
        repaired = da.map_overlap(
            repair_block, *inputs, depth=[depth] * len(inputs), boundary="none", trim=False, allow_rechunk=False,
            align_arrays=False, dtype=self.source.dtype, meta=np.empty((0,) * page.array.ndim, self.source.dtype),
            chunks=tuple(tuple(side * factor for side in axis) for axis in sides) + page.array.chunks[2:], **shared,
        )  # fmt: skip
        return repaired.to_delayed().reshape(repaired.numblocks[:2])

    def _finish(self, force: bool, lost: tuple[str, ...]) -> tuple[str, ...]:
        """The result under its own name, and nothing else left; returns what of the source is not in it."""
        store = self.part / "tiles.zarr"
        check_target(self.goal, force)  # hours may have passed
        with explained(self.goal, self.part):
            if self.goal.suffix.lower() in TIFF:
                description = description_of(self.source).enlarged(self.work.factor)
                with replacing(self.goal) as temporary:
                    lost = write_tiff(store, temporary, self.goal, self.layout, description)
            else:
                if self.goal.exists():
                    os.replace(self.goal, self.part / "replaced.zarr")
                os.replace(store, self.goal)
            cleared(self.part)
        return lost


class _Tally:
    """Tells a callback how many tiles are done."""

    def __init__(self, callback: Callable[[int, int], object] | None, done: int, total: int) -> None:
        self.callback, self.done, self.total = callback, done, total

    def one_more(self) -> None:
        self.done += 1
        if self.callback is not None:
            self.callback(self.done, self.total)


def _mark(number: int, place: Cell) -> str:
    """What a finished tile of a page is noted as."""
    return f"{number}.{place[0]}.{place[1]}"
