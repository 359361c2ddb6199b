"""Wide holes are filled from elsewhere: texture goes on, narrow parts stay as they were."""

from __future__ import annotations

import numpy as np
import pytest

from cosparse import inpaint, limit_threads, psnr


@pytest.fixture(scope="module")
def woven():
    """A colourful texture that repeats every 14 pixels, with some noise, (96, 104, 3) bytes."""
    rng = np.random.default_rng(0)
    tile = rng.integers(40, 216, (14, 14, 3)).astype(float)
    image = np.tile(tile, (7, 8, 1))[:96, :104] + rng.normal(0, 3, (96, 104, 3))
    return image.clip(0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def wide():
    mask = np.zeros((96, 104), bool)
    mask[34:62, 40:66] = True
    return mask


def test_texture_goes_on_where_the_energy_leaves_it_flat(woven, wide):
    hidden = np.where(wide[..., None], 0, woven).astype(np.uint8)
    smooth, copied = (inpaint(hidden, wide, fill=fill, channel_axis=-1) for fill in ("smooth", "auto"))
    truth = woven[wide]
    assert copied.dtype == np.uint8
    np.testing.assert_array_equal(copied[~wide], woven[~wide])
    assert psnr(truth, copied[wide], data_range=255) > psnr(truth, smooth[wide], data_range=255) + 8
    assert copied[wide].std() > 0.9 * truth.std() > 3 * smooth[wide].std()


def test_texture_that_nowhere_repeats_is_not_averaged_away():
    from scipy import ndimage

    noise = np.random.default_rng(0).standard_normal((160, 160))
    fur = ndimage.gaussian_filter(noise, (2.5, 0.8)) - ndimage.gaussian_filter(noise, 6)
    image = (128 + 30 * fur / fur.std() + np.linspace(-30, 30, 160)).clip(0, 255).astype(np.uint8)
    missing = np.zeros(image.shape, bool)
    missing[56:104, 50:110] = True
    filled = inpaint(np.where(missing, 0, image).astype(np.uint8), missing).astype(float)
    fine = filled - ndimage.gaussian_filter(filled, 4)
    assert fine[missing].std() > 0.75 * fine[~missing].std()


def test_narrow_parts_have_the_bits_that_they_have_without_copying(woven, wide):
    grey = woven[..., 0]
    narrow = np.random.default_rng(0).random(wide.shape) < 0.1
    narrow[:, 10:14] = True
    narrow[25:70, 31:75] = False
    for options in ({}, {"sigma": 4.0}):
        smooth, both = (inpaint(grey, narrow | wide, fill=fill, **options) for fill in ("smooth", "auto"))
        np.testing.assert_array_equal(both[~wide], smooth[~wide])
        assert (both[wide] != smooth[wide]).mean() > 0.5
    np.testing.assert_array_equal(inpaint(grey, narrow), inpaint(grey, narrow, fill="smooth"))


def test_the_same_seed_and_any_threads_give_the_same_bytes_another_seed_others(woven, wide):
    grey = woven[..., 1]
    first = inpaint(grey, wide, seed=1)
    with limit_threads(1):
        np.testing.assert_array_equal(inpaint(grey, wide, seed=1), first)
    others = [inpaint(grey, wide, seed=seed) for seed in (0, 2)]
    assert any((other != first).any() for other in others)
    assert psnr(grey[wide], others[1][wide], data_range=255) > 18  # and sensible


def test_what_is_copied_is_told_and_lies_in_the_source(woven, wide):
    source = np.zeros(wide.shape, bool)
    source[:, 66:] = True
    told = []
    filled = inpaint(woven[..., 0], wide, source=source, callback=told.append)
    scales = [(progress.filling.scale, progress.filling.scales) for progress in told]
    assert scales[-1][0] == scales[-1][1] and [done for done, _ in scales] == sorted({done for done, _ in scales})
    assert (told[-1].iteration, told[-1].image.shape) == (told[-1].iterations, wide.shape)
    origins = told[-1].filling.origins
    assert (origins[~wide] == -1).all()
    rows, columns = origins[wide].T
    assert source[rows, columns].all()
    assert np.abs(filled[wide].astype(int) - woven[rows, columns, 0]).mean() < 12  # but for shifts and seams


def test_ended_at_once_there_is_a_whole_picture(woven, wide):
    image = np.where(wide, np.nan, woven[..., 0] / 255)
    seen = []

    def stop(progress):
        seen.append(progress)
        return True

    filled = inpaint(image, wide, callback=stop)
    assert len(seen) == 1 and np.isfinite(filled).all()
    assert np.abs(filled[wide].mean() - image[~wide].mean()) < 0.1


def test_every_page_from_itself_with_16_bits_and_alpha(woven, wide):
    grey = woven[..., 0].astype(np.uint16) * 257
    opaque = np.full_like(grey, 40000)
    image = np.stack([grey, opaque], axis=-1)
    pages = np.stack([image, image[::-1]])
    masks = np.stack([wide, wide[::-1]])
    filled = inpaint(pages, masks, channel_axis=-1, alpha=True)
    np.testing.assert_array_equal(filled[..., 1], pages[..., 1])
    one = inpaint(image, wide, channel_axis=-1, alpha=True)
    np.testing.assert_array_equal(filled[0], one)


def test_with_noise_the_copied_texture_is_as_clean_as_the_rest(woven, wide):
    truth = woven[..., 0].astype(float)
    noisy = truth + np.random.default_rng(5).normal(0, 20, truth.shape)
    both = inpaint(noisy, wide, sigma=20, data_range=255)
    known = np.sqrt(np.mean((both - truth)[~wide] ** 2))
    assert np.sqrt(np.mean((both - truth)[wide] ** 2)) < 2.5 * known < 2.5 * 20
