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
    begun = TrainingState.begin(Parameters.of(AnalysisOperator.dct(3)))
    assert (begun.step, begun.losses, begun.validations) == (0, (), ()) and not begun.first["coordinates"].any()
    shaken = {name: value + np.random.default_rng(0).random(value.shape) for name, value in begun.second.items()}
    state = dataclasses.replace(
        begun, parameters=Parameters(**shaken), second=shaken, step=2, losses=(0.1, float("nan")),
        validations=((0, 27.5), (2, 1 / 3)),
    )  # fmt: skip
    with Resumable(tmp_path / "run", TrainingState, "step", dict, lambda: state):
        pass
    found = Resumable(tmp_path / "run", TrainingState, "step", dict, pytest.fail).state
    assert (found.step, found.validations, str(found.losses)) == (2, state.validations, str(state.losses))
    for name in RATES:
        for ours, theirs in ((found.parameters, state.parameters), (found.best, state.best)):
            assert getattr(ours, name).tobytes() == getattr(theirs, name).tobytes()
        assert found.first[name].tobytes() == state.first[name].tobytes()
        assert found.second[name].tobytes() == state.second[name].tobytes()


def test_the_state_of_learning_is_not_one_of_training(small_patches, photograph, tmp_path):
    file = tmp_path / "run"
    learn_operator(small_patches, rows=20, checkpoint=file, callback=lambda progress: True)
    before = file.read_bytes()
    with pytest.raises(ValueError, match="checkpoint: .*run belongs to another run; it differs in .*made"):
        refine_operator(AnalysisOperator.dct(4), [photograph], validation=[photograph], checkpoint=file)
    assert file.read_bytes() == before
