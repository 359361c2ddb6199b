"""The bar on the terminal, and the figures of a run that it is drawn from."""

from __future__ import annotations

from typing import Any

import numpy as np

from cosparse.cli.console import stderr, terminal
from cosparse.metrics import psnr
from cosparse.reconstruction import Progress


class Tally:
    """Counts over the planes (colours, pages) of one image, solved one after the other."""

    def __init__(self, planes: int, truth: np.ndarray[Any, Any] | None, bar: Bar) -> None:
        self.planes, self.truth, self.bar = planes, truth, bar
        self.solved, self.latest = 0, 0
        self.iterations, self.energies = 0, [0.0]

    def __call__(self, progress: Progress) -> None:
        """The callback of a task."""
        if progress.iteration <= self.latest:
            self.solved += 1
            self.energies.append(0.0)
        self.latest = progress.iteration
        self.iterations += 1
        self.energies[-1] = progress.energy
        part = (self.solved + progress.iteration / max(progress.iterations, 1)) / self.planes
        if not self.bar.shown:
            return
        figure = f"energy {progress.energy:.4g}"
        if self.truth is not None and self.truth.shape == progress.image.shape:
            figure = f"{psnr(self.truth, progress.image, data_range=255):.2f} dB"
        self.bar.update(min(part, 1.0), figure)

    @property
    def energy(self) -> float:
        """Of all planes together."""
        return float(sum(self.energies))


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
