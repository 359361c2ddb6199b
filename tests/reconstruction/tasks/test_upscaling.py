"""Upscaling: better than interpolation, and the better the more is known of how the small image was made."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from repairs import noise
from scipy.ndimage import convolve

from cosparse import deblur, denoise, load_operator, psnr, upscale
from cosparse.reconstruction import measurement
from cosparse.reconstruction.start import enlarge
from cosparse.reconstruction.tasks import TASKS

SPREAD = np.outer([1, 4, 6, 4, 1], [1, 4, 6, 4, 1]) / 256


@pytest.mark.parametrize("kernel", [*measurement.REDUCTIONS, "array"])
@pytest.mark.parametrize("factor, gain", [(2, 1.5), (3, 1.0), (4, 0.7)])
def test_upscaling_beats_bicubic(factor, gain, kernel, clean):
    known = SPREAD if kernel == "array" else kernel
    small = measurement.reduction(factor, clean.shape, known).forward(clean.astype(np.float32))
    bicubic = enlarge(small, factor)
    assert psnr(clean, upscale(small, factor, kernel=known, quality="fast")) > psnr(clean, bicubic) + gain
    if kernel in ("gaussian", "bicubic"):
        noisy = small + noise(small.shape, 8 / 255)
        bicubic = enlarge(noisy.astype(np.float32), factor)
        assert psnr(clean, upscale(noisy, factor, kernel=kernel, sigma=8 / 255)) > psnr(clean, bicubic) + 0.3


def test_noise_is_taken_off_first_by_trained_steps(clean):
    """And by the energy, together with the rest, where there are none or a weight asks for it."""
    small = measurement.reduction(2, clean.shape).forward(clean.astype(np.float32))
    noisy = (small + noise(small.shape, 15 / 255)).astype(np.float32)
    both = upscale(noisy, 2, sigma=15 / 255)
    np.testing.assert_allclose(both, upscale(denoise(noisy, 15 / 255), 2), atol=1e-4)
    by_energy = upscale(noisy, 2, sigma=15 / 255, operator="default")
    assert psnr(clean, both) > psnr(clean, by_energy) + 0.3
    np.testing.assert_array_equal(upscale(noisy, 2, sigma=15 / 255, weight=1.3), upscale(
        noisy, 2, sigma=15 / 255, weight=1.3, operator="default"
    ))  # fmt: skip
    asked = TASKS["upscale"].request(noisy, 2, sigma=15 / 255)
    assert asked.sigmas == pytest.approx([15]) and asked.asked[0].sigma == 0


def test_steps_correct_what_the_energy_gives_but_by_other_factors_than_they_know(clean):
    steps = load_operator("staged").steps["upscale"]
    few = replace(load_operator("staged"), steps={"upscale": replace(steps, sigma=(18.0, 25.0))})  # by 3 and 4 alone
    for factor, corrects in ((2, False), (3, True)):
        small = measurement.reduction(factor, clean.shape).forward(clean.astype(np.float32))
        energy, corrected = (upscale(small, factor, operator=one) for one in ("default", few))
        assert (psnr(clean, corrected) > psnr(clean, energy) + 0.1) == corrects
        assert np.array_equal(energy, corrected) != corrects


@pytest.mark.parametrize("kernel", measurement.FILTERS)
@pytest.mark.parametrize("factor, gain", [(1.5, 1.5), (8, 0.3)])
def test_other_factors_beat_bicubic_too(factor, gain, kernel, clean):
    small = measurement.reduction(factor, clean.shape, kernel).forward(clean.astype(np.float32))
    found = upscale(small, factor, kernel=kernel, quality="fast")
    assert psnr(clean, found) > psnr(clean, enlarge(small, factor)) + gain


@pytest.mark.parametrize("shape", [(6, 8), (5, 7), (1, 3)])
def test_sides_by_one_and_a_half_cover_every_pixel(shape):
    """What is left of a half pixel is a whole one; of noise that differs from pixel to pixel as well."""
    image = np.random.default_rng(0).random((*shape, 3))
    sides = tuple(-(-3 * side // 2) for side in shape)
    assert upscale(image, 1.5, channel_axis=-1, quality="fast").shape == (*sides, 3)
    assert upscale(image[..., 0], 1.5, sigma=np.linspace(0.1, 0.2, shape[1]) * np.ones((shape[0], 1))).shape == sides
    (problem,) = TASKS["upscale"].request(image[..., 0], 1.5).problems()
    assert problem.measure.data_shape == shape


@pytest.mark.parametrize("factor", [0, 1, 2.5, 5, True, "2"])
def test_another_factor_is_refused(factor):
    with pytest.raises(ValueError, match=r"^factor: expected 1.5, 2, 3, 4 or 8, got "):
        upscale(np.zeros((8, 8)), factor)


@pytest.mark.parametrize("kernel", ["gaussian", SPREAD], ids=["named", "array"])
def test_every_one_and_a_halfth_pixel_cannot_be_kept(kernel):
    with pytest.raises(
        ValueError, match=r"^kernel: for factor 1.5 expected bicubic, box, lanczos, got ('gau|an array)"
    ):
        upscale(np.zeros((8, 8)), 1.5, kernel=kernel)


@pytest.mark.parametrize("kernel", measurement.REDUCTIONS)
def test_what_really_made_it_is_the_best_assumption(kernel, clean):
    small = measurement.reduction(2, clean.shape, kernel).forward(clean.astype(np.float32))
    found = {name: psnr(clean, upscale(small, 2, kernel=name, quality="fast")) for name in measurement.REDUCTIONS}
    assert max(found, key=found.get) == kernel


def test_the_papers_kernel_is_the_same_given_as_an_array(clean):
    """But for the plan, which goes by the name: what is posed."""
    small = clean[:12, :12].astype(np.float32)
    given = measurement.gaussian_kernel(1.0, size=5)
    named, own = (TASKS["upscale"].request(small, 3, kernel=kernel).problems()[0] for kernel in ("gaussian", given))
    x = noise(36 * 36, 1.0).astype(np.float32)
    np.testing.assert_allclose(own.measure.matvec(x), named.measure.matvec(x), atol=1e-5)


@pytest.mark.parametrize("kernel", measurement.REDUCTIONS)
@settings(max_examples=5)
@given(shift=st.floats(-1e3, 1e3), times=st.floats(0.1, 10), seed=st.integers(0, 99))
def test_constants_and_units_go_through(kernel, shift, times, seed):
    """Another zero and another unit, with white in that unit, are those of the result."""
    image = np.random.default_rng(seed).random((9, 12))
    how = {"kernel": kernel, "quality": "fast", "bounds": None}
    expected = upscale(image, 2, **how) * times + shift
    found = upscale(image * times + shift, 2, data_range=times, **how)
    np.testing.assert_allclose(found, expected, atol=3e-3 * times + 1e-6 * abs(shift))


def test_what_rings_stays_in_range():
    """Black and white bars: without limits both go past the range at every edge."""
    bars = np.kron(np.arange(8) % 2, np.ones((48, 6)))
    kernel = np.ones((1, 5)) / 5
    blurred = convolve(bars, kernel, mode="nearest")
    for result in (deblur(blurred, kernel, sigma=0.01), upscale(bars[::2, ::2], 2)):
        assert result.min() == 0 and result.max() == 1


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ("cubic", "expected gaussian, bicubic, box, lanczos or an array, got 'cubic'"),
        ("gaussian:2", "expected gaussian, .* got 'gaussian:2'"),
        (np.ones(3), "expected a finite 2-D array with a positive sum"),
        (-np.ones((3, 3)), "expected a finite 2-D array with a positive sum"),
        (np.full((3, 3), np.nan), "expected a finite 2-D"),
        ([["a"]], "could not convert"),
        (np.ones((25, 3)), r"\(25, 3\) is larger than the image \(24, 24\)"),
        (None, ""),
    ],
)
def test_a_kernel_that_cannot_be_is_refused(kernel, message):
    with pytest.raises(ValueError, match=f"^kernel: {message}"):
        upscale(np.zeros((12, 12)), 2, kernel=kernel)
