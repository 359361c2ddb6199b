"""The state of a training run goes through its file without losing a bit."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from cosparse import AnalysisOperator, learn_operator, refine_operator
from cosparse.checkpoint import Resumable
from cosparse.refinement.parameters import RATES, Parameters
from cosparse.refinement.training_state import TrainingState


def test_a_state_comes_back_whole(tmp_path):
    begun = TrainingState.begin(vars(Parameters.of(AnalysisOperator.dct(3))), RATES)
    assert (begun.step, begun.losses, begun.validations) == (0, (), ()) and not begun.first["coordinates"].any()
    shaken = {name: value + np.random.default_rng(0).random(value.shape) for name, value in begun.second.items()}
    state = dataclasses.replace(
        begun, parameters=shaken, second=shaken, step=2, losses=(0.1, float("nan")), validations=((0, 27.5), (2, 1 / 3))
    )
    with Resumable(tmp_path / "run", TrainingState, "step", dict, lambda: state):
        pass
    found = Resumable(tmp_path / "run", TrainingState, "step", dict, pytest.fail).state
    assert (found.step, found.validations, str(found.losses)) == (2, state.validations, str(state.losses))
    for part in ("parameters", "best", "first", "second"):
        ours, theirs = getattr(found, part), getattr(state, part)
        assert {name: array.tobytes() for name, array in ours.items()} == {
            name: array.tobytes() for name, array in theirs.items()
        }


def test_a_step_of_adam_has_the_length_of_its_rate():
    """The first one, of a parameter with any gradient; one that has no rate stays as it is."""
    begun = TrainingState.begin({"coordinates": np.ones(3), "unit": np.ones(2)}, {"coordinates": 0.1})
    gradient = {"coordinates": np.array([5.0, -0.01, 0.0])}
    state = begun.advanced([(1.0, gradient), (3.0, gradient)], 1, {"coordinates": 0.1}, (0.9, 0.99))
    np.testing.assert_allclose(state.parameters["coordinates"], [0.9, 1.1, 1.0], atol=1e-9)
    assert state.parameters["unit"] is begun.parameters["unit"]
    assert (state.step, state.dropped, state.losses) == (1, 1, (2.0,))


def test_the_state_of_learning_is_not_one_of_training(small_patches, photograph, tmp_path):
    file = tmp_path / "run"
    learn_operator(small_patches, rows=20, checkpoint=file, callback=lambda progress: True)
    before = file.read_bytes()
    with pytest.raises(ValueError, match="checkpoint: .*run belongs to another run; it differs in .*made"):
        refine_operator(AnalysisOperator.dct(4), [photograph], validation=[photograph], checkpoint=file)
    assert file.read_bytes() == before
