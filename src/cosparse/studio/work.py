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
    """The callback of a task: how far it is, and the energy of the first colour, which is the brightness."""

    def __init__(self, report: Callable[[Step], bool]) -> None:
        self.report, self.started = report, time.monotonic()
        self.energies: list[float] = []

    def __call__(self, progress: Progress) -> bool:
        if progress.plane == 0 and not progress.second_pass:
            self.energies.append(progress.energy)
        seconds = time.monotonic() - self.started
        step = Step(progress.iteration, progress.iterations, progress.plane, progress.planes, progress.energy, seconds)
        return self.report(step)
