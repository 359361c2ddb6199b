"""J, h and r: values, gradients, lemmas, and what happens outside their domain."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosparse import Penalty
from cosparse.kernels import reference
from cosparse.learning.objective import Objective, PatchSparsity, coherence_barrier, rank_penalty
from cosparse.operator import cosine_atoms
from cosparse.optimize import Oblique, Settings, conjugate_gradient

OBLIQUE = Oblique()
PENALTIES = [Penalty.log(5e3), Penalty.log(5e3, square=True), Penalty.pnorm(), Penalty.pnorm(square=False)]


class ExactSparsity:
    """J by the reference, in float64: Taylor tests need more digits than float32 has."""

    def __init__(self, patches):
        self.patches = patches.astype(float)
        self.count, self.columns = patches.shape

    def __call__(self, atoms, penalty):
        weights = np.ones(len(atoms))
        arguments = penalty.code, penalty.nu, penalty.p, penalty.square
        return reference.patch_sparsity(atoms, weights, self.patches, *arguments)

    def digest(self):
        return ""


@st.composite
def oblique_points(draw):
    columns = draw(st.integers(2, 8))
    rows = draw(st.integers(columns, 2 * columns + 2))
    return OBLIQUE.random_point(rows, columns, np.random.default_rng(draw(st.integers(0, 2**31))))


def geodesic(rows, columns, seed=0):
    rng = np.random.default_rng(seed)
    point = OBLIQUE.random_point(rows, columns, rng)
    direction = OBLIQUE.project(point, rng.standard_normal(point.shape))
    return point, direction / np.linalg.norm(direction)


def slope_on_the_manifold(function, point, direction, steps, taylor_slope):
    """Taylor slope along the geodesic, with the projected gradient, as the optimiser uses it."""
    gradient = OBLIQUE.project(point, function(point)[1])
    return taylor_slope(
        lambda t: function(OBLIQUE.step(point, direction, t))[0], OBLIQUE.inner(gradient, direction), steps
    )


@pytest.mark.parametrize("function", [rank_penalty, coherence_barrier])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_h_and_r_have_taylor_slope_two(function, seed, taylor_slope):
    point, direction = geodesic(20, 9, seed)
    steps = 1e-3 * 0.5 ** np.arange(6)
    assert 1.95 < slope_on_the_manifold(function, point, direction, steps, taylor_slope) < 2.05


@pytest.mark.parametrize("zero_mean", [True, False])
@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
def test_the_objective_has_taylor_slope_two(small_patches, penalty, zero_mean, taylor_slope):
    basis = cosine_atoms(4, 4) if zero_mean else None
    objective = Objective(ExactSparsity(small_patches[:200]), penalty, 7.0, 0.3, basis)
    point, direction = geodesic(24, 15 if zero_mean else 16)
    steps = 4e-4 * 0.5 ** np.arange(5)
    assert 1.9 < slope_on_the_manifold(objective, point, direction, steps, taylor_slope) < 2.1


@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
def test_j_as_it_is_computed_has_taylor_slope_two(small_patches, penalty, taylor_slope):
    """float32 leaves room for a few halvings; a wrong gradient would still show as slope one."""
    sparsity = PatchSparsity(small_patches)
    point, direction = geodesic(24, 16)
    steps = 0.04 * 0.5 ** np.arange(4)
    slope = slope_on_the_manifold(lambda x: sparsity(x, penalty), point, direction, steps, taylor_slope)
    assert 1.7 < slope < 2.3


@pytest.mark.parametrize("zero_mean", [True, False])
@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
def test_the_fast_objective_agrees_with_the_exact_one(small_patches, penalty, zero_mean):
    basis = cosine_atoms(4, 4) if zero_mean else None
    point = geodesic(24, 15 if zero_mean else 16)[0]
    value, gradient = Objective(PatchSparsity(small_patches), penalty, 7.0, 0.3, basis)(point)
    exact, exact_gradient = Objective(ExactSparsity(small_patches), penalty, 7.0, 0.3, basis)(point)
    assert value == pytest.approx(exact, rel=1e-5)
    assert np.linalg.norm(gradient - exact_gradient) <= 1e-5 * np.linalg.norm(exact_gradient)


@given(oblique_points())
def test_lemma_1(x):
    """0 < det(XᵀX/k) <= (1/n)^n, which is h >= 1."""
    k, n = x.shape
    determinant = np.linalg.det(x.T @ x / k)
    assert 0 < determinant <= (1 / n) ** n * (1 + 1e-12)
    value = rank_penalty(x)[0]
    assert value == pytest.approx(-math.log(determinant) / (n * math.log(n)), rel=1e-8)
    assert value >= 1 - 1e-12


@given(oblique_points(), st.sampled_from([-1, 1]))
def test_lemma_2(x, sign):
    """|<x_i, x_j>| <= 1, with equality just for x_i = ±x_j: there and only there r is infinite."""
    cosines = np.abs(x @ x.T)
    assert cosines.max() <= 1 + 1e-12
    off = cosines[~np.eye(len(x), dtype=bool)]
    if off.max() < 1 - 1e-9:
        value = coherence_barrier(x)[0]
        expected = -np.log(1 - np.triu(x @ x.T, 1)[np.triu_indices(len(x), 1)] ** 2).sum()
        assert value == pytest.approx(expected, rel=1e-8)
        assert value >= 0
    x = x.copy()
    x[0] = sign * x[1]
    assert coherence_barrier(x)[0] == math.inf


def deficient(kind):
    rng = np.random.default_rng(0)
    x = OBLIQUE.random_point(12, 5, rng)
    if kind == "a missing dimension":
        x[:, 0] = 0
    elif kind == "a rotated missing dimension":
        x[:, 0] = 0
        x = x @ np.linalg.qr(rng.standard_normal((5, 5)))[0]
    elif kind == "all rows equal":
        x[:] = x[0]
    elif kind == "zero":
        x[:] = 0
    elif kind == "nan":
        x[3, 2] = np.nan
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300)


@pytest.mark.parametrize(
    "kind", ["a missing dimension", "a rotated missing dimension", "all rows equal", "zero", "nan"]
)
def test_without_full_rank_h_is_infinite_and_never_nan(kind):
    value, gradient = rank_penalty(deficient(kind))
    assert value == math.inf
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("sign", [-1, 1])
def test_parallel_rows_are_infinite_and_never_nan(sign):
    x = deficient("none")
    x[4] = sign * x[7]
    value, gradient = coherence_barrier(x)
    assert value == math.inf
    assert np.isfinite(gradient).all()


def test_outside_the_domain_the_data_is_not_looked_at():
    def data_term(atoms, penalty):
        raise AssertionError("looked at")

    x = deficient("a missing dimension")
    value, gradient = Objective(data_term, Penalty.log(), 1.0, 0.0, None)(x)
    assert value == math.inf and not gradient.any()
    x = deficient("none")
    x[0] = x[1]
    assert Objective(data_term, Penalty.log(), 1.0, 1.0, None)(x)[0] == math.inf


def test_without_its_weight_the_barrier_does_not_count(small_patches):
    x = OBLIQUE.random_point(20, 16, np.random.default_rng(0))
    x[0] = x[1]
    value, gradient = Objective(PatchSparsity(small_patches), Penalty.log(), 1.0, 0.0, None)(x)
    assert math.isfinite(value) and np.isfinite(gradient).all()


@pytest.mark.parametrize(("rows", "columns"), [(12, 6), (9, 8), (7, 7)])
def test_lemma_3_the_minimum_of_h_is_a_tight_frame(rows, columns):
    start = OBLIQUE.random_point(rows, columns, np.random.default_rng(0))
    settings = Settings(iterations=2000, step_tolerance=0, gradient_tolerance=1e-8)
    result = conjugate_gradient(rank_penalty, OBLIQUE, start, settings)
    assert np.linalg.cond(start) > 2
    assert np.linalg.cond(result.point) == pytest.approx(1, abs=1e-5)
    assert result.value == pytest.approx(1, abs=1e-10)
    np.testing.assert_allclose(result.point.T @ result.point, rows / columns * np.eye(columns), atol=1e-5)


def test_the_minimum_of_r_with_as_many_rows_as_columns_is_orthogonal():
    start = OBLIQUE.random_point(6, 6, np.random.default_rng(0))
    settings = Settings(iterations=2000, step_tolerance=0, gradient_tolerance=1e-8)
    point = conjugate_gradient(coherence_barrier, OBLIQUE, start, settings).point
    np.testing.assert_allclose(point @ point.T, np.eye(6), atol=1e-6)


def test_the_line_search_never_leaves_the_domain():
    """First steps from tiny to a thousand turns, near the barrier: finite, and falling."""
    x = OBLIQUE.random_point(8, 5, np.random.default_rng(0))
    x[1] = x[0] + 1e-4 * x[1]
    x[1] /= np.linalg.norm(x[1])

    def both(x):
        (h, dh), (r, dr) = rank_penalty(x), coherence_barrier(x)
        return h + r, dh + dr

    for first_step in (None, 1e-6, 1e-2, 1.0):  # times a gradient of 1e4
        settings = Settings(iterations=30, first_step=first_step)
        result = conjugate_gradient(both, OBLIQUE, x, settings)
        assert np.isfinite(result.values).all()
        assert result.value < result.values[0]


def test_coordinates_are_the_inverse_of_atoms():
    basis = cosine_atoms(4, 4)
    np.testing.assert_allclose(basis @ basis.T, np.eye(15), atol=1e-12)
    np.testing.assert_allclose(basis.sum(axis=1), 0, atol=1e-12)
    objective = Objective(None, Penalty.log(), 1.0, 1.0, basis)
    x = np.random.default_rng(0).standard_normal((20, 15))
    np.testing.assert_allclose(objective.coordinates(objective.atoms(x)), x, atol=1e-12)


def test_a_fingerprint_is_of_the_patches():
    patches = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert PatchSparsity(patches).digest() == PatchSparsity(patches.copy()).digest()
    assert PatchSparsity(patches).digest() != PatchSparsity(patches + 1).digest()
