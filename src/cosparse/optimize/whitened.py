"""Plain space in whitened coordinates: what is stiff and what is not converge alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.optimize.euclidean import Euclidean

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Whitened:
    """Images s moved by a vector v to s + F·U·S·v: S smooths, U has units, F holds what may not move.

    Points are images, vectors are such v. A gradient G of plain space becomes S·U·F·G (S is symmetric), inner products
    are the usual ones of v. That is conjugate gradient preconditioned by F·U·S·S·U·F: whatever the filter, a minimum
    stays where it is. If S·S is nearly the inverse of the Hessian, all directions are about as stiff as each other.

    Parameters
    ----------
    down, across : float32 arrays
        S: the middle tap and those to one side of a symmetric filter along the columns and of one along the rows, the
        image mirrored at its borders. So a step looks but a few pixels far, and tiles can follow.
    free : bool array, optional
        F: True where a pixel may change; without it all may.
    variance : array, optional
        U²: the unit in which each pixel is measured, squared, as in `Euclidean`.

    Examples
    --------
    >>> import numpy as np
    >>> halves = np.array([0.5, 0.25], np.float32)
    >>> Whitened(halves, np.ones(1, np.float32)).step(np.zeros((1, 1)), np.ones((1, 1), np.float32), 2.0).tolist()
    [[2.0]]
    """

    down: NDArray[np.float32]
    across: NDArray[np.float32]
    free: NDArray[np.bool_] | None = None
    variance: Array | None = None

    def inner(self, a: Array, b: Array) -> float:
        """<a, b>."""
        return float(np.vdot(a, b))

    def within(self, place: Any) -> Euclidean:
        """The geometry of some of the entries, as far as inner products go."""
        return Euclidean()

    def project(self, point: Array, vector: Array) -> Array:
        """A gradient in these coordinates, without what would move a fixed pixel."""
        return self._smooth(self._held(vector))

    def step(self, point: Array, direction: Array, t: float) -> Array:
        """The straight line point + t·F·U·S·direction."""
        moved = self._held(self._smooth(direction))
        moved *= moved.dtype.type(t)
        moved += point
        return moved

    def transport(self, vector: Array, point: Array, direction: Array, t: float) -> Array:
        """A vector is the same everywhere."""
        return vector

    def _held(self, vector: Array) -> Array:
        """U·F·v, which is F·U·v."""
        if self.variance is not None:
            vector = vector * np.sqrt(self.variance)
        return vector if self.free is None else np.where(self.free, vector, vector.dtype.type(0))

    def _smooth(self, vector: Array) -> Array:
        """S·v."""
        from cosparse.kernels.smoothing import smooth  # not before its use: the compiler comes with it

        return smooth(np.ascontiguousarray(vector, np.float32), self.down, self.across)
