"""Training by reconstruction: what it gains, that it can be repeated and taken up again, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from cosparse import AnalysisOperator, refine_operator
from cosparse.refinement.damage import TASKS
from cosparse.refinement.parameters import Parameters

SMALL = {"sigma": 20.0, "steps": 6, "batch": 4, "crop": 32, "validations": 3}


@pytest.fixture(scope="module")
def refined(photograph):
    return refine_operator(AnalysisOperator.dct(4), [photograph], validation=[photograph.T], **SMALL)


@pytest.mark.slow
def test_it_gains_on_a_picture_it_has_not_seen(photograph, other_photograph):
    """Against the energy that training started from, at the noise it was trained for."""
    result = refine_operator(
        AnalysisOperator.dct(4), [photograph], validation=[other_photograph], sigma=25.0, steps=30, batch=4, crop=40,
        validations=3,
    )  # fmt: skip
    assert result.psnr == max(value for _, value in result.validations)
    assert result.validations[0][0] == 0 and result.psnr > result.validations[0][1] + 0.05


@pytest.mark.slow
def test_same_seed_same_operator(photograph, refined):
    again = refine_operator(AnalysisOperator.dct(4), [photograph], validation=[photograph.T], **SMALL)
    assert again.operator == refined.operator
    assert again.losses == refined.losses


def test_floats_on_0_to_255_say_so(photograph, refined):
    wide = photograph.astype(np.float64)
    again = refine_operator(AnalysisOperator.dct(4), [wide], validation=[wide.T], data_range=255, **SMALL)
    assert again.operator == refined.operator


def test_the_rate_is_the_length_of_the_steps(photograph):
    start, reached = AnalysisOperator.dct(4), {}
    for rate in (1.0, 0.25):
        refine_operator(
            start, [photograph], validation=[photograph.T], **SMALL | {"steps": 1}, rate=rate,
            callback=lambda progress, rate=rate: reached.update({rate: np.log(progress.operator.weights)}),
        )  # fmt: skip
    whole, quarter = (reached[rate] - Parameters.of(start).log_weights for rate in (1.0, 0.25))
    np.testing.assert_allclose(quarter, whole / 4, atol=1e-6)
    assert np.abs(whole).max() > 1e-4


@pytest.mark.slow
def test_stopped_and_taken_up_again(photograph, refined, tmp_path):
    arguments = AnalysisOperator.dct(4), [photograph]
    file = tmp_path / "run.safetensors"

    def interrupt(progress):
        if progress.step == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="step 3"):
        refine_operator(*arguments, validation=[photograph.T], checkpoint=file, callback=interrupt, **SMALL)
    result = refine_operator(*arguments, validation=[photograph.T], checkpoint=file, **SMALL)
    assert result.operator == refined.operator
    assert result.losses == refined.losses and result.validations == refined.validations
    with pytest.raises(ValueError, match="differs in sigma"):
        refine_operator(*arguments, validation=[photograph.T], checkpoint=file, **{**SMALL, "sigma": 21.0})


@pytest.mark.slow
def test_several_tasks_over_a_range_of_noise(photograph):
    result = refine_operator(
        AnalysisOperator.dct(3), [photograph, photograph.T], task=TASKS, sigma=(5, 30), steps=2, batch=3, crop=30,
        validations=1,
    )  # fmt: skip
    assert result.operator.refined and result.steps == 2
    assert result.operator.provenance["task"] == "denoise, inpaint, upscale"
    low, high = result.operator.at(5.0), result.operator.at(30.0)
    assert (low.weights < high.weights).all() and not low.refined


@pytest.mark.parametrize(
    ("sigma", "same"),
    [
        (np.float32(25), 25), (np.int64(25), 25), (np.array(25.0), 25),
        (np.array([5, 30]), (5, 30)), ([np.float32(5), 30], (5, 30)),
    ],
    ids=repr,
)  # fmt: skip
def test_noise_is_any_number_or_two(photograph, sigma, same):
    few = {"steps": 1, "batch": 2, "crop": 24, "validations": 1}
    start, data = AnalysisOperator.dct(3), {"images": [photograph], "validation": [photograph[:30, :30]]}
    ours, theirs = (refine_operator(start, **data, sigma=level, **few) for level in (sigma, same))
    assert ours.operator == theirs.operator and ours.losses == theirs.losses
    assert ours.operator.provenance == theirs.operator.provenance


def test_a_callback_can_end_it(photograph):
    result = refine_operator(
        AnalysisOperator.dct(3), [photograph], validation=[photograph], callback=lambda p: p.step == 2, **SMALL
    )
    assert result.steps == 2 and len(result.losses) == 2


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"task": "colourise"}, "task: expected one of"),
        ({"task": []}, "task: expected one of"),
        ({"sigma": 0}, "sigma: expected a positive"),
        ({"sigma": (30, 20)}, "sigma: expected a positive"),
        ({"sigma": (10, 20, 30)}, "sigma: expected a positive"),
        ({"sigma": np.nan}, "sigma: expected a positive"),
        ({"sigma": "25"}, "sigma: expected a positive"),
        ({"stride": 9}, "stride: must lie between 1"),
        ({"steps": 0}, "steps: must be at least 1"),
        ({"batch": 0}, "batch: must be at least 1"),
        ({"crop": 4}, "crop: must be at least"),
        ({"validations": 0}, "validations: must be at least 1"),
        ({"rate": 0}, "rate: must be a positive number"),
        ({"validation": None}, "images: at least two are needed"),
        ({"validation": [np.zeros((5, 90))]}, "validation: every image must be at least"),
    ],
)
def test_bad_arguments_are_named(photograph, change, complaint):
    with pytest.raises(ValueError, match=complaint):
        refine_operator(AnalysisOperator.dct(4), [photograph], **{"validation": [photograph], **SMALL, **change})
