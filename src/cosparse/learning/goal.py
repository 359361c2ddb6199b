"""GOAL: geometric analysis operator learning (Algorithm 2 on Eq. (17))."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse._version import __version__
from cosparse.checkpoint import Resumable
from cosparse.kernels.threads import one_blas_thread
from cosparse.keywords import keywords_of, settled
from cosparse.learning.objective import Objective, TrainingPatches, sparsity_of
from cosparse.operator import AnalysisOperator, cosine_atoms
from cosparse.optimize import Oblique, Settings, State, Stop, conjugate_gradient
from cosparse.optimize.conjugate_gradient import begin
from cosparse.patches import Rng
from cosparse.penalty import Penalty

# The weights of h and r for each way of measuring sparsity, chosen on photographs held out of data/train.
# The paper's values for the paper's penalty.
WEIGHTS = {("log", False): (4000.0, 0.2), ("pnorm", True): (9000.0, 0.01)}


class LearnKeywords(TypedDict, total=False):
    """The keywords of learn_operator as type checkers and editors see them: the fields of Learning."""

    penalty: str | Penalty
    kappa: float | None
    mu: float | None
    zero_mean: bool
    start: str | ArrayLike
    settings: Settings | None
    rng: Rng


@dataclass(frozen=True)
class Learning:
    """How to learn; :func:`learn_operator` says what each means."""

    penalty: str | Penalty = "log"
    kappa: float | None = None
    mu: float | None = None
    zero_mean: bool = True
    start: str | ArrayLike = "random"
    settings: Settings | None = None
    rng: Rng = 0


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


@keywords_of(Learning)
def learn_operator(
    patches: TrainingPatches,
    rows: int = 128,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    callback: Callable[[LearnProgress], object] | None = None,
    **settings: Unpack[LearnKeywords],
) -> LearnResult:
    """Learn an analysis operator from training patches.

    Minimises Eq. (41),

        f(X) = J(X S) + kappa h(X) + mu r(X),

    over the matrices X with unit rows by geometric conjugate gradient (Algorithm 2).

    Parameters
    ----------
    patches : (count, n) array, or patches on a cluster
        One patch a row, as :func:`cosparse.sample_patches` gives them. Rows that are not of unit norm are
        centred and normalised. Those of ``cosparse.cluster.sample_patches`` stay on their workers.
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
    learning = settled(learn_operator, Learning, settings)
    objective = _posed(patches, rows, learning)
    generator = np.random.default_rng(learning.rng)
    first = _start(learning.start, rows, objective, generator)
    limits = learning.settings or Settings(iterations=400)

    def asked() -> dict[str, Any]:
        return {
            "made": "learn_operator",
            "version": 3,
            "rows": rows,
            "penalty": objective.penalty,
            "kappa": objective.kappa,
            "mu": objective.mu,
            "zero_mean": learning.zero_mean,
            "start": first,
            # The iteration limit may grow from one call to the next; the path to it is the same.
            "settings": replace(limits, iterations=0),
            "random_state": generator.bit_generator.state,
            "patches": objective.sparsity,
        }

    def after_iteration(state: State) -> bool:
        run.reached(state)
        if callback is None:
            return False
        counts = state.iteration, state.value, state.change, state.evaluations
        return callback(LearnProgress(*counts, lambda: _operator(objective, state.point))) is True

    run = Resumable(checkpoint, State, "iteration", asked, lambda: _begun(objective, first))
    # The small products of each iteration would wake BLAS's own threads, which then spin for a while
    # on the cores that ours need.
    with run, one_blas_thread():
        result = conjugate_gradient(objective, Oblique(), run.state, limits, callback=after_iteration)
    end = {"iterations": str(result.iterations), "objective": repr(result.value)}
    operator = _operator(objective, result.point, _provenance(objective, learning) | end)
    return LearnResult(operator, result.value, result.stop, result.iterations, result.evaluations, result.values)


def _posed(patches: TrainingPatches, rows: int, learning: Learning) -> Objective:
    """What is to be minimised, if it can be learned from these patches."""
    sparsity, penalty = sparsity_of(patches), Penalty.named(learning.penalty)
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
    kappa = default_kappa if learning.kappa is None else learning.kappa
    mu = default_mu if learning.mu is None else learning.mu
    if kappa is None or mu is None:
        raise ValueError(
            "kappa, mu: there are no default weights for this penalty; give both, or use "
            "Penalty.log() or Penalty.pnorm()"
        )
    if not (kappa > 0 and mu >= 0 and math.isfinite(kappa + mu)):
        raise ValueError(f"kappa, mu: must be positive and not negative, got {kappa!r} and {mu!r}")
    return Objective(sparsity, penalty, kappa, mu, cosine_atoms(side, side) if learning.zero_mean else None)


def _begun(objective: Objective, first: NDArray[np.float64]) -> State:
    try:
        return begin(objective, Oblique(), first)
    except FloatingPointError as problem:
        raise ValueError("start: two atoms are parallel, or all of them together have not full rank") from problem


def _operator(
    objective: Objective, point: NDArray[np.float64], provenance: dict[str, str] | None = None
) -> AnalysisOperator:
    side = math.isqrt(objective.sparsity.columns)
    atoms = objective.atoms(point).astype(np.float32)
    return AnalysisOperator(atoms, (side, side), objective.penalty, provenance=provenance or {})


def _provenance(objective: Objective, learning: Learning) -> dict[str, str]:
    """What the operator's file says of how it was learned."""
    side = math.isqrt(objective.sparsity.columns)
    return {
        "made": "learn_operator",
        "cosparse": __version__,
        "patches": f"{objective.sparsity.count} of {side}x{side}",
        "kappa": repr(objective.kappa),
        "mu": repr(objective.mu),
        "zero_mean": str(learning.zero_mean),
        "start": learning.start if isinstance(learning.start, str) else "given",
        "seed": repr(learning.rng) if isinstance(learning.rng, int) else "a generator",
    }


def _start(
    start: str | ArrayLike, rows: int, objective: Objective, generator: np.random.Generator
) -> NDArray[np.float64]:
    """The initial matrix, in the coordinates being optimised, with unit rows."""
    geometry, columns = Oblique(), objective.sparsity.columns
    dimension = columns if objective.basis is None else len(objective.basis)
    if isinstance(start, str):
        if start == "random":
            return geometry.random_point(rows, dimension, generator)
        if start != "dct":
            raise ValueError(f"start: expected 'random', 'dct' or an operator, got {start!r}")
        # The smallest overcomplete cosine set with enough atoms, thinned to their number, and shaken a
        # little: its symmetric atoms would otherwise sit on a saddle.
        atoms = cosine_atoms(math.isqrt(columns), math.isqrt(rows) + 1)
        atoms = atoms[np.round(np.linspace(0, len(atoms) - 1, rows)).astype(int)]
        x = objective.coordinates(atoms) + 0.05 * geometry.random_point(rows, dimension, generator)
    else:
        atoms = np.asarray(start, float)
        if atoms.shape != (rows, columns) or not np.isfinite(atoms).all():
            raise ValueError(f"start: expected a finite ({rows}, {columns}) array, got shape {atoms.shape}")
        x = objective.coordinates(atoms)
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    if not norms.min() > 1e-6:
        raise ValueError("start: an atom is zero (or constant, with zero_mean)")
    return np.asarray(x / norms)
