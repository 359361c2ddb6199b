"""The second pass of denoising and inpainting: its definition, what it gains, how it is left out or stopped."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skimage.data import brick, coffee

from cosparse import denoise, inpaint, psnr
from cosparse.kernels import groups, reference
from cosparse.reconstruction.stages import QUALITIES


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


@pytest.mark.slow
@pytest.mark.parametrize("quality", QUALITIES)
@pytest.mark.parametrize("sigma", [10, 40])
def test_patterns_that_return_gain_most(quality, sigma):
    truth = brick()[:160, :160].astype(np.float32)
    noisy = truth + np.random.default_rng(0).normal(0, sigma, truth.shape)
    once, twice = (denoise(noisy, sigma, quality=quality, grouping=on, data_range=255) for on in (False, True))
    assert psnr(truth, twice, data_range=255) > psnr(truth, once, data_range=255) + 0.1


@pytest.mark.slow
@pytest.mark.parametrize("quality", QUALITIES)
@pytest.mark.parametrize("sigma", [0, 20])
@pytest.mark.parametrize("kind", ["pixels", "scratches"])
def test_gaps_gain_too(quality, sigma, kind):
    truth = brick()[:120, :120].astype(np.float32)
    rng = np.random.default_rng(0)
    noisy = truth + rng.normal(0, sigma, truth.shape) if sigma else truth
    mask = rng.random(truth.shape) < 0.6
    if kind == "scratches":
        mask = np.add.outer(np.arange(120), 3 * np.arange(120)) % 40 < 4
    options = {"sigma": sigma, "quality": quality, "data_range": 255}
    once, twice = (inpaint(np.where(mask, np.nan, noisy), mask, grouping=on, **options) for on in (False, True))
    assert psnr(truth, twice, data_range=255) > psnr(truth, once, data_range=255) + 0.05
    if sigma == 0:
        np.testing.assert_array_equal(twice[~mask], truth[~mask])


def test_what_no_patch_can_know_stays_as_it_was():
    """In a hole wider than any patch there is nothing known to go by."""
    truth = brick()[:60, :60].astype(np.float32)
    mask = np.zeros(truth.shape, bool)
    mask[20:40, 20:40] = True
    once, twice = (inpaint(truth, mask, grouping=on, quality="fast", data_range=255) for on in (False, True))
    np.testing.assert_array_equal(twice[26:34, 26:34], once[26:34, 26:34])
    assert np.abs(twice[20:22, 20:40] - once[20:22, 20:40]).max() > 0.1


def test_colours_gain_together():
    truth = coffee()[100:220, 200:320].astype(np.float32)
    noisy = truth + np.random.default_rng(0).normal(0, 25, truth.shape)
    once, twice = (denoise(noisy, 25, grouping=on, data_range=255, channel_axis=-1) for on in (False, True))
    assert psnr(truth, twice, data_range=255) > psnr(truth, once, data_range=255) + 0.1


def test_stopped_on_its_way_the_first_pass_is_returned(photograph):
    """Whenever the callback says so, what it was shown last is what comes out."""
    image = photograph[:, :40].repeat(3, axis=0).astype(np.float32)  # high enough for several parts
    seen = []

    def callback(progress):
        seen.append(progress)
        return stop_at is not None and progress.iteration == stop_at

    stop_at = None
    first = denoise(image, 20, grouping=False, data_range=255)
    whole = denoise(image, 20, data_range=255, callback=callback)
    iterations = [progress.iteration for progress in seen]
    assert iterations == list(range(1, len(seen) + 1)) and seen[-1].iterations == len(seen)
    assert np.abs(whole - first).max() > 1
    np.testing.assert_allclose(seen[-1].image, whole, atol=1e-3)

    stop_at, seen = len(iterations) - 1, []
    stopped = denoise(image, 20, data_range=255, callback=callback)
    np.testing.assert_array_equal(stopped, first)
    assert len(seen) == stop_at
