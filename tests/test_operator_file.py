"""The file of an operator: in bytes where nothing is lost by it, and nothing taken on trust."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from safetensors.numpy import load_file, save_file

import cosparse
from cosparse.operator_file import FORMAT
from cosparse.trained_steps import LARGE, in_bytes, of_bytes


@pytest.fixture
def staged():
    return cosparse.load_operator("staged")


def test_rounded_steps_take_a_quarter_of_the_bytes_and_come_back_equal(staged, tmp_path):
    steps = staged.steps["denoise"]
    assert steps == steps.rounded()
    exact = dataclasses.replace(steps, shares=steps.shares + np.float32(1e-6))
    sizes = []
    for name, one in (("bytes", steps), ("whole", exact)):
        operator = dataclasses.replace(staged, steps={"denoise": one})
        operator.save(tmp_path / f"{name}.safetensors")
        assert cosparse.load_operator(tmp_path / f"{name}.safetensors") == operator
        sizes.append((tmp_path / f"{name}.safetensors").stat().st_size)
    units = 4 * steps.own.size  # one for each row, too small for half precision
    assert sizes[1] - sizes[0] == pytest.approx(3 * steps.shares.size - units, abs=128)  # and words in the header


@given(arrays(np.float32, (2, 3, 4), elements=st.floats(-1e6, 1e6, width=32)), st.sampled_from(["atoms", "pools"]))
def test_what_was_rounded_is_found_again_to_the_bit(values, name):
    values = np.abs(values) if name == "pools" else values
    once = of_bytes(name, *in_bytes(name, values))
    np.testing.assert_array_equal(of_bytes(name, *in_bytes(name, once)), once)
    roots = (np.sqrt(values), np.sqrt(once)) if name == "pools" else (values, once)
    most = np.abs(roots[0]).max(axis=-1, keepdims=True)
    assert (np.abs(roots[0] - roots[1]) <= 0.501 * most / LARGE[name] + 1e-30).all()


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
