"""How a plan follows from task, noise and quality."""

from __future__ import annotations

import numpy as np
import pytest

from cosparse import AnalysisOperator, load_operator
from cosparse.reconstruction.rules import QUALITIES, default_weight, first_step, plan

TASKS = ("denoise", "inpaint", "upscale", "deblur", "reconstruct")


@pytest.fixture(scope="module")
def operator():
    return load_operator()


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
    ratios = [
        [stage.weight / some.stages[-1].weight for stage in some.stages] for some in (chosen, given)
    ]
    assert ratios[0] == pytest.approx(ratios[1])


@pytest.mark.parametrize("task", TASKS)
def test_twice_the_atoms_get_half_the_weight_each(task, operator):
    """So that listing every atom twice, or weighting it twice, changes nothing in the sum."""
    listed = AnalysisOperator(np.tile(operator.matrix, (2, 1)), (8, 8), weights=np.tile(operator.weights, 2))
    heavy = AnalysisOperator(operator.matrix, (8, 8), weights=2 * operator.weights)
    expected = default_weight(task, 10.0, operator) / 2
    assert default_weight(task, 10.0, listed) == pytest.approx(expected)
    assert default_weight(task, 10.0, heavy) == pytest.approx(expected)


@pytest.mark.parametrize("task", TASKS)
def test_more_noise_needs_no_less_weight(task, operator):
    weights = [default_weight(task, sigma, operator) for sigma in (1.0, 5.0, 10.0, 25.0, 50.0)]
    assert weights == sorted(weights)


def test_quality_costs_more(operator):
    plans = [plan("denoise", 25.0, quality, None, operator) for quality in QUALITIES]
    strides = [some.stride for some in plans]
    counts = [some.stages[0].iterations for some in plans]
    assert strides == sorted(strides, reverse=True) and len(set(strides)) == 3
    assert counts == sorted(counts)


def test_what_is_not_known_is_refused(operator):
    with pytest.raises(ValueError, match="quality.*fast.*balanced.*best.*'super'"):
        plan("denoise", 25.0, "super", None, operator)
    for weight in (0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="weight"):
            plan("denoise", 25.0, "fast", weight, operator)
