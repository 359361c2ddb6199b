"""Work that is watched while it runs and can be stopped."""

from __future__ import annotations

import math
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import TypeVar

Result = TypeVar("Result")
Event = TypeVar("Event")
Shown = TypeVar("Shown")
INTERVAL = 0.15  # seconds between two updates of the page


class Run:
    """One piece of work, which can be stopped from another thread. Its ticket goes with it through the queue."""

    def __init__(self, seconds: float) -> None:
        self.ticket = secrets.token_urlsafe(12)
        self._seconds, self._end, self._stop = seconds, math.inf, threading.Event()
        self.begun = self.late = False

    def cancel(self) -> None:
        """Stop at the next iteration."""
        self._stop.set()

    def begin(self) -> None:
        """Its turn has come: the time it waited does not count."""
        self._end, self.begun = time.monotonic() + self._seconds, True

    @property
    def cancelled(self) -> bool:
        """Whether someone stopped it."""
        return self._stop.is_set()

    @property
    def over(self) -> bool:
        """Whether to stop now."""
        self.late = self.late or time.monotonic() > self._end
        return self.late or self.cancelled


def watched(
    work: Callable[[Callable[[Event], bool]], Result], run: Run, show: Callable[[Event], Shown]
) -> Generator[Shown, None, Result]:
    """Run `work(report)` on a thread; give what is to be shown of its latest report every moment, return what it did.

    `report` returns True once the run is to stop. Closing the generator stops the work, and only then goes on: whoever
    waits for the machine gets all of it.
    """
    latest: deque[Event] = deque(maxlen=1)
    outcome: Future[Result] = Future()

    def report(event: Event) -> bool:
        latest.append(event)
        return run.over

    def target() -> None:
        try:
            outcome.set_result(work(report))
        except BaseException as error:  # handed to the caller below
            outcome.set_exception(error)

    thread = threading.Thread(target=target, name="cosparse-studio-work", daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(INTERVAL)
            if latest:
                yield show(latest.pop())
    finally:
        if thread.is_alive():
            run.cancel()
            thread.join()
    return outcome.result()


def seconds(number: float) -> str:
    """As people say it.

    >>> seconds(0.4), seconds(59.7), seconds(75), seconds(119.7)
    ('less than a second', '1 min', '1 min 15 s', '2 min')
    """
    whole = round(number)
    if number < 1:
        return "less than a second"
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"


def remaining(number: float) -> str:
    """Seconds that something will still take, as far as one can know.

    >>> remaining(0.4), remaining(7.2), remaining(38.0), remaining(75.0)
    ('almost done', 'about 7 s left', 'about 40 s left', 'about 1 min left')
    """
    if number < 1.5:
        return "almost done"
    if number < 57.5:
        return f"about {round(number) if number < 20 else 5 * round(number / 5)} s left"
    return f"about {max(1, round(number / 60))} min left"
