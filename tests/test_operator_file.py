"""The file of an operator: half the bytes where nothing is lost by it, and nothing taken on trust."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import cosparse
from cosparse.operator_file import FORMAT


@pytest.fixture
def staged():
    return cosparse.load_operator("staged")


def test_rounded_steps_take_half_the_bytes_and_come_back_equal(staged, tmp_path):
    steps = staged.steps["denoise"]
    assert steps == steps.rounded()
    exact = dataclasses.replace(steps, shares=steps.shares + np.float32(1e-6))
    sizes = []
    for name, one in (("half", steps), ("whole", exact)):
        operator = dataclasses.replace(staged, steps={"denoise": one})
        operator.save(tmp_path / f"{name}.safetensors")
        assert cosparse.load_operator(tmp_path / f"{name}.safetensors") == operator
        sizes.append((tmp_path / f"{name}.safetensors").stat().st_size)
    assert sizes[1] - sizes[0] == pytest.approx(2 * steps.shares.size, abs=64)  # the header is padded


@pytest.mark.parametrize(
    "steps",
    [
        "{",
        json.dumps({"denoise": {"stride": 0, "sigma": [5, 50]}}),
        json.dumps({"denoise": {"stride": 2}}),
        json.dumps({"deblur": {"stride": 2, "sigma": [5, 50]}}),
        json.dumps({"denoise": {"stride": 2, "sigma": [5, 50], "code": "os"}}),
    ],
)
def test_metadata_that_does_not_fit_is_refused(staged, steps, tmp_path):
    staged.save(tmp_path / "good.safetensors")
    words = {"format": FORMAT, "patch_shape": "[8, 8]", "provenance": "{}", **staged.penalty.to_metadata()}
    save_file(load_file(tmp_path / "good.safetensors"), tmp_path / "bad.safetensors", words | {"steps": steps})
    with pytest.raises(ValueError, match=r"bad\.safetensors: not a cosparse operator file"):
        cosparse.load_operator(tmp_path / "bad.safetensors")
