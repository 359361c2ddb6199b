"""Repair a picture larger than memory, tile by tile; what is done stays done."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import cosparse
from cosparse.cluster.care import check, explained, write_tile
from cosparse.cluster.connection import gathered, using, while_staffed
from cosparse.cluster.noise import estimate_level
from cosparse.cluster.path import survey
from cosparse.cluster.pieces import OnWorkers
from cosparse.cluster.samples import Cell, Sample, representative, sampled
from cosparse.cluster.sources import TIFF, OnDisk, as_dask, write_tiff
from cosparse.cluster.tiles import Grid, Work, divided, find_paths, listen, overlap_of, repair_block, unit_of
from cosparse.files import replacing
from cosparse.images import default_range
from cosparse.reconstruction.general import resolve
from cosparse.reconstruction.rules import plan

log = logging.getLogger(__name__)
WHOLE = 2**23  # a result of so many pixels or fewer is its own sample
COVER = 1024  # pixels of the result: the side of the samples that cover a larger one, if the workers can hold it
HELD = 10**7  # pixels a worker: about 100 bytes of each stay there from step to step
SAMPLES = 1024  # parts that stand for what is larger still
SIDE = 64  # pixels of the result: about the side of each, without its rim
SHARE = 128  # of those in one task: the fewer tasks, the less Dask has to do between them
RIM = 0.5  # of a tile's overlap, about each of those
RETRIES = 2  # of a tile that failed


@dataclass(frozen=True)
class TileReport:
    """How a repair by tiles went; `sigma` in the picture's units, `resumed` tiles were there from an earlier run."""

    tiles: int
    resumed: int
    sigma: float
    tile: int
    overlap: int


