"""How a plan follows from task, noise and quality, and where its numbers come from."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cosparse import AnalysisOperator, load_operator
from cosparse.reconstruction.prior import Prior
from cosparse.reconstruction.stages import GROUPING, QUALITIES, TABLE, as_refined, first_step, mass, plan

TASKS = ("denoise", "inpaint", "upscale", "deblur", "deblock", "reconstruct")
BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module", params=["goal", "default"])
def operator(request):
    """One learned without looking at a task, one refined for it."""
    return load_operator(request.param)


@pytest.fixture(scope="module")
def unrefined():
    return load_operator("goal")


# -- plans ----------


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("sigma", [0.0, 0.5, 5.0, 25.0, 120.0])
def test_every_plan_can_be_carried_out(task, sigma, operator):
    for quality in QUALITIES:
        chosen = plan(task, sigma, quality, None, operator)
        assert 1 <= chosen.stride <= 8
        for stage in chosen.stages:
            assert stage.weight > 0 and stage.iterations > 0 and stage.sigma > 0
            assert isinstance(stage.iterations, int)
            assert 0 < first_step(stage, as_refined(operator).at(stage.sigma)) <= 1


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("sigma", [0.0, 12.0])
def test_a_given_weight_is_the_last_stages_and_twice_it_doubles_all(task, sigma, operator):
    chosen, given, twice = (plan(task, sigma, "balanced", weight, operator).stages for weight in (None, 7.5, 15.0))
    assert given[-1].weight == pytest.approx(7.5)
    assert [stage.weight for stage in twice] == pytest.approx([2 * stage.weight for stage in given])
    ratio = chosen[-1].weight / 7.5
    assert [stage.weight * ratio for stage in given] == pytest.approx([stage.weight for stage in chosen])
    assert [replace(stage, weight=0) for stage in given] == [replace(stage, weight=0) for stage in chosen]


@pytest.mark.parametrize("task", TASKS)
def test_more_noise_needs_no_less_weight(task, operator):
    weights = []
    for sigma in (1.0, 5.0, 10.0, 25.0, 50.0):
        stage = plan(task, sigma, "balanced", None, operator).stages[-1]
        weights.append(stage.weight * float(as_refined(operator).at(stage.sigma).weights.mean()))
    assert weights == sorted(weights)


def test_quality_costs_more(operator):
    plans = [plan("denoise", 25.0, quality, None, operator) for quality in QUALITIES]
    strides = [some.stride for some in plans]
    counts = [some.stages[0].iterations for some in plans]
    assert strides == sorted(strides, reverse=True) and strides[0] > strides[1]
    assert counts == sorted(counts)


def test_an_operator_is_used_as_it_was_trained():
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


# -- operators that were never refined ----------


def test_an_operator_and_its_refined_twin_have_the_same_plans(operator):
    twin = as_refined(operator)
    assert twin.refined and as_refined(twin) is twin
    assert (twin is operator) == operator.refined
    for task in TASKS:
        for sigma in (0.0, 3.0, 40.0):
            for quality in QUALITIES:
                assert plan(task, sigma, quality, None, operator) == plan(task, sigma, quality, None, twin)


def test_taking_it_as_refined_changes_no_operator(unrefined):
    before = unrefined.digest()
    assert as_refined(unrefined) != unrefined
    assert unrefined.digest() == before and not unrefined.refined


def test_atoms_listed_or_weighted_twice_change_nothing_in_the_sum(unrefined):
    image = np.random.default_rng(0).uniform(0, 255, (20, 24)).astype(np.float32)
    listed = AnalysisOperator(np.tile(unrefined.matrix, (2, 1)), (8, 8))
    heavy = AnalysisOperator(unrefined.matrix, (8, 8), weights=2 * unrefined.weights)
    expected = Prior.of(unrefined, 10.0)(image)[0]
    for other in (listed, heavy):
        assert Prior.of(other, 10.0)(image)[0] == pytest.approx(expected, rel=1e-4)
        assert mass(as_refined(other)) == pytest.approx(TABLE["unrefined"]["mass"], rel=1e-5)


def test_without_a_trained_stride_patches_lie_a_quarter_of_their_size_apart(unrefined):
    assert [plan("denoise", 9.0, quality, None, unrefined).stride for quality in QUALITIES] == [3, 2, 1]
    differences = AnalysisOperator.finite_differences()
    assert [plan("denoise", 9.0, quality, None, differences).stride for quality in QUALITIES] == [1, 1, 1]


# -- the table ----------


def test_every_row_says_what_chose_it_and_the_db_it_gave():
    rows = [*TABLE["plan"], *TABLE["grouping"].values()]
    rows += [part for name, part in TABLE.items() if name not in ("plan", "grouping")]
    assert len(rows) > 15
    for row in rows:
        program, script, *_ = row["command"].split()
        assert program == "python" and (BENCHMARKS.parent / script).is_file()
        assert (np.array(row["db"]) > 20).all()


def test_second_passes_have_the_db_of_the_committed_figures():
    with (BENCHMARKS / "results" / "grouping.csv").open(newline="") as file:
        figures = list(csv.DictReader(file))
    problems = {"denoise": "noise 25", "steps": "noise 25, trained steps", "inpaint": "50 % missing"}
    for name, problem in problems.items():
        for (quality, rule), db in zip(GROUPING[name].items(), TABLE["grouping"][name]["db"], strict=True):
            start = f"{rule.count} of {rule.size}x{rule.size}, step {rule.step}, radius {rule.radius}"
            found = [
                float(row["psnr"])
                for row in figures
                if row["problem"] == problem and row["quality"] == quality and row["second pass"].startswith(start)
            ]
            assert db in found
