"""A problem is what a task asks, and all that the engine needs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import cosparse
from cosparse.reconstruction.tasks import TASKS


@pytest.fixture(scope="module")
def noisy(photograph):
    rng = np.random.default_rng(0)
    return (photograph[40:72, 60:88] + 20 * rng.standard_normal((32, 28))).astype(np.float32)


def test_a_task_is_its_problem_solved(noisy):
    """What users call, without its second pass, is what anyone gets who asks for the problem and solves it."""
    request = TASKS["denoise"].request(noisy, 20, data_range=255, grouping=False)
    (problem,) = request.problems()
    image = cosparse.solve(problem).image.clip(0, 255)
    np.testing.assert_allclose(cosparse.denoise(noisy, 20, data_range=255, grouping=False), image, atol=1e-4)
    again = pickle.loads(pickle.dumps(problem))
    np.testing.assert_array_equal(cosparse.solve(again).image, cosparse.solve(problem).image)
