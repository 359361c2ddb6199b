"""What was done to pictures on a page, step by step; every step can be gone back to."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cosparse.io.picture import Picture
from cosparse.studio.limits import Refused
from cosparse.studio.noise_seen import Estimate
from cosparse.studio.page_pictures import Source
from cosparse.studio.page_tasks import Job
from cosparse.studio.repair_job import Closeness, PageResult


@dataclass(frozen=True, eq=False)
class Done:
    """A repair: what was asked for, what came of it, where the page shows it, how near it is to the truth if known."""

    job: Job
    result: PageResult
    view: str
    near: tuple[Closeness, Closeness] | None = None
    origins: str | None = None  # the address of a drawing of where holes were copied from, if they were


@dataclass(frozen=True, eq=False)
class Step:
    """A picture on the stage: to be repaired, or with its repair.

    `root` is the number of the step at which the picture was opened that this one was made of.
    """

    number: int
    root: int
    words: str
    source: Source
    view: str  # the address of the source as the page shows it
    thumbnail: str
    estimate: Estimate  # of the source's noise
    done: Done | None = None
    after: str = ""  # the word for the repair that the source is the result of, if it is one

    @property
    def picture(self) -> Picture:
        """What was reached: the repair, or else what is to be repaired."""
        return self.done.result.picture if self.done else self.source.picture

    @property
    def name(self) -> str:
        """What a file of it is called, without the ending."""
        stem = Path(self.source.name).stem
        return f"{stem}-{self.done.job.task.name}" if self.done else stem

    @property
    def addresses(self) -> set[str]:
        """Of all files that the page shows of it."""
        shown = {self.done.view, self.done.origins} if self.done else set()
        return {self.view, self.thumbnail} | {address for address in shown if address}

    def arrays(self) -> Iterator[tuple[int, int]]:
        """An identity and a size in bytes for every array that it holds."""
        pictures = [self.source.original, self.source.picture, *([self.done.result.picture] if self.done else [])]
        held = [array for picture in pictures for array in (picture.pixels, picture.alpha) if array is not None]
        held += [self.source.damage.truth] if self.source.damage else []
        yield from ((id(array), array.nbytes) for array in held)


@dataclass
class History:
    """The steps of a page, and the one that is on the stage. Above `most` bytes the oldest steps are forgotten."""

    most: int
    steps: list[Step] = field(default_factory=list)
    at: int = 0  # the number of the step on the stage
    count: int = 0
    shown: int = 0  # how often the browser was told what is on the stage
    name: str = field(default_factory=lambda: secrets.token_urlsafe(6))  # by which a browser tells it from others

    @property
    def current(self) -> Step | None:
        """What is on the stage."""
        return next((step for step in self.steps if step.number == self.at), None)

    def numbered(self) -> int:
        """The number of a new step."""
        self.count += 1
        return self.count

    def add(self, step: Step) -> set[str]:
        """Put a step on the stage; returns the addresses that nothing shows any more."""
        before = {address for one in self.steps for address in one.addresses}
        self.steps.append(step)
        self.at = step.number
        while len(self.steps) > 1 and self._bytes() > self.most:
            self.steps.pop(0)
        return before - {address for one in self.steps for address in one.addresses}

    def go(self, number: int) -> Step:
        """Back, or forth, to a step."""
        self.at, before = number, self.at
        if (found := self.current) is None:
            self.at = before
            raise Refused("This step is not kept any more; choose another.")
        return found

    def _bytes(self) -> int:
        return sum(dict(array for step in self.steps for array in step.arrays()).values())
