"""The steps of a whole picture's conjugate gradient, found on samples of it and then taken by every tile.

A repair ends after some tens of iterations, short of convergence, and its step lengths come from inner products over
the whole picture. Tiles that each found steps of their own would end up to a grey level apart, with seams. With the
steps given, an iteration looks only as far as a patch reaches: a tile with enough overlap computes what the whole
would.

The samples are crops with a rim. The rim is computed like the rest, since a crop's border is not one of the picture's,
but counts neither in inner products nor in energies. If the crops cover the picture, the steps are exactly the whole's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.kernels.threads import one_blas_thread
from cosparse.optimize import Euclidean, Result, Settings, State, Stop, conjugate_gradient
from cosparse.reconstruction.energy import Energy, descend

Array = NDArray[Any]
Region = tuple[slice, slice]
Path = list[tuple[float, float]]
"""Of one minimisation: each iteration's step length, and how much of its direction the next one keeps."""


@contextmanager
def _descending(way: Callable[..., Result]) -> Iterator[None]:
    token = descend.set(way)
    try:
        yield
    finally:
        descend.reset(token)


def follow(paths: Sequence[Path], task: Callable[[], Array]) -> Array:
    """What `task` returns if its minimisations take these steps, one path for each in turn."""
    turns = iter(paths)

    def walk(energy: Energy, geometry: Euclidean, start: Array, settings: Settings, **_: Any) -> Result:
        path = next(turns, None)
        if path is None:  # no sample had anything to do
            return conjugate_gradient(energy, geometry, start, settings)
        point, (first, slope) = start, energy(start)
        value, direction = first, -geometry.project(start, slope)
        for number, (length, kept) in enumerate(path):
            point = geometry.step(point, direction, length)
            if number + 1 < len(path):
                value, slope = energy(point)
                direction = direction * np.float32(kept) - geometry.project(point, slope)
        if not (np.isfinite(value) and value <= first):
            # Unlike anything in the samples, so that the common steps are too long for it.
            return conjugate_gradient(energy, geometry, start, settings)
        return Result(point, value, 0.0, Stop.ITERATIONS, len(path), len(path), (first, value))

    with _descending(walk):
        return task()


@dataclass(frozen=True)
class Minimisation:
    """What a task wanted minimised."""

    energy: Energy
    free: NDArray[np.bool_] | None
    start: Array
    settings: Settings
    continues: bool  # from the result of the one before


def overheard(task: Callable[[], object]) -> list[Minimisation]:
    """The minimisations that a task would do, in turn, without doing them."""
    calls: list[Minimisation] = []

    def listen(energy: Energy, geometry: Euclidean, start: Array, settings: Settings, **_: Any) -> Result:
        continues = bool(calls) and start is calls[-1].start
        calls.append(Minimisation(energy, geometry.free, start, settings, continues))
        return Result(start, 0.0, 0.0, Stop.CALLBACK, 0, 0, (0.0,))

    with _descending(listen):
        task()
    return calls


class _Inside(Euclidean):
    """Space where only some entries count in inner products; remembers the direction last taken."""

    def __init__(self, free: NDArray[np.bool_] | None, counted: NDArray[np.bool_]) -> None:
        super().__init__(free)
        self.counted = None if counted.all() else counted.astype(np.float32)
        self.direction: Array | None = None

    def inner(self, a: Array, b: Array) -> float:
        """<a, b> over what counts."""
        return super().inner(a if self.counted is None else a * self.counted, b)

    def step(self, point: Array, direction: Array, t: float) -> Array:
        """As for plain space."""
        self.direction = direction
        return super().step(point, direction, t)


def survey(crops: Sequence[list[Minimisation]], insides: Sequence[Region]) -> list[Path]:
    """The steps of conjugate gradient on all crops together, for each of their minimisations in turn.

    `insides` says what counts of each crop's result.
    """
    paths: list[Path] = []
    before: Array | None = None
    marks = [np.zeros(calls[0].start.shape, bool) for calls in crops]
    for mark, inside in zip(marks, insides, strict=True):
        mark[inside] = True
    edges = np.cumsum([0, *(mark.size for mark in marks)])
    counted = np.concatenate([mark.ravel() for mark in marks])
    with one_blas_thread():
        for calls in zip(*crops, strict=True):
            if calls[0].continues and before is not None:
                start = before
            else:
                start = np.concatenate([call.start.ravel() for call in calls])
            free = None
            if calls[0].free is not None:
                free = np.concatenate([np.ravel(call.free) for call in calls])
            path, before = _walked(calls, insides, edges, _Inside(free, counted), start)
            paths.append(path)
    return paths


def _walked(
    calls: Sequence[Minimisation], insides: Sequence[Region], edges: Array, geometry: _Inside, start: Array
) -> tuple[Path, Array]:
    """The path of one joint minimisation, and where it ends."""
    path: Path = []
    latest: State | None = None

    def together(point: Array) -> tuple[float, Array]:
        total, slope = 0.0, np.empty_like(point)
        for call, inside, first, last in zip(calls, insides, edges[:-1], edges[1:], strict=True):
            image = point[first:last].reshape(call.start.shape)
            value, part = call.energy(image, inside)
            total += value
            slope[first:last] = part.ravel()
        return total, slope

    def note(state: State) -> None:
        nonlocal latest
        taken = geometry.direction
        assert taken is not None
        if latest is not None and taken is not latest.direction:  # it began again from the steepest
            path[-1] = (path[-1][0], 0.0)
        square = float(np.vdot(taken, taken))
        kept = float(np.vdot(state.direction + state.gradient, taken)) / square if square else 0.0
        path.append((float(state.step), kept))
        latest = state

    result = conjugate_gradient(together, geometry, start, calls[0].settings, callback=note)
    return path, result.point
