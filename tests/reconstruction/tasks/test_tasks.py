"""The tasks: what they gain in dB, what they promise about arrays, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import convolve
from skimage.data import astronaut

from cosparse import AnalysisOperator, Progress, deblur, denoise, estimate_sigma, inpaint, psnr, upscale
from cosparse.reconstruction import measurement
from cosparse.reconstruction.stages import default_weight
from cosparse.reconstruction.start import enlarge, interpolate

BOX = np.ones((3, 3)) / 9
TASKS = {
    "denoise": lambda image, **more: denoise(image, **{"sigma": 0.05, **more}),
    "inpaint": lambda image, **more: inpaint(image, checkered(image, more.get("channel_axis")), **more),
    "upscale": lambda image, **more: upscale(image, 2, **more),
    "deblur": lambda image, **more: deblur(image, np.ones((1, 1)), **more),
}


def checkered(image, axis=None):
    """Every other pixel missing, never the first."""
    shape = np.shape(image) if axis is None else np.delete(np.shape(image), axis)
    return np.indices(shape[-2:]).sum(axis=0) % 2 == 1


def noise(shape, sigma, seed=0):
    return np.random.default_rng(seed).normal(0, sigma, shape)


@pytest.fixture(scope="module")
def clean(photograph):
    return photograph[40:136, 40:136] / 255


@pytest.fixture(scope="module")
def colour():
    return astronaut()[80:128, 200:256].copy()


# -- what is gained ----------


@pytest.mark.parametrize("sigma, gain", [(10, 4.5), (25, 7.5), (50, 10)])
@pytest.mark.parametrize("quality", ["fast", "balanced", "best"])
def test_denoising_gains(sigma, gain, quality, clean):
    noisy = clean + noise(clean.shape, sigma / 255)
    given = psnr(clean, denoise(noisy, sigma / 255, quality=quality))
    assert given > psnr(clean, noisy) + gain
    assert psnr(clean, denoise(noisy, quality=quality)) > given - 0.3  # sigma estimated


@pytest.mark.parametrize("sigma", [5, 25, 50])
def test_noise_is_estimated(sigma, photograph):
    noisy = photograph + noise(photograph.shape, sigma)
    assert estimate_sigma(noisy, data_range=255) == pytest.approx(sigma, rel=0.15)
    assert estimate_sigma(noisy / 255) == pytest.approx(sigma / 255, rel=0.15)


@pytest.mark.parametrize("sigma", [10, 25, 50])
def test_the_learned_operator_beats_the_dct_it_could_have_been(sigma, photograph):
    image = photograph / 255
    noisy = image + noise(image.shape, sigma / 255)
    learned = psnr(image, denoise(noisy, sigma / 255))
    for factor in (0.7, 1.0, 1.4):  # the cosines may choose their weight
        operator = AnalysisOperator.dct(8)
        weight = factor * default_weight("denoise", sigma, operator)
        assert learned > psnr(image, denoise(noisy, sigma / 255, operator=operator, weight=weight))


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
    assert psnr(clean, inpaint(noisy, one, sigma=0.08)) == pytest.approx(psnr(clean, denoise(noisy, 0.08)), abs=0.1)


@pytest.mark.parametrize("factor, gain", [(2, 1.5), (3, 1.0), (4, 0.7)])
def test_upscaling_beats_bicubic(factor, gain, clean):
    A = measurement.downsampling(factor, clean.shape)
    small = A.matvec(clean.ravel()).reshape(A.data_shape)
    bicubic = enlarge(small.astype(np.float32), factor)
    assert psnr(clean, upscale(small, factor)) > psnr(clean, bicubic) + gain
    noisy = small + noise(small.shape, 8 / 255)
    bicubic = enlarge(noisy.astype(np.float32), factor)
    assert psnr(clean, upscale(noisy, factor, sigma=8 / 255)) > psnr(clean, bicubic) + 0.3


def test_what_rings_stays_in_range():
    """Black and white bars: without limits both go past the range at every edge."""
    bars = np.kron(np.arange(8) % 2, np.ones((48, 6)))
    kernel = np.ones((1, 5)) / 5
    blurred = convolve(bars, kernel, mode="nearest")
    for result in (deblur(blurred, kernel, sigma=0.01), upscale(bars[::2, ::2], 2)):
        assert result.min() == 0 and result.max() == 1


@pytest.mark.parametrize("border, mode", [("replicate", "nearest"), ("periodic", "wrap")])
@pytest.mark.parametrize(
    "kernel",
    [measurement.gaussian_kernel(1.6), np.ones((9, 9)), np.ones((2, 4))],
    ids=["gaussian", "box", "even"],
)
def test_deblurring_gains(border, mode, kernel, clean):
    blurred = convolve(clean, kernel / kernel.sum(), mode=mode) + noise(clean.shape, 2 / 255)
    for sigma in (2 / 255, None):
        sharp = deblur(blurred, kernel, sigma=sigma, border=border)
        assert psnr(clean, sharp) > psnr(clean, blurred) + 2


def test_colour_gains_from_its_channels(colour):
    image = colour / 255
    noisy = image + noise(image.shape, 0.1)
    together = denoise(noisy, 0.1, channel_axis=-1)
    alone = np.stack([denoise(noisy[..., c], 0.1) for c in range(3)], axis=-1)
    assert psnr(image, together) > psnr(image, alone) + 0.3


# -- what stays as it was ----------


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
            repaired = TASKS[task](image, sigma=5, channel_axis=-1, alpha=True)
            np.testing.assert_array_equal(repaired[..., 3], image[..., 3])
    np.testing.assert_array_equal(denoise(image, 0, channel_axis=axis), image)


@pytest.mark.parametrize("hidden", [np.nan, np.inf, -np.inf, 1e30])
def test_what_stands_under_the_mask_is_never_looked_at(hidden, clean):
    missing = np.random.default_rng(0).random((40, 40)) < 0.3
    image = clean[:40, :40]
    np.testing.assert_array_equal(inpaint(np.where(missing, hidden, image), missing), inpaint(image, missing))


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
def test_the_callers_array_is_answered_in_kind_and_not_changed(task, dtype, colour):
    image = (colour[:20, :24] / 255 * (np.iinfo(dtype).max if np.dtype(dtype).kind == "u" else 1)).astype(dtype)
    before = image.copy()
    sigma = {} if task in ("inpaint", "upscale") else {"sigma": 0.05 * float(image.max())}
    result = TASKS[task](image, channel_axis=-1, **sigma)
    factor = 2 if task == "upscale" else 1
    assert result.dtype == dtype and result.shape == (20 * factor, 24 * factor, 3)
    np.testing.assert_array_equal(image, before)
    first = TASKS[task](np.moveaxis(image, -1, 0), channel_axis=0, **sigma)
    np.testing.assert_array_equal(np.moveaxis(first, 0, -1), result)


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("axis", [None, -1])
def test_a_stack_is_its_pages(task, axis, colour):
    pages = np.stack([colour[:20, :24], colour[20:40, 20:44]]) / 255
    pages = pages if axis else pages[..., 0]
    sigma = {} if task == "inpaint" else {"sigma": 0.05}
    expected = np.stack([TASKS[task](page, channel_axis=axis, **sigma) for page in pages])
    np.testing.assert_array_equal(TASKS[task](pages, channel_axis=axis, **sigma), expected)


@pytest.mark.slow
@pytest.mark.parametrize("task", ["denoise", "deblur"])
@pytest.mark.parametrize("shift", [0, 1])
def test_every_page_has_a_noise_of_its_own(task, shift, colour):
    """Estimated: little, much, none at all. The last keeps every bit of its double precision."""
    page = colour[:20, :24] / 255
    pages = np.stack([page + noise(page.shape, 0.02), page + noise(page.shape, 0.2), np.full_like(page, 1 / 3)])
    axis = -1 if shift else None
    pages = pages if shift else pages[..., 0]
    options = {"sigma": None, "channel_axis": axis}
    expected = np.stack([TASKS[task](page, **options) for page in pages])
    np.testing.assert_array_equal(TASKS[task](pages, **options), expected)
    levels = [estimate_sigma(page, channel_axis=axis) for page in pages]
    assert levels[1] > 5 * levels[0] > 5 * levels[2] == 0
    if shift:
        options["channel_axis"] = 0
        first = TASKS[task](np.moveaxis(pages, -1, 0), **options)
        np.testing.assert_array_equal(np.moveaxis(first, 0, -1), expected)


def test_a_mask_for_every_page(clean):
    pages = np.stack([clean[:24, :24], clean[24:48, :24]])
    masks = np.random.default_rng(0).random(pages.shape) < 0.3
    expected = np.stack([inpaint(*pair) for pair in zip(pages, masks, strict=True)])
    np.testing.assert_array_equal(inpaint(pages, masks), expected)


@pytest.mark.parametrize("task", TASKS)
def test_units_do_not_matter(task, photograph):
    """uint16 as uint8, 0..255 as 0..1: the same picture up to rounding."""
    image = photograph[40:72, 40:72]
    sigma = {} if task in ("inpaint", "upscale") else {"sigma": 1.0}

    def run(array, span, **more):
        scaled = {name: value * span * 0.05 for name, value in sigma.items()}
        return TASKS[task](array, **scaled, **more).astype(float) / span

    bytes_, words = run(image, 255), run(image * np.uint16(257), 65535)
    assert np.abs(words - bytes_).max() <= 1.01 / 255 / 2 + 2e-3
    one, many = run(image / 255, 1.0), run(image.astype(float), 255.0, data_range=255)
    np.testing.assert_allclose(many, one, atol=2e-3)
    np.testing.assert_allclose(words, one, atol=2e-3)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("grey", [0, 77, 255])
def test_a_constant_image_stays_constant(task, grey):
    for shape, axis in (((20, 24), None), ((20, 24, 3), -1)):
        image = np.full(shape, grey, np.uint8)
        more = {"sigma": 10} if task == "denoise" else {}
        assert (TASKS[task](image, channel_axis=axis, **more) == grey).all()
    assert (denoise(np.full((20, 24), grey, np.uint8)) == grey).all()


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (2, 2), (5, 3), (7, 4), (1, 40)])
def test_images_smaller_than_a_patch(task, shape):
    image = np.random.default_rng(0).random(shape)
    factor = 2 if task == "upscale" else 1
    for quality in ("fast", "balanced", "best"):
        result = TASKS[task](image, quality=quality)
        assert result.shape == (shape[0] * factor, shape[1] * factor)
        assert np.isfinite(result).all() and result.min() > -0.5 and result.max() < 1.5
    if task == "denoise":
        assert np.isfinite(denoise(image)).all()  # sigma estimated from next to nothing


@pytest.mark.parametrize("task", TASKS)
def test_the_callback_sees_every_iteration_and_can_stop(task, clean):
    image = clean[:32, :32] + noise((32, 32), 0.05)
    seen = []
    TASKS[task](image, callback=seen.append)
    assert all(isinstance(progress, Progress) for progress in seen)
    assert [progress.iteration for progress in seen] == list(range(1, len(seen) + 1))
    assert 3 < len(seen) <= seen[0].iterations

    calls = []
    stopped = TASKS[task](image, callback=lambda progress: calls.append(progress) or progress.iteration == 2)
    assert len(calls) == 2
    expected = calls[-1].image / 255
    known = ~checkered(image) if task == "inpaint" else np.zeros(expected.shape, bool)
    np.testing.assert_allclose(stopped[~known], expected[~known], atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_every_picture_takes_the_same_number_of_iterations(task, clean):
    """Or tiles of a large one could not end where the whole would."""
    for contrast in (1, 0.1, 0.01):
        last: list[Progress] = []
        TASKS[task](contrast * clean + noise(clean.shape, 0.001), callback=last.append)
        assert len(last) == last[-1].iteration == last[-1].iterations


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("stack", [False, True])
def test_the_callback_sees_the_page_in_its_own_colours(task, channels, stack, colour):
    """On 0..255 from the first iteration on; what it is shown last of a page is the result."""
    page = np.concatenate([colour[:20, :24], colour[20:40, :24]], axis=-1)[..., :channels] / 255
    image = np.stack([page, page[::-1]]) if stack else page
    seen = []
    result = TASKS[task](np.moveaxis(image, -1, 0), channel_axis=0, callback=seen.append)
    result = 255 * np.moveaxis(result, 0, -1)
    order = [(progress.page, progress.plane) for progress in seen]
    assert order == sorted(order)
    assert set(order) == {(i, j) for i in range(1 + stack) for j in range(channels)}
    assert {(progress.pages, progress.planes) for progress in seen} == {(1 + stack, channels)}
    for number, expected in enumerate(result if stack else [result]):
        images = [progress.image for progress in seen if progress.page == number]
        np.testing.assert_allclose(images[-1], expected, atol=1e-3)
        nearness = [psnr(expected, image, data_range=255) for image in images[:-1]]
        assert nearness[0] > 15 and nearness[-1] > nearness[0] - 1e-6


def test_the_callback_sees_opponent_colours_for_what_they_are(colour):
    """The plane at work lies about 0 for a grey picture's second and third; the image never does."""
    grey = np.repeat(colour[..., :1], 3, axis=-1)
    seen = []
    denoise(grey, 10, channel_axis=-1, callback=seen.append)
    for progress in seen:
        assert progress.image.shape == grey.shape and abs(progress.image.mean() - grey.mean()) < 2
        assert progress.point.shape == grey.shape[:2]
        assert np.abs(progress.point).max() < 2 if progress.plane else progress.point.mean() > 20


