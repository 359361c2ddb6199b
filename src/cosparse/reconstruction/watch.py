"""Watching a repair: what a callback sees, and how it stops the work."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from cosparse.reconstruction.filling import Filling

Image = NDArray[np.float32]


def _alone(point: Image) -> Image:
    return point


@dataclass(frozen=True, eq=False)
class Progress:
    """What a callback sees after every iteration.

    The pages of a stack are repaired one after the other, and so are the planes of each: one if it is grey, luma and
    two opponent colours if it is RGB. Where it is denoised, the opponents may have one turn together, beside luma,
    instead of their own or after them. `iteration` counts over the stages of a plane, `iterations` at most.
    :func:`cosparse.reconstruct` has all planes at work at once: `point` is (h, w, channels), complex numbers two each.

    Attributes
    ----------
    iteration, iterations : int
    energy : float
        Of this plane.
    point : (h, w) array
        The plane at work. On 0..255, except that opponent colours lie about 0, and in much noise have half the size; if
        they are at work together (h, w, 3), luma first.
    plane, planes, page, pages : int
        Which one it is, from 0, and how many there are; of planes, whose turn.
    stage : int
        Which stage of the continuation, from 0; energies of different stages are not comparable.
    weight : float
        lambda of the stage.
    second_pass : bool
        Whether this is the pass over groups of similar patches, or wide holes are being filled: then `iteration` counts
        their parts, which are no iterations of the energy.
    filling : Filling or None
        Of wide holes that are being filled by copying: how far that is, and where from. The last call for a page that
        has such holes has the final one.
    """

    iteration: int
    iterations: int
    energy: float
    point: Image
    plane: int = 0
    planes: int = 1
    page: int = 0
    pages: int = 1
    stage: int = 0
    weight: float = math.nan
    second_pass: bool = False
    filling: Filling | None = field(default=None, repr=False, compare=False)
    view: Callable[[Image], Image] = field(default=_alone, repr=False, compare=False)

    @property
    def image(self) -> Image:
        """The page as it stands, on 0..255: (h, w), or (h, w, channels) without transparency.

        Planes whose turn has not come are as they will start. Put together each time it is asked for.
        """
        return self.view(self.point)


Callback = Callable[[Progress], object] | None


class Watch:
    """Tells the callback of a repair how far it is, and remembers whether it asked to stop.

    Whoever repairs says which page and plane is at work and how to show it; the engine tells of iterations and the
    second pass of its parts.
    """

    def __init__(self, callback: Callback = None) -> None:
        self.callback = callback
        self.stopped = False
        self.page, self.pages, self.plane, self.planes = 0, 1, 0, 1
        self.view: Callable[[Image], Image] = _alone
        self.parts = 0  # of the second pass and of filling, which follow the plane at work
        self.passed = 0  # of these, in the second pass
        self._latest: tuple[int, float, int, float] = (0, math.nan, 0, math.nan)

    def iteration(self, number: int, limit: int, energy: float, point: Image, stage: int, weight: float) -> bool:
        """An iteration of the energy; whether to stop."""
        self._latest = number, energy, stage, weight
        return self._tell(number, limit, point)

    def part(self, number: int, point: Image, view: Callable[[Image], Image]) -> bool:
        """So many parts of the second pass; whether to stop."""
        self.view, self.passed = view, number
        return self._tell(self._latest[0] + number, self._latest[0], point, second_pass=True)

    def filled(self, filling: Filling, page: Image) -> bool:
        """So many scales of the filling of wide holes, and the page so far; whether to stop."""
        self.view = lambda point: page
        done = self._latest[0] + self.passed + filling.scale
        return self._tell(done, self._latest[0], page if page.ndim == 2 else page[..., 0], True, filling)

    def _tell(
        self, number: int, limit: int, point: Image, second_pass: bool = False, filling: Filling | None = None
    ) -> bool:
        if self.callback is not None and not self.stopped:
            _, energy, stage, weight = self._latest
            progress = Progress(
                number, limit + self.parts, energy, point, self.plane, self.planes, self.page, self.pages, stage,
                weight, second_pass, filling, self.view,
            )  # fmt: skip
            self.stopped = self.callback(progress) is True
        return self.stopped
