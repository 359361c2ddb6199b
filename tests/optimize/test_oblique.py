"""The oblique manifold against pymanopt's, and what parallel transport must keep."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosparse.optimize import Oblique

pymanopt = pytest.importorskip("pymanopt", reason="the oracle of these tests")
OBLIQUE = Oblique()

sizes = st.tuples(st.integers(1, 9), st.integers(2, 9))
seeds = st.integers(0, 2**31)
lengths = st.floats(-4, 4)


def point_and_tangents(size, seed, count=1):
    rng = np.random.default_rng(seed)
    point = OBLIQUE.random_point(*size, rng)
    tangents = [OBLIQUE.project(point, rng.standard_normal(size)) for _ in range(count)]
    return point, *tangents


def oracle(size):
    """pymanopt's manifold; it has unit columns, so everything is handed over transposed."""
    return pymanopt.manifolds.Oblique(size[1], size[0])


@given(sizes, seeds)
def test_projection_is_pymanopts(size, seed):
    rng = np.random.default_rng(seed)
    point, vector = OBLIQUE.random_point(*size, rng), rng.standard_normal(size)
    projected = OBLIQUE.project(point, vector)
    np.testing.assert_allclose(projected, oracle(size).projection(point.T, vector.T).T, rtol=0, atol=1e-14)
    np.testing.assert_allclose((projected * point).sum(axis=1), 0, atol=1e-13)
    np.testing.assert_allclose(OBLIQUE.project(point, projected), projected, atol=1e-13)


@given(sizes, seeds, lengths)
def test_the_geodesic_is_pymanopts_exponential(size, seed, t):
    point, direction = point_and_tangents(size, seed)
    expected = oracle(size).exp(point.T, t * direction.T).T
    np.testing.assert_allclose(OBLIQUE.step(point, direction, t), expected, rtol=0, atol=1e-12)


@given(sizes, seeds, lengths)
def test_transport_is_an_isometry_between_tangent_spaces(size, seed, t):
    point, direction, a, b = point_and_tangents(size, seed, 3)
    moved = OBLIQUE.step(point, direction, t)
    a_there, b_there = (OBLIQUE.transport(vector, point, direction, t) for vector in (a, b))
    np.testing.assert_allclose((a_there * moved).sum(axis=1), 0, atol=1e-12)
    # Row by row, since every row moves on a sphere of its own.
    np.testing.assert_allclose((a_there * b_there).sum(axis=1), (a * b).sum(axis=1), rtol=0, atol=1e-11)
    assert OBLIQUE.inner(a_there, b_there) == pytest.approx(OBLIQUE.inner(a, b), abs=1e-10)


@given(sizes, seeds, lengths)
def test_transport_carries_the_direction_to_the_velocity_and_back(size, seed, t):
    point, direction, vector = point_and_tangents(size, seed, 2)
    carried = OBLIQUE.transport(direction, point, direction, t)
    eps = 1e-6
    velocity = (OBLIQUE.step(point, direction, t + eps) - OBLIQUE.step(point, direction, t - eps)) / (2 * eps)
    np.testing.assert_allclose(carried, velocity, atol=1e-7)
    there = OBLIQUE.transport(vector, point, direction, t)
    back = OBLIQUE.transport(there, OBLIQUE.step(point, direction, t), carried, -t)
    np.testing.assert_allclose(back, vector, rtol=0, atol=1e-11)


def test_transport_solves_its_differential_equation():
    """Project from point to point along ever shorter pieces: the limit is parallel transport.

    pymanopt's transport is one such projection, over the whole length at once.
    """
    point, direction, vector = point_and_tangents((4, 5), 1, 2)

    def by_pieces(pieces):
        carried = vector
        for number in range(1, pieces + 1):
            carried = OBLIQUE.project(OBLIQUE.step(point, direction, number / pieces), carried)
        return carried

    exact = OBLIQUE.transport(vector, point, direction, 1.0)
    pieces = np.array([50, 100, 200, 400])
    errors = [np.linalg.norm(by_pieces(count) - exact) for count in pieces]
    assert np.polyfit(np.log(pieces), np.log(errors), 1)[0] == pytest.approx(-1, abs=0.05)
    assert np.linalg.norm(by_pieces(1) - exact) > 0.1


def test_a_row_that_does_not_move_stays():
    point, direction, vector = point_and_tangents((5, 4), 2, 2)
    direction[2] = 0
    moved = OBLIQUE.step(point, direction, 0.7)
    there = OBLIQUE.transport(vector, point, direction, 0.7)
    np.testing.assert_allclose(moved[2], point[2], atol=1e-15)
    np.testing.assert_array_equal(there[2], vector[2])
    assert np.isfinite(moved).all() and np.isfinite(there).all()


def test_rows_keep_unit_norm_over_many_steps():
    rng = np.random.default_rng(3)
    point = OBLIQUE.random_point(16, 9, rng)
    direction = OBLIQUE.project(point, rng.standard_normal(point.shape))
    for _ in range(3000):
        t = rng.normal()
        point, direction = (OBLIQUE.step(point, direction, t), OBLIQUE.transport(direction, point, direction, t))
    np.testing.assert_allclose(np.linalg.norm(point, axis=1), 1, rtol=0, atol=1e-12)
    np.testing.assert_allclose((point * direction).sum(axis=1), 0, atol=1e-9)
    # Whatever rounding has left is taken away by the next step, not carried along.
    direction = OBLIQUE.project(point, direction)
    moved = OBLIQUE.step(point * (1 + 1e-7), direction, 0.1)
    np.testing.assert_allclose(np.linalg.norm(moved, axis=1), 1, rtol=0, atol=1e-14)


def test_random_points_come_from_the_generator_given():
    first = OBLIQUE.random_point(6, 5, np.random.default_rng(0))
    np.testing.assert_array_equal(first, OBLIQUE.random_point(6, 5, np.random.default_rng(0)))
    np.testing.assert_allclose(np.linalg.norm(first, axis=1), 1, rtol=0, atol=1e-15)
