"""Vectors in pieces, here or on the workers of a cluster, with as much arithmetic as conjugate gradient asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from cosparse._version import __version__
from cosparse.cluster.connection import gathered, on_worker


class Place(Protocol):
    """Where pieces are and are worked on."""

    def each(self, function: Callable[..., Any], *pieces: Sequence[Any]) -> list[Any]:
        """The function of every first, every second, ... piece; the results stay there."""

    def told(self, results: Sequence[Any]) -> list[Any]:
        """Results, brought here."""


class Here:
    """This process."""

    def each(self, function: Callable[..., Any], *pieces: Sequence[Any]) -> list[Any]:
        """At once."""
        return [function(*those) for those in zip(*pieces, strict=True)]

    def told(self, results: Sequence[Any]) -> list[Any]:
        """As they are."""
        return list(results)


class OnWorkers:
    """A Dask cluster. What is lost with a worker is computed again from where it came."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def each(self, function: Callable[..., Any], *pieces: Sequence[Any]) -> list[Any]:
        """As tasks; the results are futures."""
        version = __version__  # of the one who asks

        def task(*those: Any) -> Any:
            return on_worker(version, function, *those)

        return list(self.client.map(task, *pieces, pure=False, key="cosparse-steps"))

    def told(self, results: Sequence[Any]) -> list[Any]:
        """Waited for."""
        return list(gathered(self.client, list(results)))


class Vector:
    """What an array is to :func:`cosparse.optimize.conjugate_gradient`."""

    dtype = np.dtype(np.float32)

    def __init__(self, place: Place, pieces: Sequence[Any]) -> None:
        self.place, self.pieces = place, pieces

    def each(self, function: Callable[..., Any], *others: Vector) -> Vector:
        """The function of every piece and those of the others that belong to it."""
        return Vector(self.place, self.place.each(function, self.pieces, *(other.pieces for other in others)))

    def __neg__(self) -> Vector:
        return self.each(np.negative)

    def __mul__(self, factor: float) -> Vector:
        return self.each(lambda piece: piece * np.float32(factor))

    def __add__(self, other: Vector) -> Vector:
        return self.each(np.add, other)

    def __sub__(self, other: Vector) -> Vector:
        return self.each(np.subtract, other)
