"""The first pass: which planes are solved, and what becomes of those of half size; the rest is in test_chroma.py."""

from __future__ import annotations

import numpy as np
import pytest
from skimage.data import coffee

from cosparse import load_operator
from cosparse.reconstruction.first_pass import first_pass
from cosparse.reconstruction.tasks.denoising import TASK
from cosparse.reconstruction.watch import Watch


@pytest.mark.parametrize(("sigma", "alone", "turns"), [(12.0, 3, 4), (30.0, 1, 2)])
def test_opponents_of_half_size_are_solved_together_and_others_in_the_mean(sigma, alone, turns):
    noisy = coffee()[:32, :40].astype(np.float32) + np.random.default_rng(0).normal(0, sigma, (32, 40, 3)).astype("f4")
    request = TASK.request(noisy, sigma, data_range=255, channel_axis=-1)
    (channels, join), problems, watch = request._apart(0), request.problems(), Watch()
    solved = []

    def solve(i):
        solved.append((i, watch.plane, watch.planes))
        return problems[i].start

    steps = load_operator("staged").steps["colours"]
    beside = first_pass(problems, channels, solve, steps, sigma, watch, join, 7)
    assert solved == [(i, i, turns) for i in range(alone)] and watch.parts == 7
    assert [plane.shape for plane in beside] == [(32, 40)] * 3
    apart = first_pass(problems, channels, solve, None, sigma, Watch(), join, 0)
    assert np.array_equal(apart[0], beside[0]) and not np.array_equal(apart[1], beside[1])
    if alone == 3:  # what was only measured stands for one half of the mean: most noise is gone from the other
        half = 2 * beside[1] - channels[1].plane
        assert (half - channels[1].plane).std() > 0.5 * sigma * channels[1].gain
