"""A step of a staged operator and its reverse: the fused kernels against their definition, that against differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosparse.kernels import pooled, reference
from cosparse.testing import gradient_test

PATCH = (3, 4)
NAMES = ("atoms", "own", "pools", "shares")
FLOORS = np.array([0.5, 0.0])


def drawn(seed, shape):
    """Parameters of five atoms and two pools, an image and an adjoint, in double precision."""
    rng = np.random.default_rng(seed)
    parameters = [
        rng.standard_normal((5, 12 * math.prod(shape[2:]))) / 3,
        rng.standard_normal(5),
        rng.random((2, 5)),
        rng.standard_normal((5, 2)),
    ]
    return parameters, *(rng.standard_normal((2, *shape)) * 3)


@given(
    shape=st.sampled_from([(1, 1), (3, 2), (9, 40), (37, 12), (70, 30), (3, 2, 2), (40, 9, 3)]),
    stride=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    seed=st.integers(0, 2**31),
)
def test_the_fused_step_and_its_reverse_are_their_definition(shape, stride, seed):
    parameters, image, adjoint = drawn(seed, shape)
    single, floors = [array.astype(np.float32) for array in parameters], FLOORS.astype(np.float32)
    pictures = [array.astype(np.float32) for array in (image, adjoint)]

    def agree(fast, slow):
        np.testing.assert_allclose(fast, slow, rtol=1e-3, atol=2e-5 * max(1, np.abs(slow).max()))

    agree(
        pooled.pooled_step(*single, floors, pictures[0], PATCH, stride),
        reference.pooled_step(*parameters, FLOORS, image, PATCH, stride),
    )
    back, parts = pooled.pooled_reverse(*single, floors, *pictures, PATCH, stride)
    wanted, exact = reference.pooled_reverse(*parameters, FLOORS, image, adjoint, PATCH, stride)
    for fast, slow in zip((back, *parts), (wanted, *exact), strict=True):
        agree(fast, slow)


@given(
    shape=st.sampled_from([(1, 1), (3, 2), (9, 40), (70, 30)]),
    stride=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    count=st.sampled_from([1, 4]),
    seed=st.integers(0, 2**31),
)
def test_the_fused_step_with_a_level_for_every_patch_is_its_definition(shape, stride, count, seed):
    """And that is a step of the numbers of that level, where all patches have the same one."""
    parameters, image, _ = drawn(seed, shape)
    rng = np.random.default_rng(seed)
    extents = tuple(reference.positions(*pair) for pair in zip(shape, stride, strict=True))
    tables = [rng.random((count, side)) + 0.5 for side in (5, 5, 2, 2, 2)]
    local = reference.LocalGains(rng.integers(0, count, extents), *tables)
    slow = reference.pooled_step(*parameters, FLOORS, image, PATCH, stride, local)
    single = [array.astype(np.float32) for array in (*parameters, FLOORS, image)]
    fast = pooled.pooled_step(*single, PATCH, stride, local)
    np.testing.assert_allclose(fast, slow, rtol=1e-3, atol=3e-5 * max(1, np.abs(slow).max()))
    if count == 1:
        atoms, own, pools, shares = parameters
        responses, gains, energies, floors, given = (table[0] for table in tables)
        there = responses[:, None] * atoms, gains * own, energies[:, None] * pools, gains[:, None] * shares * given
        np.testing.assert_allclose(slow, reference.pooled_step(*there, floors * FLOORS, image, PATCH, stride))


@pytest.mark.parametrize("changed", [*NAMES, "image"])
def test_the_reverse_is_the_gradient(changed):
    parameters, image, adjoint = drawn(3, (9, 11))
    given = dict(zip(NAMES, parameters, strict=True)) | {"image": image}

    def product(value):
        asked = given | {changed: value}
        step = reference.pooled_step(*(asked[name] for name in NAMES), FLOORS, asked["image"], PATCH, (2, 2))
        back, parts = reference.pooled_reverse(
            *(asked[name] for name in NAMES), FLOORS, asked["image"], adjoint, PATCH, (2, 2)
        )
        return float(np.vdot(step, adjoint)), (dict(zip(NAMES, parts, strict=True)) | {"image": back})[changed]

    gradient_test(product, given[changed])


def test_the_number_of_threads_does_not_show():
    import cosparse

    parameters, image, _ = drawn(0, (150, 40))
    single = [array.astype(np.float32) for array in (*parameters, FLOORS, image)]
    with cosparse.limit_threads(1):
        alone = pooled.pooled_step(*single, PATCH, (1, 2))
    assert np.array_equal(pooled.pooled_step(*single, PATCH, (1, 2)), alone)
