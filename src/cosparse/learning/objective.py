"""What a good operator minimises: J + kappa·h + mu·r, Eq. (41).

J asks for sparse answers on the training patches, h for full rank, r for atoms that differ. Each is a function
that returns its value and Euclidean gradient; outside its domain the value is infinite, which the line search
takes as a step too far.
"""

from __future__ import annotations

import math
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse.identity import digest
from cosparse.patches import checked_patches
from cosparse.penalty import Penalty

Matrix = NDArray[np.float64]


@runtime_checkable
class Sparsity(Protocol):
    """The data term J: training patches, wherever they are kept."""

    count: int
    columns: int

    def __call__(self, atoms: Matrix, penalty: Penalty) -> tuple[float, Matrix]: ...
    def digest(self) -> str: ...


class PatchSparsity:
    """J of patches held in this process's memory, Eq. (37)."""

    def __init__(self, patches: NDArray[np.float32]) -> None:
        self.patches = patches
        self.count, self.columns = patches.shape

    def __call__(self, atoms: Matrix, penalty: Penalty) -> tuple[float, Matrix]:
        from cosparse.kernels import fused  # not before the first evaluation: the compiler comes with it

        rows, ones = np.ascontiguousarray(atoms, np.float32), np.ones(len(atoms), np.float32)
        return fused.patch_sparsity(rows, ones, self.patches, penalty.code, penalty.nu, penalty.p, penalty.square)

    def digest(self) -> str:
        """A fingerprint of the patches, for checkpoints."""
        return digest([self.patches])


# What there is to learn from: an array of patches, or those that are kept elsewhere and bring their own J.
TrainingPatches = ArrayLike | Sparsity


def sparsity_of(patches: TrainingPatches) -> Sparsity:
    """The data term J of the patches; an array's are checked, centred and normalised first."""
    return patches if isinstance(patches, Sparsity) else PatchSparsity(checked_patches(patches))


def rank_penalty(x: Matrix) -> tuple[float, Matrix]:
    """h of Eq. (15) and its gradient, Eq. (39); infinite where x has not full rank.

    By Lemma 1, h >= 1, with equality just for tight frames (Lemma 3).
    """
    k, n = x.shape
    gram = x.T @ x / k
    try:
        factor = np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        return math.inf, np.zeros_like(x)
    diagonal = np.diag(factor)
    # Rounding can carry a rank-deficient matrix through the factorisation.
    if not diagonal.min() > 1e-7 * diagonal.max():
        return math.inf, np.zeros_like(x)
    scale = 1 / (n * math.log(n))
    inverse = np.linalg.inv(gram)
    return float(-2 * scale * np.log(diagonal).sum()), -2 * scale / k * x @ inverse


def coherence_barrier(x: Matrix) -> tuple[float, Matrix]:
    """r of Eq. (16) and its gradient, Eq. (40); infinite where two rows are parallel (Lemma 2)."""
    cosines = x @ x.T
    np.fill_diagonal(cosines, 0.0)
    distance = 1 - cosines**2
    if not distance.min() > 1e-12:
        return math.inf, np.zeros_like(x)
    return float(-np.log(distance).sum() / 2), (2 * cosines / distance) @ x


class Objective:
    """J + kappa·h + mu·r of a matrix of unit rows.

    Parameters
    ----------
    sparsity : Sparsity
        The data term.
    basis : (n, columns) array or None
        Orthonormal rows that span the space the atoms live in. The DCT without its constant row keeps
        every atom blind to the mean; None is the full space, as the paper writes it. The matrix being
        optimised holds the atoms' coordinates in this basis.
    """

    def __init__(self, sparsity: Sparsity, penalty: Penalty, kappa: float, mu: float, basis: Matrix | None) -> None:
        self.sparsity, self.basis = sparsity, basis
        self.penalty, self.kappa, self.mu = penalty, kappa, mu

    def atoms(self, x: Matrix) -> Matrix:
        """The atoms as patches of pixels."""
        return x if self.basis is None else np.asarray(x @ self.basis)

    def coordinates(self, atoms: Any) -> Matrix:
        """The inverse of :meth:`atoms`, for atoms in the span of the basis."""
        atoms = np.asarray(atoms, float)
        return np.asarray(atoms if self.basis is None else atoms @ self.basis.T)

    def __call__(self, x: Matrix) -> tuple[float, Matrix]:
        rank, rank_gradient = rank_penalty(x)
        barrier, barrier_gradient = coherence_barrier(x) if self.mu else (0.0, 0.0)
        if not math.isfinite(rank + barrier):  # outside the domain: spare the costly term
            return math.inf, np.zeros_like(x)
        data, data_gradient = self.sparsity(self.atoms(x), self.penalty)
        value = data + self.kappa * rank + self.mu * barrier
        gradient = self.coordinates(data_gradient) + self.kappa * rank_gradient + self.mu * np.asarray(barrier_gradient)
        return value, gradient