def repair_picture(
    task: str,
    source: Any,
    target: str | os.PathLike[str],
    *,
    mask: Any = None,
    tile: int = 1024,
    overlap: int | None = None,
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
        (h, w), or (h, w, channels) with 2 to 4 of them; a path names a zarr array or a tiled TIFF that the
        workers see too.
    target : path
        Of the result, a zarr array or a (Big)TIFF by its ending; on a disk that the workers see too.
    mask : the same kinds as `source`, optional
        For "inpaint": (h, w), True or not zero where a pixel is missing.
    tile : int
        Side of a tile in pixels. A worker needs about 50 bytes a pixel and thread.
    overlap : int, optional
        How far a tile looks beyond its border; chosen from the task if not given.
    client : distributed.Client, optional
        The cluster; without it a local one, as long as the call lasts.
    force : bool
        Replace a target that exists, and forget tiles of another repair.
    callback : callable, optional
        Called with the number of tiles done and of all, after each.
    **options
        Those of the task: sigma, factor, kernel, operator, weight, quality, grouping, data_range. A `sigma` left out of
        "denoise" or "deblur" is estimated over the whole picture.
    """
    goal = Path(target)
    if goal.suffix.lower() not in (".zarr", *TIFF):
        raise ValueError(f"target: {goal} does not say what to write; end it with .zarr or .tif")
    if goal.exists() and not force:
        raise FileExistsError(f"{goal}: exists; pass force=True (--force) to replace it")
    if not goal.parent.is_dir():
        raise FileNotFoundError(f"{goal}: the folder {goal.parent} does not exist; create it first")
    with using(client) as own:
        if isinstance(source, str | os.PathLike):
            source = OnDisk(source)
        job = _Job(task, source, mask, goal, tile, overlap, dict(options))
        return job.run(own, force, callback)


class _Job:
    """One repair: its arrays, its grid, and the folder of its finished tiles."""

    def __init__(
        self, task: str, source: Any, mask: Any, goal: Path, tile: int, overlap: int | None, options: dict[str, Any]
    ) -> None:
        self.source, self.goal, self.part = source, goal, goal.with_name(goal.name + ".part")
        check(task, source, mask, options)
        colour = source.ndim == 3
        options.setdefault("data_range", None)
        if options["data_range"] is None:
            options["data_range"] = default_range(source.dtype, name="source")
        operator = resolve(options.pop("operator", None), options.get("quality", "balanced"))
        self.work = Work(task, operator, options, colour)
        # The steps between patches do not depend on the noise.
        chosen = plan(task, 1.0, options.get("quality", "balanced"), options.get("weight"), operator)
        self.unit = unit_of(self.work, min(chosen.stride, *operator.patch_shape))
        self.overlap = overlap_of(self.work, self.unit) if overlap is None else -(-overlap // self.unit) * self.unit
        self.grid: Grid = divided(source.shape, tile, self.overlap, self.work.factor, self.unit)
        self.tile = tile
        self.array = as_dask(source, self.grid.chunks)
        self.mask = None
        if mask is not None:
            found = as_dask(mask, name="mask")
            if found.shape != source.shape[:2]:
                raise ValueError(f"mask: has shape {found.shape}, the picture {source.shape[:2]}; they must agree")
            self.mask = found.rechunk(self.grid.chunks).astype(bool)

    def run(self, client: Any, force: bool, callback: Callable[[int, int], object] | None) -> TileReport:
        import zarr

        paths = self._prepared(client, force)
        places = self.grid.places
        todo = [place for place in places if not self._marker(place).exists()]
        resumed = len(places) - len(todo)
        if resumed:
            log.info("%s: %d of %d tiles are there already", self.part, resumed, len(places))
        store = self.part / "tiles.zarr"
        if not store.exists():
            factor, first = self.work.factor, self.grid.chunks
            shape = (*(side * factor for side in self.source.shape[:2]), *self.source.shape[2:])
            chunks = (*(sides[0] * factor for sides in first), *self.source.shape[2:])
            with explained(self.goal):
                fresh = self.part / "fresh.zarr"
                zarr.create_array(fresh, shape=shape, chunks=chunks, dtype=self.source.dtype, overwrite=True)
                os.replace(fresh, store)
        self._repair(client, paths, todo, resumed, callback)
        self._finish(store)
        return TileReport(len(places), resumed, self.work.options.get("sigma") or 0.0, self.tile, self.overlap)

    def _prepared(self, client: Any, force: bool) -> list[Any]:
        """The folder for this repair, with the noise level and the steps that all its tiles share."""
        record = self.part / "job.json"
        identity = self._fingerprint()
        if self.part.exists():
            saved = json.loads(record.read_text()) if record.exists() else {}
            differing = [name for name, value in identity.items() if saved.get("job", {}).get(name) != value]
            if saved and not differing:
                self.work.options.update(saved["found"])
                return [[tuple(step) for step in path] for path in saved["paths"]]
            if saved and not force:
                raise FileExistsError(
                    f"{self.part}: holds tiles of another repair, which differs in {', '.join(differing)}; "
                    "remove it, or pass force=True (--force)"
                )
            shutil.rmtree(self.part)
        found: dict[str, float] = {}
        options = self.work.options
        if self.work.task in ("denoise", "deblur") and options.get("sigma") is None:
            found["sigma"] = self._level(client)
            options.update(found)
        paths = self._paths(client)
        with explained(self.goal):
            (self.part / "done").mkdir(parents=True)
            with replacing(record) as temporary:
                temporary.write_text(json.dumps({"job": identity, "found": found, "paths": paths}))
        return paths

    def _level(self, client: Any) -> float:
        """The noise in the picture's units."""
        from dask.delayed import delayed

        span = self.work.options["data_range"]
        if self._pixels > WHOLE:
            return estimate_level(client, self.array, span)
        axis = -1 if self.work.colour else None
        whole = delayed(cosparse.estimate_sigma, pure=False)(self.array, data_range=span, channel_axis=axis)
        return float(gathered(client, client.compute(whole)))

    @property
    def _pixels(self) -> int:
        """Of the result."""
        height, width = self.source.shape[:2]
        return int(height * width * self.work.factor**2)

    def _paths(self, client: Any) -> list[Any]:
        """The steps that all tiles take: the whole picture's own, or those of samples from all over it."""
        from dask.delayed import delayed

        if self._pixels <= WHOLE:
            whole = self._samples([((0, 0), 1.0)], max(self.source.shape[:2]))
            task = delayed(find_paths, pure=False)(self.work, *whole)
            return gathered(client, client.compute(task))  # type: ignore[no-any-return]
        covered = self._pixels <= HELD * len(client.nthreads())
        side = max(1, round((COVER if covered else SIDE) / (self.work.factor * self.unit))) * self.unit
        rows, columns = (-(-size // side) for size in self.source.shape[:2])
        if covered:
            chosen, rim, together = [(place, 1.0) for place in np.ndindex(rows, columns)], 2.0, 1
        else:
            chosen, rim, together = representative(self._interest(client, side), SAMPLES), RIM, SHARE
        shares = [
            delayed(listen, pure=False)(self.work, *self._samples(chosen[first : first + together], side, rim))
            for first in range(0, len(chosen), together)
        ]
        return survey(OnWorkers(client), client.compute(shares))

    def _samples(
        self, places: list[tuple[Cell, float]], side: int, rim: float = 0.0
    ) -> tuple[list[Any], list[Any], list[Sample]]:
        """Crops of the picture with `rim` times the overlap about them, of its mask, and what is said of each."""
        width = math.ceil(rim * overlap_of(self.work.first_pass(), self.unit) / self.unit) * self.unit
        samples = [sampled(place, self.source.shape, side, width, weight) for place, weight in places]
        masks = [None if self.mask is None else self.mask[sample.region] for sample in samples]
        return [self.array[sample.region] for sample in samples], masks, samples

    def _interest(self, client: Any, side: int) -> Any:
        """How much there is to do in each square of a grid: its contrast, or how known and missing pixels mix there."""
        import dask.array as da

        seen = self.array if self.mask is None else self.mask
        sides = {0: side, 1: side, **dict(enumerate(seen.shape[2:], 2))}
        padded = da.pad(seen, [(0, -size % sides[axis]) for axis, size in enumerate(seen.shape)], mode="edge")
        coarse = padded.rechunk({axis: max(1, 1024 // side) * side for axis in (0, 1)})
        found = gathered(client, client.compute(da.coarsen(np.std, coarse, sides)))
        found = np.nan_to_num(found.reshape(found.shape[:2]))
        # Only where nothing is noisy can flat squares be left out.
        return found if self.mask is not None and not self.work.options.get("sigma") else found + found.mean()

    def _repair(self, client: Any, paths: list[Any], todo: list[Cell], done: int, callback: Any) -> None:
        import dask.array as da
        from dask.delayed import delayed
        from distributed import as_completed

        if not todo:
            return
        factor, sides = self.work.factor, self.grid.chunks
        inputs = [self.array]
        if self.mask is not None:
            inputs.append(self.mask[..., None] if self.work.colour else self.mask)
        depth = {axis: self.overlap if axis < 2 else 0 for axis in range(self.array.ndim)}
        # As tasks of their own, so that they are sent once to each worker and not along with every tile.
        shared = {
            name: delayed(value, traverse=False)
            for name, value in (("work", self.work), ("grid", self.grid), ("paths", paths))
        }
        repaired = da.map_overlap(
            repair_block, *inputs, depth=[depth] * len(inputs), boundary="none", trim=False, allow_rechunk=False,
            align_arrays=False, dtype=self.source.dtype, meta=np.empty((0,) * self.array.ndim, self.source.dtype),
            chunks=tuple(tuple(side * factor for side in axis) for axis in sides) + self.array.chunks[2:], **shared,
        )  # fmt: skip
        blocks = repaired.to_delayed().reshape(repaired.numblocks[:2])
        write = delayed(write_tile, pure=False)
        tasks = [write(blocks[place], str(self.part), place, self.grid.target(place)) for place in todo]
        futures = client.compute(tasks, retries=RETRIES)
        try:
            with while_staffed(client, lambda: futures), explained(self.goal, self.part):
                for future, outcome in as_completed(futures, client.loop, with_results=True, raise_errors=False):
                    if future.status != "finished":
                        raise outcome[1] if isinstance(outcome, tuple) else outcome
                    done += 1
                    if callback is not None:
                        callback(done, len(self.grid.places))
                    future.release()
        finally:
            client.cancel(futures, force=True)

    def _finish(self, store: Path) -> None:
        """The result under its own name, and nothing else left."""
        with explained(self.goal, self.part):
            if self.goal.suffix.lower() in TIFF:
                with replacing(self.goal) as temporary:
                    metadata = self.source.metadata if isinstance(self.source, OnDisk) else {}
                    write_tiff(store, temporary, metadata, self.work.colour)
            else:
                if self.goal.exists():
                    os.replace(self.goal, self.part / "replaced.zarr")
                os.replace(store, self.goal)
            shutil.rmtree(self.part)

    def _marker(self, place: Cell) -> Path:
        return self.part / "done" / f"{place[0]}.{place[1]}"

    def _fingerprint(self) -> dict[str, Any]:
        """What must be the same for a run to go on from another's tiles."""
        from dask.base import tokenize

        options = {
            name: np.asarray(value).tolist() if isinstance(value, np.ndarray) else value
            for name, value in sorted(self.work.options.items())
        }
        operator = self.work.operator
        parts = operator.matrix.tobytes() + operator.weights.tobytes()
        return {
            "version": cosparse.__version__,
            "task": self.work.task,
            "options": json.loads(json.dumps(options, default=repr)),
            "operator": hashlib.blake2b(parts, digest_size=16).hexdigest(),
            "source": tokenize(self.source),
            "mask": "" if self.mask is None else self.mask.name,
            "tile": self.tile,
            "overlap": self.overlap,
        }
