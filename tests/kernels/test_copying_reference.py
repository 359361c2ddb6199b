"""What the definitions of the kernels that copy patches promise."""

from __future__ import annotations

import numpy as np

from cosparse.kernels.copying_reference import differences, elect, shifts_of, vote
from cosparse.reconstruction.scales import box_means


def test_a_patch_that_is_lighter_by_less_than_the_slack_differs_by_what_the_shift_costs_alone():
    patch = np.random.default_rng(0).random((5, 5, 2)).astype(np.float32) * 50
    image = np.concatenate([patch, patch + 6], axis=1)
    means = box_means(image, 5)
    centres, origins = np.array([[2, 2]], np.int32), np.array([[2, 7]], np.int32)
    slack, bias = np.full(2, 9, np.float32), np.zeros((5, 10), np.float32)
    np.testing.assert_allclose(shifts_of(means, slack, centres, origins), -6, atol=1e-4)
    found = differences(image, means, slack, np.float32(0.5), centres, origins, bias, 2)
    np.testing.assert_allclose(found, 0.5 * 25 * 36 * 2, rtol=1e-4)


def test_votes_are_averaged_and_in_an_election_those_that_agree_win():
    image = np.arange(60, dtype=np.float32).reshape(6, 10, 1)
    index = np.full((6, 10), -1, np.int32)
    index[2:5, 2:5] = np.arange(9).reshape(3, 3)
    centres = np.argwhere(index >= 0)
    origins = (centres + np.array([0, 3])).astype(np.int32)
    pixel, shifts = np.array([[3, 3]], np.int32), np.full((9, 1), 2, np.float32)
    weights = np.ones(9, np.float32)
    given = image, pixel, index, origins, shifts, weights, 1
    assert vote(*given) == elect(*given)[0] == image[3, 6] + 2
    origins[0], shifts[0] = (1, 1), 40
    value, place = elect(*given)
    assert value == image[3, 6] + 2 and place.tolist() == [[3, 6]]
    assert abs(vote(*given) - (8 * (image[3, 6] + 2) + image[2, 2] + 40) / 9) < 1e-4
    weights[0] = 9  # as much as all others and one
    value, place = elect(*given)
    assert value == image[2, 2] + 40 and place.tolist() == [[2, 2]]
