"""Operator learning as a scikit-learn estimator: patches in, analysed coefficients out."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.fft import dct

from cosparse.kernels.threads import one_blas_thread
from cosparse.learning.goal import WEIGHTS
from cosparse.learning.objective import Objective, PatchSparsity
from cosparse.operator import AnalysisOperator, cosine_atoms
from cosparse.optimize import Oblique, Settings, conjugate_gradient
from cosparse.penalty import Penalty

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.utils import check_array, check_random_state
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as problem:
    raise ImportError("scikit-learn is not installed: pip install 'cosparse[sklearn]' brings it") from problem

Matrix = NDArray[np.float64]
FLAT = 1e-5  # of a row's largest value: what varies less is constant but for rounding
BLIND = 1e-5  # of the largest singular value: a direction that is answered by less is not seen


class AnalysisOperatorLearning(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Learn an analysis operator from vectorised patches: rows of unit norm that give few large answers.

    Minimises f(A) = J(A S) + kappa h(A) + mu r(A), Eq. (41), over the matrices A with unit rows by geometric conjugate
    gradient, as :func:`cosparse.learn_operator` does, with the same result for the same patches and seed but for
    rounding. J asks for sparse answers to the patches S, h for full rank, r for atoms that differ.

    Patches have any number of features, at least two. What is learned from is their shape alone: `fit` takes each row's
    own mean away and scales it to unit norm; rows that are constant then have nothing left and are passed over.

    Parameters
    ----------
    n_components : int
        Number of atoms. There is a full set of them for d dimensions, which zero-mean patches of n features have n - 1
        of. With fewer atoms than that, all of them lie in as many leading principal directions of the training patches
        (as in FastICA) and are blind to the rest. Where one dimension is left, as of two features, there is nothing to
        learn: that direction is the one component, however many were asked for.
    penalty : {"log", "pnorm"} or Penalty
        How sparsity is measured; "pnorm" is the paper's.
    kappa, mu : float, optional
        Weights of the rank term and of the coherence barrier; by default those of the penalty.
    max_iter : int
        Limit on the iterations; learning usually is good enough before it has converged.
    random_state : int, RandomState or None
        Of the random start. With None every fit is another; NumPy's global state is left alone.
    patch_shape : (height, width), optional
        Of a patch, for `operator_`. By default a square if there is one, else a single row of pixels.
    zero_mean : bool
        Whether atoms are blind to a patch's mean. If False, training patches are scaled and not centred, and atoms live
        in all n dimensions, as the paper writes it.

    Attributes
    ----------
    components_ : (n_components, n_features) array
        The atoms, of unit norm, in the type of X (float64 or float32).
    n_iter_ : int
        Iterations done, by `fit` or by all calls of `partial_fit` together.
    objectives_ : array
        f at the start and after every iteration; calls of `partial_fit` follow each other.
    n_features_in_ : int
    feature_names_in_ : array of str
        If X had names.
    operator_ : AnalysisOperator
        The same atoms, to repair pictures with or to save.

    References
    ----------
    S. Hawe, M. Kleinsteuber, K. Diepold: Analysis Operator Learning and Its Application to Image Reconstruction. IEEE
    Transactions on Image Processing 22(6), 2013, sections II and III.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.random.default_rng(0).random((64, 64)).cumsum(axis=0).cumsum(axis=1)
    >>> windows = np.lib.stride_tricks.sliding_window_view(image, (4, 4))[::2, ::2]
    >>> patches = windows.reshape(-1, 16)
    >>> learning = AnalysisOperatorLearning(n_components=24, max_iter=20, random_state=0).fit(patches)
    >>> learning.transform(patches).shape
    (961, 24)
    >>> learning.operator_.patch_shape
    (4, 4)
    """

    components_: NDArray[Any]
    objectives_: NDArray[np.float64]
    n_iter_: int

    def __init__(
        self,
        n_components: int = 128,
        penalty: str | Penalty = "log",
        kappa: float | None = None,
        mu: float | None = None,
        max_iter: int = 400,
        random_state: int | np.random.RandomState | None = None,
        patch_shape: tuple[int, int] | None = None,
        zero_mean: bool = True,
    ) -> None:
        self.n_components = n_components
        self.penalty = penalty
        self.kappa = kappa
        self.mu = mu
        self.max_iter = max_iter
        self.random_state = random_state
        self.patch_shape = patch_shape
        self.zero_mean = zero_mean

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn from the rows of X, which are patches; y is not looked at."""
        patches, dtype = self._prepared(X, reset=True)
        self._basis = self._space(patches)
        self._learn(patches, dtype, None)
        return self

    def partial_fit(self, X: ArrayLike, y: object = None) -> Self:
        """Go on from the components there are, with other patches; without any, as :meth:`fit`.

        Takes up to `max_iter` iterations on these patches alone, and so in time forgets those before: every batch
        should be a fair sample, and few iterations do.
        """
        if not hasattr(self, "components_"):
            return self.fit(X)
        patches, dtype = self._prepared(X, reset=False)
        self._learn(patches, dtype, np.asarray(self.components_, float) @ self._basis.T)
        return self

    def transform(self, X: ArrayLike) -> NDArray[Any]:
        """The analysed coefficients of patches as they are, neither centred nor scaled: the answers of every atom."""
        check_is_fitted(self)
        patches = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        return np.asarray(patches @ self.components_.T.astype(patches.dtype, copy=False))

    def inverse_transform(self, X: ArrayLike) -> NDArray[Any]:
        """The patches whose coefficients are nearest to X, of these the smallest: least squares, by the pseudo-inverse.

        What the atoms are blind to does not come back: with `zero_mean` that is each patch's mean.
        """
        check_is_fitted(self)
        coefficients = check_array(X, dtype=[np.float64, np.float32])
        if coefficients.shape[1] != len(self.components_):
            raise ValueError(
                f"X: has {coefficients.shape[1]} coefficients a row, {len(self.components_)} were expected, those of "
                "transform"
            )
        inverse = np.linalg.pinv(np.asarray(self.components_, float), rcond=BLIND)
        return np.asarray(coefficients @ inverse.T.astype(coefficients.dtype))

    def score(self, X: ArrayLike, y: object = None) -> float:
        """How sparse the answers to patches are: higher is better, 0 if all were zero.

        The negative mean of log(1 + 3000 v²) over all coefficients v of the patches, prepared as by :meth:`fit`;
        whatever `penalty` was learned with, so that settings can be compared. A lower `kappa` always scores higher and
        ends with atoms of poor rank: choose that by what the coefficients are used for.
        """
        check_is_fitted(self)
        patches, _ = self._prepared(X, reset=False)
        value, _ = PatchSparsity(patches)(np.asarray(self.components_, float), Penalty.log())
        return -value / len(self.components_)

    @property
    def operator_(self) -> AnalysisOperator:
        """The components as an operator for pictures."""
        check_is_fitted(self)
        made = {"made": "AnalysisOperatorLearning", "iterations": str(self.n_iter_)}
        return AnalysisOperator(self.components_, self._shape(), Penalty.named(self.penalty), provenance=made)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _shape(self) -> tuple[int, int]:
        """Of a patch: as said, a square, or one row."""
        features = self.n_features_in_
        side = int(np.sqrt(features))
        height, width = self.patch_shape or ((side, side) if side * side == features else (1, features))
        if height * width != features:
            raise ValueError(f"patch_shape: {height} x {width} pixels are not the {features} features of X")
        return int(height), int(width)

    def _prepared(self, X: ArrayLike, reset: bool) -> tuple[NDArray[np.float32], np.dtype[Any]]:
        """The rows as they are learned from, and the type of X."""
        least = 2 if reset else 1
        rows = validate_data(self, X, reset=reset, dtype=[np.float64, np.float32], ensure_min_samples=least)
        if rows.shape[1] < 2:
            raise ValueError("X: n_features = 1, but a patch is of two pixels or more")
        largest = np.abs(rows).max(axis=1, keepdims=True).astype(float)
        patches = rows / np.where(largest > 0, largest, 1)  # so that no square overflows
        if self.zero_mean:
            patches -= patches.mean(axis=1, keepdims=True)
        left = np.linalg.norm(patches, axis=1)
        varying = left > FLAT
        if not varying.any():
            raise ValueError("X: all rows are constant, and there is nothing to learn from; pass patches that vary")
        return np.ascontiguousarray(patches[varying] / left[varying, None], np.float32), rows.dtype

    def _space(self, patches: NDArray[np.float32]) -> Matrix:
        """Orthonormal rows that span where the atoms live."""
        _counted("n_components", self.n_components)
        height, width = self._shape()
        basis = _cosines(height, width) if self.zero_mean else np.eye(height * width)
        if self.n_components >= len(basis):
            return basis
        scatter = basis @ (patches.T.astype(float) @ patches) @ basis.T
        leading = np.linalg.eigh(scatter)[1][:, ::-1].T[: self.n_components]
        signs = np.sign(leading[np.arange(len(leading)), np.abs(leading).argmax(axis=1)])
        return np.asarray(signs[:, None] * leading @ basis)

    def _learn(self, patches: NDArray[np.float32], dtype: np.dtype[Any], start: Matrix | None) -> None:
        """Minimise from the start, a random one if there is none."""
        _counted("max_iter", self.max_iter)
        penalty, sparsity = Penalty.named(self.penalty), PatchSparsity(patches)
        kappa, mu = self._weights(penalty)
        earlier, done = (np.empty(0), 0) if start is None else (self.objectives_, self.n_iter_)
        if len(self._basis) == 1:  # the one direction there is
            point, values, iterations = np.ones((1, 1)), [sparsity(self._basis, penalty)[0]], 0
        else:
            objective, geometry = Objective(sparsity, penalty, kappa, mu, self._basis), Oblique()
            if start is None:
                start = geometry.random_point(self.n_components, len(self._basis), self._generator())
            start = start / np.linalg.norm(start, axis=1, keepdims=True)
            with one_blas_thread():
                result = conjugate_gradient(objective, geometry, start, Settings(iterations=int(self.max_iter)))
            point, values, iterations = result.point, list(result.values), result.iterations
        self.components_ = np.asarray(point @ self._basis, dtype)
        self.objectives_ = np.append(earlier, values)
        self.n_iter_ = done + iterations

    def _weights(self, penalty: Penalty) -> tuple[float, float]:
        """Those of the rank term and of the barrier."""
        usual = WEIGHTS.get((penalty.form, penalty.square), (None, None))
        kappa, mu = (
            given if given is not None else own for given, own in zip((self.kappa, self.mu), usual, strict=True)
        )
        if kappa is None or mu is None:
            raise ValueError("kappa, mu: there are no default weights for this penalty; give both")
        if not (kappa > 0 and mu >= 0 and np.isfinite(kappa + mu)):
            raise ValueError(f"kappa, mu: must be positive and not negative, got {kappa!r} and {mu!r}")
        return float(kappa), float(mu)

    def _generator(self) -> np.random.Generator:
        if self.random_state is None:
            return np.random.default_rng()
        if isinstance(self.random_state, int | np.integer):
            return np.random.default_rng(int(self.random_state))
        return np.random.default_rng(check_random_state(self.random_state).randint(2**31))


def _counted(name: str, given: object) -> None:
    if not isinstance(given, int | np.integer) or given < 1:
        raise ValueError(f"{name}: expected a whole number of at least 1, got {given!r}")


def _cosines(height: int, width: int) -> Matrix:
    """The orthonormal cosines of a patch but the constant one; of a square those of :func:`cosine_atoms`."""
    if height == width:
        return cosine_atoms(height, height)
    sides = (dct(np.eye(side), norm="ortho", axis=0) for side in (height, width))
    return np.asarray(np.kron(*sides)[1:])
