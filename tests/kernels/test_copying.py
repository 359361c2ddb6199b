"""The kernels that copy patches, against their definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_cases import seeds

from cosparse import limit_threads
from cosparse.kernels import copying, copying_reference
from cosparse.reconstruction.scales import box_means

REACH = 2


def case(seed, shape, channels, count):
    """Whole numbers, so that sums are nearly exact: an image, its means, centres with origins, and so on."""
    rng = np.random.default_rng(seed)
    image = rng.integers(-9, 10, (*shape, channels)).astype(np.float32)
    means = box_means(image, 2 * REACH + 1)
    slack = rng.integers(0, 4, channels).astype(np.float32)
    bias = rng.integers(0, 50, shape).astype(np.float32)
    inner = [np.arange(REACH, side - REACH) for side in shape]
    every = np.stack(np.meshgrid(*inner, indexing="ij"), axis=-1).reshape(-1, 2)
    centres, origins = (rng.permutation(every)[:count].astype(np.int32) for _ in range(2))
    index = np.full(shape, -1, np.int32)
    index[centres[:, 0], centres[:, 1]] = np.arange(len(centres))
    usable = np.zeros(shape, np.uint8)
    usable[REACH:-REACH, REACH:-REACH] = rng.random((shape[0] - 2 * REACH, shape[1] - 2 * REACH)) < 0.7
    return image, means, slack, bias, centres, origins, index, usable


cases = {
    "seed": seeds, "shape": st.tuples(st.integers(6, 40), st.integers(6, 40)), "channels": st.sampled_from([1, 3, 5]),
    "count": st.integers(1, 700),
}  # fmt: skip


@settings(max_examples=25)
@given(**cases)
def test_differences_and_improve(seed, shape, channels, count):
    image, means, slack, bias, centres, origins, index, usable = case(seed, shape, channels, count)
    given = image, means, slack, np.float32(0.25), centres
    costs = copying.differences(*given, origins, bias, REACH)
    np.testing.assert_allclose(costs, copying_reference.differences(*given, origins, bias, REACH), rtol=1e-5, atol=1e-2)
    moves = np.array([(0, 1, 0, 0), (-1, 0, 0, 0), (3, -2, 0, 0), (0, 0, 1, -1)], np.int32)
    fast, slow = (
        kernel(*given, index, usable, bias, REACH, moves, origins, costs)
        for kernel in (copying.improve, copying_reference.improve)
    )
    np.testing.assert_allclose(fast[1], slow[1], rtol=1e-5, atol=1e-2)
    exact = np.abs(slow[1] - copying_reference.differences(*given, fast[0], bias, REACH)) <= 1e-2 + 1e-5 * slow[1]
    assert exact.all()  # of nearly equal ones either may be taken
    assert (fast[1] <= costs).all()


@settings(max_examples=25)
@given(**cases)
def test_vote_and_elect(seed, shape, channels, count):
    image, *_, centres, origins, index, _ = case(seed, shape, channels, count)
    rng = np.random.default_rng(seed + 1)
    pixels = np.argwhere(rng.random(shape) < 0.3).astype(np.int32)
    shifts = rng.integers(-3, 4, (len(centres), channels)).astype(np.float32)
    weights = (0.1 + rng.random(len(centres))).astype(np.float32)
    fast, slow = (
        kernel(image, pixels, index, origins, shifts, weights, REACH)
        for kernel in (copying.vote, copying_reference.vote)
    )
    np.testing.assert_allclose(fast, slow, rtol=1e-4, atol=1e-3)
    continued = np.where(rng.random(len(centres))[:, None] < 0.7, REACH + centres % 2, origins).astype(np.int32)
    weights = rng.integers(1, 4, len(centres)).astype(np.float32)  # sums are exact, and so equals are equals
    (value, place), (expected, chosen) = (
        kernel(image, pixels, index, continued, shifts, weights, REACH)
        for kernel in (copying.elect, copying_reference.elect)
    )
    np.testing.assert_array_equal(place, chosen)
    np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-3)


@settings(max_examples=15)
@given(seed=seeds, sizes=st.tuples(st.integers(1, 600), st.integers(1, 1100)), count=st.integers(1, 3))
def test_nearest(seed, sizes, count):
    rng = np.random.default_rng(seed)
    targets, sources = (rng.standard_normal((size, 6)).astype(np.float32) for size in sizes)
    bias = rng.random(sizes[1]).astype(np.float32)
    fast = copying.nearest(targets, sources, bias, count)
    distances = np.square(targets[:, None] - sources).sum(axis=2) + bias
    slow = copying_reference.nearest(targets, sources, bias, count)
    found, expected = (np.take_along_axis(distances, places, axis=1) for places in (fast, slow))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@settings(max_examples=15)
@given(**cases)
def test_project(seed, shape, channels, count):
    image, *_, centres, _, _, _ = case(seed, shape, channels, count)
    basis = np.random.default_rng(seed).standard_normal(((2 * REACH + 1) ** 2 * channels, 4)).astype(np.float32)
    fast, slow = (kernel(image, centres, basis, REACH) for kernel in (copying.project, copying_reference.project))
    np.testing.assert_allclose(fast, slow, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("threads", [1, 2])
def test_the_number_of_threads_changes_no_byte(threads):
    image, means, slack, bias, centres, origins, index, usable = case(3, (60, 60), 3, 3000)
    given = image, means, slack, np.float32(0.15), centres
    moves = np.array([(0, 1, 0, 0), (2, 0, 0, 0)], np.int32)
    costs = copying.differences(*given, origins, bias, REACH)
    expected = copying.improve(*given, index, usable, bias, REACH, moves, origins, costs)
    with limit_threads(threads):
        found = copying.improve(*given, index, usable, bias, REACH, moves, origins, costs)
    np.testing.assert_array_equal(found[0], expected[0])
