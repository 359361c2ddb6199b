"""The recipes are those that the shipped operators say they were made by, and can be followed."""

from __future__ import annotations

import dataclasses

import pytest

from cosparse import Settings, load_operator
from cosparse.io.picture import write_image
from cosparse.operators import make
from cosparse.refinement.train import Training


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
        for name, asked in (("denoise", recipe.training), ("denoise fast", recipe.fast)):
            if asked is not None and training.stages is not None:
                steps = load_operator("staged").steps[name]
                assert (len(steps), steps.pools.shape[1], steps.sigma) == (
                    asked["stages"],
                    asked["pools"],
                    asked["sigma"],
                )
    else:
        assert made["patches"] == f"{recipe.count} of {recipe.size}x{recipe.size}"
        assert (made["kappa"], made["mu"]) == (repr(recipe.learning["kappa"]), repr(recipe.learning["mu"]))
        assert made["iterations"] == str(recipe.learning["settings"].iterations)
        assert load_operator(name).penalty == recipe.learning["penalty"]


def test_small_ones_are_followed_to_the_end(photograph, tmp_path, monkeypatch):
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
        others=tuple(one | few for one in staged.others), rougher={**few, "rough": True}, held_out=1,
    )  # fmt: skip
    monkeypatch.setitem(make.RECIPES, "staged", short)
    learned, course = make.make("goal", tmp_path)
    assert learned.shape == (20, 16) and course.startswith("3 iterations")
    refined, course = make.make("default", tmp_path)
    assert refined.refined and refined.provenance["images"] == default.images and "after steps 0: " in course
    stepped, course = make.make("staged", tmp_path)
    assert {name: len(steps) for name, steps in stepped.steps.items()} == {
        "denoise": 5, "denoise fast": 4, "deblock": 4, "upscale": 3, "inpaint": 3,
    }  # fmt: skip
    assert stepped.provenance["name"] == "staged" and "; fast: " in course and "; upscale: " in course
