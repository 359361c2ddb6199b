"""Work that is watched while it runs and can be stopped."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from cosparse.reconstruction import Progress
from cosparse.studio.session import Run

T = TypeVar("T")
Event = TypeVar("Event")
INTERVAL = 0.15  # seconds between two updates of the page


@dataclass(frozen=True)
class Finished(Generic[T]):
    """The last thing that :func:`follow` gives."""

    value: T


def follow(work: Callable[[Callable[[Event], bool]], T], run: Run) -> Iterator[Event | Finished[T]]:
    """Run `work(report)` on a thread; give its latest report every moment, and what it returned at the end.

    `report` returns True once the run is to stop. Closing the iterator stops the work, and only then goes on: whoever
    waits for the machine gets all of it.
    """
    latest: queue.SimpleQueue[Event] = queue.SimpleQueue()
    outcome: list[Finished[T] | BaseException] = []

    def report(event: Event) -> bool:
        latest.put(event)
        return run.over

    def target() -> None:
        try:
            outcome.append(Finished(work(report)))
        except BaseException as error:  # handed to the caller below
            outcome.append(error)

    thread = threading.Thread(target=target, name="cosparse-studio-work", daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(INTERVAL)
            event = None
            while not latest.empty():
                event = latest.get()
            if event is not None:
                yield event
    finally:
        if thread.is_alive():
            run.cancel()
            thread.join()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    yield outcome[0]


@dataclass(frozen=True)
class Step:
    """How far a repair is, over all its colours."""

    iteration: int
    iterations: int
    plane: int
    planes: int
    energy: float
    seconds: float

    @property
    def share(self) -> float:
        """Of the work done, 0 to 1."""
        return min(1.0, (self.plane + self.iteration / max(self.iterations, 1)) / self.planes)

    @property
    def left(self) -> float:
        """Seconds, if it goes on as it went."""
        return self.seconds * (1 - self.share) / max(self.share, 1e-3)


class Counter:
    """The callback of a task: counts over the colours, which are solved one after the other."""

    def __init__(self, planes: int, report: Callable[[Step], bool]) -> None:
        self.planes, self.report = planes, report
        self.plane, self.latest, self.started = 0, 0, time.monotonic()
        self.energies: list[list[float]] = [[]]

    def __call__(self, progress: Progress) -> bool:
        if progress.iteration <= self.latest:
            self.plane += 1
            self.energies.append([])
        self.latest = progress.iteration
        self.energies[-1].append(progress.energy)
        seconds = time.monotonic() - self.started
        step = Step(
            progress.iteration, progress.iterations, self.plane, self.planes, progress.energy, seconds
        )
        return self.report(step)
