"""Training steps: their gradient against differences and another derivation, what they gain, how they go on."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import cosparse
from cosparse import AnalysisOperator, refine_operator
from cosparse.kernels import reference
from cosparse.refinement import bilevel
from cosparse.refinement.damage import CORRECTED, STEPS, damage
from cosparse.refinement.staged import RATES, Staged, StagedParameters

SMALL = {"sigma": (10.0, 40.0), "stages": 2, "pools": 3, "steps": 12, "batch": 4, "crop": 32, "validations": 2}


def shaken(operator, stages=3, pools=4, seed=0, task="denoise"):
    """Numbers away from the start, where pools give nothing and all atoms are alike."""
    rng = np.random.default_rng(seed)
    numbers = vars(StagedParameters.of(operator, stages, pools, task))
    return {
        name: value + (0.1 * rng.standard_normal(value.shape) if name in RATES else 0)
        for name, value in numbers.items()
    }


@pytest.mark.parametrize("task", [task for task in STEPS if task != "colours"])  # see test_colours.py
@pytest.mark.parametrize("name", RATES)
def test_the_gradient_of_the_loss_against_differences(task, name, photograph):
    """With gaps too, where what is known stays as it is, and through a reduction."""
    start = AnalysisOperator.dct(3)
    sigma, levels = (0.0, (0.0, 0.0)) if task in CORRECTED else (14.0, (10.0, 40.0))
    model = Staged(start, 3, 4, 2, levels, task)
    # Differences cannot tell the slope at the ends of intervals: of a JPEG, a place where few coefficients lie there.
    part = photograph[100:124, 120:146] if task == "deblock" else photograph[40:64, 90:116]
    # By 3: at a factor of 4 the numbers stand as they are, and nothing follows it.
    crop = damage(part.astype(np.float32), task, sigma, np.random.default_rng(task == "upscale"))
    numbers = shaken(start, task=task)
    _, gradient = model.gradient(numbers, model.operator(numbers), crop)
    direction = np.random.default_rng(1).standard_normal(numbers[name].shape)

    def value(length):
        moved = numbers | {name: numbers[name] + length * direction}
        return bilevel.loss(model.repaired(model.operator(moved), crop), crop.truth, crop.sigma)[0]

    # The images are single precision: shorter ones drown in rounding. What pulls an enlarged picture is large.
    step = 0.5 if (task, name) == ("upscale", "pull") else 0.1 if name.endswith("exponents") else 0.01
    slope = (8 * (value(step) - value(-step)) - (value(2 * step) - value(-2 * step))) / (12 * step)
    scale = np.linalg.norm(gradient[name]) * np.linalg.norm(direction) / np.sqrt(direction.size)
    assert abs(slope - np.vdot(gradient[name], direction)) <= 0.02 * scale
    assert scale > 0


def test_the_same_training_step_as_by_forward_derivatives(photograph):
    """Another derivation: the change of the image along one direction of all parameters, carried forward."""
    start, sigma = AnalysisOperator.dct(3), 14.0
    model = Staged(start, 2, 3, 2, (10.0, 40.0))
    crop = damage(photograph[10:28, 20:40].astype(np.float32), "denoise", sigma, np.random.default_rng(0))
    numbers = shaken(start, 2, 3)
    rng = np.random.default_rng(2)
    direction = {name: rng.standard_normal(numbers[name].shape) for name in RATES}

    def path(length):
        moved = numbers | {name: numbers[name] + length * direction[name] for name in RATES}
        image = noisy = crop.measured.astype(float)
        for step in model.operator(moved).steps["denoise"].at(sigma):
            arrays = [array.astype(float) for array in step[:5]]
            image = image - reference.pooled_step(*arrays, image, (3, 3), (2, 2)) - step.pull * (image - noisy)
        return image

    step = 1e-3
    change = (8 * (path(step) - path(-step)) - (path(2 * step) - path(-2 * step))) / (12 * step)
    _, slope = bilevel.loss(path(0).astype(np.float32), crop.truth, sigma)
    _, gradient = model.gradient(numbers, model.operator(numbers), crop)
    by_reverse = sum(np.vdot(gradient[name], direction[name]) for name in RATES)
    assert by_reverse == pytest.approx(float(np.vdot(slope, change)), rel=5e-3)


@pytest.fixture(scope="module")
def trained(photograph):
    return refine_operator(AnalysisOperator.dct(4), [photograph], validation=[photograph.T], **SMALL)


def test_training_gains_and_gives_a_staged_operator(trained):
    steps = trained.operator.steps["denoise"]
    assert (len(steps), steps.atoms.shape, steps.pools.shape) == (2, (2, 15, 16), (2, 3, 15))
    assert steps.sigma == (10.0, 40.0) and steps.stride == 2
    assert trained.psnr > trained.validations[0][1] + 0.04
    assert trained.operator.provenance["steps: sigma"] == "10 to 40"


def test_steps_to_deblock_stand_beside_those_to_denoise(photograph, trained):
    asked = SMALL | {"task": "deblock", "sigma": (8.0, 16.0)}
    both = refine_operator(trained.operator, [photograph], validation=[photograph.T], **asked)
    assert both.operator.steps["denoise"] == trained.operator.steps["denoise"]
    assert not both.operator.steps["deblock"].floors.any()
    assert both.psnr > both.validations[0][1] + 0.02
    assert both.operator.provenance["steps to deblock: sigma"] == "8 to 16"
    with pytest.raises(ValueError, match="task: the energy is not refined for deblocking; give stages"):
        refine_operator(trained.operator, [photograph, photograph.T], task="deblock")


@pytest.mark.slow
def test_stopped_and_taken_up_again_to_the_bit(photograph, trained, tmp_path):
    def interrupt(progress):
        if progress.step == 5:
            raise KeyboardInterrupt

    arguments = {"validation": [photograph.T], "checkpoint": tmp_path / "run", **SMALL}
    with pytest.raises(KeyboardInterrupt, match="step 5"):
        refine_operator(AnalysisOperator.dct(4), [photograph], callback=interrupt, **arguments)
    with cosparse.limit_threads(1):
        result = refine_operator(AnalysisOperator.dct(4), [photograph], **arguments)
    assert result.operator == trained.operator and result.losses == trained.losses


def test_training_goes_on_from_steps_that_are_there(photograph, trained):
    again = StagedParameters.of(trained.operator, 2, 3).steps((4, 4), 2, (10.0, 40.0))
    # As kernels take them: what few bits leave of an atom's norm may stand in its scale. Floors are laid at the end.
    for mine, theirs in zip(again.at(20.0), trained.operator.steps["denoise"].at(20.0), strict=True):
        for name in ("atoms", "own", "pools", "shares", "pull"):
            np.testing.assert_allclose(getattr(mine, name), getattr(theirs, name), rtol=2e-3, atol=2e-5)
    begun = StagedParameters.of(dataclasses.replace(trained.operator, steps={}), 2, 3)
    assert not begun.shares.any()


def test_what_is_trained_again_keeps_nothing_of_other_steps(photograph):
    few = {"sigma": 20.0, "stages": 5, "pools": 64, "steps": 1, "batch": 1, "crop": 24, "validations": 1}
    result = refine_operator("staged", [photograph], validation=[photograph[:40, :40]], **few)
    assert list(result.operator.steps) == ["denoise"]
    assert result.operator.provenance["steps: sigma"] == "20" and "steps: then" not in result.operator.provenance


@pytest.mark.slow
def test_steps_to_inpaint_are_trained_as_a_correction_of_what_the_task_gives(photograph):
    asked = {"task": "inpaint", "sigma": 0, "stages": 2, "pools": 3, "steps": 8, "batch": 4, "crop": 40, "rate": 6.0}
    result = refine_operator("goal", [photograph], validation=[photograph[30:90, 20:80]], validations=1, **asked)
    before, after = (value for _, value in result.validations)
    assert list(result.operator.steps) == ["inpaint"] and after > before + 0.01
    model = Staged(result.operator, 2, 3, 2, (0.0, 0.0), "inpaint")
    truth = photograph[60:120, 20:80].astype(np.float32)
    gaps = np.indices(truth.shape).sum(axis=0) % 2 == 1  # half of the pixels about every one
    crop = bilevel.Crop("inpaint", truth, np.where(gaps, np.float32(0), truth), 0.0, gaps)
    options = {"operator": result.operator, "data_range": 255, "bounds": None}
    filled = cosparse.inpaint(crop.measured, crop.gaps, **options)
    inside = (slice(22, -22), slice(22, -22))
    np.testing.assert_allclose(model.repaired(result.operator, crop)[inside], filled[inside], atol=5e-3)
    start = model.begun(result.operator, crop).start
    begun = dataclasses.replace(model, start=cosparse.load_operator("goal"))
    untrained = begun.repaired(begun.operator(begun.begin()), crop)
    assert 0 < np.abs(untrained - start).max() < 0.1 * np.abs(filled - start).max()


@pytest.mark.slow
def test_steps_to_upscale_are_trained_as_a_correction_of_what_the_task_gives(photograph):
    asked = {"task": "upscale", "sigma": 0, "stages": 2, "pools": 3, "steps": 8, "batch": 4, "crop": 40, "rate": 4.0}
    result = refine_operator("goal", [photograph], validation=[photograph[30:90, 20:80]], validations=1, **asked)
    before, after = (value for _, value in result.validations)
    assert list(result.operator.steps) == ["upscale"] and after > before + 0.005
    model = Staged(result.operator, 2, 3, 2, (0.0, 0.0), "upscale")
    crop = damage(photograph[70:120, 20:80].astype(np.float32), "upscale", 0.0, np.random.default_rng(1))
    options = {"operator": result.operator, "data_range": 255, "kernel": crop.kernel, "bounds": None}
    large = cosparse.upscale(crop.measured, crop.factor, **options)
    np.testing.assert_allclose(model.repaired(result.operator, crop), large, atol=1e-3)


def test_what_cannot_be_trained_in_steps(photograph):
    with pytest.raises(ValueError, match="stages: steps are trained for one of the tasks .*; got task="):
        refine_operator(AnalysisOperator.dct(4), [photograph], task=["denoise", "inpaint"], stages=3)
    with pytest.raises(ValueError, match="sigma: steps to inpaint are for pixels without noise"):
        refine_operator(AnalysisOperator.dct(4), [photograph], task="inpaint", stages=3)
    with pytest.raises(ValueError, match="stages: must be at least 1"):
        refine_operator(AnalysisOperator.dct(4), [photograph], stages=0)
