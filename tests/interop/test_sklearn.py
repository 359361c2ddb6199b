"""The estimator among scikit-learn's own tools."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import cosparse

pytest.importorskip("sklearn", reason="needs scikit-learn: the extra sklearn")

from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from cosparse.interop.sklearn import AnalysisOperatorLearning


def learning(**options):
    return AnalysisOperatorLearning(**{"n_components": 24, "max_iter": 20, "random_state": 0, **options})


@pytest.mark.slow
def test_scikit_learn_finds_nothing_wrong():
    """No check fails or is expected to; one of arrays of other libraries is only run where SciPy is told to."""
    found = check_estimator(AnalysisOperatorLearning(), on_skip=None)
    assert len(found) > 40
    others = {one["check_name"] for one in found if one["status"] != "passed"}
    assert others <= {"check_array_api_input"}


def test_it_learns_what_learn_operator_does(small_patches):
    """Given grey levels, too: patches are centred and scaled, and constant ones passed over."""
    expected = cosparse.learn_operator(small_patches, 24, settings=cosparse.Settings(iterations=20), rng=0)
    flat = np.full((3, 16), 7.0)
    for given in (small_patches, np.concatenate([100 + 40 * small_patches, flat])):
        found = learning().fit(given)
        np.testing.assert_allclose(found.components_, expected.operator.matrix, atol=2e-3)
        np.testing.assert_allclose(found.objectives_, expected.objectives, rtol=1e-4)
        assert found.n_iter_ == 20 and found.n_features_in_ == 16
    assert found.operator_.patch_shape == (4, 4) and found.operator_.zero_mean
    assert found.components_.dtype == np.float64 and learning().fit(small_patches).components_.dtype == np.float32


def test_coefficients_and_back(small_patches):
    patches = 100 + 40 * small_patches.astype(float)
    found = learning().fit(patches)
    coefficients = found.transform(patches)
    np.testing.assert_allclose(coefficients, patches @ found.components_.T)
    centred = patches - patches.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(found.inverse_transform(coefficients), centred, atol=1e-8)
    whole = learning(zero_mean=False).fit(patches)
    np.testing.assert_allclose(whole.inverse_transform(whole.transform(patches)), patches, atol=1e-8)
    with pytest.raises(ValueError, match="X: has 16 coefficients a row, 24 were expected"):
        found.inverse_transform(patches)


def test_the_score_rises_with_learning_and_does_not_see_scale(small_patches, other_photograph):
    others = cosparse.sample_patches([other_photograph], size=4, count=500)
    scores = [learning(max_iter=count).fit(small_patches).score(others) for count in (1, 10, 100)]
    assert scores == sorted(scores) and scores[-1] < 0
    found = learning().fit(small_patches)
    assert found.score(5 + 3 * others) == pytest.approx(found.score(others), rel=1e-5)
    p_norm = learning(penalty="pnorm").fit(small_patches)  # is scored alike
    assert 0.5 < p_norm.score(others) / found.score(others) < 2


def test_partial_fit_goes_on(small_patches):
    whole, parts = learning(max_iter=40).fit(small_patches), learning()
    for _ in range(2):
        parts.partial_fit(small_patches)
    assert parts.n_iter_ == 40 and len(parts.objectives_) == 42
    assert parts.objectives_[21] == pytest.approx(parts.objectives_[20], rel=1e-6)  # from where it stood
    assert parts.objectives_[-1] == pytest.approx(whole.objectives_[-1], rel=0.02)
    parts.fit(small_patches)  # begins anew
    assert parts.n_iter_ == 20


def test_rows_of_pixels_that_are_no_squares(small_patches):
    signals = small_patches[:, :6]
    found = learning(n_components=8).fit(signals)
    assert found.components_.shape == (8, 6) and found.operator_.patch_shape == (1, 6)
    np.testing.assert_allclose(found.components_.sum(axis=1), 0, atol=1e-6)
    assert learning(n_components=8, patch_shape=(2, 3)).fit(signals).operator_.patch_shape == (2, 3)
    with pytest.raises(ValueError, match="patch_shape: 3 x 3 pixels are not the 6 features"):
        learning(patch_shape=(3, 3)).fit(signals)
    picture = np.random.default_rng(0).random((20, 20))
    assert cosparse.denoise(picture, 0.1, operator=found.operator_).shape == (20, 20)


def test_fewer_atoms_than_dimensions_lie_in_the_principal_directions(small_patches):
    found = learning(n_components=5).fit(small_patches)
    centred = small_patches - small_patches.mean(axis=1, keepdims=True)
    principal = np.linalg.svd(centred, full_matrices=False)[2][:5]
    np.testing.assert_allclose(found.components_ @ principal.T @ principal, found.components_, atol=1e-4)
    assert np.linalg.matrix_rank(found.components_) == 5


def test_of_two_pixels_one_direction_is_left(small_patches):
    found = learning().fit(small_patches[:, :2])
    np.testing.assert_allclose(np.abs(found.components_), [[0.5**0.5, 0.5**0.5]], rtol=1e-6)
    assert found.get_feature_names_out().tolist() == ["analysisoperatorlearning0"]


@pytest.mark.parametrize(
    ("options", "patches", "words"),
    [
        ({"n_components": 0}, None, "n_components: expected a whole number"),
        ({"max_iter": 0}, None, "max_iter: expected a whole number"),
        ({"penalty": "l1"}, None, "penalty: expected 'log', 'pnorm'"),
        ({"kappa": -1.0}, None, "kappa, mu: must be positive"),
        ({"penalty": cosparse.Penalty.log(square=True)}, None, "kappa, mu: there are no default weights"),
        ({}, np.full((9, 4), 3.0), "X: all rows are constant"),
        ({}, np.arange(9.0)[:, None], "X: n_features = 1, but a patch is of two pixels or more"),
    ],
)
def test_what_cannot_be_learned_is_said(options, patches, words, small_patches):
    with pytest.raises(ValueError, match=words):
        learning(**options).fit(small_patches if patches is None else patches)


def test_values_of_any_size(small_patches):
    """Nothing overflows on the way to unit norm."""
    expected = learning().fit(small_patches.astype(float)).components_
    for scale in (1e-200, 1e200):
        np.testing.assert_allclose(learning().fit(scale * small_patches.astype(float)).components_, expected, atol=1e-3)


def test_among_the_tools(small_patches, photograph, other_photograph):
    """A pipeline that tells two textures apart, searched over, cloned, pickled, with names."""
    pytest.importorskip("pandas", reason="set_output needs pandas")
    rng = np.random.default_rng(0)
    noise = rng.standard_normal(small_patches.shape) / 4
    patches, kinds = np.concatenate([small_patches, noise]), np.repeat([0, 1], len(noise))
    chosen = rng.permutation(len(patches))[:600]
    pipeline = make_pipeline(learning(), Magnitudes(), LogisticRegression())
    grid = {"analysisoperatorlearning__n_components": [4, 24], "analysisoperatorlearning__penalty": ["log"]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(patches[chosen], kinds[chosen])
    assert search.best_score_ > 0.8
    alone = GridSearchCV(learning(), {"max_iter": [2, 30]}, cv=2).fit(small_patches)  # by its own score
    assert alone.best_params_ == {"max_iter": 30}
    named = clone(alone.best_estimator_).set_output(transform="pandas").fit(small_patches)
    table = named.transform(small_patches)
    assert list(table.columns[:2]) == ["analysisoperatorlearning0", "analysisoperatorlearning1"]
    again = pickle.loads(pickle.dumps(named))
    np.testing.assert_array_equal(again.transform(small_patches), table)
    again.partial_fit(small_patches)


class Magnitudes:
    """A step of a pipeline: what counts is how large answers are."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.log(1e-3 + np.abs(X))


@pytest.mark.parametrize("given", [np.random.RandomState(3), None])
def test_random_states(given, small_patches):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    found = learning(random_state=given).fit(small_patches).components_
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    if given is not None:
        same = learning(random_state=np.random.RandomState(3)).fit(small_patches).components_
        np.testing.assert_array_equal(found, same)
