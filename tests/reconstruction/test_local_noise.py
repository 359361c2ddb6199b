"""Noise that is not the same everywhere: maps of it, for every task."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from repairs import noise

import cosparse
from cosparse import Map, PoissonGaussian, psnr
from cosparse.kernels import reference
from cosparse.reconstruction import measurement
from cosparse.reconstruction.local_noise import STEP, channel_noise, grid, patch_levels, pixel_levels
from cosparse.reconstruction.planes import take_apart
from cosparse.testing import gradient_test

CLEAN = {"denoise": 20.0, "inpaint": 12.0, "upscale": 5.0, "deblur": 3.0}
BLUR = partial(measurement.blur, measurement.gaussian_kernel(1.2))
OPERATORS = [("denoise", None), *((task, "default") for task in CLEAN)]


def gaps(shape):
    return np.random.default_rng(5).random(shape) < 0.4


def repaired(task, image, sigma, **more):
    """One of the tasks, without the second pass, on values of 0..255."""
    given = {"sigma": sigma, "data_range": 255, "operator": "default", **more}
    if task == "denoise":
        return cosparse.denoise(image, grouping=False, **given)
    if task == "inpaint":
        return cosparse.inpaint(image, gaps(image.shape[-2:]), grouping=False, **given)
    if task == "upscale":
        return cosparse.upscale(image, 2, **given)
    return cosparse.deblur(image, "gaussian:1.2", **given)


@pytest.fixture(scope="module")
def crop(photograph):
    return photograph[40:81, 90:137].astype(float)  # odd sides


@pytest.fixture(scope="module")
def slope():
    return np.geomspace(4, 40, 47) * np.ones((41, 1))


@pytest.mark.parametrize(("task", "operator"), OPERATORS)
def test_a_constant_map_is_its_number(task, operator, crop):
    noisy = crop + noise(crop.shape, CLEAN[task])
    flat = np.full(crop.shape, CLEAN[task])
    expected = repaired(task, noisy, CLEAN[task], operator=operator)
    found = repaired(task, noisy, flat, operator=operator)
    np.testing.assert_allclose(found, expected, atol=0.02)
    sigma = None if task in ("denoise", "deblur") else 0.0
    np.testing.assert_array_equal(repaired(task, noisy, sigma, noise=Map(flat), operator=operator), found)


@pytest.mark.slow
@pytest.mark.parametrize(("task", "operator"), OPERATORS)
def test_a_map_is_better_than_any_number(task, operator, photograph):
    clean = photograph[:96, :96].astype(float)
    A = {"upscale": measurement.reduction(2, clean.shape, "bicubic"), "deblur": BLUR(clean.shape)}.get(task)
    seen = clean if A is None else A.matvec(clean.ravel()).reshape((48, 48) if task == "upscale" else (96, 96))
    levels = np.geomspace(0.25, 2.5, seen.shape[1]) * np.ones((len(seen), 1)) * CLEAN[task]
    noisy = seen + levels * noise(seen.shape, 1.0)

    def reached(sigma):
        return psnr(clean, repaired(task, noisy, sigma, operator=operator), data_range=255)

    assert reached(levels) > max(reached(factor * CLEAN[task]) for factor in (0.5, 0.8, 1.2, 1.7)) + 0.1


@pytest.mark.parametrize("operator", [None, "default"])
def test_what_is_done_to_the_image_and_its_map_is_done_to_the_result(operator, crop, slope):
    """Turned by a half turn where patches lie alike, moved by a constant, and in other units."""
    image, levels = crop[:40, :46], slope[:40, :46]
    noisy = image + levels * noise(image.shape, 1.0)
    given = {"operator": operator, "bounds": None}
    expected = repaired("denoise", noisy, levels, **given)
    np.testing.assert_allclose(repaired("denoise", noisy + 64, levels, **given), expected + 64, atol=0.01)
    unit = cosparse.denoise(noisy / 255, levels / 255, grouping=False, **given) * 255
    np.testing.assert_allclose(unit, expected, atol=0.01)
    flipped = repaired("denoise", noisy.T.copy(), levels.T.copy(), **given).T
    assert np.abs(flipped - expected).mean() < np.abs(noisy - expected).mean() / 4  # atoms are not the same turned


@pytest.mark.parametrize("axis", [-1, 0])
def test_of_colour_one_map_is_for_all_channels(axis, colour):
    page = colour[:24, :28].astype(float)
    levels = np.geomspace(5, 40, 28) * np.ones((24, 1))
    noisy = page + levels[..., None] * noise(page.shape, 1.0)
    each = np.repeat(levels[..., None], 3, axis=2)
    expected = repaired("denoise", noisy, levels, channel_axis=-1, operator=None)
    moved, turned = np.moveaxis(noisy, -1, axis), np.moveaxis(each, -1, axis)
    found = repaired("denoise", moved, turned, channel_axis=axis, operator=None)
    np.testing.assert_allclose(np.moveaxis(found, axis, -1), expected, atol=0.01)


def test_levels_of_opponent_planes_are_those_of_mixed_noise():
    rng = np.random.default_rng(0)
    levels = rng.uniform(5, 40, (1, 1, 3)) * np.ones((64, 64, 1))
    page = (levels * rng.standard_normal(levels.shape)).astype(np.float32)
    for channel in take_apart(page, None)[0]:
        sigma, own, _ = channel_noise(0.0, Map(levels), channel)
        assert own.sigma.shape == (64, 64) and np.ptp(own.sigma) < 1e-3
        assert float(channel.plane.std()) == pytest.approx(float(own.sigma.mean()), rel=0.05)
        assert sigma > 0
    alone = take_apart(np.repeat(page[..., :1], 2, axis=2), None)[0][1]
    np.testing.assert_allclose(channel_noise(0.0, Map(levels[..., :2]), alone)[1].sigma, levels[..., 1], rtol=1e-6)


@pytest.mark.parametrize("task", ["denoise", "inpaint"])
def test_pages_have_maps_of_their_own(task, crop, slope):
    noisy = np.stack([crop + slope * noise(crop.shape, 1.0, 1), crop + slope[:, ::-1] * noise(crop.shape, 1.0, 2)])
    levels = np.stack([slope, slope[:, ::-1]])
    found = repaired(task, noisy, levels)
    for page, own, result in zip(noisy, levels, found, strict=True):
        np.testing.assert_array_equal(repaired(task, page, own), result)


def test_what_a_map_says_of_missing_pixels_does_not_count(crop, slope):
    noisy, hidden = crop + slope * noise(crop.shape, 1.0), gaps(crop.shape)
    one, other = slope.copy(), slope.copy()
    one[hidden], other[hidden] = slope[hidden][::-1], slope[hidden][::-1]
    other[hidden] = np.random.default_rng(0).permutation(other[hidden])  # the same root mean square
    np.testing.assert_allclose(repaired("inpaint", noisy, one), repaired("inpaint", noisy, other), atol=1e-3)


@pytest.mark.parametrize("operator", [None, "default"])
def test_a_callback_sees_and_stops_a_repair_with_a_map(operator, crop, slope):
    seen = []

    def stop(progress):
        seen.append(progress.image)
        return len(seen) == 2

    found = repaired("denoise", crop, slope, operator=operator, callback=stop)
    assert len(seen) == 2 and np.isfinite(found).all() and found.shape == crop.shape


def test_the_energy_of_a_map_has_its_gradient(crop, slope):
    """In trust, weights and scales, over several levels; by differences."""
    from cosparse.reconstruction.tasks.denoising import request

    posed = request(crop / 255, slope / 255, operator="default").problems()[0]
    energy = posed.energies()[0]
    rng = np.random.default_rng(0)
    point, direction = (crop + 5 * rng.standard_normal(crop.shape)).astype(np.float32), rng.standard_normal(crop.shape)
    step = 0.05
    ends = [energy((point + t * step * direction).astype(np.float32))[0] for t in (-1, 1)]
    assert (ends[1] - ends[0]) / (2 * step) == pytest.approx(float(np.vdot(energy(point)[1], direction)), rel=0.02)
    # Its definition in double precision has it to the last digit.
    prior = energy.prior
    local = reference.LocalWeights(prior.local.levels, *(table.astype(float) for table in prior.local[1:]))
    rest = prior.operator.patch_shape, prior.strides, prior.penalty.code, prior.penalty.nu, prior.penalty.p, None, local
    atoms, weights = prior.operator.atoms.astype(float), prior.operator.weights.astype(float)
    gradient_test(lambda x: reference.image_sparsity(atoms, weights, x, *rest), crop / 25)


def test_levels_are_near_to_what_they_stand_for(slope):
    noise_map = Map(slope)
    levels = grid(noise_map)
    assert np.abs(np.log(levels[pixel_levels(noise_map)] / slope)).max() <= np.log(STEP) / 2 + 1e-6
    patches = patch_levels(noise_map, (8, 8), (2, 2))
    exact = np.sqrt(reference.patch_means(slope**2, (8, 8), (2, 2)))
    assert np.abs(np.log(levels[patches] / exact)).max() <= np.log(STEP) / 2 + 1e-3
    part = Map(slope[:20, :20], typical=np.sqrt((slope**2).mean()))  # of the same grid
    assert np.abs(np.log(grid(part)[:, None] / levels)).min(axis=1).max() < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("task", ["upscale", "deblur"])
def test_photons_seen_through_a_measurement(task, photograph):
    """A map of the variances of a first estimate is better than one level for all."""
    clean = photograph[:80, :80].astype(float)
    gain, A = (4.0, measurement.reduction(2, clean.shape, "box")) if task == "upscale" else (0.2, BLUR(clean.shape))
    seen = A.matvec(clean.ravel()).reshape(-1, 40 if task == "upscale" else 80)
    model = PoissonGaussian(gain, 0.1)
    noisy = model.sample(seen, rng=0)
    level = float(np.sqrt(model.variance(seen).mean()))

    def reached(**how):
        if task == "upscale":
            found = cosparse.upscale(noisy, 2, kernel="box", data_range=255, **how)
        else:
            found = cosparse.deblur(noisy, "gaussian:1.2", data_range=255, **how)
        return psnr(clean, found, data_range=255)

    assert reached(noise=model) > max(reached(sigma=factor * level) for factor in (0.8, 1.0, 1.2)) + 0.02


@pytest.mark.parametrize(
    ("levels", "word"),
    [
        (np.zeros((41, 47)), "small level"),
        (np.full((41, 47), np.nan), "finite"),
        (-np.ones((41, 47)), "positive"),
        (np.ones((47, 41)), "image's shape"),
        (np.ones(47), "two axes"),
    ],
)
def test_maps_that_cannot_be_are_refused(levels, word, crop):
    with pytest.raises(ValueError, match=f"sigma.*{word}"):
        repaired("denoise", crop, levels)


def test_levels_as_good_as_none_and_as_infinite_do_no_harm(crop):
    levels = np.full(crop.shape, 10.0)
    levels[10:14, 10:14], levels[30:33, 30:33] = 1e-8, 1e8
    noisy = crop + noise(crop.shape, 10.0)
    noisy[10:14, 10:14], noisy[30:33, 30:33] = crop[10:14, 10:14], 0.0
    for operator in (None, "default"):
        found = repaired("denoise", noisy, levels, operator=operator)
        assert np.isfinite(found).all()
        assert np.abs(found - crop)[10:14, 10:14].max() < 1.0
        assert np.abs(found - crop)[30:33, 30:33].mean() < np.abs(noisy - crop)[30:33, 30:33].mean()
