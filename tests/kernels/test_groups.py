"""The second pass of denoising and inpainting: its definition, what it gains, how it is left out or stopped."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cosparse.kernels import groups, reference


def planes(shape, seed):
    """Pilots of some structure, noisy versions of them, which pixels are known, and the variances of that noise."""
    rng = np.random.default_rng(seed)
    pilots = 128 + 40 * np.cumsum(rng.standard_normal(shape), axis=-1) / np.sqrt(shape[-1])
    spread = rng.uniform(1, 30, shape[0])
    noisies = pilots + spread[:, None, None] * rng.standard_normal(shape)
    known = rng.random(shape[1:]) >= rng.choice([0, 0.3, 0.9])
    return pilots.astype(np.float32), noisies.astype(np.float32), known.astype(np.uint8), spread**2


@given(
    shape=st.tuples(st.sampled_from([1, 3]), st.integers(1, 30), st.integers(1, 30)),
    size_step=st.integers(1, 9).flatmap(lambda size: st.tuples(st.just(size), st.integers(1, size))),
    radius=st.integers(0, 6), count=st.integers(1, 12), everywhere=st.booleans(),
    alike=st.sampled_from([0.1, 0.5, np.inf]), shift=st.integers(0, 3), seed=st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_the_fast_twin_does_what_the_definition_says(shape, size_step, radius, count, everywhere, alike, shift, seed):
    given = planes(shape, seed)
    rest = (everywhere, *size_step, radius, count, alike, min(shift, size_step[1] - 1))
    found = groups.group_filter(*given, *rest)
    wanted = reference.group_filter(*(part.astype(float) for part in given), *rest)
    np.testing.assert_allclose(found, wanted, atol=0.01)


def covariance(shape, seed):
    """Of correlated noise in a patch: a random one, of condition 50 at most."""
    root = np.random.default_rng(seed).standard_normal((shape, shape)) / np.sqrt(shape)
    return 100 * (root @ root.T + 0.1 * np.eye(shape))


@given(
    shape=st.tuples(st.sampled_from([1, 3]), st.integers(5, 20), st.integers(5, 20)), gaps=st.booleans(),
    stripes=st.sampled_from([None, 1.5, 100.0]), unit=st.sampled_from([0.05, 1.0, 20.0]),
    seed=st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_the_twins_agree_on_any_noise(shape, gaps, stripes, unit, seed):
    pilots, noisies, known, _ = planes(shape, seed)
    known[:] = known if gaps else 1
    covariances = np.stack([covariance(16, seed + c) for c in range(shape[0])])
    given = pilots, noisies, known, covariances.diagonal(axis1=1, axis2=2).mean(axis=1)
    striped = unit * np.where(np.arange(shape[2]) % 6 < 3, 1, stripes or 1) * np.ones((shape[1], 1))
    relative = None if stripes is None else striped
    single = None if relative is None else relative.astype(np.float32)
    rest = (True, 4, 3, 5, 8)
    found = groups.group_filter(*given, *rest, covariances=covariances, relative=single)
    doubles = (part.astype(float) for part in given)
    wanted = reference.group_filter(*doubles, *rest, covariances=covariances, relative=relative)
    np.testing.assert_allclose(found, wanted, atol=0.05)


def test_white_noise_in_other_words_is_the_same():
    """sigma²·I for sigma², the same level everywhere for none: to rounding. Half of it at twice the level too."""
    pilots, noisies, known, variances = planes((3, 40, 33), 0)
    known[:] = 1
    rest = (True, 6, 4, 8, 12)
    wanted = groups.group_filter(pilots, noisies, known, variances, *rest)
    covariances, even = variances[:, None, None] * np.eye(36), np.full(known.shape, 2, np.float32)
    same = groups.group_filter(pilots, noisies, known, variances, *rest, covariances=covariances)
    np.testing.assert_allclose(same, wanted, atol=2e-3)
    same = groups.group_filter(pilots, noisies, known, variances / 2, *rest, relative=even)
    np.testing.assert_allclose(same, wanted, atol=2e-3)


def test_what_is_less_noisy_counts_more():
    """Columns of little noise between noisy ones are left nearly as they are, and help the others."""
    truth = np.add.outer(np.arange(32.0), 3 * np.arange(32.0) % 50).astype(np.float32)[None]
    levels = np.where(np.arange(32) % 4 < 2, 1.0, 900.0) * np.ones((32, 1))
    noise = np.sqrt(levels) * np.random.default_rng(0).standard_normal(levels.shape)
    noisies, known = (truth + noise).astype(np.float32), np.ones(levels.shape, np.uint8)
    pilots = truth + np.random.default_rng(1).normal(0, 5, truth.shape).astype(np.float32)
    rest = (True, 8, 4, 8, 24)
    mapped = groups.group_filter(pilots, noisies, known, np.ones(1), *rest, relative=levels.astype(np.float32))
    single = groups.group_filter(pilots, noisies, known, np.array([450.0]), *rest)
    errors = [np.sqrt(np.mean((found - truth) ** 2)) for found in (mapped, single)]
    assert errors[0] < 0.6 * errors[1]


def test_without_noise_nothing_is_changed_and_with_all_noise_the_groups_agree():
    """The two ends of the filter: a variance of nothing, and one beyond all structure."""
    pilots, noisies, known, _ = planes((1, 24, 24), 0)
    known[:] = 1
    # More patches in a group than pixels in a patch, or the estimates could not reach every pattern.
    nearly = groups.group_filter(pilots, noisies, known, np.array([1e-3]), True, 3, 2, 6, 40)
    np.testing.assert_allclose(nearly, noisies, atol=0.1)
    alone = groups.group_filter(pilots, noisies, known, np.array([1e12]), True, 3, 2, 6, 1)
    np.testing.assert_allclose(alone, pilots, atol=1e-3)


def test_of_equals_the_first_in_reading_order_is_nearer():
    """Copies of one tile: which of them make the group shows in the noise, and it is as the definition has it."""
    pilots = np.tile(np.random.default_rng(0).integers(0, 255, (4, 4)), (6, 6))[None].astype(np.float32)
    noisies = pilots + np.random.default_rng(1).normal(0, 20, pilots.shape).astype(np.float32)
    given = pilots, noisies, np.ones(pilots.shape[1:], np.uint8), np.array([400.0])
    found = groups.group_filter(*given, True, 4, 4, 9, 5)
    wanted = reference.group_filter(*(part.astype(float) for part in given), True, 4, 4, 9, 5)
    np.testing.assert_allclose(found, wanted, atol=1e-3)


def test_groups_that_are_not_alike_keep_their_pilots():
    rng = np.random.default_rng(0)
    stripes = np.where(np.arange(24) % 4 < 2, 80, 170) + rng.normal(0, 3, (36, 24))
    pilots = np.concatenate([stripes, rng.uniform(80, 170, (20, 24))])[None].astype(np.float32)
    noisies = pilots + rng.normal(0, 20, pilots.shape).astype(np.float32)
    given = pilots, noisies, np.ones(pilots.shape[1:], np.uint8), np.array([400.0])
    everywhere, alike = (groups.group_filter(*given, True, 6, 4, 8, 8, limit)[0] for limit in (np.inf, 0.2))
    np.testing.assert_array_equal(alike[:18], everywhere[:18])
    assert np.abs(alike[:18] - pilots[0, :18]).max() > 0.5
    np.testing.assert_allclose(alike[-8:], pilots[0, -8:], atol=1e-3)


def test_the_twins_agree_on_patches_of_which_every_second_pixel_is_compared():
    """Groups that depend on all of these pixels, and that are like each other or not by the middle one."""
    for seed in range(3):
        given, rest = planes((1, 24, 24), seed), (True, 8, 4, 5, 6, 0.4)
        wanted = reference.group_filter(*(part.astype(float) for part in given), *rest)
        np.testing.assert_allclose(groups.group_filter(*given, *rest), wanted, atol=0.01)


def test_every_pixel_is_in_a_patch_of_a_group():
    assert reference.group_corners(20, 4, 3).tolist() == [0, 3, 6, 9, 12, 15, 16]
    for shift in range(3):
        corners = reference.group_corners(20, 4, 3, shift)
        assert shift in corners
        assert {pixel for corner in corners for pixel in range(corner, corner + 4)} == set(range(20))
