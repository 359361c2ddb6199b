"""The steps of a whole picture's conjugate gradient, found on samples of it and then taken by every tile.

A repair ends after some tens of iterations, short of convergence, and its step lengths come from inner products over
the whole picture. Tiles that each found steps of their own would end up to a grey level apart, with seams. With the
steps given, an iteration looks only as far as a patch reaches: a tile with enough overlap computes what the whole
would. Steps that are nearly the whole's lead nearly to its result: see :mod:`cosparse.optimize.interpolating`.

The samples are crops with a rim. The rim is computed like the rest, since a crop's border is not one of the picture's,
but counts neither in inner products nor in energies. If the crops cover the picture, the steps are the whole's but for
what its border effects send past the rim. If they do not, each counts as often as there are places like it.
They may be shared out among workers: what conjugate gradient is told are sums over all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.cluster.vectors import Place, Vector
from cosparse.kernels.threads import one_blas_thread
from cosparse.optimize import Euclidean, Result, Settings, State, Stop, between, conjugate_gradient
from cosparse.reconstruction.energy import Energy
from cosparse.reconstruction.prior import Region
from cosparse.reconstruction.problem import Problem
from cosparse.reconstruction.request import Request

Array = NDArray[Any]
Path = list[tuple[float | None, float, float]]  # of one minimisation: a :class:`cosparse.optimize.Step` each


def follow(paths: Sequence[Path], request: Request) -> Array:
    """The repair of an array that takes these steps, one path for each of its minimisations in turn."""
    turns = iter(paths)

    def walk(energy: Energy, geometry: Euclidean, start: Array, settings: Settings, **_: Any) -> Result:
        path = next(turns, None)
        if path is None:  # no sample had anything to do
            return conjugate_gradient(energy, geometry, start, settings)
        base = point = start
        first, gradient = _seen(energy, geometry, start)
        value, direction = first, np.zeros_like(start)
        for number, (beta, trial, length) in enumerate(path):
            if beta is None and number:
                base, gradient = point, _seen(energy, geometry, point)[1]
            direction *= np.float32(beta or 0)
            direction -= gradient
            point = geometry.step(base, direction, trial)
            if number + 1 < len(path):
                value, there = _seen(energy, geometry, point)
                base = geometry.step(base, direction, length)
                gradient = between(gradient, there, length / trial)
        if not (np.isfinite(value) and value <= first):
            # Unlike anything in the samples, so that the common steps are too long for it.
            return conjugate_gradient(energy, geometry, start, settings)
        return Result(point, value, 0.0, Stop.ITERATIONS, len(path), len(path), (first, value))

    return request.run(descend=walk)


def _seen(energy: Energy, geometry: Euclidean, point: Array) -> tuple[float, Array]:
    value, gradient = energy(point)
    return value, geometry.project(point, gradient)


@dataclass(frozen=True)
class Minimisation:
    """One stage of a problem."""

    energy: Energy
    free: NDArray[np.bool_] | None
    start: Array
    settings: Settings
    continues: bool  # from the result of the stage before


def minimisations(problems: Sequence[Problem]) -> list[Minimisation]:
    """All stages of some problems, in turn."""
    return [
        Minimisation(energy, problem.free, problem.start, settings, stage > 0)
        for problem in problems
        for stage, (energy, settings) in enumerate(zip(problem.energies(), problem.settings(), strict=True))
    ]


@dataclass(frozen=True)
class Share:
    """Some of the samples: what each one's task minimises, what counts of its result, and how often.

    Points, gradients and directions of a share are flat arrays, its samples one after the other.
    """

    samples: list[list[Minimisation]]
    insides: list[Region]
    weights: list[float]

    @property
    def plan(self) -> list[tuple[Settings, bool]]:
        """Of every minimisation: its settings, and whether it goes on from the one before."""
        return [(call.settings, call.continues) for call in self.samples[0]] if self.samples else []

    def _parts(self) -> Iterator[tuple[list[Minimisation], Region, float, slice]]:
        """Every sample's minimisations, what counts of it, how often, and where it stands in a flat array."""
        first = 0
        for calls, inside, weight in zip(self.samples, self.insides, self.weights, strict=True):
            size = calls[0].start.size
            yield calls, inside, weight, slice(first, first + size)
            first += size

    def start(self, number: int) -> Array:
        """Where a minimisation starts."""
        return _flat([calls[number].start for calls in self.samples])

    def evaluate(self, number: int, point: Array) -> tuple[float, Array]:
        """The energies of what counts, added up as often as it does, and the gradient of each."""
        total, slope = 0.0, np.empty_like(point)
        with one_blas_thread():
            for calls, inside, weight, part in self._parts():
                call = calls[number]
                value, gradient = call.energy(point[part].reshape(call.start.shape), inside)
                slope[part] = gradient.ravel()
                total += weight * value
        return total, slope

    def project(self, number: int, vector: Array) -> Array:
        """A vector that moves nothing that is fixed."""
        if not self.samples or self.samples[0][number].free is None:
            return vector
        return vector * _flat([calls[number].free for calls in self.samples])

    def inner(self, a: Array, b: Array) -> float:
        """<a, b> over what counts, as often as it does."""
        total = 0.0
        for calls, inside, weight, part in self._parts():
            one, other = (vector[part].reshape(calls[0].start.shape)[inside] for vector in (a, b))
            total += weight * float(np.vdot(one, other))
        return total


