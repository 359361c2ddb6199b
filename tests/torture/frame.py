"""What all promises share: how one is written down, how it is run, how it counts."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np


class Broken(AssertionError):
    """A promise does not hold; the words say what was seen, and how to see it again."""


class Impossible(Exception):
    """A part cannot be tried here; the words say why. It is skipped, and that is printed."""


@dataclass
class Run:
    """How a part is to be tried, and what it has counted."""

    folder: Path  # empty, the part's own, removed afterwards
    short: bool = True
    seed: int = 0
    repetitions: float = 1.0
    counts: dict[str, int] = field(default_factory=dict)

    def times(self, short: int, long: int) -> int:
        """How often to try: the first in `make test`, the second in `make torture`, scaled by --repetitions."""
        return short if self.short else max(1, round(long * self.repetitions))

    def count(self, what: str, number: int = 1) -> None:
        """Add to a count. All of them are printed, in the order in which they were first named."""
        self.counts[what] = self.counts.get(what, 0) + number

    def rng(self, *more: int) -> np.random.Generator:
        """Random numbers of this run's seed, and of whatever else tells one place from another."""
        return np.random.default_rng([self.seed, *more])

    def hold(self, condition: object, words: str) -> None:
        """The promise is broken unless the condition is true."""
        if not condition:
            raise Broken(f"{words} (seed {self.seed})")


@dataclass(frozen=True)
class Part:
    """One way in which a promise is tried."""

    promise: Promise
    try_it: Callable[[Run], None]
    long_only: bool
    markers: tuple[str, ...]  # pytest's, of the short form

    def __str__(self) -> str:
        return f"{self.promise.number}-{self.try_it.__name__}"

    @property
    def title(self) -> str:
        """The first line of what the function says of itself."""
        return (self.try_it.__doc__ or self.try_it.__name__).strip().splitlines()[0].rstrip(".")


@dataclass
class Promise:
    """A promise, by its number in docs/promises.md, and the parts that try it."""

    number: int
    title: str
    parts: list[Part] = field(default_factory=list)

    def part(
        self, *, long_only: bool = False, markers: tuple[str, ...] = ("slow",)
    ) -> Callable[[Callable[[Run], None]], Callable[[Run], None]]:
        """Put this above a function of a :class:`Run`; its short form is then a test, unless it is `long_only`."""

        def add(try_it: Callable[[Run], None]) -> Callable[[Run], None]:
            self.parts.append(Part(self, try_it, long_only, markers))
            return try_it

        return add


@contextmanager
def beginning(*, short: bool, seed: int = 0, repetitions: float = 1.0) -> Iterator[Run]:
    """A run with a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="torture-", ignore_cleanup_errors=True) as folder:
        yield Run(Path(folder), short, seed, repetitions)
