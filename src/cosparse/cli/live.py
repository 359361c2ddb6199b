"""A long run as it goes, in a few lines of the terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.table import Table

from cosparse.cli.console import stderr, terminal

BARS = "▁▂▃▄▅▆▇█"


class View:
    """How far, how long still, and what `rows` says of the progress. Nothing where no one watches."""

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