# -- where values lie, and between which bounds ----------

SHIFTS = [-1000.0, -0.5, 3.0, 100.0]


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("axis", [None, -1])
@pytest.mark.parametrize("shift", SHIFTS)
def test_adding_a_constant_adds_it_to_the_result(task, axis, shift, colour):
    """The atoms are blind to the mean. Within [0, 1] the unshifted image's bounds do not act."""
    image = 0.3 + 0.4 * (colour[:24, :28] / 255)
    image = image + noise(image.shape, 0.02)
    image = image if axis else image[..., 0]
    expected = TASKS[task](image, channel_axis=axis) + shift
    np.testing.assert_allclose(TASKS[task](image + shift, channel_axis=axis), expected, atol=2e-4)


@pytest.mark.parametrize("task", TASKS)
@settings(max_examples=8)
@given(shift=st.floats(-1e4, 1e4), seed=st.integers(0, 99))
def test_without_bounds_any_constant_may_be_added(task, shift, seed):
    """To the rounding of single precision: 1e-6 of the values' spread, and of what a sum with the constant rounds."""
    image = np.random.default_rng(seed).random((12, 15))
    expected = TASKS[task](image, bounds=None, quality="fast") + shift
    shifted = TASKS[task](image + shift, bounds=None, quality="fast")
    np.testing.assert_allclose(shifted, expected, atol=2e-3, rtol=1e-9)


