"""Chroma at half its size: what it may lose, and what it must not."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from skimage.data import coffee

from cosparse import denoise, load_operator, psnr
from cosparse.reconstruction.chroma import brought_up, halved
from cosparse.reconstruction.planes import GAINS, Channel
from cosparse.reconstruction.stages import QUALITIES, TABLE
from cosparse.reconstruction.tasks.denoising import TASK

STAGED = load_operator("staged")
ALONE = dataclasses.replace(STAGED, steps={name: steps for name, steps in STAGED.steps.items() if name != "colours"})
NOISE = 30.0  # of which chroma is at half size, but for `best`


def request(shape=(16, 16, 3), quality="balanced", sigma=NOISE, **more):
    image = np.zeros(shape, np.float32)
    return TASK.request(image, sigma, quality=quality, data_range=255, channel_axis=-1, **more)


def luma_and(chroma, shape=(40, 56)):
    """A luma of edges off the lattice of pairs, and a plane made from it."""
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    luma = (60.0 * (columns > 20.5) + 80.0 * (rows > 16.5) + 30.0).astype(np.float32)
    return luma, np.asarray(chroma(luma, rows, columns), np.float32)


def test_halves_are_means_of_four_and_odd_sides_are_continued():
    plane = np.arange(15, dtype=np.float32).reshape(3, 5)
    np.testing.assert_array_equal(halved(plane), [[3, 5, 6.5], [10.5, 12.5, 14]])
    noise = np.random.default_rng(0).standard_normal((400, 400)).astype(np.float32)
    assert halved(noise).std() == pytest.approx(0.5, rel=0.02)


@pytest.mark.parametrize("shape", [(40, 56), (41, 55)])
def test_colours_that_change_where_luma_does_have_its_edges(shape):
    luma, chroma = luma_and(lambda luma, *_: 0.3 * luma - 20, shape)
    (found,) = brought_up([halved(chroma)], luma, [Channel(chroma, chroma=True)], 1e6)  # so much noise: no own details
    (blind,) = brought_up([halved(chroma)], np.zeros_like(luma), [Channel(chroma, chroma=True)], 1e6)
    assert found.shape == shape
    assert np.abs(found - chroma).max() < 1 < 4 < np.abs(blind - chroma).max()


def test_colours_have_details_of_their_own_where_they_stand_out_of_noise():
    luma, chroma = luma_and(lambda luma, rows, columns: 80.0 * (columns > 30.5) + 0 * rows)
    noisy = chroma + np.random.default_rng(0).normal(0, 4, chroma.shape).astype(np.float32)
    (found,) = brought_up([halved(chroma)], luma, [Channel(noisy, chroma=True)], 4.0)
    edge, flat = np.s_[:, 30:32], np.s_[:, 40:]
    assert np.abs(found - chroma)[edge].mean() < 5  # half the size alone: 20
    assert np.abs(found - chroma)[flat].mean() < 0.5


@pytest.mark.parametrize("quality", QUALITIES)
def test_half_from_the_tables_noise_on_and_luma_never(quality):
    for operator, rule in (("staged", "together"), (ALONE, "half")):
        half, steps = (TABLE["chroma"][name][QUALITIES.index(quality)] for name in (rule, "steps"))
        asked = {"quality": quality, "operator": operator}
        below, above = (request(sigma=sigma, **asked).problems() for sigma in (half - 1, half))
        _check_halves(below, above, quality, steps)
    assert not any(problem.half for problem in request(quality=quality, sigma=60.0, operator="default").problems())


def _check_halves(below, above, quality, steps):
    assert [problem.half for problem in below] == [False] * 3
    assert [problem.half for problem in above] == [False, True, True]
    assert [problem.start.shape for problem in above] == [(16, 16), (8, 8), (8, 8)]
    own, taken = (len(request(quality=name).problems()[0].steps) for name in (quality, steps))
    assert [len(problem.steps) for problem in above] == [own, taken, taken]


@pytest.mark.parametrize("quality", QUALITIES)
def test_grey_in_three_equal_channels_is_lumas_result(quality, photograph):
    grey = photograph[:48, :61].astype(np.float32)
    noisy = grey + np.random.default_rng(0).normal(0, NOISE, grey.shape).astype(np.float32)
    options = {"quality": quality, "data_range": 255}
    result = denoise(np.stack([noisy] * 3, axis=-1), NOISE, channel_axis=-1, **options)
    expected = denoise(noisy, NOISE * GAINS[0], **options)
    np.testing.assert_allclose(result, np.stack([expected] * 3, axis=-1), atol=0.01)


def test_other_numbers_of_channels_each_stand_alone():
    noisy = np.random.default_rng(0).normal(100, NOISE, (20, 24, 4)).astype(np.float32)
    options = {"data_range": 255, "grouping": False}  # groups are those of the first
    result = denoise(noisy, NOISE, channel_axis=-1, **options)
    alone = [denoise(np.ascontiguousarray(noisy[..., c]), NOISE, **options) for c in range(4)]
    np.testing.assert_array_equal(result, np.stack(alone, axis=-1))


@pytest.mark.parametrize("shape", [(1, 1, 3), (1, 6, 3), (2, 3, 3), (9, 13, 3)])
def test_a_constant_colour_of_any_size_stays(shape):
    image = np.broadcast_to(np.float32([30, 90, 200]), shape)
    np.testing.assert_allclose(denoise(image, NOISE, data_range=255, channel_axis=-1), image, atol=0.01)


def test_colours_beside_luma_are_better_than_each_alone():
    """At half their size, and in the mean with full size; benchmarks/colour.py has the figures."""
    truth = coffee()[100:228, 200:328].astype(np.float32)
    noisy = truth + np.random.default_rng(0).normal(0, NOISE, truth.shape)
    for quality, gain in (("fast", 0.1), ("balanced", 0.1), ("best", 0.05)):
        options = {"data_range": 255, "channel_axis": -1, "quality": quality}
        alone, beside = (
            psnr(truth, denoise(noisy, NOISE, operator=o, **options), data_range=255) for o in (ALONE, STAGED)
        )
        assert beside > alone + gain


@pytest.mark.parametrize(
    ("quality", "stop_at"), [("balanced", 2), ("balanced", 7), ("balanced", 9), ("best", 8), ("best", 17), ("best", 19)]
)
def test_stopped_on_its_way_what_was_shown_last_is_what_comes_out(quality, stop_at):
    """In luma, in the opponents, before the second pass."""
    truth = coffee()[100:164, 200:264].astype(np.float32)
    noisy = (truth + np.random.default_rng(0).normal(0, NOISE, truth.shape)).astype(np.float32)
    seen, planes = [], []

    def callback(progress):
        if not progress.second_pass:
            seen.append(progress.image)
            planes.append((progress.plane, progress.planes))
        return len(seen) == stop_at

    options = {"quality": quality, "data_range": 255, "channel_axis": -1, "bounds": None, "callback": callback}
    result = denoise(noisy, NOISE, **options)
    taken = [5, 4] if quality == "balanced" else [5, 5, 5, 4]  # of luma and both together, or each alone before
    assert planes == [(i, len(taken)) for i, count in enumerate(taken) for _ in range(count)][:stop_at]
    np.testing.assert_allclose(result, seen[-1], atol=1e-3)
