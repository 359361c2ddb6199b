"""Corrections: by how little is known, and nothing of what nobody can know."""

from __future__ import annotations

import numpy as np
import pytest
from skimage.data import camera

from cosparse import inpaint, load_operator, psnr
from cosparse.reconstruction.correction import enlarged_level, missing_level, missing_levels, near_known


def test_levels_follow_the_share_that_is_missing():
    gaps = np.zeros((40, 60), bool)
    gaps[:, 30:] = np.indices((40, 30)).sum(axis=0) % 2
    levels = missing_levels(gaps)
    assert levels.sigma[20, 5] == pytest.approx(2.5) and levels.sigma[20, 50] == pytest.approx(12.5, abs=0.1)
    assert (np.diff(levels.sigma[20, 20:40]) > -0.2).all()
    assert missing_level(gaps) == pytest.approx(25 * gaps.mean())
    assert [enlarged_level(factor) for factor in (2, 4)] == [12.5, 25.0]


def test_a_part_of_a_mask_has_the_levels_of_the_whole():
    gaps = np.random.default_rng(0).random((80, 90)) < 0.4
    whole, part = missing_levels(gaps), missing_levels(gaps[20:70, 30:])
    np.testing.assert_array_equal(part.sigma[10:-10, 10:-10], whole.sigma[30:60, 40:80])
    assert part.typical == whole.typical


def test_what_lies_in_the_middle_of_a_hole_is_not_corrected():
    gaps = np.zeros((40, 40), bool)
    gaps[10:30, 10:30] = True
    near = near_known(gaps)
    assert near[10:15, 10:30].all() and not near[15:25, 15:25].any() and not near[~gaps].any()


@pytest.mark.slow
@pytest.mark.parametrize("percent", [20, 50, 80])
def test_the_shipped_steps_correct_what_the_energy_and_the_second_pass_give(percent):
    truth = camera()[40:200, 120:280]
    gaps = np.random.default_rng(0).random(truth.shape) < percent / 100
    plain, corrected = (inpaint(truth, gaps, operator=operator) for operator in ("default", "staged"))
    assert psnr(truth, corrected) > psnr(truth, plain) + 0.1
    assert "inpaint" not in load_operator("default").steps