@pytest.mark.parametrize("task", TASKS)
def test_image_noise_and_range_scale_together(task, clean):
    """Also where values lie outside of [0, data_range]: Hounsfield units, say."""
    image = clean[:32, :32] - 0.3 + noise((32, 32), 0.02)
    sigma = {} if task == "inpaint" else {"sigma": 0.02}
    expected = TASKS[task](image, **sigma)
    scaled = TASKS[task](4096 * image, data_range=4096, **{name: 4096 * value for name, value in sigma.items()})
    np.testing.assert_array_equal(scaled / 4096, expected)


def test_what_lies_outside_the_range_is_repaired_there():
    """Air at -1000, and a hole at -10.5 °C."""
    scene = np.kron([[-1000.0, 40.0], [300.0, -1000.0]], np.ones((32, 32)))
    noisy = scene + noise(scene.shape, 40)
    error = denoise(noisy, 40, data_range=4096) - scene
    assert np.sqrt(np.mean(error**2)) < 12
    field = -10.5 + noise((40, 40), 0.01)
    hole = np.zeros(field.shape, bool)
    hole[15:22, 10:20] = True
    assert np.abs(inpaint(field, hole)[hole] + 10.5).max() < 0.05


def test_results_lie_where_the_data_do():
    """A binary picture comes back between 0 and 1, which is nearer to the truth; without bounds it does not."""
    binary = (np.indices((64, 64)).sum(axis=0) % 16 < 8).astype(float)
    noisy = binary + noise(binary.shape, 0.1)
    held, free = denoise(noisy, 0.1), denoise(noisy, 0.1, bounds=None)
    assert held.min() == 0 and held.max() == 1 and free.min() < -0.02 and free.max() > 1.02
    assert psnr(binary, held) > psnr(binary, free) + 0.3
    mask = np.random.default_rng(0).random(binary.shape) < 0.5
    assert inpaint(binary, mask).min() >= 0 and inpaint(binary, mask).max() <= 1
    rgb = np.stack([binary, 1 - binary, binary], axis=-1)
    held = denoise(rgb + noise(rgb.shape, 0.1), 0.1, channel_axis=-1)
    assert held.min() == 0 and held.max() == 1


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("bounds", [(0.2, 0.6), (None, 0.6), (0.2, None)])
def test_stated_bounds_hold(task, bounds, clean):
    image = clean[:32, :32]
    more = {"sigma": 0.02} if task == "inpaint" else {}
    result = TASKS[task](image, bounds=bounds, **more)
    assert result.min() == (bounds[0] or result.min()) and result.max() == (bounds[1] or result.max())
    assert image.min() < 0.2 and image.max() > 0.6


