"""The steps of a staged operator: their file, what they are equivariant to, and how they follow the noise."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import cosparse
from cosparse import AnalysisOperator
from cosparse.kernels import reference
from cosparse.refinement.staged import RATES, StagedParameters, with_floors
from cosparse.trained_steps import TrainedSteps


@pytest.fixture(scope="module")
def steps():
    """Three steps of 15 atoms of 4x4 and 5 pools, none of them as training begins."""
    rng, start = np.random.default_rng(0), AnalysisOperator.dct(4)
    numbers = vars(StagedParameters.of(start, 3, 5))
    shaken = {name: numbers[name] + 0.05 * rng.standard_normal(numbers[name].shape) for name in RATES}
    return with_floors(StagedParameters(**numbers | shaken).steps((4, 4), 2, (5.0, 50.0)).rounded(), (4, 4))


@pytest.fixture(scope="module")
def operator(steps):
    return dataclasses.replace(AnalysisOperator.dct(4), steps={"denoise": steps})


@pytest.fixture(scope="module")
def noisy(photograph):
    clean = photograph[:50, :61].astype(np.float64)
    return clean + 20 * np.random.default_rng(0).standard_normal(clean.shape)


def stepped(noisy, sigma, operator, **options):
    return cosparse.denoise(noisy, sigma, operator=operator, data_range=255, bounds=None, grouping=False, **options)


def test_denoising_takes_the_steps_as_they_are_written(noisy, steps, operator):
    image = noisy
    for step in steps.at(20.0):
        arrays = [array.astype(float) for array in step[:5]]
        image = image - reference.pooled_step(*arrays, image, (4, 4), (2, 2)) - step.pull * (image - noisy)
    np.testing.assert_allclose(stepped(noisy, 20.0, operator), image, atol=2e-3)


def test_a_gain_of_one_for_all_takes_everything_away(photograph):
    """Atoms that are an orthonormal basis of what has no mean: patches less their noise are their means."""
    cosines = AnalysisOperator.dct(4).matrix[None]
    shapes = {"own": (1, 15), "pools": (1, 1, 15), "shares": (1, 15, 1), "pull": (1,), "scale_exponents": (1, 2, 15)}
    shapes |= {"gain_exponents": (1, 2, 15), "pool_exponents": (1, 2, 1), "share_exponents": (1, 2, 1)}
    zeros = {
        name: np.zeros(shape)
        for name, shape in (shapes | {"pull_exponents": (1, 2), "floors": (1, 1), "floor_exponents": (1, 2, 1)}).items()
    }
    # A pool that pools nothing is 1: the gain of all atoms is its share, here k over the pixels of a patch.
    zeros["shares"] += 15 / 16
    steps = TrainedSteps(cosines, np.full((1, 15), 0.01), **zeros, stride=1)
    image = photograph[:30, :30].astype(np.float32)
    operator = dataclasses.replace(AnalysisOperator.dct(4), steps={"denoise": steps})
    windows = np.lib.stride_tricks.sliding_window_view(image, (4, 4)).mean(axis=(2, 3))
    means = np.lib.stride_tricks.sliding_window_view(windows, (4, 4)).mean(axis=(2, 3))
    np.testing.assert_allclose(stepped(image, 10.0, operator)[3:-3, 3:-3], means, rtol=1e-4)


@pytest.mark.parametrize("quality", ["fast", "balanced", "best"])
def test_where_there_is_no_noise_nothing_is_made_of_it(quality, photograph):
    """White that was clipped, a black frame: training never saw such patches, and the floors keep their gains tame."""
    image = np.pad(photograph[:48, :48].astype(np.float64), 40, constant_values=255)
    noisy = image + np.where(image < 255, 25, 0) * np.random.default_rng(0).standard_normal(image.shape)
    result = cosparse.denoise(noisy, 25, quality=quality, data_range=255, bounds=None)
    far = np.ones(image.shape, bool)
    far[20:-20, 20:-20] = False
    assert np.abs(result - 255)[far].max() < 3
    assert cosparse.psnr(image[40:-40, 40:-40], result[40:-40, 40:-40], data_range=255) > 27


def test_what_steps_are_equivariant_to(noisy, operator):
    """A constant, the negative; and a factor on image and noise beyond what was trained for."""
    result = stepped(noisy, 20.0, operator)
    np.testing.assert_allclose(stepped(noisy + 300, 20.0, operator), result + 300, atol=5e-3)
    np.testing.assert_allclose(stepped(-noisy, 20.0, operator), -result, atol=1e-3)
    least, quarter = stepped(noisy, 5.0, operator), stepped(noisy / 4, 5.0 / 4, operator)
    np.testing.assert_allclose(4 * quarter, least, atol=2e-3)


def test_a_staged_operator_goes_through_its_file(operator, tmp_path):
    operator.save(tmp_path / "staged.safetensors")
    again = cosparse.load_operator(tmp_path / "staged.safetensors")
    assert again == operator and again.digest() == operator.digest() and "3 steps to denoise" in repr(again)
    plain = dataclasses.replace(operator, steps={})
    assert (
        plain != operator
        and plain.digest() != operator.digest() == AnalysisOperator.load(tmp_path / "staged.safetensors").digest()
    )


def test_a_weight_asks_for_the_energy_and_other_tasks_have_no_steps(noisy, operator):
    plain = dataclasses.replace(operator, steps={})
    assert np.array_equal(stepped(noisy, 20.0, operator, weight=1.0), stepped(noisy, 20.0, plain, weight=1.0))
    gaps = np.random.default_rng(0).random(noisy.shape) < 0.2
    assert np.array_equal(*(cosparse.inpaint(noisy, gaps, operator=one, data_range=255) for one in (operator, plain)))


def test_steps_are_watched_and_stopped(noisy, operator):
    seen = []
    stepped(noisy, 20.0, operator, callback=lambda progress: seen.append((progress.iteration, progress.iterations)))
    assert seen == [(1, 3), (2, 3), (3, 3)]
    stopped = stepped(noisy, 20.0, operator, callback=lambda progress: progress.iteration == 1)
    assert not np.allclose(stopped, stepped(noisy, 20.0, operator), atol=0.1)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"own": np.ones((3, 14))}, "own: expected finite numbers of shape"),
        ({"pools": -np.ones((3, 5, 15))}, "pools: holds negative"),
        ({"pull": np.array([0, np.nan, 0])}, "pull: expected finite"),
        ({"atoms": np.ones((15, 16))}, "atoms, pools: expected three axes"),
        ({"sigma": (30.0, 20.0)}, "sigma, stride: must be positive"),
        ({"stride": 0}, "sigma, stride: must be positive"),
    ],
)
def test_bad_numbers_are_named(steps, change, complaint):
    with pytest.raises(ValueError, match=complaint):
        dataclasses.replace(steps, **change)


def test_steps_for_other_patches_are_refused(steps):
    with pytest.raises(ValueError, match="steps: those to denoise are for patches of 16 pixels"):
        dataclasses.replace(AnalysisOperator.dct(3), steps={"denoise": steps})
