"""Whitened coordinates: the same minimum, sooner; gradients are adjoint to steps, and what is held stays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cosparse.kernels.reference import smooth
from cosparse.optimize import Euclidean, Settings, Whitened, conjugate_gradient

SHAPE = (13, 9)
TAPS = np.array([0.8, 0.3, 0.1], np.float32), np.array([0.9, 0.2], np.float32)
RNG = np.random.default_rng(0)
FREE, VARIANCE = RNG.random(SHAPE) < 0.6, RNG.uniform(0.5, 2, SHAPE).astype(np.float32)
TO_THE_END = Settings(iterations=300, step_tolerance=0, gradient_tolerance=1e-3, first_step=0.1)


@pytest.mark.parametrize("free", [None, FREE], ids=["all", "some"])
@pytest.mark.parametrize("variance", [None, VARIANCE], ids=["even", "uneven"])
def test_a_gradient_is_adjoint_to_a_step(free, variance):
    """<project(g), v> = <g, step(0, v, 1)>: what conjugate gradient takes for a slope is one."""
    space, rng = Whitened(*TAPS, free, variance), np.random.default_rng(1)
    gradient, vector, point = (rng.standard_normal(SHAPE).astype(np.float32) for _ in range(3))
    moved = space.step(point, vector, 2.0)
    assert space.inner(space.project(point, gradient), vector) == pytest.approx(
        float(np.vdot(gradient, moved - point)) / 2, rel=1e-5
    )
    if free is not None:
        assert (moved[~free] == point[~free]).all()


def bowl(image):
    """½‖s - y‖² + 20·(squared differences of neighbours): the stiffer, the higher the frequency."""
    one, across = np.ones(1, np.float32), np.array([1.0, -0.5], np.float32)
    y = 100 * np.random.default_rng(2).standard_normal(SHAPE).astype(np.float32)
    rough = smooth(image, across, one) + smooth(image, one, across)
    value = 0.5 * float(np.square(image - y, dtype=float).sum()) + 10 * float(np.vdot(image, rough))
    return value, (image - y + 20 * rough).astype(np.float32)


@pytest.mark.parametrize("free", [None, FREE], ids=["all", "some"])
def test_the_minimum_is_where_it_was(free):
    start = np.zeros(SHAPE, np.float32)
    plain, white = (
        conjugate_gradient(bowl, space, start, TO_THE_END) for space in (Euclidean(free), Whitened(*TAPS, free))
    )
    np.testing.assert_allclose(white.point, plain.point, atol=4e-3 * np.abs(plain.point).max())


def test_it_is_reached_sooner():
    start, settings = np.zeros(SHAPE, np.float32), replace(TO_THE_END, gradient_tolerance=0, iterations=8)
    inverse = np.array([0.5, 0.2, 0.1, 0.05], np.float32)
    least = conjugate_gradient(bowl, Euclidean(), start, TO_THE_END).value
    plain, white = (
        conjugate_gradient(bowl, space, start, settings).value - least
        for space in (Euclidean(), Whitened(inverse, inverse))
    )
    assert white < 0.3 * plain


def test_inner_products_of_some_entries_are_plain():
    space, vector = Whitened(*TAPS, FREE, VARIANCE), np.ones(SHAPE, np.float32)
    assert space.within(FREE).inner(vector[FREE], vector[FREE]) == FREE.sum()
