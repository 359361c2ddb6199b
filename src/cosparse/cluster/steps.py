"""The steps of a whole picture's conjugate gradient, found on samples of it and then taken by every tile.

A repair ends after some tens of iterations, short of convergence, and its step lengths come from inner products over
the whole picture. Tiles that each found steps of their own would end up to a grey level apart, with seams. With the
steps given, an iteration looks only as far as a patch reaches: a tile with enough overlap computes what the whole
would. Steps that are nearly the whole's lead nearly to its result: see :mod:`cosparse.optimize.interpolating`.

The samples are crops with a rim. The rim is computed like the rest, since a crop's border is not one of the picture's,
but counts neither in inner products nor in energies. If the crops cover the picture, the steps are the whole's but for
what its border effects send past the rim. If they do not, each counts as often as there are places like it.
They may be shared out among workers: conjugate gradient sees only sums over all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosparse._version import __version__
from cosparse.cluster.connection import gathered, on_worker
from cosparse.kernels.threads import one_blas_thread
from cosparse.optimize import Result, Settings, State, Stop, between, conjugate_gradient
from cosparse.reconstruction.energy import Energy
from cosparse.reconstruction.prior import Region
from cosparse.reconstruction.problem import Problem, Space
from cosparse.reconstruction.request import Request

if TYPE_CHECKING:
    from distributed import Client

Array = NDArray[Any]
Steps = list[tuple[float | None, float, float]]  # of one stage of a problem: a :class:`cosparse.optimize.Step` each


def take_steps(steps: Sequence[Steps], request: Request) -> Array:
    """The repair of an array by these steps, those of each stage of each of its problems in turn."""
    turns = iter(steps)

    def descend(energy: Energy, geometry: Space, start: Array, settings: Settings, **_: Any) -> Result:
        own = next(turns, None)  # None if no sample had anything to do
        result = None if own is None else _taken(own, energy, geometry, start)
        return result or conjugate_gradient(energy, geometry, start, settings)

    return request.run(descend=descend)


def steps_of_rounds(request: Request) -> list[Steps]:
    """Those of conjugate gradient on the whole of an array, for each stage of each round of each plane in turn."""
    found: list[Steps] = []

    def descend(energy: Energy, geometry: Space, start: Array, settings: Settings, **_: Any) -> Result:
        steps: Steps = []

        def note(state: State) -> None:
            steps.append(state.step)

        found.append(steps)
        return conjugate_gradient(energy, geometry, start, settings, callback=note)

    replace(request, second_pass=None).repaired(descend)
    return found


def _taken(steps: Steps, energy: Energy, geometry: Space, start: Array) -> Result | None:
    """Where the steps lead; None if that is higher: they are too long for what is unlike anything in the samples."""

    def seen(point: Array) -> tuple[float, Array]:
        value, gradient = energy(point)
        return value, geometry.project(point, gradient)

    base = point = start
    first, gradient = seen(start)
    value, direction = first, np.zeros_like(start)
    for number, (beta, trial, length) in enumerate(steps):
        if beta is None and number:
            base, gradient = point, seen(point)[1]
        direction *= np.float32(beta or 0)
        direction -= gradient
        point = geometry.step(base, direction, trial)
        if number + 1 < len(steps):
            value, there = seen(point)
            base = geometry.step(base, direction, length)
            gradient = between(gradient, there, length / trial)
    if not (np.isfinite(value) and value <= first):
        return None
    return Result(point, value, 0.0, Stop.ITERATIONS, len(steps), len(steps), (first, value))


class PosedPlane(NamedTuple):
    """The problem of a plane, with the energies of its stages and the spaces they are minimised in."""

    problem: Problem
    energies: list[Energy]
    spaces: list[Space]

    @classmethod
    def of(cls, problem: Problem) -> PosedPlane:
        return cls(problem, problem.energies(), problem.geometries())


@dataclass(frozen=True)
class PosedSample:
    """A sample: the problems of its planes; what counts of it, and how often."""

    planes: list[PosedPlane]
    inside: Region
    weight: float

    @property
    def shape(self) -> tuple[int, ...]:
        """Of every plane of the result."""
        return self.planes[0].problem.start.shape


@dataclass(frozen=True)
class Share:
    """Some of the samples. Points, gradients and directions of it are flat arrays, one sample after the other."""

    samples: list[PosedSample]

    def plan(self) -> list[list[Settings]]:
        """Of every stage of every plane."""
        return [plane.problem.settings() for plane in self.samples[0].planes] if self.samples else []

    def start(self, plane: int) -> Array:
        """Where a plane starts."""
        return self._flat([sample.planes[plane].problem.start for sample in self.samples])

    def evaluate(self, point: Array, plane: int, stage: int) -> tuple[float, Array]:
        """The energies of what counts, added up as often as it does, and the gradient of each."""
        total, slope = 0.0, np.empty_like(point)
        with one_blas_thread():
            for sample, part in self._slices():
                energy = sample.planes[plane].energies[stage]
                value, gradient = energy(point[part].reshape(sample.shape), sample.inside)
                slope[part] = gradient.ravel()
                total += sample.weight * value
        return total, slope

    def project(self, vector: Array, plane: int, stage: int) -> Array:
        """A gradient in the coordinates of the stage, of what may move."""
        moved = []
        for sample, part in self._slices():
            here = vector[part].reshape(sample.shape)
            moved.append(sample.planes[plane].spaces[stage].project(here, here))
        return self._flat(moved)

    def step(self, point: Array, direction: Array, plane: int, stage: int, t: float) -> Array:
        """The point so many directions on."""
        moved = []
        for sample, part in self._slices():
            at, way = (vector[part].reshape(sample.shape) for vector in (point, direction))
            moved.append(sample.planes[plane].spaces[stage].step(at, way, t))
        return self._flat(moved)

    def inner(self, a: Array, b: Array, plane: int, stage: int) -> float:
        """<a, b> over what counts, as often as it does."""
        total = 0.0
        for sample, part in self._slices():
            one, other = (vector[part].reshape(sample.shape)[sample.inside] for vector in (a, b))
            total += sample.weight * sample.planes[plane].spaces[stage].within(sample.inside).inner(one, other)
        return total

    def _slices(self) -> Iterator[tuple[PosedSample, slice]]:
        """Every sample, and where it stands in a flat array."""
        first = 0
        for sample in self.samples:
            size = math.prod(sample.shape)
            yield sample, slice(first, first + size)
            first += size

    @staticmethod
    def _flat(images: list[Any]) -> Array:
        return np.concatenate([np.empty(0, np.float32), *(image.ravel() for image in images)], dtype=np.float32)


class Pieces:
    """Parts of something, worked on where they are: on a cluster's workers, or without a client in this process.

    What is lost with a worker is computed again from where it came. Pieces of arrays do what an array does for
    :func:`cosparse.optimize.conjugate_gradient`.
    """

    dtype = np.dtype(np.float32)

    def __init__(self, client: Client | None, items: Sequence[Any]) -> None:
        self.client, self.items = client, list(items)

    def each(self, function: Callable[..., Any], *others: Pieces) -> Pieces:
        """The function of every piece and those of the others that belong to it; the results stay there."""
        items = [self.items, *(other.items for other in others)]
        if self.client is None:
            return Pieces(None, [function(*those) for those in zip(*items, strict=True)])
        version = __version__  # of the one who asks

        def task(*those: Any) -> Any:
            return on_worker(version, function, *those)

        return Pieces(self.client, self.client.map(task, *items, pure=False, key="cosparse-steps"))

    def gather(self) -> list[Any]:
        """All of them, brought here."""
        return self.items if self.client is None else gathered(self.client, self.items)

    def __neg__(self) -> Pieces:
        return self.each(np.negative)

    def __mul__(self, factor: float) -> Pieces:
        return self.each(lambda piece: piece * np.float32(factor))

    def __add__(self, other: Pieces) -> Pieces:
        return self.each(np.add, other)

    def __sub__(self, other: Pieces) -> Pieces:
        return self.each(np.subtract, other)


@dataclass(frozen=True)
class _Samples:
    """The space of one stage of one plane of all samples, for conjugate gradient."""

    shares: Pieces
    plane: int
    stage: int

    def energy(self, point: Pieces) -> tuple[float, Pieces]:
        both = self.shares.each(partial(Share.evaluate, plane=self.plane, stage=self.stage), point)
        slopes = both.each(itemgetter(1))
        return sum(both.each(itemgetter(0)).gather()), slopes

    def inner(self, a: Pieces, b: Pieces) -> float:
        """<a, b> over what counts."""
        return float(sum(self.shares.each(partial(Share.inner, plane=self.plane, stage=self.stage), a, b).gather()))

    def project(self, point: Pieces, vector: Pieces) -> Pieces:
        """As the stage has it."""
        return self.shares.each(partial(Share.project, plane=self.plane, stage=self.stage), vector)

    def step(self, point: Pieces, direction: Pieces, t: float) -> Pieces:
        """As the stage has it."""
        return self.shares.each(partial(Share.step, plane=self.plane, stage=self.stage, t=t), point, direction)

    def transport(self, vector: Pieces, point: Pieces, direction: Pieces, t: float) -> Pieces:
        """As the stage has it."""
        return vector

    def descend(self, start: Pieces, settings: Settings) -> tuple[Steps, Pieces]:
        """The steps of the stage, and where it ends."""
        steps: Steps = []

        def note(state: State) -> None:
            steps.append(state.step)

        vectors: list[Any] = [self.energy, self, start, settings]  # which do what arrays would
        result: Any = conjugate_gradient(*vectors, callback=note)
        return steps, result.point


def find_steps(shares: Pieces) -> list[Steps]:
    """The steps of conjugate gradient on all samples together, for each stage of each of their planes in turn.

    Sums over the shares are added in their order.
    """
    plans: list[list[list[Settings]]] = shares.each(Share.plan).gather()
    found: list[Steps] = []
    for plane, stages in enumerate(next(filter(None, plans), [])):
        point = shares.each(partial(Share.start, plane=plane))
        for stage, settings in enumerate(stages):
            steps, point = _Samples(shares, plane, stage).descend(point, settings)
            found.append(steps)
    return found
