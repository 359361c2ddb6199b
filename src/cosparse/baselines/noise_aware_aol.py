"""Noise-aware AOL (Yaghoobi, Nam, Gribonval, Davies 2012): operator and clean signals learned together.

The signals Y are noisy, and AOL's constraint C of uniform normalised tight frames stays:

    argmin over Ω ∈ C and X of   ‖Ω X‖_1 + λ/2 ‖Y - X‖_F².

By turns, Ω is learned from X by the projected subgradients of :mod:`cosparse.baselines.aol`, and X is denoised with Ω
by the alternating direction method of multipliers (the Douglas-Rachford splitting of the dual). With Z = Ω X apart and
its scaled multiplier U,

    X ← (λ Y + γ Ω^T (Z - U)) / (λ + γ k/d),
    Z ← sgn(Ω X + U) max(|Ω X + U| - 1/γ, 0),
    U ← U + Ω X - Z.

The first line, a system of equations for other operators, is a division for tight frames. Denoised with a random
operator the signals would keep little that is theirs: the first half of the steps takes them as they are, the second
begins again with long steps from what these found.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse.baselines import aol
from cosparse.baselines._signals import Callback, Matrix, Signals, bands
from cosparse.kernels.threads import one_blas_thread, spread
from cosparse.operator import AnalysisOperator
from cosparse.patches import Rng

TITLE = "noise-aware AOL"
STEPS = 5
"""Subgradient steps between two denoisings,"""
SWEEPS = 10
"""and of the splitting in one; it goes on where the one before ended."""
SPLITTING = 10.0
"""gamma, for signals of norm one: it changes how fast the splitting is, not where it ends."""

Data = NDArray[np.float32]


def learn(
    patches: ArrayLike,
    rows: int = 128,
    *,
    fidelity: float = 40.0,
    iterations: int = 2000,
    rng: Rng = 0,
    callback: Callback | None = None,
) -> AnalysisOperator:
    """Learn a tight frame of unit rows from noisy patches, which are denoised with it meanwhile.

    Parameters
    ----------
    patches : (count, n) array
        One patch a row, as :func:`cosparse.sample_patches` gives them. Rows are sought in the space they span.
    rows : int
        Number of atoms k.
    fidelity : float
        Weight λ of the distance to the noisy patches, which are scaled to norm one; the more noise, the smaller.
    iterations : int
        Number of subgradient steps, the second half of them with denoising.
    rng : int or numpy Generator
        For the random start.
    callback : callable, optional
        Called with a :class:`cosparse.LearnProgress` after each iteration: its number, the mean of
        ‖Ω x‖_1 + λ/2 ‖y - x‖² before it, how far the rows have moved, and the subgradients so far. Returning True
        ends the run.

    Returns
    -------
    AnalysisOperator
        A uniform normalised tight frame of the space that the patches span.

    References
    ----------
    M. Yaghoobi, S. Nam, R. Gribonval, M. E. Davies: Noise Aware Analysis Operator Learning for Approximately Cosparse
    Signals. IEEE International Conference on Acoustics, Speech and Signal Processing, 2012. The same: Constrained
    Overcomplete Analysis Operator Learning for Cosparse Signal Modelling. IEEE Transactions on Signal Processing 61(9),
    2013.

    Examples
    --------
    >>> import numpy as np
    >>> patches = np.random.default_rng(0).standard_normal((200, 16))
    >>> round(learn(patches, rows=24, iterations=40).condition, 5)
    1.0
    """
    if not fidelity > 0:
        raise ValueError(f"fidelity: must be positive, got {fidelity!r}")
    signals = Signals.of(patches, rows, "noise_aware_aol.learn")
    noisy = np.ascontiguousarray(signals.points, np.float32)
    omega = aol.tight(signals.random_rows(rows, np.random.default_rng(rng)))
    denoising = Denoising(noisy, rows, fidelity)
    half = max(1, iterations // 2)
    with one_blas_thread():
        for iteration in range(1, iterations + 1):
            if iteration > half and iteration % STEPS == 0:
                denoising.sweep(omega)
            before = omega
            omega, value = aol.descended(omega, denoising.clean, aol.step((iteration - 1) % half, half))
            value += fidelity / 2 * denoising.distance
            change = float(np.linalg.norm(omega - before))
            if signals.ends(callback, iteration, value, change, iteration, omega):
                break
    return signals.operator(aol.tight(omega), fidelity=fidelity, iterations=iterations)


class Denoising:
    """The splitting for X, which keeps its state while Ω changes."""

    def __init__(self, noisy: Data, rows: int, fidelity: float) -> None:
        self.noisy, self.clean, self.fidelity = noisy, noisy.copy(), np.float32(fidelity)
        self.split = np.zeros((len(noisy), rows), np.float32)
        self.multiplier = np.zeros((len(noisy), rows), np.float32)
        self.distance = 0.0

    def sweep(self, omega: Matrix) -> None:
        """A few turns of the three lines with this operator; `distance` becomes the mean of ‖y - x‖²."""
        frame = np.ascontiguousarray(omega, np.float32)
        distances = spread(lambda band: self._band(frame, band), bands(self.noisy))
        self.distance = sum(distances) / len(self.noisy)

    def _band(self, frame: Data, band: slice) -> float:
        noisy, clean, split, multiplier = (a[band] for a in (self.noisy, self.clean, self.split, self.multiplier))
        gamma, limit = np.float32(SPLITTING), np.float32(1 / SPLITTING)
        whole = self.fidelity + gamma * np.float32(frame.shape[0] / frame.shape[1])
        for _ in range(SWEEPS):
            clean[:] = (self.fidelity * noisy + gamma * (split - multiplier) @ frame) / whole
            multiplier += clean @ frame.T  # now Ω X + U, of which Z and the new U are the two parts
            np.clip(multiplier, -limit, limit, out=split)
            multiplier -= split
            split[:], multiplier[:] = multiplier, split.copy()
        return float(((clean - noisy) ** 2).sum(dtype=float))
