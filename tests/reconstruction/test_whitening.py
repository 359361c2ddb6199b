"""Filters that make an energy about as stiff in all directions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import cosparse
from cosparse import Penalty, load_operator
from cosparse.kernels.reference import smooth
from cosparse.optimize import Euclidean, Settings, Whitened, conjugate_gradient
from cosparse.reconstruction.energy import Energy
from cosparse.reconstruction.prior import Prior
from cosparse.reconstruction.stages import plan
from cosparse.reconstruction.whitening import GRID, filters, prior_curvature


@pytest.fixture(scope="module")
def prior():
    return Prior(load_operator("default").at(25.0), Penalty.log(1.0), 1)


@pytest.mark.parametrize("penalty", [Penalty.log(0.7), Penalty.pnorm(0.5, 2.0)], ids=["log", "p-norm"])
@pytest.mark.parametrize("wave", [(0, 8), (16, 0), (24, 40)])
def test_the_curvature_is_that_of_waves_on_a_flat_image(prior, penalty, wave):
    """By the definition of the Hessian, in the middle of an image, over one direction of the diagonal and the other."""
    prior = replace(prior, penalty=penalty)
    rows, columns = np.pi / GRID * np.indices((80, 80)) * np.reshape(wave, (2, 1, 1))
    found = []
    for phase in (rows + columns, rows - columns):
        along = np.cos(phase)
        product = prior.curvature(np.zeros((80, 80), np.float32), along.astype(np.float32))
        inside = slice(16, 64)
        found.append(np.vdot(product[inside, inside], along[inside, inside]) / np.square(along[inside, inside]).sum())
    assert prior_curvature(prior)[wave] == pytest.approx(np.mean(found), rel=0.05)


def test_waves_are_as_stiff_as_each_other_in_such_coordinates(prior):
    """1 + part·weight·K, and the same after S from both sides: the filter is short, and a product of two."""
    curvatures, white = [], []
    taps = filters(prior, 1.0, 0.12, 1.0)
    for wave in [(0, 1), (0, 8), (8, 8), (0, 40), (40, 40), (0, 60), (60, 60)]:
        along = np.cos(np.pi / GRID * (np.indices((64, 64)) + 0.5) * np.reshape(wave, (2, 1, 1))).prod(axis=0)
        gain = np.vdot(smooth(along, *(tap.astype(float) for tap in taps)), along) / np.vdot(along, along)
        curvatures.append(1 + 0.12 * prior_curvature(prior)[wave])
        white.append(gain**2 * curvatures[-1])
    assert max(curvatures) > 15 * min(curvatures) and max(white) < 5 * min(white)


def test_filters_are_positive_along_both_axes_of_any_operator():
    for operator in (load_operator("goal"), cosparse.AnalysisOperator.dct(6)):
        for data in (1.0, None):
            for taps in filters(Prior(operator, Penalty.log(0.1)), 3.0, 0.12, data):
                assert taps.dtype == np.float32 and taps[0] > 0
                gains = taps[0] + 2 * np.cos(np.outer(np.linspace(0, np.pi, 50), np.arange(1, 5))) @ taps[1:]
                assert gains.min() > 0


@pytest.mark.slow
def test_a_plan_takes_them_and_the_minimiser_is_the_same(photograph):
    """Run to the end, whitened or not; and after the plan's iterations, whitened is nearer to it."""
    clean = photograph[:48, :48].astype(np.float32)
    noisy = clean + 25 * np.random.default_rng(0).standard_normal(clean.shape).astype(np.float32)
    operator = load_operator("default")
    chosen = plan("denoise", 25.0, "balanced", None, operator)
    problem = cosparse.Problem(operator, chosen, noisy, noisy, bounds=(0.0, 255.0))
    (energy,), (space,), (settings,) = problem.energies(), problem.geometries(), problem.settings()
    assert isinstance(space, Whitened) and isinstance(energy, Energy)
    both = (space, settings), (Euclidean(), replace(settings, first_step=0.2))
    short = [conjugate_gradient(energy, one, noisy, given).value for one, given in both]
    far = Settings(iterations=1000, step_tolerance=0, decrease_tolerance=1e-8, first_step=0.2)
    white, plain = (conjugate_gradient(energy, one, noisy, far) for one, _ in both)
    assert white.value == pytest.approx(plain.value, rel=1e-3)
    assert np.sqrt(np.mean((white.point - plain.point) ** 2)) < 0.5
    assert short[0] < short[1]
