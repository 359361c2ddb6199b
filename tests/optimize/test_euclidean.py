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
