"""GOAL: geometric analysis operator learning (Algorithm 2 on Eq. (17))."""

from __future__ import annotations

import dataclasses
import logging
import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse._version import __version__
from cosparse.checkpoint import load, save
from cosparse.identity import digest
from cosparse.kernels.threads import one_blas_thread
from cosparse.learning.objective import Objective, PatchSparsity, Sparsity
from cosparse.operator import AnalysisOperator, cosine_atoms
from cosparse.optimize import Oblique, Settings, State, Stop, conjugate_gradient
from cosparse.optimize.conjugate_gradient import begin
from cosparse.patches import Rng
from cosparse.penalty import Penalty

log = logging.getLogger(__name__)

# The weights of h and r for each way of measuring sparsity, chosen on photographs held out of data/train.
# The paper's values for the paper's penalty.
WEIGHTS = {("log", False): (4000.0, 0.2), ("pnorm", True): (9000.0, 0.01)}


CHECKPOINT_SECONDS = 5.0


@dataclass(frozen=True)
class LearnResult:
    """A learned operator and how the learning went.

    Attributes
    ----------
    operator : AnalysisOperator
    objective : float
        f, Eq. (41), at the operator.
    stop : Stop
        Why the iteration ended; `stop.converged` says whether a tolerance did.
    iterations, evaluations : int
        How many iterations, and how often f and its gradient were computed.
    objectives : tuple of float
        f at the start and after every iteration.
    """

    operator: AnalysisOperator
    objective: float
    stop: Stop
    iterations: int
    evaluations: int
    objectives: tuple[float, ...]


@dataclass(frozen=True)
class LearnProgress:
    """What a callback sees after every iteration.

    Attributes
    ----------
    iteration : int
    objective : float
        f, Eq. (41).
    change : float
        How far the operator has moved in this iteration (Frobenius norm).
    evaluations : int
        How often f and its gradient have been computed so far.
    """

    iteration: int
    objective: float
    change: float
    evaluations: int
    _operator: Callable[[], AnalysisOperator]

    @property
    def operator(self) -> AnalysisOperator:
        """The operator as it is now."""
        return self._operator()


