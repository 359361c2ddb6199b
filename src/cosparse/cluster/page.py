"""What is found out about a page before its tiles are repaired: noise, bounds, and the steps that all of them take."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from cosparse.cluster.connection import gathered
from cosparse.cluster.extremes import find_extremes
from cosparse.cluster.layout import Layout
from cosparse.cluster.noise_level import estimate_level
from cosparse.cluster.sampling import Cell, Sample, representative, sampled
from cosparse.cluster.sources import thinned
from cosparse.cluster.steps import survey
from cosparse.cluster.tiles import Found, Grid, Work, check_values, examine, overlap_of, share_of
from cosparse.cluster.vectors import OnWorkers

WHOLE = 2**23  # a result of so many pixels or fewer is its own sample
COVER = 1024  # pixels of the result: the side of the samples that cover a larger one, if the workers can hold it
HELD = 10**7  # pixels a worker: about 100 bytes of each stay there from step to step
SAMPLES = 1024  # parts that stand for what is larger still
SIDE = 64  # pixels of the result: about the side of each, without its rim
SHARE = 128  # of those in one task: the fewer tasks, the less Dask has to do between them
RIM = 0.5  # of a tile's overlap, about each of those


@dataclass(frozen=True)
class Page:
    """A Dask array (h, w[, channels]), what is missing of it, and what is to be done."""

    array: Any
    mask: Any
    work: Work
    grid: Grid
    unit: int

    @property
    def pixels(self) -> int:
        """Of the result."""
        height, width = self.array.shape[:2]
        return int(height * width * self.work.factor**2)

    @property
    def small(self) -> bool:
        """Whether one task can look at all of it."""
        return self.pixels <= WHOLE

    def examined(self) -> Any:
        """A Dask task that looks at a small page."""
        from dask.delayed import delayed

        return delayed(examine, pure=False)(self.work, self.array, self.mask, len(self.grid.places) == 1)

    def found(self, client: Any) -> Found:
        """Of a page that no task can look at whole: in parts and samples, on all workers."""
        work = self.work
        some = Layout((), self.array.shape[:2], *self.array.shape[2:])
        few = [thinned(one, some) for one in (self.array, self.mask) if one is not None]
        check_values(work, *gathered(client, client.compute(few)), *[None] * (2 - len(few)))
        found: dict[str, Any] = {}
        if work.unknown_noise:
            found["sigma"] = estimate_level(client, work.colours(self.array), work.options["data_range"])
            work = work.knowing(**found)
        if work.undecided(self.array.dtype):
            extremes = find_extremes(client, work.colours(self.array), self.mask)
            found["bounds"] = work.bounds(extremes)
            work = work.knowing(**found)
        return Found(found, self._paths(client, work))

    def _paths(self, client: Any, work: Work) -> list[Any]:
        """The steps that all tiles take: those of parts that cover the page, or of samples from all over it."""
        from dask.delayed import delayed

        covered = self.pixels <= HELD * len(client.nthreads())
        side = max(1, round((COVER if covered else SIDE) / (work.factor * self.unit))) * self.unit
        rows, columns = (-(-size // side) for size in self.array.shape[:2])
        if covered:
            chosen, rim, together = [(place, 1.0) for place in np.ndindex(rows, columns)], 2.0, 1
        else:
            chosen, rim, together = representative(self.interest(client, side), SAMPLES), RIM, SHARE
        shares = [
            delayed(share_of, pure=False)(work, *self._samples(chosen[first : first + together], side, rim))
            for first in range(0, len(chosen), together)
        ]
        return survey(OnWorkers(client), client.compute(shares))

    def _samples(
        self, places: list[tuple[Cell, float]], side: int, rim: float
    ) -> tuple[list[Any], list[Any], list[Sample]]:
        """Crops of the page with `rim` times the overlap about them, of its mask, and what is said of each."""
        width = math.ceil(rim * overlap_of(self.work.first_pass(), self.unit) / self.unit) * self.unit
        samples = [sampled(place, self.array.shape, side, width, weight) for place, weight in places]
        masks = [None if self.mask is None else self.mask[sample.region] for sample in samples]
        return [self.array[sample.region] for sample in samples], masks, samples

    def interest(self, client: Any, side: int) -> Any:
        """How much there is to do in each square of a grid: its contrast, or how known and missing pixels mix there."""
        import dask.array as da

        seen = self.work.colours(self.array) if self.mask is None else self.mask
        sides = {0: side, 1: side, **dict(enumerate(seen.shape[2:], 2))}
        padded = da.pad(seen, [(0, -size % sides[axis]) for axis, size in enumerate(seen.shape)], mode="edge")
        coarse = padded.rechunk({axis: max(1, 1024 // side) * side for axis in (0, 1)})
        found = gathered(client, client.compute(da.coarsen(np.std, coarse, sides)))
        found = np.nan_to_num(found.reshape(found.shape[:2]))
        # Only where nothing is noisy can flat squares be left out.
        return found if self.mask is not None and not self.work.options.get("sigma") else found + found.mean()
