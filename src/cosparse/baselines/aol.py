"""AOL (Yaghoobi, Nam, Gribonval, Davies 2011): the uniform normalised tight frame of least l1 norm on the signals.

    argmin ‖Ω X‖_1   subject to   Ω ∈ C = {Ω : Ω^T Ω = (k/d) I,  ‖ω_j‖ = 1},

where X holds the signals as columns. The constraint rules out rows that are zero, parallel or blind to a direction. It
is solved by projected subgradients,

    Ω ← P_C(Ω - η sgn(Ω X) X^T),

with P_C in its place by turns of the projections onto its two parts (Tropp, Dhillon, Heath, Strohmer 2005): onto the
tight frames, Ω (Ω^T Ω)^(-1/2) times the root of k/d, and onto unit rows. A few turns will do at each step, and
the last operator is carried on until it is one. The step length η falls geometrically.

The signals have to be exactly cosparse; for noisy ones there is :mod:`cosparse.baselines.noise_aware_aol`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse.baselines._signals import Callback, Matrix, Signals, bands, unit
from cosparse.kernels.threads import one_blas_thread, spread
from cosparse.operator import AnalysisOperator
from cosparse.patches import Rng

TITLE = "AOL"
STEPS = (3.0, 0.01)
"""The first and the last step length, for signals of norm one."""
TURNS = 3
"""Of the two projections at each step."""
UNIFORM = 1e-9
"""How near to unit norm a tight frame's rows are to be."""


def learn(
    patches: ArrayLike, rows: int = 128, *, iterations: int = 2000, rng: Rng = 0, callback: Callback | None = None
) -> AnalysisOperator:
    """Learn the tight frame of unit rows whose answers to the patches have the least l1 norm.

    Parameters
    ----------
    patches : (count, n) array
        One patch a row, as :func:`cosparse.sample_patches` gives them. Rows are sought in the space they span.
    rows : int
        Number of atoms k.
    iterations : int
        Number of subgradient steps.
    rng : int or numpy Generator
        For the random start.
    callback : callable, optional
        Called with a :class:`cosparse.LearnProgress` after each iteration: its number, the mean of ‖Ω x‖_1 before it,
        how far the rows have moved, and the subgradients so far. Returning True ends the run.

    Returns
    -------
    AnalysisOperator
        A uniform normalised tight frame of the space that the patches span.

    References
    ----------
    M. Yaghoobi, S. Nam, R. Gribonval, M. E. Davies: Analysis Operator Learning for Overcomplete Cosparse
    Representations. European Signal Processing Conference, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> patches = np.random.default_rng(0).standard_normal((200, 16))
    >>> round(learn(patches, rows=24, iterations=20).condition, 5)
    1.0
    """
    signals = Signals.of(patches, rows, "aol.learn")
    points = np.ascontiguousarray(signals.points, np.float32)
    omega = tight(signals.random_rows(rows, np.random.default_rng(rng)))
    with one_blas_thread():
        for iteration in range(1, iterations + 1):
            before = omega
            omega, value = descended(omega, points, step(iteration - 1, iterations))
            change = float(np.linalg.norm(omega - before))
            if signals.ends(callback, iteration, value, change, iteration, omega):
                break
    return signals.operator(tight(omega), iterations=iterations)


def step(done: int, iterations: int) -> float:
    """The step length after so many of all iterations, from the first to the last."""
    first, last = STEPS
    return float(first * (last / first) ** (done / iterations))


def descended(omega: Matrix, points: NDArray[np.float32], length: float) -> tuple[Matrix, float]:
    """Omega after a projected subgradient step, and the mean of ‖Ω x‖_1 before it."""
    frame = np.ascontiguousarray(omega, np.float32)

    def part(band: slice) -> tuple[NDArray[np.float32], float]:
        answers = points[band] @ frame.T
        return np.sign(answers).T @ points[band], float(np.abs(answers).sum(dtype=float))

    subgradients, norms = zip(*spread(part, bands(points)), strict=True)
    subgradient = np.sum(subgradients, axis=0, dtype=float) / len(points)
    return tight(omega - length * subgradient, TURNS), sum(norms) / len(points)


def tight(omega: Matrix, turns: int = 10_000) -> Matrix:
    """A uniform normalised tight frame near omega, or what so many turns of the two projections make of it."""
    scale = math.sqrt(omega.shape[0] / omega.shape[1])
    for _ in range(turns):
        squares, directions = np.linalg.eigh(omega.T @ omega)
        frame = scale * omega @ (directions / np.sqrt(squares)) @ directions.T
        omega = unit(frame)
        if turns > TURNS and np.abs(np.einsum("ij,ij->i", frame, frame) - 1).max() < UNIFORM:
            break
    return omega
