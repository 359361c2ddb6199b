"""What the learners share: their training signals as coordinates, and the operator of the rows they find.

Patches that were centred have no part along the constant patch. A row in that direction answers nothing to all of
them, and a learner that looks for silent rows would find it first. So every learner works in the space that its
signals span, where each direction is one that some of them have.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse._version import __version__
from cosparse.learning import LearnProgress
from cosparse.operator import AnalysisOperator

Matrix = NDArray[np.float64]
Callback = Callable[[LearnProgress], object]

NOTHING = 1e-10
"""Share of the signals' energy below which a direction counts as one that they do not have."""
BAND = 2048
"""Signals that a thread works on at a time."""


@dataclass(frozen=True)
class Signals:
    """Training signals in coordinates of the space they span, scaled to a root mean square norm of one.

    Attributes
    ----------
    points : (count, dimension) array
    basis : (dimension, n) array
        Orthonormal; a row of coordinates times the basis is a row of pixels.
    made : str
        Name of the learner, for the operator's provenance.
    """

    points: Matrix
    basis: Matrix
    made: str

    @classmethod
    def of(cls, patches: ArrayLike, rows: int, made: str) -> Signals:
        """The checked patches of one call of a learner that is to find so many rows."""
        array = np.asarray(patches, float)
        if array.ndim != 2 or array.size == 0:
            raise ValueError(f"patches: expected (count, pixels), got shape {array.shape}")
        count, n = array.shape
        if math.isqrt(n) ** 2 != n or n < 4:
            raise ValueError(f"patches: expected square patches of at least 2x2, got rows of {n} pixels")
        if not np.isfinite(array).all():
            raise ValueError("patches: hold NaN or infinite values; remove those rows")
        if rows < n:
            raise ValueError(f"rows: an operator for {n} pixels needs at least {n} atoms, got {rows}")
        if count < n:
            raise ValueError(f"patches: {count} are too few to learn from, at least {n} are needed")
        energies, directions = np.linalg.eigh(array.T @ array)
        if not energies[-1] > 0:
            raise ValueError("patches: all are zero")
        basis = directions[:, energies > NOTHING * energies.sum()].T
        return cls(array @ basis.T * math.sqrt(count / energies.sum()), basis, made)

    @property
    def dimension(self) -> int:
        """Of the space that the signals span."""
        return len(self.basis)

    def random_rows(self, rows: int, rng: np.random.Generator) -> Matrix:
        """Rows of unit norm in random directions."""
        return unit(rng.standard_normal((rows, self.dimension)))

    def row_across(self, rng: np.random.Generator) -> Matrix:
        """A row that answers nothing to as many random signals as one can: one fewer than there are dimensions."""
        chosen = self.points[rng.choice(len(self.points), self.dimension - 1, replace=False)]
        return np.asarray(np.linalg.svd(chosen)[2][-1])

    def operator(self, rows: Matrix, **settings: float | str) -> AnalysisOperator:
        """The operator of rows given in coordinates."""
        side = math.isqrt(self.basis.shape[1])
        provenance = {
            "made": self.made,
            "cosparse": __version__,
            "patches": f"{len(self.points)} of {side}x{side}",
            **{name: str(value) for name, value in settings.items()},
        }
        return AnalysisOperator((rows @ self.basis).astype(np.float32), (side, side), provenance=provenance)

    def ends(
        self, callback: Callback | None, iteration: int, objective: float, change: float, evaluations: int, rows: Matrix
    ) -> bool:
        """Tell the callback, if there is one; whether it asks to stop."""
        if callback is None:
            return False
        kept = rows.copy()
        return callback(LearnProgress(iteration, objective, change, evaluations, lambda: self.operator(kept))) is True


def bands(points: NDArray[Any]) -> list[slice]:
    """The signals in parts that a thread takes one at a time, the same whatever the number of threads."""
    return [slice(low, low + BAND) for low in range(0, len(points), BAND)]


def unit(rows: Matrix) -> Matrix:
    """Each row over its norm."""
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))
