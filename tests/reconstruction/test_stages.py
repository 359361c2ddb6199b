"""How a plan follows from task, noise and quality."""

from __future__ import annotations

import numpy as np
import pytest

from cosparse import AnalysisOperator, load_operator
from cosparse.reconstruction.stages import QUALITIES, default_weight, first_step, plan

TASKS = ("denoise", "inpaint", "upscale", "deblur", "reconstruct")


@pytest.fixture(scope="module", params=["goal", "default"])
def operator(request):
    """One learned without looking at a task, one refined for it."""
    return load_operator(request.param)


@pytest.fixture(scope="module")
def unrefined():
    return load_operator("goal")


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("sigma", [0.0, 0.5, 5.0, 25.0, 120.0])
def test_every_plan_can_be_carried_out(task, sigma, operator):
    for quality in QUALITIES:
        chosen = plan(task, sigma, quality, None, operator)
        assert 1 <= chosen.stride <= 8
        for stage in chosen.stages:
            assert stage.weight > 0 and stage.iterations > 0
            assert 0 < first_step(stage, operator) <= 1


@pytest.mark.parametrize("task", TASKS)
def test_a_given_weight_is_the_last_stages_and_keeps_the_ratio(task, operator):
    chosen, given = (plan(task, 0.0, "balanced", weight, operator) for weight in (None, 7.5))
    assert given.stages[-1].weight == pytest.approx(7.5)
    ratios = [[stage.weight / some.stages[-1].weight for stage in some.stages] for some in (chosen, given)]
    assert ratios[0] == pytest.approx(ratios[1])


@pytest.mark.parametrize("task", TASKS)
def test_twice_the_atoms_get_half_the_weight_each(task, unrefined):
    """So that listing every atom twice, or weighting it twice, changes nothing in the sum."""
    operator = unrefined
    listed = AnalysisOperator(np.tile(operator.matrix, (2, 1)), (8, 8), weights=np.tile(operator.weights, 2))
    heavy = AnalysisOperator(operator.matrix, (8, 8), weights=2 * operator.weights)
    expected = default_weight(task, 10.0, operator) / 2
    assert default_weight(task, 10.0, listed) == pytest.approx(expected)
    assert default_weight(task, 10.0, heavy) == pytest.approx(expected)


@pytest.mark.parametrize("task", TASKS)
def test_more_noise_needs_no_less_weight(task, operator):
    weights = []
    for sigma in (1.0, 5.0, 10.0, 25.0, 50.0):
        stage = plan(task, sigma, "balanced", None, operator).stages[-1]
        assert stage.weight == default_weight(task, sigma, operator)
        weights.append(stage.weight * float(operator.at(stage.sigma).weights.mean()))
    assert weights == sorted(weights)


def test_quality_costs_more(operator):
    plans = [plan("denoise", 25.0, quality, None, operator) for quality in QUALITIES]
    strides = [some.stride for some in plans]
    counts = [some.stages[0].iterations for some in plans]
    assert strides == sorted(strides, reverse=True) and strides[0] > strides[1]
    assert counts == sorted(counts)


def test_a_refined_operator_is_used_as_it_was_trained():
    operator = load_operator("default")
    chosen = plan("denoise", 17.0, "balanced", None, operator)
    (stage,) = chosen.stages
    assert (stage.weight, stage.sigma, stage.penalty) == (1.0, 17.0, operator.penalty)
    assert chosen.stride == operator.stride == 2


def test_what_is_not_known_is_refused(operator):
    with pytest.raises(ValueError, match="quality.*fast.*balanced.*best.*'super'"):
        plan("denoise", 25.0, "super", None, operator)
    for weight in (0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="weight"):
            plan("denoise", 25.0, "fast", weight, operator)
