"""What is found out about a page before its tiles are repaired: noise, bounds, and the steps that all of them take."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cosparse.cluster.connection import gathered
from cosparse.cluster.layout import Layout
from cosparse.cluster.page_values import find_extremes, find_noise
from cosparse.cluster.sampling import Cell, Sample, Sampling, representative, sampled
from cosparse.cluster.sources import thinned
from cosparse.cluster.steps import Pieces, Steps, find_steps
from cosparse.cluster.tiles import Assignment, Found, Grid, LevelsSeen, check_values, examine, share_of

if TYPE_CHECKING:
    import dask.array as da
    from dask.delayed import Delayed
    from distributed import Client


@dataclass(frozen=True)
class Page:
    """A Dask array (h, w[, channels]), what is missing of it, how noisy each pixel is, and what is to be done."""

    array: da.Array
    mask: da.Array | None
    work: Assignment
    grid: Grid
    sampling: Sampling
    levels: da.Array | None = None

    @property
    def pixels(self) -> int:
        """Of the result."""
        height, width = self.array.shape[:2]
        return int(height * width * self.work.factor**2)

    @property
    def small(self) -> bool:
        """Whether one task can look at all of it."""
        return self.pixels <= self.sampling.whole

    def examined(self) -> Delayed:
        """A Dask task that looks at a small page."""
        from dask.delayed import delayed

        task: Delayed = delayed(examine, pure=False)(
            self.work, self.array, self.mask, len(self.grid.cells) == 1, self.levels
        )  # fmt: skip
        return task

    def found(self, client: Client) -> Found:
        """Of a page that no task can look at whole: in parts and samples, on all workers."""
        some = Layout((), self.array.shape[:2], *self.array.shape[2:])
        few = [thinned(one, some) for one in (self.array, self.mask) if one is not None]
        check_values(self.work, *gathered(client, client.compute(few)), *[None] * (2 - len(few)))
        colours, span = self.work.colours(self.array), self.work.options["data_range"]
        found = self.work.find_out(
            self.array.dtype,
            lambda model: find_noise(client, colours, span, model),
            lambda: find_extremes(client, colours, self.mask),
            self._levels_seen(client),
        )
        return Found(found, self._steps(client, self.work.knowing(**found)))

    def _levels_seen(self, client: Client) -> LevelsSeen | None:
        if self.levels is None:
            return None
        wanted = [(self.levels.astype(float) ** 2).mean(axis=(0, 1)), self.levels.min(), self.levels.max()]
        return LevelsSeen.of(*gathered(client, client.compute(wanted)))

    def _steps(self, client: Client, work: Assignment) -> list[Steps]:
        """The steps that all tiles take: those of parts that cover the page, or of samples from all over it."""
        from dask.delayed import delayed

        how, unit = self.sampling, self.grid.unit
        covered = self.pixels <= how.held * len(client.nthreads())
        side = max(1, round((how.cover if covered else how.side) / (work.factor * unit))) * unit
        rows, columns = (-(-size // side) for size in self.array.shape[:2])
        if covered:
            chosen, rim, together = [(cell, 1.0) for cell in np.ndindex(rows, columns)], 2.0, 1
        else:
            chosen, rim, together = representative(self.interest(client, side), how.samples), how.rim, how.share
        shares = [
            delayed(share_of, pure=False)(work, *self.samples(chosen[first : first + together], side, rim))
            for first in range(0, len(chosen), together)
        ]
        return find_steps(Pieces(client, client.compute(shares)))

    def samples(
        self, cells: list[tuple[Cell, float]], side: int, rim: float
    ) -> tuple[list[da.Array], list[da.Array | None], list[Sample], list[da.Array | None]]:
        """Crops of the page with `rim` times the reach about them, of its mask, what is said of each, of its map."""
        width = math.ceil(rim * self.grid.reach / self.grid.unit) * self.grid.unit
        samples = [sampled(cell, self.array.shape, side, width, weight) for cell, weight in cells]
        masks, maps = (
            [None if one is None else one[sample.region] for sample in samples] for one in (self.mask, self.levels)
        )
        return [self.array[sample.region] for sample in samples], masks, samples, maps

    def interest(self, client: Client, side: int) -> NDArray[Any]:
        """How much there is to do in each square of a grid: its contrast, or how known and missing pixels mix there."""
        import dask.array as da

        seen = self.work.colours(self.array) if self.mask is None else self.mask
        sides = {0: side, 1: side, **dict(enumerate(seen.shape[2:], 2))}
        padded = da.pad(seen, [(0, -size % sides[axis]) for axis, size in enumerate(seen.shape)], mode="edge")
        coarse = padded.rechunk({axis: max(1, 1024 // side) * side for axis in (0, 1)})
        contrast = gathered(client, client.compute(da.coarsen(np.std, coarse, sides)))
        found: NDArray[Any] = np.nan_to_num(contrast.reshape(contrast.shape[:2]))
        # Only where nothing is noisy can flat squares be left out.
        noisy = self.levels is not None or self.work.options.get("noise") or self.work.options.get("sigma")
        return found if self.mask is not None and not noisy else found + found.mean()
