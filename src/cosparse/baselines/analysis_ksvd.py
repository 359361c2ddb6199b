"""Analysis K-SVD (Rubinstein, Peleg, Elad 2012): cosupports by greedy pursuit, rows by the signals they silence.

For signals y_i in subspaces of r dimensions it looks for

    argmin Σ_i ‖x_i - y_i‖²   subject to   Ω_{Λi} x_i = 0,  rank Ω_{Λi} = d - r,  ‖ω_j‖ = 1,

by turns of two steps.

1. Sparse coding by the optimised backward greedy algorithm. From the empty cosupport Λ, the row joins for which the
   projection onto the orthogonal complement of Ω_Λ takes least away from the signal,

       j = argmin |<ω̃_j, y>| / ‖ω̃_j‖,      ω̃_j = ω_j less its part in the span of Ω_Λ,

   until Ω_Λ has rank d - r. Rows that are in the span by then belong to the cosupport as well.

2. Each row becomes the least singular vector of the signals that have it in their cosupport,

       ω_j = argmin ‖ω^T Y_J‖²   subject to   ‖ω‖ = 1,      J = {i : j ∈ Λi}.

Rows begin orthogonal to d - 1 random signals each. One that too few signals use, or that is nearly another one, begins
anew in the same way.

All of ω̃_j that the pursuit needs are its norm and its answer. With q the unit vector of the row that joins, both follow
from the cosines c_j = <q, ω_j>: the answer loses <q, y> c_j, the squared norm c_j²; and the c_j come from the Gram
matrix of Ω and the cosines of those that joined before, as in a Cholesky factorisation with pivots.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse.baselines._signals import Callback, Matrix, Signals, bands
from cosparse.kernels.compiling import compiled
from cosparse.kernels.threads import one_blas_thread, spread
from cosparse.operator import AnalysisOperator
from cosparse.patches import Rng

TITLE = "Analysis K-SVD"
SAME = 0.98
"""|cosine| from which two rows are one."""
SPANNED = 1e-9
"""Squared norm below which a row is in the span of others."""


def learn(
    patches: ArrayLike,
    rows: int = 128,
    *,
    dimension: int = 7,
    iterations: int = 50,
    rng: Rng = 0,
    callback: Callback | None = None,
) -> AnalysisOperator:
    """Learn the operator in whose subspaces the patches lie best.

    Parameters
    ----------
    patches : (count, n) array
        One patch a row, as :func:`cosparse.sample_patches` gives them. Rows are sought in the space they span.
    rows : int
        Number of atoms k.
    dimension : int
        Dimension r of the subspaces, between 1 and one less than that of the space.
    iterations : int
        How often both steps are done.
    rng : int or numpy Generator
        For the rows that begin.
    callback : callable, optional
        Called with a :class:`cosparse.LearnProgress` after each iteration: its number, the mean of ‖x_i - y_i‖², how
        far the rows have moved, and the pursuits so far. Returning True ends the run.

    Returns
    -------
    AnalysisOperator
        Of unit rows.

    References
    ----------
    R. Rubinstein, T. Peleg, M. Elad: Analysis K-SVD: A Dictionary-Learning Algorithm for the Analysis Sparse Model.
    IEEE Transactions on Signal Processing 61(3), 2013; first at ICASSP 2012.

    Examples
    --------
    >>> import numpy as np
    >>> patches = np.random.default_rng(0).standard_normal((200, 16))
    >>> learn(patches, rows=24, dimension=3, iterations=2).shape
    (24, 16)
    """
    signals = Signals.of(patches, rows, "analysis_ksvd.learn")
    if not 1 <= dimension < signals.dimension:
        raise ValueError(f"dimension: must lie between 1 and {signals.dimension - 1}, got {dimension!r}")
    generator = np.random.default_rng(rng)
    points = signals.points
    omega = np.stack([signals.row_across(generator) for _ in range(rows)])
    with one_blas_thread():
        for iteration in range(1, iterations + 1):
            silent, error = cosupports(omega, points, signals.dimension - dimension)
            before, omega = omega, _updated(silent, signals, generator)
            change = float(np.linalg.norm(omega - before))
            if signals.ends(callback, iteration, error, change, iteration * len(points), omega):
                break
    return signals.operator(omega, dimension=dimension, iterations=iterations)


def cosupports(omega: Matrix, points: Matrix, rank: int) -> tuple[NDArray[np.bool_], float]:
    """Each signal's cosupport by the optimised backward greedy pursuit, and the mean of ‖x - y‖²."""
    gram, answers = omega @ omega.T, points @ omega.T
    silent = np.zeros(answers.shape, np.bool_)
    lost = spread(lambda band: _pursue(gram, answers[band], silent[band], rank, SPANNED), bands(points))
    return silent, float(sum(lost)) / len(points)


@compiled
def _pursue(gram: Any, answers: Any, silent: Any, rank: int, spanned: float) -> float:
    """Fill the cosupports of a band of signals, whose answers are used up; the sum of ‖x - y‖²."""
    rows = len(gram)
    cosines = np.empty((rank, rows))
    norms = np.empty(rows)
    lost = 0.0
    for i in range(len(answers)):
        z, taken = answers[i], silent[i]
        norms[:] = 1
        for step in range(rank):
            j, least = -1, np.inf
            for k in range(rows):
                if not taken[k] and norms[k] > spanned and z[k] * z[k] < least * norms[k]:
                    j, least = k, z[k] * z[k] / norms[k]
            if j < 0:  # the operator has no such rank
                break
            taken[j] = True
            c = cosines[step]
            c[:] = gram[j]
            for before in range(step):
                c -= cosines[before, j] * cosines[before]
            c /= np.sqrt(norms[j])
            along = z[j] / np.sqrt(norms[j])
            lost += along * along
            z -= along * c
            norms -= c * c
        for k in range(rows):
            taken[k] = taken[k] or norms[k] <= spanned
    return lost


def _updated(silent: NDArray[np.bool_], signals: Signals, generator: np.random.Generator) -> Matrix:
    """Every row from the signals that have it in their cosupport."""
    uses = silent.sum(axis=0)

    def least(j: int) -> Matrix:
        chosen = signals.points[silent[:, j]]
        return np.asarray(np.linalg.eigh(chosen.T @ chosen)[1][:, 0])

    omega = np.stack(spread(least, range(len(uses))))
    order = np.argsort(-uses, kind="stable")  # of two that are one, the more used stays
    twins = (np.abs(np.triu(omega[order] @ omega[order].T, 1)) > SAME).any(axis=0)
    for j in order[twins | (uses[order] < signals.dimension)]:
        omega[j] = signals.row_across(generator)
    return omega