def _flat(images: list[Any]) -> Array:
    return np.concatenate([np.empty(0, np.float32), *(image.ravel() for image in images)], dtype=np.float32)


def shared(requests: Sequence[Request], insides: Sequence[Region], weights: Sequence[float]) -> Share:
    """The share of some repairs, without those that have nothing to do (where no pixel is missing)."""
    found = zip((minimisations(one.problems()) for one in requests), insides, weights, strict=True)
    some = [(calls, inside, weight) for calls, inside, weight in found if calls]
    return Share([calls for calls, _, _ in some], [inside for _, inside, _ in some], [weight for *_, weight in some])


class _Samples:
    """The space of one minimisation of all samples."""

    def __init__(self, place: Place, shares: Sequence[Any], number: int) -> None:
        self.place, self.shares, self.number = place, shares, number

    def start(self) -> Vector:
        number = self.number
        return Vector(self.place, self.place.each(lambda share: share.start(number), self.shares))

    def energy(self, point: Vector) -> tuple[float, Vector]:
        number, place = self.number, self.place
        both = place.each(lambda share, piece: share.evaluate(number, piece), self.shares, point.pieces)
        slopes = place.each(itemgetter(1), both)
        return sum(place.told(place.each(itemgetter(0), both))), Vector(place, slopes)

    def inner(self, a: Vector, b: Vector) -> float:
        """<a, b> over what counts."""
        parts = self.place.each(lambda share, one, other: share.inner(one, other), self.shares, a.pieces, b.pieces)
        return float(sum(self.place.told(parts)))

    def project(self, point: Vector, vector: Vector) -> Vector:
        """As for plain space."""
        number = self.number
        projected = self.place.each(lambda share, piece: share.project(number, piece), self.shares, vector.pieces)
        return Vector(self.place, projected)

    def step(self, point: Vector, direction: Vector, t: float) -> Vector:
        """As for plain space."""
        return direction.each(lambda way, at: Euclidean().step(at, way, t), point)

    def transport(self, vector: Vector, point: Vector, direction: Vector, t: float) -> Vector:
        """As for plain space."""
        return vector


def survey(place: Place, shares: Sequence[Any]) -> list[Path]:
    """The steps of conjugate gradient on all samples together, for each of their minimisations in turn.

    The shares are where `place` says; sums over them are added in their order.
    """
    plans: list[list[tuple[Settings, bool]]] = place.told(place.each(lambda share: share.plan, shares))
    paths: list[Path] = []
    before: Vector | None = None
    for number, (settings, continues) in enumerate(next(filter(None, plans), [])):
        space = _Samples(place, shares, number)
        start = before if continues and before is not None else space.start()
        path, before = _walked(space, start, settings)
        paths.append(path)
    return paths


def _walked(space: _Samples, start: Vector, settings: Settings) -> tuple[Path, Vector]:
    """The path of one joint minimisation, and where it ends."""
    path: Path = []

    def note(state: State) -> None:
        path.append(state.step)

    vectors: list[Any] = [space.energy, space, start, settings]  # which do what arrays would
    result: Any = conjugate_gradient(*vectors, callback=note)
    return path, result.point
