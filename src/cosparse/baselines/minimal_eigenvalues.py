"""Sequential minimal eigenvalues (Ophir, Elad, Bertin, Plumbley 2011): rows found one after another.

A row ω of a cosparse model is orthogonal to many of the signals s_i. It is found, from a random start, by
turns of

    S_R = {s_i : |<ω, s_i>| < t},                      the signals that seem orthogonal to it,
    ω   = argmin ‖ω^T S_R‖²  subject to  ‖ω‖ = 1,      the eigenvector of S_R S_R^T's smallest eigenvalue,

until S_R is the same twice. Each turn lowers Σ_i min(<ω, s_i>², t²). A row that differs from all found so far joins
them, another is forgotten, until there are k.

Two things are added. Some starts lead to rows that few signals are orthogonal to, so there are more starts than rows,
and where they led joins in the order of that sum. And if there are not k different rows among them, the threshold t is
lowered for more starts: fewer signals have to agree on a row, and there are more such rows.
"""

from __future__ import annotations

import math
from functools import partial
from operator import itemgetter

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse.baselines._signals import Callback, Matrix, Signals
from cosparse.kernels.threads import one_blas_thread, spread
from cosparse.operator import AnalysisOperator
from cosparse.patches import Rng

TITLE = "sequential minimal eigenvalues"
TURNS = 100
"""At most, for one row; it has settled long before."""
STARTS = 10
"""For each row that is asked for."""
PROBE = 16
"""Starts that are looked at first: if most of them lead to the same few rows, so will the others."""
LOWER = 0.7
"""Factor of the threshold, if the starts lead to too few rows."""


def learn(
    patches: ArrayLike,
    rows: int = 128,
    *,
    threshold: float = 0.35,
    distinct: float = 0.9,
    rng: Rng = 0,
    callback: Callback | None = None,
) -> AnalysisOperator:
    """Find directions that are orthogonal to many of the patches, one at a time.

    Parameters
    ----------
    patches : (count, n) array
        One patch a row, as :func:`cosparse.sample_patches` gives them. Rows are sought in the space they span.
    rows : int
        Number of atoms k.
    threshold : float
        An answer below this many times the root mean square answer to a random row counts as none.
    distinct : float
        A row is new if its |cosine| to every row found is below this.
    rng : int or numpy Generator
        For the random starts.
    callback : callable, optional
        Called with a :class:`cosparse.LearnProgress` after each row that is new: its number, the mean of
        min(<ω, s_i>², t²), its largest |cosine| to the others, and the starts so far. Returning True ends the run
        with the rows so far.

    Returns
    -------
    AnalysisOperator
        Of unit rows, those that most patches are orthogonal to first.

    References
    ----------
    B. Ophir, M. Elad, N. Bertin, M. D. Plumbley: Sequential Minimal Eigenvalues - An Approach to Analysis Dictionary
    Learning. European Signal Processing Conference, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> steps = np.repeat(np.eye(4)[np.random.default_rng(0).integers(0, 4, 200)].cumsum(axis=1), 4, axis=1)
    >>> learn(steps + np.random.default_rng(1).normal(0, 1e-3, steps.shape), rows=24).shape
    (24, 16)
    """
    if not threshold > 0 or not 0 < distinct <= 1:
        raise ValueError(f"threshold, distinct: must be positive, the latter at most 1, got {threshold}, {distinct}")
    signals = Signals.of(patches, rows, "minimal_eigenvalues.learn")
    generator = np.random.default_rng(rng)
    points = np.ascontiguousarray(signals.points, np.float32)
    bound = threshold / math.sqrt(signals.dimension)
    found = np.empty((0, signals.dimension))
    starts = 0
    with one_blas_thread():
        while len(found) < rows:
            begun = signals.random_rows(STARTS * rows, generator)
            settle = partial(_settled, points, bound=bound)
            settled = spread(settle, begun[:PROBE])
            if _different([row for _, row in settled], distinct) > PROBE // 4:
                settled += spread(settle, begun[PROBE:])
                starts += len(begun)
                for cost, row in sorted(settled, key=itemgetter(0)):
                    cosine = float(np.abs(found @ row).max(initial=0.0))
                    if cosine >= distinct or len(found) == rows:
                        continue
                    found = np.concatenate([found, row[None]])
                    if signals.ends(callback, len(found), cost, cosine, starts, found):
                        rows = len(found)
            bound *= LOWER
    return signals.operator(found, threshold=threshold, distinct=distinct, starts=starts)


def _different(rows: list[Matrix], distinct: float) -> int:
    """How many of the rows differ from all before them."""
    cosines = np.abs(np.triu(np.stack(rows) @ np.stack(rows).T, 1))
    return int((cosines < distinct).all(axis=0).sum())


def _settled(points: NDArray[np.float32], row: Matrix, bound: float) -> tuple[float, Matrix]:
    """The row that a start leads to, and the mean of min(<ω, s_i>², t²) there, before it."""
    silent = np.zeros(len(points), bool)
    for _ in range(TURNS):
        answers = np.abs(points @ row.astype(np.float32))
        before, silent = silent, answers < bound
        if silent.sum() < len(row) or np.array_equal(silent, before):
            break
        chosen = points[silent]
        row = np.linalg.eigh(chosen.T @ chosen)[1][:, 0].astype(float)
    return float(np.mean(np.minimum(answers, bound) ** 2)), row
