"""Training steps for colours: their gradient against differences, and that they are taken as they were trained."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import skimage.data

import cosparse
from cosparse import refine_operator
from cosparse.reconstruction.engine import solve
from cosparse.refinement import bilevel, colours
from cosparse.refinement.colours import StagedColours
from cosparse.refinement.damage import damage
from cosparse.refinement.staged import RATES

PICTURE = skimage.data.astronaut()[20:120, 180:300]
FEW = {
    "task": "colours",
    "sigma": (20.0, 40.0),
    "stages": 2,
    "pools": 3,
    "steps": 8,
    "batch": 4,
    "crop": 40,
    "validations": 1,
}


@pytest.fixture
def small(monkeypatch):
    """Steps of few atoms and small patches."""
    monkeypatch.setattr(colours, "SIDE", 3)
    monkeypatch.setattr(colours, "ATOMS", 24)
    monkeypatch.setattr(colours, "SEEN", 4)


def without_colours():
    staged = cosparse.load_operator("staged")
    return dataclasses.replace(staged, steps={name: one for name, one in staged.steps.items() if name != "colours"})


def _moved(name, value):
    """Which numbers training may change: atoms see luma or colours, never both."""
    return value != 0 if name == "coordinates" else True


@pytest.mark.parametrize("name", RATES)
def test_the_gradient_of_the_loss_against_differences(name, small):
    model = StagedColours(without_colours(), 2, 3, 2, (20.0, 40.0))
    crop = damage(PICTURE[:36, :44].astype(np.float32), "colours", 25.0, np.random.default_rng(0))
    rng = np.random.default_rng(2)
    numbers = {
        key: value + (0.1 * rng.standard_normal(value.shape) * _moved(key, value) if key in RATES else 0)
        for key, value in model.begin().items()
    }
    _, gradient = model.gradient(numbers, model.operator(numbers), crop)
    direction = rng.standard_normal(numbers[name].shape) * _moved(name, numbers[name])

    def value(length):
        moved = model.operator(numbers | {name: numbers[name] + length * direction})
        problem = model.begun(moved, crop)
        _, truth, noise = model.judged(crop, problem)
        return bilevel.loss(solve(problem).image, truth, noise)[0]

    step = 0.1 if name.endswith("exponents") else 0.01
    slope = (8 * (value(step) - value(-step)) - (value(2 * step) - value(-2 * step))) / (12 * step)
    scale = np.linalg.norm(gradient[name]) * np.linalg.norm(direction) / np.sqrt(direction.size)
    assert abs(slope - np.vdot(gradient[name], direction)) <= 0.02 * scale
    assert scale > 0


def test_steps_are_trained_and_taken_as_they_were(small):
    result = refine_operator(without_colours(), [PICTURE], validation=[PICTURE[:60, :60]], rate=8.0, **FEW)
    before, after = (value for _, value in result.validations)
    steps = result.operator.steps["colours"]
    assert after > before + 0.02 and (steps.planes, steps.side, steps.sigma) == (3, 3, (10.0, 20.0))
    assert result.operator.provenance["steps to colours: sigma"] == "20 to 40"
    crop = damage(PICTURE.astype(np.float32), "colours", 30.0, np.random.default_rng(1))
    asked = {"operator": result.operator, "grouping": False, "bounds": None, "data_range": 255, "channel_axis": -1}
    model = StagedColours(result.operator, 2, 3, 2, (20.0, 40.0))
    repaired = model.repaired(result.operator, crop)
    np.testing.assert_allclose(cosparse.denoise(crop.measured, 30.0, **asked), repaired, atol=2e-3)
    # What was trained stands in the file, and is gone on from.
    again = model.operator(model.begin()).steps["colours"]
    np.testing.assert_allclose(again.at(12.0)[0].atoms, steps.at(12.0)[0].atoms, rtol=2e-3, atol=2e-5)


def test_steps_of_colours_are_trained_on_colours(photograph):
    with pytest.raises(ValueError, match="images.*: expected red, green and blue"):
        refine_operator("staged", [photograph, photograph], **FEW)
    with pytest.raises(ValueError, match="task: the energy is not refined for colours; give stages"):
        refine_operator("staged", [PICTURE, PICTURE], **FEW | {"stages": None})
