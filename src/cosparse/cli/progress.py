"""What a terminal shows of a run: the bar of a batch, the lines of learning, the figures that they are drawn from."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.table import Table

from cosparse.cli.console import stderr, terminal
from cosparse.metrics import psnr
from cosparse.reconstruction import Progress

Weight = float | list[float] | None
BARS = "▁▂▃▄▅▆▇█"
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
            if not math.isnan(progress.energy):  # trained steps have none
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
        """How good the page at work is so far: against the truth, or else as an energy, if it has one."""
        page = f"page {progress.page + 1}/{progress.pages}: " if progress.pages > 1 else ""
        if self.truth is None:
            return page.removesuffix(": ") if math.isnan(progress.energy) else f"{page}energy {progress.energy:.4g}"
        truth = self.truth[progress.page] if progress.pages > 1 else self.truth
        return f"{page}{psnr(truth, progress.image, data_range=255):.2f} dB"

    @property
    def energy(self) -> float | None:
        """Of all planes together; None if there was none."""
        return float(sum(self.energies.values())) if self.energies else None

    @property
    def weights(self) -> list[Weight]:
        """The weight of the prior that the last stage used, page by page.

        A number where it was the same for all planes, else a list: of luma and the two opponent colours. None where
        there was nothing to repair, or steps were taken that have no weight.
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


class View:
    """A long run: how far, how long still, and what `rows` says of the progress. Nothing where no one watches."""

    def __init__(self, unit: str, total: int, rows: Callable[[Any, list[float]], list[tuple[str, str]]]) -> None:
        self.unit, self.total, self.rows, self.shown = unit, total, rows, terminal()
        self.started, self.drawn = time.monotonic(), 0.0
        self.values: list[float] = []
        self._live: Any = None

    def __enter__(self) -> View:
        if self.shown:
            from rich.live import Live

            self._live = Live(console=stderr(), transient=True, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def __call__(self, progress: Any, number: int, value: float) -> None:
        """After every iteration; draws five times a second."""
        self.values.append(value)
        now = time.monotonic()
        if self._live and now - self.drawn > 0.2:
            self.drawn = now
            self._live.update(self._table(progress, number, now - self.started), refresh=True)

    def _table(self, progress: Any, number: int, seconds: float) -> Table:
        from rich.progress_bar import ProgressBar

        left = seconds / len(self.values) * (self.total - number)
        table = Table(show_header=False, box=None, pad_edge=False)
        table.add_row(self.unit, f"{number} of {self.total}, {left:.0f} s left")
        table.add_row("", ProgressBar(self.total, number, width=40))
        for name, text in self.rows(progress, self.values):
            table.add_row(name, text)
        return table


def sparkline(values: list[float], width: int = 30) -> str:
    """A curve in one line of text.

    >>> sparkline([3.0, 2.0, 1.0, 1.0])
    '█▄▁▁'
    """
    picked = np.array(values)[np.linspace(0, len(values) - 1, min(width, len(values))).astype(int)]
    low, high = picked.min(), picked.max()
    heights = (picked - low) / max(high - low, 1e-30) * (len(BARS) - 1)
    return "".join(BARS[int(height)] for height in heights)
