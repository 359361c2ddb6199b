"""What training minimises is what the task does, and its derivatives are those of whole repairs."""

from __future__ import annotations

import dataclasses
from functools import partial

import numpy as np
import pytest

from cosparse import AnalysisOperator
from cosparse.optimize import Euclidean, Settings, conjugate_gradient
from cosparse.reconstruction import tasks as reconstruction
from cosparse.refinement import bilevel
from cosparse.refinement.damage import TASKS, damage
from cosparse.refinement.parameters import Parameters


def as_the_task(crop, operator):
    """What the public function minimises for what the crop is measured as, and where it starts: a pair a stage."""
    seen = []

    def descend(energy, geometry, start, settings, **rest):
        seen.append((energy, start))
        return conjugate_gradient(energy, geometry, start, settings, **rest)

    own = {"denoise": {}, "inpaint": {"mask": crop.gaps}, "upscale": {"factor": 3}}[crop.task]
    request = reconstruction.TASKS[crop.task].request
    request(crop.measured, sigma=crop.sigma, operator=operator, data_range=255, **own).run(descend=descend)
    return seen


@pytest.mark.parametrize("sigma", [0.05, 9.0, 25.0, 40.0])
@pytest.mark.parametrize("task", TASKS)
def test_training_minimises_what_the_task_does(task, sigma, photograph):
    """In every stage of it, from the same start; the images lie within the range, where its bounds cost nothing."""
    truth = 80 + photograph[40:100, 40:106].astype(np.float32) / 3
    operator = refined_at_random(AnalysisOperator.dct(4), stride=3)
    crop = damage(truth, task, sigma, np.random.default_rng(3))
    theirs, ours = as_the_task(crop, operator), crop.problem(operator).energies()
    assert len(ours) == len(theirs)
    np.testing.assert_array_equal(crop.problem(operator).start, theirs[0][1])
    noisy = truth + 5 * np.random.default_rng(4).standard_normal(truth.shape).astype(np.float32)
    for mine, (their, _) in zip(ours, theirs, strict=True):
        for image in (truth, crop.problem(operator).start.clip(0, 255), noisy):
            (value, slope), (wanted, steepest) = mine(image), their(image)
            assert value == pytest.approx(wanted, rel=1e-5)
            np.testing.assert_allclose(slope, steepest, rtol=1e-4, atol=1e-5 * np.abs(steepest).max())


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_training_ends_where_the_task_does(task, photograph):
    """But for the task's few iterations: nearer to its result than noise and start by far."""
    truth = 80 + photograph[40:100, 40:106].astype(np.float32) / 3
    operator = refined_at_random(AnalysisOperator.dct(5), stride=2)
    crop = damage(truth, task, 12.0, np.random.default_rng(3))
    repaired = bilevel.converged(crop, operator)
    energy, start = as_the_task(crop, operator)[-1]
    to_the_end = Settings(iterations=400, step_tolerance=0, decrease_tolerance=1e-9)
    theirs = conjugate_gradient(energy, Euclidean(), start, to_the_end).point
    far = np.sqrt(np.mean((crop.problem(operator).start - theirs) ** 2))
    assert np.sqrt(np.mean((repaired - theirs) ** 2)) < 0.1 < far / 20


def refined_at_random(operator, stride):
    """With weights and scales that follow the noise, each atom's in its own way, and known by its stride."""
    rng, start = np.random.default_rng(1), Parameters.of(operator)
    return dataclasses.replace(
        start,
        log_weights=start.log_weights + 0.3 * rng.standard_normal(len(operator.matrix)),
        weight_exponents=start.weight_exponents + 0.2 * rng.standard_normal(len(operator.matrix)),
        scale_exponents=start.scale_exponents + 0.2 * rng.standard_normal(len(operator.matrix)),
    ).operator(operator.patch_shape, {"stride": str(stride)})


def exact_repair(crop, operator, **_):
    """The same s*, by Newton's method: the energy in float32 is too coarse to find it any closer."""
    problem = crop.problem(operator)
    energy = problem.energies()[-1]
    image, weight = problem.start, np.float32(energy.weight)
    for _ in range(12):

        def hessian(v, image=image):
            return weight * energy.prior.curvature(image, v) + bilevel._seen(problem, v)

        step = bilevel.solve_positive(hessian, -energy(image)[1], tolerance=1e-3, iterations=400)
        image = image + step
        if np.abs(step).max() < 2e-3:
            break
    assert np.abs(step).max() < 1e-2
    return image


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_the_hypergradient_against_repairs_with_another_operator(task, photograph, monkeypatch):
    """Where the repair depends smoothly on the operator: a penalty so gentle that the energy is convex."""
    start = Parameters.of(AnalysisOperator.dct(3))
    start = dataclasses.replace(start, coordinates=0.03 * start.coordinates, log_weights=start.log_weights + 4)
    truth = photograph[40:61, 40:61].astype(np.float32)
    crop = damage(truth, task, 20.0, np.random.default_rng(3))
    monkeypatch.setattr(bilevel, "solve_positive", partial(bilevel.solve_positive, tolerance=1e-3, iterations=1000))
    monkeypatch.setattr(bilevel, "converged", exact_repair)

    def operator(parameters):
        return parameters.operator((3, 3), {"stride": "1"})  # as training has it

    def error(parameters):
        return bilevel.loss(exact_repair(crop, operator(parameters)), truth, 20.0)[0]

    found = bilevel.hypergradient(crop, operator(start))
    assert found is not None
    value, *rest = found
    assert value == pytest.approx(error(start), abs=1e-5)
    for name, slope in start.gradient((3, 3), *rest).items():
        steepest = slope / np.linalg.norm(slope)
        t = {"coordinates": 2e-4}.get(name, 0.1)
        ahead, behind = (
            error(dataclasses.replace(start, **{name: getattr(start, name) + side * steepest})) for side in (t, -t)
        )
        assert (ahead - behind) / (2 * t) == pytest.approx(np.linalg.norm(slope), rel=0.02), name


@pytest.mark.parametrize("task", TASKS)
def test_the_repair_of_a_crop_is_converged(task, photograph, monkeypatch):
    monkeypatch.setattr(bilevel, "ITERATIONS", 800)  # cosines fill the gaps of one corner slowly
    truth = photograph[40:112, 40:112].astype(np.float32)
    crop = damage(truth, task, 10.0, np.random.default_rng(0))
    operator = Parameters.of(AnalysisOperator.dct(5)).operator((5, 5), {"stride": "2"})
    slope = crop.problem(operator).energies()[-1](bilevel.converged(crop, operator))[1]
    assert np.sqrt(np.mean(slope**2)) <= {"denoise": 0.02, "inpaint": 0.004, "upscale": 0.002}[task]


def test_where_the_energy_is_not_convex_there_is_no_derivative():
    def bent(v):
        return np.array([1.0, -1.0], np.float32) * v

    assert bilevel.solve_positive(bent, np.array([1.0, 2.0], np.float32)) is None
