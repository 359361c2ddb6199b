"""The recipes are those that the shipped operators say they were made by, and can be followed."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import skimage.data
from hypothesis import given
from hypothesis import strategies as st

from cosparse import AnalysisOperator, Settings, load_operator
from cosparse.io.picture import write_image
from cosparse.operators import make
from cosparse.refinement.train import Training


def test_the_default_one_is_that_which_steps_were_added_to():
    default, staged = load_operator("default"), load_operator("staged")
    assert default == dataclasses.replace(staged, steps={}) and not default.steps and staged.steps
    assert (default.provenance["name"], default.provenance["command"].split()[3]) == ("default", "default")
    assert not [key for key in default.provenance if "steps" in key]


@pytest.mark.parametrize("name", ["goal", "goal-large"])
def test_learned_atoms_are_in_few_bits_and_see_no_mean(name):
    atoms = load_operator(name).matrix
    assert np.array_equal(atoms, np.rint(atoms / make.UNIT) * make.UNIT)
    assert not atoms.astype(float).sum(axis=1).any()
    assert load_operator(name) == make.rounded(load_operator(name))
    assert load_operator(name).condition < 2  # of the zero-mean patches, which is all that they see


@given(seed=st.integers(0, 2**31))
def test_rounding_moves_no_number_by_more_than_a_unit(seed):
    rows = np.random.default_rng(seed).standard_normal((3, 16))
    rows -= rows.mean(axis=1, keepdims=True)
    operator = AnalysisOperator(rows / np.linalg.norm(rows, axis=1, keepdims=True), (4, 4))
    found = make.rounded(operator).matrix
    assert not found.astype(float).sum(axis=1).any()
    assert np.abs(found - operator.matrix).max() <= make.UNIT


@pytest.mark.parametrize("name", make.RECIPES)
def test_a_shipped_operator_says_what_its_recipe_does(name):
    recipe, made = make.RECIPES[name], load_operator(name).provenance
    assert made["images"] == recipe.images
    if isinstance(recipe, make.Refinement):
        training = Training(**recipe.training)
        of, noise = ("", "5 to 50") if training.stages is None else ("steps: ", "4 to 60")
        crops = f"{training.batch} of {training.crop}x{training.crop} in each of {training.steps} steps"
        assert made[f"{of}crops"] == crops
        told = made[f"{of}start"], made[f"{of}sigma"], made[f"{of}stride"]
        assert told == (recipe.start, noise, str(training.stride))
        for name, asked in (("denoise", recipe.training), ("denoise fast", recipe.fast), ("colours", recipe.colours)):
            if asked is not None and training.stages is not None:
                steps = load_operator("staged").steps[name]
                noise = asked["sigma"]
                assert (len(steps), steps.pools.shape[1]) == (asked["stages"], asked["pools"])
                assert steps.sigma == (noise if steps.planes == 1 else tuple(end / 2 for end in noise))  # at half size
    else:
        assert made["patches"] == f"{recipe.count} of {recipe.size}x{recipe.size}"
        assert (made["kappa"], made["mu"]) == (repr(recipe.learning["kappa"]), repr(recipe.learning["mu"]))
        assert made["iterations"] == str(recipe.learning["settings"].iterations)
        assert load_operator(name).penalty == recipe.learning["penalty"]


def test_small_ones_are_followed_to_the_end(photograph, tmp_path, tmp_path_factory, monkeypatch):
    for number in range(8):
        write_image(tmp_path / f"{number}.png", photograph[10 * number :, :60])
    goal, default = make.RECIPES["goal"], make.RECIPES["default"]
    short = goal.learning | {"settings": Settings(iterations=3)}
    monkeypatch.setitem(make.RECIPES, "goal", dataclasses.replace(goal, size=4, count=900, rows=20, learning=short))
    quick = default.training | {"steps": 1, "batch": 2, "crop": 24}
    monkeypatch.setitem(make.RECIPES, "default", dataclasses.replace(default, training=quick))
    staged = make.RECIPES["staged"]
    few = {"steps": 1, "batch": 2, "crop": 24, "validations": 1, "pools": 2}
    short = dataclasses.replace(
        staged, training=staged.training | few, fast=staged.fast | few,
        others=tuple(one | few for one in staged.others), rougher={**few, "rough": True},
        colours=staged.colours | few, held_out=1,
    )  # fmt: skip
    monkeypatch.setitem(make.RECIPES, "staged", short)
    learned, course = make.make("goal", tmp_path)
    assert learned.shape == (20, 16) and course.startswith("3 iterations")
    refined, course = make.make("default", tmp_path)
    assert refined.refined and refined.provenance["images"] == default.images and "after steps 0: " in course
    colours = tmp_path_factory.mktemp("colours")
    for number in range(2):
        write_image(colours / f"{number}.png", skimage.data.coffee()[:60, :60])
    stepped, course = make.make("staged", tmp_path, colours=colours)
    assert {name: len(steps) for name, steps in stepped.steps.items()} == {
        "denoise": 5, "denoise fast": 4, "deblock": 4, "upscale": 3, "inpaint": 3, "colours": 4,
    }  # fmt: skip
    assert stepped.provenance["name"] == "staged" and "; fast: " in course and "; upscale: " in course