def learn_operator(
    patches: ArrayLike | Sparsity,
    rows: int = 128,
    *,
    penalty: str | Penalty = "log",
    kappa: float | None = None,
    mu: float | None = None,
    zero_mean: bool = True,
    start: str | ArrayLike = "random",
    settings: Settings | None = None,
    rng: Rng = 0,
    checkpoint: str | os.PathLike[str] | None = None,
    callback: Callable[[LearnProgress], object] | None = None,
) -> LearnResult:
    """Learn an analysis operator from training patches.

    Minimises Eq. (41),

        f(X) = J(X S) + kappa h(X) + mu r(X),

    over the matrices X with unit rows by geometric conjugate gradient (Algorithm 2).

    Parameters
    ----------
    patches : (count, n) array
        One patch a row, as :func:`cosparse.sample_patches` gives them. Rows that are not of unit norm are
        centred and normalised.
    rows : int
        Number of atoms k, at least n. The paper finds no gain past 2n.
    penalty : {"log", "pnorm"} or Penalty
        How sparsity is measured; "pnorm" is the paper's.
    kappa, mu : float, optional
        Weights of the rank term and of the coherence barrier. A larger kappa brings the condition number
        towards one (Lemma 3), a larger mu lowers the coherence (Lemma 4).
    zero_mean : bool
        Keep the atoms blind to a patch's mean, by working in the cosine basis without its constant.
        False is the paper's full space.
    start : {"random", "dct"} or (rows, n) array
        The initial operator.
    settings : Settings, optional
        Limits and tolerances of the conjugate gradient.
    rng : int or numpy Generator
        For the random start. Same seed, same patches, same operator.
    checkpoint : path, optional
        Where to keep the state of the run, every few seconds. If the file exists the run continues from it and
        ends with the operator it would have had without the interruption.
    callback : callable, optional
        Called with a :class:`LearnProgress` after each iteration; returning True ends the run.

    Returns
    -------
    LearnResult
        The operator, its objective, and why the iteration ended.

    References
    ----------
    S. Hawe, M. Kleinsteuber, K. Diepold: Analysis Operator Learning and Its Application to Image Reconstruction. IEEE
    Transactions on Image Processing 22(6), 2013, sections II and III.

    Examples
    --------
    >>> import numpy as np, cosparse
    >>> rng = np.random.default_rng(0)
    >>> image = rng.random((64, 64)).cumsum(axis=0).cumsum(axis=1)
    >>> patches = cosparse.sample_patches([image / image.max()], size=4, count=500)
    >>> result = cosparse.learn_operator(patches, rows=24, settings=cosparse.Settings(iterations=20))
    >>> result.operator.shape, result.iterations
    ((24, 16), 20)
    """
    sparsity = patches if isinstance(patches, Sparsity) else PatchSparsity(_checked_patches(patches))
    penalty = Penalty.named(penalty)
    settings = settings or Settings(iterations=400)
    columns = sparsity.columns
    side = math.isqrt(columns)
    if side * side != columns or side < 2:
        raise ValueError(f"patches: expected square patches of at least 2x2, got rows of {columns} pixels")
    if rows < columns:
        raise ValueError(f"rows: an operator for {columns} pixels needs at least {columns} atoms, got {rows}")
    if sparsity.count < columns:
        raise ValueError(
            f"patches: {sparsity.count} are too few to learn from, at least {columns} are needed "
            "(100,000 are a good number)"
        )
    default_kappa, default_mu = WEIGHTS.get((penalty.form, penalty.square), (None, None))
    kappa, mu = (default_kappa if kappa is None else kappa), (default_mu if mu is None else mu)
    if kappa is None or mu is None:
        raise ValueError(
            "kappa, mu: there are no default weights for this penalty; give both, or use "
            "Penalty.log() or Penalty.pnorm()"
        )
    if not (kappa > 0 and mu >= 0 and math.isfinite(kappa + mu)):
        raise ValueError(f"kappa, mu: must be positive and not negative, got {kappa!r} and {mu!r}")

    generator = np.random.default_rng(rng)
    basis = cosine_atoms(side, side) if zero_mean else None
    objective = Objective(sparsity, penalty, kappa, mu, basis)
    geometry = Oblique()
    first = _start(start, rows, side, objective, geometry, generator)
    fingerprint = {
        "version": 2,
        "rows": rows,
        "penalty": penalty.to_metadata(),
        "kappa": repr(kappa),
        "mu": repr(mu),
        "zero_mean": zero_mean,
        "start": digest([first]),
        # The iteration limit may grow from one call to the next; the path to it is the same.
        "settings": repr(dataclasses.replace(settings, iterations=0)),
        "random_state": repr(generator.bit_generator.state),
        "patches": sparsity.digest() if checkpoint is not None else "",
    }

    def operator_of(x: NDArray[np.float64], provenance: dict[str, str]) -> AnalysisOperator:
        return AnalysisOperator(objective.atoms(x).astype(np.float32), (side, side), penalty, provenance=provenance)

    state: Any = load(checkpoint, fingerprint) if checkpoint is not None else None
    if state is None:
        try:
            state = begin(objective, geometry, first)
        except FloatingPointError as problem:
            raise ValueError("start: two atoms are parallel, or all of them together have not full rank") from problem
    else:
        log.info("continuing from %s at iteration %d", checkpoint, state.iteration)
    latest, written = state, time.monotonic()

    def after_iteration(current: State) -> bool:
        nonlocal latest, written
        latest = current
        if checkpoint is not None and time.monotonic() - written > CHECKPOINT_SECONDS:
            save(checkpoint, current, fingerprint)
            written = time.monotonic()
        if callback is None:
            return False
        progress = LearnProgress(
            current.iteration,
            current.value,
            current.change,
            current.evaluations,
            lambda: operator_of(current.point, {}),
        )
        return callback(progress) is True

    try:
        # The small products of each iteration would wake BLAS's own threads, which then spin for a while
        # on the cores that ours need.
        with one_blas_thread():
            result = conjugate_gradient(objective, geometry, state, settings, callback=after_iteration)
    except KeyboardInterrupt:
        if checkpoint is None:
            raise
        save(checkpoint, latest, fingerprint)
        raise KeyboardInterrupt(
            f"stopped at iteration {latest.iteration}; {os.fspath(checkpoint)} keeps the state, "
            "the same call continues from it"
        ) from None
    if checkpoint is not None:
        save(checkpoint, latest, fingerprint)
    provenance = {
        "made": "learn_operator",
        "cosparse": __version__,
        "patches": f"{sparsity.count} of {side}x{side}",
        "kappa": repr(kappa),
        "mu": repr(mu),
        "zero_mean": str(zero_mean),
        "start": start if isinstance(start, str) else "given",
        "seed": repr(rng) if isinstance(rng, int) else "a generator",
        "iterations": str(result.iterations),
        "objective": repr(result.value),
    }
    return LearnResult(
        operator_of(result.point, provenance),
        result.value,
        result.stop,
        result.iterations,
        result.evaluations,
        result.values,
    )


