"""Plain space: what may not move does not, and single precision stays single."""

from __future__ import annotations

import numpy as np

from cosparse.optimize import Euclidean, Settings, conjugate_gradient


def test_lines_are_straight_and_vectors_the_same_everywhere():
    point, direction = np.array([1.0, 2.0], np.float32), np.array([2.0, -2.0], np.float32)
    moved = Euclidean().step(point, direction, 0.25)
    assert moved.tolist() == [1.5, 1.5] and moved.dtype == np.float32
    assert Euclidean().transport(direction, point, direction, 0.25) is direction
    assert Euclidean().project(point, direction) is direction
    assert Euclidean().inner(point, direction) == -2.0


def test_what_is_held_does_not_move():
    free = np.array([True, False, True])
    result = conjugate_gradient(lambda x: (float(x @ x), 2 * x), Euclidean(free), np.ones(3), Settings(iterations=20))
    np.testing.assert_allclose(result.point, [0, 1, 0], atol=1e-6)
    assert result.point[1] == 1


def test_units_are_divided_out_of_inner_products_and_stay_with_their_entries():
    """<project(g), v> in these units is the plain product of g and v: a slope."""
    space, rng = Euclidean(variance=np.array([4.0, 0.5, 2.0])), np.random.default_rng(0)
    point, gradient, vector = rng.standard_normal((3, 3))
    np.testing.assert_allclose(space.inner(space.project(point, gradient), vector), gradient @ vector)
    part = space.within(slice(1, None))
    np.testing.assert_allclose(part.inner(gradient[1:], vector[1:]), gradient[1:] @ (vector[1:] / [0.5, 2.0]))
