"""The bar on the terminal, and the figures of a run that it is drawn from."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from cosparse.cli.console import stderr, terminal
from cosparse.metrics import psnr
from cosparse.reconstruction import Progress

Weight = float | list[float] | None
SECONDS = 0.1  # between two figures: the terminal shows no more, and those of colours cost a few milliseconds


class Tally:
    """Counts over the planes (colours, pages) of one image, solved one after the other.

    `truth`, if known, is the result to compare with, on 0..255, pages first and colours last.
    """

    def __init__(self, truth: np.ndarray[Any, Any] | None, bar: Bar) -> None:
        self.truth, self.bar = truth, bar
        self.iterations = 0
        self.energies: dict[tuple[int, int], float] = {}
        self._weights: dict[int, dict[int, float]] = {}
        self.pages = 0
        self.drawn = -math.inf

    def __call__(self, progress: Progress) -> None:
        """The callback of a task."""
        self.pages = progress.pages
        if not progress.second_pass:  # its parts are no iterations of the energy
            self.iterations += 1
            self.energies[progress.page, progress.plane] = progress.energy
            self._weights.setdefault(progress.page, {})[progress.plane] = progress.weight
        now = time.monotonic()
        if not self.bar.shown or now - self.drawn < SECONDS:
            return
        self.drawn = now
        plane = progress.plane + progress.iteration / max(progress.iterations, 1)
        part = (progress.page + plane / progress.planes) / progress.pages
        self.bar.update(min(part, 1.0), self.figure(progress))

    def figure(self, progress: Progress) -> str:
        """How good the page at work is so far: against the truth, or else as an energy, plane by plane."""
        page = f"page {progress.page + 1}/{progress.pages}: " if progress.pages > 1 else ""
        if self.truth is None:
            return f"{page}energy {progress.energy:.4g}"
        truth = self.truth[progress.page] if progress.pages > 1 else self.truth
        return f"{page}{psnr(truth, progress.image, data_range=255):.2f} dB"

    @property
    def energy(self) -> float:
        """Of all planes together."""
        return float(sum(self.energies.values()))

    @property
    def weights(self) -> list[Weight]:
        """The weight of the prior that the last stage used, page by page.

        A number where it was the same for all planes, else a list: of luma and the two opponent colours. None where
        there was nothing to repair.
        """
        pages = (self._weights.get(page) for page in range(self.pages))
        return [None if planes is None else _alike(list(planes.values())) for planes in pages]


def _alike(values: list[float]) -> Weight:
    """The one number that all are but for rounding, or else all of them."""
    return values[0] if np.allclose(values, values[0], rtol=1e-6, atol=0) else values


class Bar:
    """A progress bar for a batch; nothing at all where no one watches."""

    def __init__(self, total: int) -> None:
        self.shown, self.total, self.number = terminal(), total, 0
        self._rich: Any = None
        self._task: Any = None

    def __enter__(self) -> Bar:
        if self.shown:
            from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as RichProgress

            self._rich = RichProgress(
                TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(),
                TimeRemainingColumn(), TextColumn("{task.fields[figure]}", markup=False),
                console=stderr(), transient=True,
            )  # fmt: skip
            self._rich.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._rich:
            self._rich.stop()

    def begin(self, name: str) -> None:
        """Start on the next file."""
        self.number += 1
        if self._rich:
            count = f"[{self.number}/{self.total}] " if self.total > 1 else ""
            if self._task is not None:
                self._rich.remove_task(self._task)
            self._task = self._rich.add_task(count + name[-40:], total=1.0, figure="")

    def update(self, part: float, figure: str) -> None:
        """How far, and how good so far."""
        if self._rich:
            self._rich.update(self._task, completed=part, figure=figure)

    def say(self, line: str) -> None:
        """A line above the bar."""
        if self._rich:
            self._rich.console.print(line, markup=False, soft_wrap=True)