def test_whole_numbers_lie_in_their_type():
    """Below zero too, where the type has it, and beyond a stated range."""
    hounsfield = (np.kron([[-1000, 40], [300, -1000]], np.ones((24, 24))) + noise((48, 48), 40)).astype(np.int16)
    assert denoise(hounsfield, 40, data_range=4096).min() < -1000
    twelve = np.where(np.indices((32, 32))[0] > 15, 4095, 200).astype(np.uint16)
    assert abs(int(denoise(twelve + np.uint16(300), 20, data_range=4095).max()) - 4395) < 30


def test_every_channel_of_an_array_is_repaired():
    """Two of fluorescence, or red, green, blue and infrared: nothing is taken for transparency unasked."""
    for channels in (2, 4):
        clean = np.stack([np.kron([[0.2, 0.7], [0.5, 0.3]], np.ones((20, 20)))] * channels, axis=0)
        noisy = clean + noise(clean.shape, 0.1)
        repaired = denoise(noisy, 0.1, channel_axis=0)
        assert min(psnr(*pair) for pair in zip(clean, repaired, strict=True)) > 28
        kept = denoise(noisy, 0.1, channel_axis=0, alpha=True)
        np.testing.assert_array_equal(kept[-1], noisy[-1])
        assert psnr(clean[0], kept[0]) > 28
    larger = upscale(np.repeat(clean[..., None], 4, axis=-1)[0], 2, channel_axis=-1, alpha=True)
    assert larger.shape == (80, 80, 4)


