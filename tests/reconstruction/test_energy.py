"""Fidelity + bounds + prior, and that minimising it never makes it worse."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cosparse import Penalty, Stop, load_operator
from cosparse.optimize import Euclidean, Interpolation, LineSearch, Settings, conjugate_gradient
from cosparse.reconstruction import measurement
from cosparse.reconstruction.energy import Energy
from cosparse.reconstruction.engine import minimise
from cosparse.reconstruction.prior import Prior
from cosparse.reconstruction.start import interpolate
from cosparse.reconstruction.watch import Progress, Watch
from cosparse.testing import gradient_test

SHAPE = (24, 20)


def stage_settings(iterations, step):
    return Settings(iterations=iterations, step_tolerance=0.0, first_step=step)


@pytest.fixture(scope="module")
def image(photograph):
    return photograph[:24, :20].astype(np.float32)


@pytest.fixture(scope="module")
def prior():
    return Prior(load_operator(), Penalty.log(0.1), 2)


def quadratic(image, region=None):
    """A prior of no consequence in full precision, so that the Taylor test sees the other terms."""
    return 0.0, np.zeros_like(image)


MEASURES = [None, *(make(SHAPE) for make in measurement.EXAMPLES.values())]


@pytest.mark.parametrize("measure", MEASURES, ids=["none", *measurement.EXAMPLES])
def test_fidelity_and_bounds_have_their_gradient(measure, image):
    """A third of the pixels lies outside 0..255; data real or complex."""
    point = 2 * image.astype(float) - 100
    data = (point if measure is None else measure.matvec(point.ravel())) + 3.0
    gradient_test(Energy(quadratic, 1.0, data, measure), point, step=10.0)


@pytest.mark.parametrize("measure", MEASURES, ids=["none", *measurement.EXAMPLES])
def test_the_whole_gradient_predicts_the_energy(measure, image, prior):
    """A central difference in single precision, along the gradient, where the change is largest."""
    data = image if measure is None else measure.matvec(image.ravel())
    energy = Energy(prior, 0.5, data, measure)
    point = (1.4 * image - 60 + np.random.default_rng(0).normal(0, 5, SHAPE)).astype(np.float32)
    gradient = energy(point)[1]
    t = 0.5 / np.abs(gradient).max()
    change = energy(point + t * gradient)[0] - energy(point - t * gradient)[0]
    assert change / (2 * t) == pytest.approx(float(np.vdot(gradient, gradient)), rel=2e-2)


def test_pixels_count_as_much_as_they_are_trusted(image):
    """Data of a missing pixel not at all; and a region's part of the value is its own."""
    trust = np.random.default_rng(0).random(SHAPE).astype(np.float32)
    trust[3:6, 4] = 0
    energy = Energy(quadratic, 1.0, image + 3.0, bounds=None, trust=trust)
    point = image.astype(float)
    gradient_test(energy, point, step=10.0)
    value, gradient = energy(image)
    assert value == pytest.approx(4.5 * trust.sum())
    np.testing.assert_allclose(gradient, -3 * trust, rtol=1e-6)
    halves = [(slice(None), slice(0, 7)), (slice(None), slice(7, None))]
    assert sum(energy(image, half)[0] for half in halves) == pytest.approx(value)


def test_bounds_cost_their_squared_excess(image):
    inside = Energy(quadratic, 1.0)
    assert inside(image)[0] == 0
    outside = image.copy()
    outside[0, 0], outside[1, 1] = -3, 259
    value, gradient = inside(outside)
    assert value == pytest.approx(9 + 16)
    assert (gradient[0, 0], gradient[1, 1], np.abs(gradient).sum()) == (-6, 8, 14)
    assert replace(inside, bounds=None)(outside)[0] == 0


@pytest.mark.parametrize("step", [1e-4, 0.3, 1e4])
def test_no_iteration_raises_the_energy(step, image, prior):
    """Whatever the first trial step, however sharp the penalty."""
    noisy = image + np.random.default_rng(0).normal(0, 25, SHAPE).astype(np.float32)
    energies = [
        Energy(replace(prior, penalty=penalty), 3.0, noisy)
        for penalty in (Penalty.log(0.1), Penalty.log(1e4), Penalty.pnorm())
    ]
    start = noisy
    for energy, result in zip(energies, minimise(energies, [stage_settings(15, step)] * 3, noisy), strict=True):
        assert result.values[0] == pytest.approx(energy(start)[0], rel=1e-6)
        assert (np.diff(result.values) <= 0).all()
        assert result.value == result.values[-1] <= result.values[0]
        assert result.value == pytest.approx(energy(result.point)[0], rel=1e-6)
        start = result.point


def test_fixed_pixels_keep_every_bit(image, prior):
    free = np.random.default_rng(0).random(SHAPE) < 0.5
    start = np.where(free, np.float32(100.1), image + np.float32(0.3))
    before = start.copy()
    point = minimise([Energy(prior, 1.0)], [stage_settings(10, 0.1)], start, free=free)[-1].point
    assert (point[~free] == start[~free]).all() and (point[free] != start[free]).mean() > 0.9
    assert (start == before).all()


def test_the_callback_counts_over_stages_and_can_stop(image, prior):
    energies = [Energy(prior, weight, image + 30) for weight in (1.0, 0.1)]
    stages = [stage_settings(count, 0.1) for count in (4, 5)]
    seen: list[Progress] = []
    minimise(energies, stages, image, watch=Watch(seen.append))
    assert [progress.iteration for progress in seen] == list(range(1, 10))
    assert [progress.stage for progress in seen] == [0] * 4 + [1] * 5
    assert [progress.weight for progress in seen] == [1.0] * 4 + [0.1] * 5
    assert {progress.iterations for progress in seen} == {9}
    assert all(progress.image.shape == SHAPE and np.isfinite(progress.energy) for progress in seen)

    watch = Watch(lambda progress: progress.iteration == 2)
    results = minimise(energies, stages, image, watch=watch)
    assert len(results) == 1 and results[0].iterations == 2 and results[0].stop is Stop.CALLBACK and watch.stopped


def test_repairs_that_differ_by_rounding_stay_together(photograph):
    """First steps a millionth apart, far from solved when the iterations end; the paper's own search goes two ways."""
    truth, operator = photograph[:96, :96].astype(np.float32), load_operator()
    gaps = np.random.default_rng(0).random(truth.shape) < 0.8
    start = interpolate(np.where(gaps, np.float32(0), truth), gaps)
    energy = Energy(Prior(operator.at(25.0), operator.penalty, 2), 1.0)

    def apart(line_search):
        settings = Settings(iterations=60, step_tolerance=0, line_search=line_search)
        one, other = (
            conjugate_gradient(energy, Euclidean(gaps), start, replace(settings, first_step=step)).point
            for step in (0.01, 0.01 * (1 + 1e-6))
        )
        return float(np.sqrt(np.mean((one - other) ** 2)))

    assert apart(Interpolation()) < 1e-3
    assert apart(LineSearch()) > 0.01
