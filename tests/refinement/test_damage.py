"""Crops are damaged as the tasks find them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosparse import AnalysisOperator
from cosparse.refinement.damage import TASKS, draw, rough_noise


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


def test_rough_noise_is_of_every_kind(photograph):
    truth = photograph[:64, :64].astype(np.float32)
    crops = [rough_noise(truth, 20.0, np.random.default_rng(seed)) for seed in range(400)]
    assert all(crop.sigma == 20 and crop.measured.dtype == np.float32 for crop in crops)
    cut = np.array([bool((crop.truth != truth).any()) for crop in crops])
    assert (crops[int(cut.argmax())].measured <= 255).all() and 0.06 < cut.mean() < 0.2
    levels = np.array([np.std(crop.measured - crop.truth) for crop in crops])[~cut]
    assert 0.5 < np.mean(np.abs(levels - 20) < 1.5) < 0.8
    assert levels.min() < 15 and levels.max() > 27
    whole = np.array([bool((crop.measured == np.rint(crop.measured)).all()) for crop in crops])
    assert 0.06 < np.mean(whole & ~cut) < 0.2  # JPEG
