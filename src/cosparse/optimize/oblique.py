"""The oblique manifold: matrices whose rows have unit norm.

The paper writes the operator transposed, with unit columns; here the atoms are rows, as they are stored.
Each row moves on its own sphere, so every formula is the sphere's, row by row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def _rowwise(a: Matrix, b: Matrix) -> Matrix:
    """Inner products of corresponding rows, as a column."""
    return np.asarray(np.einsum("ij,ij->i", a, b))[:, None]


def _angle_and_unit(direction: Matrix) -> tuple[Matrix, Matrix]:
    """The length of each row and the row divided by it; a zero row stays zero."""
    length = np.sqrt(_rowwise(direction, direction))
    return length, direction / np.where(length > 0, length, 1.0)


class Oblique:
    """OB(n, k) of Eq. (11), transposed.

    Examples
    --------
    A quarter turn along a great circle:

    >>> import numpy as np
    >>> x, h = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    >>> Oblique().step(x, h, np.pi / 2).round(12)
    array([[0., 1.]])
    """

    def inner(self, a: Matrix, b: Matrix) -> float:
        """The Frobenius inner product tr(aᵀb)."""
        return float(np.vdot(a, b))

    def project(self, point: Matrix, vector: Matrix) -> Matrix:
        """Onto the tangent space, Eq. (32): subtract from each row its part along the point's row."""
        return vector - point * _rowwise(point, vector)

    def step(self, point: Matrix, direction: Matrix, t: float) -> Matrix:
        """The geodesic Gamma(X, H, t), Eqs. (33) and (35): a great circle in every row.

        Rows are normalised again, so that rounding does not add up over a thousand steps.
        """
        length, unit = _angle_and_unit(direction)
        moved = point * np.cos(t * length) + unit * np.sin(t * length)
        return np.asarray(moved / np.sqrt(_rowwise(moved, moved)))

    def transport(self, vector: Matrix, point: Matrix, direction: Matrix, t: float) -> Matrix:
        """Parallel transport of a tangent vector along that geodesic, Eqs. (34) and (36)."""
        length, unit = _angle_and_unit(direction)
        along = _rowwise(vector, unit)
        turned = point * np.sin(t * length) + unit * (1 - np.cos(t * length))
        return np.asarray(vector - along * turned)

    def random_point(self, rows: int, columns: int, rng: np.random.Generator) -> Matrix:
        """A matrix with independent, uniformly distributed unit rows."""
        matrix = rng.standard_normal((rows, columns))
        return np.asarray(matrix / np.sqrt(_rowwise(matrix, matrix)))