def _checked_patches(patches: ArrayLike) -> NDArray[np.float32]:
    """Patches as the kernels want them: contiguous float32 rows of unit norm."""
    array = np.ascontiguousarray(patches, np.float32)
    if array.ndim != 2 or array.size == 0:
        raise ValueError(f"patches: expected (count, pixels), got shape {array.shape}")
    norms = np.sqrt(np.einsum("ij,ij->i", array, array, dtype=float))
    if not np.isfinite(norms).all():
        raise ValueError("patches: hold NaN or infinite values; remove those rows")
    means = array.mean(axis=1, keepdims=True, dtype=float)
    varying = norms**2 - array.shape[1] * means[:, 0] ** 2
    if not (varying > 1e-10 * norms.max() ** 2).all():
        raise ValueError("patches: some are constant; remove them (sample_patches leaves them out)")
    if np.abs(norms - 1).max() > 1e-3:
        array = array - means.astype(np.float32)
        norms = np.sqrt(np.einsum("ij,ij->i", array, array, dtype=float))
        array /= norms[:, None].astype(np.float32)
    return array


def _start(
    start: str | ArrayLike,
    rows: int,
    side: int,
    objective: Objective,
    geometry: Oblique,
    generator: np.random.Generator,
) -> NDArray[np.float64]:
    """The initial matrix, in the coordinates being optimised, with unit rows."""
    dimension = side * side if objective.basis is None else len(objective.basis)
    if isinstance(start, str):
        if start == "random":
            return geometry.random_point(rows, dimension, generator)
        if start != "dct":
            raise ValueError(f"start: expected 'random', 'dct' or an operator, got {start!r}")
        # The smallest overcomplete cosine set with enough atoms, thinned to their number, and shaken a
        # little: its symmetric atoms would otherwise sit on a saddle.
        frequencies = math.isqrt(rows) + 1
        atoms = cosine_atoms(side, frequencies)
        atoms = atoms[np.round(np.linspace(0, len(atoms) - 1, rows)).astype(int)]
        x = objective.coordinates(atoms) + 0.05 * geometry.random_point(rows, dimension, generator)
    else:
        atoms = np.asarray(start, float)
        if atoms.shape != (rows, side * side) or not np.isfinite(atoms).all():
            raise ValueError(f"start: expected a finite ({rows}, {side * side}) array, got shape {atoms.shape}")
        x = objective.coordinates(atoms)
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    if not norms.min() > 1e-6:
        raise ValueError("start: an atom is zero (or constant, with zero_mean)")
    return np.asarray(x / norms)