@pytest.mark.parametrize("task", TASKS)
def test_leading_axes_are_pages(task, clean):
    pages = np.stack([clean[:16, :20], clean[16:32, :20], clean[32:48, :20], clean[48:64, :20]])
    sigma = {} if task == "inpaint" else {"sigma": 0.05}
    expected = TASKS[task](pages, **sigma)
    five = TASKS[task](pages.reshape(2, 1, 2, 16, 20), **sigma)
    np.testing.assert_array_equal(five, expected.reshape(2, 1, 2, *expected.shape[1:]))


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


def test_kernels_have_names(clean):
    blurred = convolve(clean, measurement.gaussian_kernel(1.5), mode="nearest")
    expected = deblur(blurred, measurement.gaussian_kernel(1.5), sigma=0.01)
    np.testing.assert_array_equal(deblur(blurred, "gaussian:1.5", sigma=0.01), expected)


def test_progress_tells_stage_weight_and_second_pass(clean):
    seen = []
    inpaint(clean[:32, :32], checkered(clean[:32, :32]), quality="fast", callback=seen.append)
    stages = [progress.stage for progress in seen if not progress.second_pass]
    assert stages == [0] * 12 + [1] * 24
    assert [progress.second_pass for progress in seen] == [False] * 36 + [True] * (len(seen) - 36) and len(seen) > 36
    weights = []
    denoise(clean[:32, :32], 0.1, weight=0.7, grouping=False, callback=lambda progress: weights.append(progress.weight))
    assert set(weights) == {0.7}


# -- what is refused ----------

