"""Crops are damaged as the tasks find them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosparse import AnalysisOperator
from cosparse.refinement.damage import TASKS, draw


@given(task=st.sampled_from(TASKS), seed=st.integers(0, 1000))
def test_problems_are_what_the_task_says(task, seed):
    image = np.random.default_rng(seed).random((40, 50)).astype(np.float32) * 255
    crop = draw([image], task, (5.0, 50.0), 24, np.random.default_rng(seed))
    problem = crop.problem(AnalysisOperator.dct(4))
    assert crop.truth.shape == problem.start.shape == (24, 24)
    assert 5 <= crop.sigma <= 50
    seen = crop.truth.ravel() if problem.measure is None else problem.measure.matvec(crop.truth.ravel())
    noise = np.asarray(problem.data).ravel() - seen
    if problem.trust is not None:
        noise = noise[problem.trust.ravel() > 0]
    assert np.std(noise) == pytest.approx(crop.sigma, rel=0.45)
