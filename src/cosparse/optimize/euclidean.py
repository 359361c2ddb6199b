"""Plain space as a geometry: straight lines, nothing to project or to transport."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Euclidean:
    """R^N with the usual inner product, or the part of it where only some entries may move.

    Parameters
    ----------
    free : bool array, optional
        True where an entry may change; without it all may.
    variance : array, optional
        The unit in which each entry is measured, squared: <a, b> is then Σ a·b/variance, and a gradient of plain space
        becomes variance times it. Entries whose curvatures differ by 1/variance converge alike.

    Examples
    --------
    >>> import numpy as np
    >>> Euclidean().step(np.array([1.0, 2.0]), np.array([1.0, 0.0]), 0.5)
    array([1.5, 2. ])
    """

    free: NDArray[np.bool_] | None = None
    variance: Array | None = None

    def inner(self, a: Array, b: Array) -> float:
        """<a, b>."""
        return float(np.vdot(a, b if self.variance is None else b / self.variance))

    def within(self, place: Any) -> Euclidean:
        """The geometry of some of the entries, as far as inner products go."""
        return Euclidean(variance=None if self.variance is None else self.variance[place])

    def project(self, point: Array, vector: Array) -> Array:
        """A gradient in these units, without what would move a fixed entry."""
        if self.variance is not None:
            vector = vector * self.variance
        return vector if self.free is None else np.where(self.free, vector, vector.dtype.type(0))

    def step(self, point: Array, direction: Array, t: float) -> Array:
        """The straight line point + t·direction."""
        moved = direction * float(t)
        moved += point
        return moved

    def transport(self, vector: Array, point: Array, direction: Array, t: float) -> Array:
        """A vector is the same everywhere."""
        return vector
