"""The second pass: similar patches help each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from skimage.data import brick, coffee, gravel

from cosparse import Correlated, Map, denoise, inpaint, psnr
from cosparse.reconstruction.planes import Channel
from cosparse.reconstruction.second_pass import filter_groups
from cosparse.reconstruction.stages import GROUPING, QUALITIES


@pytest.mark.slow
@pytest.mark.parametrize("quality", QUALITIES)
@pytest.mark.parametrize("sigma", [10, 40])
def test_patterns_that_return_gain_most(quality, sigma):
    truth = brick()[:160, :160].astype(np.float32)
    noisy = truth + np.random.default_rng(0).normal(0, sigma, truth.shape)
    for operator in ("default", "staged"):
        options = {"operator": operator, "quality": quality, "data_range": 255}
        once, twice = (
            psnr(truth, denoise(noisy, sigma, grouping=on, **options), data_range=255) for on in (False, True)
        )
        if operator == "staged" and quality == "fast":
            assert twice == once  # its steps go without
        else:
            assert twice > once + 0.1


def test_a_second_turn_is_for_what_is_alike():
    """`best` goes twice over: stripes gain much, and of loose gravel nothing is lost."""
    rows, columns = np.mgrid[:96, :96]
    stripes = 120 + 45 * np.tanh(2 * np.sin(1.2 * np.hypot(rows + 60, columns + 30)))
    for truth, gain in ((stripes, 0.3), (gravel()[:96, :96].astype(float), -0.03)):
        noisy = truth + np.random.default_rng(0).normal(0, 25, truth.shape)
        options = {"data_range": 255, "bounds": None}
        pilot = denoise(noisy, 25, quality="best", grouping=False, **options).astype(np.float32)
        rule, found = GROUPING["steps"]["best"], []
        for passes in (1, 2):
            turns = replace(rule, passes=passes)
            planes = filter_groups([Channel(noisy.astype(np.float32))], [pilot], 25, turns, lambda *_: False)
            found.append(psnr(truth, planes[0], data_range=255))
        assert found[1] > found[0] + gain


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


def test_a_kind_of_noise_is_worth_knowing():
    """A level for every pixel, and what neighbours share: both are told to the groups, and both help."""
    truth = brick()[:96, :96].astype(np.float32)
    rng, rule = np.random.default_rng(0), GROUPING["steps"]["balanced"]
    pilot = truth + rng.normal(0, 6, truth.shape).astype(np.float32)
    levels = np.linspace(4, 50, 96) * np.ones((96, 1))
    streaks = Correlated(30, kernel=np.ones((1, 9)))
    for noise, sigma in ((Map(levels), float(np.sqrt(np.mean(levels**2)))), (streaks, 30.0)):
        channel = Channel(noise.sample(truth, rng=1).astype(np.float32))
        single, known = (
            filter_groups([channel], [pilot], sigma, rule, lambda *_: False, noise=kind)[0] for kind in (None, noise)
        )
        assert psnr(truth, known, data_range=255) > psnr(truth, single, data_range=255) + 0.3


def test_what_no_patch_can_know_stays_as_it_was():
    """In a hole wider than any patch there is nothing known to go by."""
    truth = brick()[:60, :60].astype(np.float32)
    mask = np.zeros(truth.shape, bool)
    mask[20:40, 20:40] = True
    options = {"quality": "fast", "data_range": 255, "fill": "smooth"}
    once, twice = (inpaint(truth, mask, grouping=on, **options) for on in (False, True))
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
