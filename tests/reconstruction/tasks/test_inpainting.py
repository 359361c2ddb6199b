"""Inpainting: gaps are filled, what is known stays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from repairs import REPAIRS, noise

from cosparse import denoise, inpaint, load_operator, psnr
from cosparse.reconstruction.start import interpolate
from cosparse.refinement.staged import StagedParameters


def test_inpainting_random_pixels_and_a_scratch(clean):
    random = np.random.default_rng(0).random(clean.shape) < 0.5
    scratch = np.zeros(clean.shape, bool)
    scratch[:, 47:50] = scratch[30:32] = True
    for missing, gain in ((random, 3), (scratch, 1)):
        start = interpolate(np.where(missing, 0, clean).astype(np.float32), missing)
        filled = inpaint(np.where(missing, np.nan, clean), missing)
        assert psnr(clean[missing], filled[missing]) > psnr(clean[missing], start[missing]) + gain


def test_inpainting_denoises_too(clean):
    missing = np.random.default_rng(0).random(clean.shape) < 0.3
    noisy = clean + noise(clean.shape, 0.08)
    both = inpaint(noisy, missing, sigma=0.08)
    assert psnr(clean[~missing], both[~missing]) > psnr(clean[~missing], noisy[~missing]) + 4
    assert psnr(clean, both) > psnr(clean, inpaint(noisy, missing)) + 4
    one = np.zeros(clean.shape, bool)
    one[47, 50] = True  # and it is denoising
    alike = psnr(clean, denoise(noisy, 0.08))
    assert psnr(clean, inpaint(noisy, one, sigma=0.08)) == pytest.approx(alike, abs=0.1)


def test_noisy_pixels_lose_nothing_for_those_that_are_missing(photograph):
    """Told everything at once it is as good as filling in and then denoising, and better than the energy."""
    clean = photograph[:96, :96].astype(np.float32)
    scratch = np.zeros(clean.shape, bool)
    scratch[:, 47:50] = scratch[30:32] = True
    noisy, about = clean + noise(clean.shape, 15), {"data_range": 255.0, "quality": "fast"}
    both = inpaint(noisy, scratch, sigma=15, **about)
    in_turn = denoise(inpaint(noisy, scratch, **about), 15, **about)
    energy = inpaint(noisy, scratch, sigma=15, operator="default", **about)
    reached = [psnr(clean, one, data_range=255) for one in (both, in_turn, energy)]
    assert reached[0] > reached[1] - 0.05 and reached[0] > reached[2] + 0.05


def test_who_stops_at_once_has_what_was_filled_in(clean):
    missing = np.random.default_rng(0).random(clean.shape) < 0.3
    counted = []

    def stop(progress):
        counted.append(progress)
        return True

    result = inpaint(np.where(missing, np.nan, clean), missing, sigma=0.05, callback=stop)
    assert len(counted) == 1 and np.isfinite(result).all()


def test_trained_steps_correct_what_the_second_pass_gives(photograph):
    """Of pixels without noise; the energy's minimiser and noisy pixels are as with the operator that has none."""
    clean = photograph[:64, :64].astype(np.float32)
    missing = np.random.default_rng(0).random(clean.shape) < 0.5
    plain, told = load_operator("default"), []
    numbers = replace(StagedParameters.of(plain, 2, 3, "inpaint"), own=np.full((2, 128), 0.1))
    stepping = replace(plain, steps={"inpaint": numbers.steps((8, 8), 2, (25.0, 25.0))})

    def fill(operator, **options):
        return inpaint(clean, missing, operator=operator, quality="fast", data_range=255, **options)

    filled = fill(stepping, callback=lambda progress: told.append((progress.iteration, progress.iterations)))
    assert np.abs(filled - fill(plain)).max() > 0.1
    np.testing.assert_array_equal(filled[~missing], clean[~missing])
    assert [number for number, _ in told] == list(range(1, told[-1][1] + 1))
    for options in ({"grouping": False}, {"sigma": 10}):
        np.testing.assert_array_equal(fill(stepping, **options), fill(plain, **options))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
@pytest.mark.parametrize("channels", [None, 3, 4])
def test_known_pixels_and_alpha_keep_every_bit(dtype, channels, colour):
    image = colour if channels else colour[..., 0]
    if channels == 4:
        alpha = np.random.default_rng(1).integers(0, 256, image.shape[:2], np.uint8)
        image = np.concatenate([image, alpha[..., None]], axis=-1)
    image = image.astype(dtype) * 257 if dtype == np.uint16 else image.astype(dtype)
    if np.dtype(dtype).kind == "f":
        image = image / dtype(255) + dtype(0.001)
    missing = np.random.default_rng(0).random(image.shape[:2]) < 0.4
    axis = -1 if channels else None
    filled = inpaint(image, missing, channel_axis=axis, alpha=channels == 4)
    assert filled.dtype == image.dtype
    np.testing.assert_array_equal(filled[~missing], image[~missing])
    if channels == 4:
        np.testing.assert_array_equal(filled[..., 3], image[..., 3])
        for task in ("denoise", "deblur"):
            repaired = REPAIRS[task](image, sigma=5, channel_axis=-1, alpha=True)
            np.testing.assert_array_equal(repaired[..., 3], image[..., 3])
    np.testing.assert_array_equal(denoise(image, 0, channel_axis=axis), image)


@pytest.mark.parametrize("hidden", [np.nan, np.inf, -np.inf, 1e30])
def test_what_stands_under_the_mask_is_never_looked_at(hidden, clean):
    missing = np.random.default_rng(0).random((40, 40)) < 0.3
    image = clean[:40, :40]
    np.testing.assert_array_equal(inpaint(np.where(missing, hidden, image), missing), inpaint(image, missing))


def test_a_mask_for_every_page(clean):
    pages = np.stack([clean[:24, :24], clean[24:48, :24]])
    masks = np.random.default_rng(0).random(pages.shape) < 0.3
    expected = np.stack([inpaint(*pair) for pair in zip(pages, masks, strict=True)])
    np.testing.assert_array_equal(inpaint(pages, masks), expected)


@pytest.mark.slow
def test_a_masked_array_brings_its_mask(clean, colour):
    mask = np.random.default_rng(0).random(clean.shape) < 0.3
    masked = np.ma.masked_array(np.where(mask, -99.0, clean), mask)
    expected = inpaint(clean, mask)
    for filled in (inpaint(masked), inpaint(masked, masked.mask), inpaint(masked, np.zeros(mask.shape, bool))):
        assert not isinstance(filled, np.ma.MaskedArray)
        np.testing.assert_array_equal(filled, expected)
    mask = np.random.default_rng(0).random(colour.shape) < 0.1
    pixels = inpaint(np.ma.masked_array(colour, mask), mask, channel_axis=-1)
    np.testing.assert_array_equal(pixels, inpaint(colour, mask.any(axis=-1), channel_axis=-1))


def test_a_mask_of_zeros_and_ones_is_one_of_booleans(clean):
    small = clean[:24, :24]
    missing = np.random.default_rng(0).random(small.shape) < 0.3
    wanted = inpaint(small, missing, quality="fast")
    np.testing.assert_array_equal(inpaint(small, missing.astype(np.uint8), quality="fast"), wanted)
    with pytest.raises(ValueError, match="mask: expected booleans"):
        inpaint(small, 2 * missing.astype(np.uint8), quality="fast")
