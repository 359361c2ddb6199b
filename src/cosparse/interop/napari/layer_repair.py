"""A repair as the widgets ask for it, of an array of any number of planes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.io.values import range_of_floats
from cosparse.reconstruction.request import Request
from cosparse.reconstruction.tasks import TASKS
from cosparse.reconstruction.watch import Progress


@dataclass(frozen=True, eq=False)
class Repair:
    """A task and its options, the same for all planes, which are (..., h, w) or with channels last."""

    task: str
    options: Mapping[str, Any] = field(default_factory=dict)
    data_range: float | None = None
    channel_axis: int | None = None
    alpha: bool = False

    def request(
        self,
        pixels: NDArray[Any],
        missing: NDArray[np.bool_] | None = None,
        callback: Callable[[Progress], object] | None = None,
    ) -> Request:
        """What is asked of the task, for some planes; ready to run."""
        masked = {} if missing is None else {"mask": missing}
        return TASKS[self.task].request(
            pixels, **self.options, **masked, data_range=self.data_range, channel_axis=self.channel_axis,
            alpha=self.alpha, callback=callback,
        )  # fmt: skip


def part_done(progress: Progress) -> float:
    """How much of a repair is done, 0 to 1; pages and planes count alike."""
    within = progress.iteration / max(progress.iterations, 1)
    return (progress.page + (progress.plane + min(within, 1.0)) / progress.planes) / progress.pages


def white_of(dtype: np.dtype[Any], values: Callable[[], NDArray[Any]]) -> float | None:
    """The value of white where the type does not say: of floats and signed numbers, by where most of them lie."""
    return None if dtype.kind in "ub" else range_of_floats(values().astype(np.float64))