SQUARE = np.random.default_rng(0).random((12, 12))
HALF = np.indices((12, 12)).sum(axis=0) % 2 == 0
SPOILT = np.where(np.arange(144).reshape(12, 12) == 1, np.nan, SQUARE)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: inpaint(SQUARE, HALF[:, :11]), "mask: has shape"),
        (lambda: inpaint(SQUARE, HALF[..., None]), "mask: has shape"),
        (lambda: inpaint(SQUARE, np.ones((12, 12), bool)), "mask: all pixels are missing"),
        (lambda: inpaint(np.stack([SQUARE] * 2), np.stack([HALF, HALF | True])), "mask: all pixels"),
        (lambda: inpaint(SQUARE, HALF * 255), "mask: expected booleans"),
        (lambda: inpaint(SPOILT, HALF), "image: holds NaN"),
        (lambda: inpaint(np.where(np.isnan(SPOILT), np.inf, SQUARE), HALF), "image: holds NaN or inf"),
        (lambda: inpaint(SQUARE, HALF, sigma=-1), "sigma: "),
        (lambda: denoise(SQUARE, -0.1), "sigma: "),
        (lambda: denoise(SQUARE, np.nan), "sigma: "),
        (lambda: denoise(SQUARE, np.inf), "sigma: "),
        (lambda: denoise(SQUARE, "much"), "sigma: "),
        (lambda: denoise(SPOILT, 0.1), "image: holds NaN.*inpaint"),
        (lambda: denoise(SQUARE, 0.1, quality="super"), "quality: .*'super'"),
        (lambda: denoise(SQUARE, 0.1, weight=0), "weight: "),
        (lambda: denoise(np.full((5, 5), np.inf), 0.1), "image: has infinite"),
        (lambda: denoise(np.zeros((0, 5)), 0.1), "image: is empty"),
        (lambda: denoise(np.zeros((9, 9, 3)), 0.1), "image: .*channel_axis"),
        (lambda: denoise(255 * SQUARE, 0.1), "data_range: is 1, but most values lie between .* pass data_range"),
        (lambda: denoise(255 * SQUARE, 25), "data_range: is 1"),
        (lambda: inpaint(255 * SQUARE, HALF), "data_range: is 1"),
        (lambda: upscale(255 * SQUARE, 2), "data_range: is 1"),
        (lambda: deblur(255 * SQUARE, BOX), "data_range: is 1"),
        (lambda: denoise(SQUARE, 0.1, bounds=(1, 0)), "bounds: "),
        (lambda: denoise(SQUARE, 0.1, alpha=True), "alpha: "),
        (lambda: denoise(SQUARE, 0.1, operator=np.eye(64)), "operator: .*AnalysisOperator"),
        (lambda: inpaint(SQUARE), "mask: say which"),
        (lambda: deblur(SQUARE, "gauss:2"), "kernel: 'gauss:2' is not understood; use gaussian:SIGMA"),
        (lambda: deblur(SQUARE, "gaussian"), "kernel: 'gaussian' is not"),
        (lambda: deblur(SQUARE, "box:4"), "kernel: .*odd"),
        (lambda: deblur(SQUARE, [["a"]]), "kernel: "),
        (lambda: upscale(SQUARE, 1), "factor: .*got 1"),
        (lambda: upscale(SQUARE, 2.5), "factor: .*got 2.5"),
        (lambda: upscale(SQUARE, 5), "factor: "),
        (lambda: upscale(SQUARE, True), "factor: "),
        (lambda: upscale(SQUARE, "3"), "factor: "),
        (lambda: upscale(SQUARE, 2, sigma=-1), "sigma: "),
        (lambda: deblur(SQUARE, np.ones((13, 3))), r"kernel: \(13, 3\) is larger"),
        (lambda: deblur(SQUARE, np.ones(3)), "kernel: expected"),
        (lambda: deblur(SQUARE, np.zeros((3, 3))), "kernel: expected"),
        (lambda: deblur(SQUARE, np.full((3, 3), np.nan)), "kernel: expected"),
        (lambda: deblur(SQUARE, BOX, border="mirror"), "border: .*'mirror'"),
        (lambda: deblur(SQUARE, BOX, sigma=-1), "sigma: "),
    ],
)
def test_bad_input_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        call()


@pytest.mark.parametrize("task", TASKS)
def test_an_operator_nobody_ships(task):
    with pytest.raises(FileNotFoundError, match="nosuch.*default"):
        TASKS[task](SQUARE, operator="nosuch")
