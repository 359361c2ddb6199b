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
    size_step=st.integers(1, 7).flatmap(lambda size: st.tuples(st.just(size), st.integers(1, size))),
    radius=st.integers(0, 6), count=st.integers(1, 12), everywhere=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_the_fast_twin_does_what_the_definition_says(shape, size_step, radius, count, everywhere, seed):
    given = planes(shape, seed)
    rest = (everywhere, *size_step, radius, count)
    found = groups.group_filter(*given, *rest)
    wanted = reference.group_filter(*(part.astype(float) for part in given), *rest)
    np.testing.assert_allclose(found, wanted, atol=0.01)


def test_without_noise_nothing_is_changed_and_with_all_noise_the_groups_agree():
    """The two ends of the filter: a variance of nothing, and one beyond all structure."""
    pilots, noisies, known, _ = planes((1, 24, 24), 0)
    known[:] = 1
    # More patches in a group than pixels in a patch, or the estimates could not reach every pattern.
    nearly = groups.group_filter(pilots, noisies, known, np.array([1e-3]), True, 3, 2, 6, 40)
    np.testing.assert_allclose(nearly, noisies, atol=0.1)
    alone = groups.group_filter(pilots, noisies, known, np.array([1e12]), True, 3, 2, 6, 1)
    np.testing.assert_allclose(alone, pilots, atol=1e-3)
