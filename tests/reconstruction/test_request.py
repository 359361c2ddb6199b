"""The tasks: what they gain in dB, what they promise about arrays, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from repairs import BOX, REPAIRS, noise

from cosparse import deblur, denoise, inpaint, psnr, upscale
from cosparse.reconstruction.planes import OPPONENT
from cosparse.reconstruction.tasks import TASKS

# -- what is gained ----------


# -- what stays as it was ----------


@pytest.mark.slow
@pytest.mark.parametrize("task", REPAIRS)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
def test_the_callers_array_is_answered_in_kind_and_not_changed(task, dtype, colour):
    image = (colour[:20, :24] / 255 * (np.iinfo(dtype).max if np.dtype(dtype).kind == "u" else 1)).astype(dtype)
    before = image.copy()
    sigma = {} if task in ("inpaint", "upscale") else {"sigma": 0.05 * float(image.max())}
    result = REPAIRS[task](image, channel_axis=-1, **sigma)
    factor = 2 if task == "upscale" else 1
    assert result.dtype == dtype and result.shape == (20 * factor, 24 * factor, 3)
    np.testing.assert_array_equal(image, before)
    first = REPAIRS[task](np.moveaxis(image, -1, 0), channel_axis=0, **sigma)
    np.testing.assert_array_equal(np.moveaxis(first, 0, -1), result)


@pytest.mark.slow
@pytest.mark.parametrize("task", REPAIRS)
@pytest.mark.parametrize("axis", [None, -1])
def test_a_stack_is_its_pages(task, axis, colour):
    pages = np.stack([colour[:20, :24], colour[20:40, 20:44]]) / 255
    pages = pages if axis else pages[..., 0]
    sigma = {} if task == "inpaint" else {"sigma": 0.05}
    expected = np.stack([REPAIRS[task](page, channel_axis=axis, **sigma) for page in pages])
    np.testing.assert_array_equal(REPAIRS[task](pages, channel_axis=axis, **sigma), expected)


@pytest.mark.slow
@pytest.mark.parametrize("task", REPAIRS)
def test_units_do_not_matter(task, photograph):
    """uint16 as uint8, 0..255 as 0..1: the same picture up to rounding."""
    image = photograph[40:72, 40:72]
    sigma = {} if task in ("inpaint", "upscale") else {"sigma": 1.0}

    def run(array, span, **more):
        scaled = {name: value * span * 0.05 for name, value in sigma.items()}
        return REPAIRS[task](array, **scaled, **more).astype(float) / span

    bytes_, words = run(image, 255), run(image * np.uint16(257), 65535)
    assert np.abs(words - bytes_).max() <= 1.01 / 255 / 2 + 2e-3
    one, many = run(image / 255, 1.0), run(image.astype(float), 255.0, data_range=255)
    np.testing.assert_allclose(many, one, atol=2e-3)
    np.testing.assert_allclose(words, one, atol=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("task", REPAIRS)
@pytest.mark.parametrize("grey", [0, 77, 255])
def test_a_constant_image_stays_constant(task, grey):
    for shape, axis in (((20, 24), None), ((20, 24, 3), -1)):
        image = np.full(shape, grey, np.uint8)
        more = {"sigma": 10} if task == "denoise" else {}
        assert (REPAIRS[task](image, channel_axis=axis, **more) == grey).all()
    assert (denoise(np.full((20, 24), grey, np.uint8)) == grey).all()


@pytest.mark.slow
@pytest.mark.parametrize("task", REPAIRS)
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (2, 2), (5, 3), (7, 4), (1, 40)])
def test_images_smaller_than_a_patch(task, shape):
    image = np.random.default_rng(0).random(shape)
    factor = 2 if task == "upscale" else 1
    for quality in ("fast", "balanced", "best"):
        result = REPAIRS[task](image, quality=quality)
        assert result.shape == (shape[0] * factor, shape[1] * factor)
        assert np.isfinite(result).all() and result.min() > -0.5 and result.max() < 1.5
    if task == "denoise":
        assert np.isfinite(denoise(image)).all()  # sigma estimated from next to nothing


# -- where values lie, and between which bounds ----------

SHIFTS = [-1000.0, -0.5, 3.0, 100.0]


@pytest.mark.slow
@pytest.mark.parametrize("task", REPAIRS)
@pytest.mark.parametrize("axis", [None, -1])
@pytest.mark.parametrize("shift", SHIFTS)
def test_adding_a_constant_adds_it_to_the_result(task, axis, shift, colour):
    """The atoms are blind to the mean. Within [0, 1] the unshifted image's bounds do not act."""
    image = 0.3 + 0.4 * (colour[:24, :28] / 255)
    image = image + noise(image.shape, 0.02)
    image = image if axis else image[..., 0]
    expected = REPAIRS[task](image, channel_axis=axis) + shift
    found = REPAIRS[task](image + shift, channel_axis=axis)
    np.testing.assert_allclose(found, expected, atol=3e-4 if task == "upscale" else 2e-4)
    # Enlarged noise: a last bit may lead the descent elsewhere, and steps from there a little further; in few pixels.
    assert np.sqrt(np.mean((found - expected) ** 2)) < 3e-5


@pytest.mark.parametrize("task", REPAIRS)
@settings(max_examples=8)
@given(shift=st.floats(-1e4, 1e4), seed=st.integers(0, 99))
def test_without_bounds_any_constant_may_be_added(task, shift, seed):
    """To the rounding of single precision: 1e-6 of the values' spread, and of what a sum with the constant rounds.

    Of waves with some noise: on noise alone, enlarged, a last bit may lead a descent that ends early elsewhere.
    """
    rng = np.random.default_rng(seed)
    waves = (np.sin(rate * np.linspace(0, 1, side)) for rate, side in zip(9 * rng.random(2), (12, 15), strict=True))
    image = np.add.outer(*waves) / 3 + 0.02 * rng.standard_normal((12, 15))
    expected = REPAIRS[task](image, bounds=None, quality="fast") + shift
    shifted = REPAIRS[task](image + shift, bounds=None, quality="fast")
    np.testing.assert_allclose(shifted, expected, atol=2e-3, rtol=1e-9)


@pytest.mark.parametrize("task", REPAIRS)
def test_image_noise_and_range_scale_together(task, clean):
    """Also where values lie outside of [0, data_range]: Hounsfield units, say."""
    image = clean[:32, :32] - 0.3 + noise((32, 32), 0.02)
    sigma = {} if task == "inpaint" else {"sigma": 0.02}
    expected = REPAIRS[task](image, **sigma)
    scaled = REPAIRS[task](4096 * image, data_range=4096, **{name: 4096 * value for name, value in sigma.items()})
    np.testing.assert_array_equal(scaled / 4096, expected)


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


@pytest.mark.slow
@pytest.mark.parametrize("task", REPAIRS)
def test_leading_axes_are_pages(task, clean):
    pages = np.stack([clean[:16, :20], clean[16:32, :20], clean[32:48, :20], clean[48:64, :20]])
    sigma = {} if task == "inpaint" else {"sigma": 0.05}
    expected = REPAIRS[task](pages, **sigma)
    five = REPAIRS[task](pages.reshape(2, 1, 2, 16, 20), **sigma)
    np.testing.assert_array_equal(five, expected.reshape(2, 1, 2, *expected.shape[1:]))


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


@pytest.mark.parametrize("task", REPAIRS)
def test_an_operator_nobody_ships(task):
    with pytest.raises(FileNotFoundError, match="nosuch.*default"):
        REPAIRS[task](SQUARE, operator="nosuch")


def test_tasks_are_known_by_their_names():
    assert list(TASKS) == ["denoise", "inpaint", "upscale", "deblur", "deblock"]
    assert [task.word for task in TASKS.values()] == ["denoised", "inpainted", "upscaled", "deblurred", "deblocked"]


@pytest.mark.parametrize("task", REPAIRS)
def test_a_keyword_that_is_none_is_refused_by_name(task):
    with pytest.raises(TypeError, match="unexpected keyword argument 'data_rnge'; it takes .*data_range"):
        REPAIRS[task](SQUARE, data_rnge=1)


def test_strengths_leave_grain_in_luma_and_chroma_apart():
    rng = np.random.default_rng(0)
    noisy = (0.5 + 0.06 * rng.standard_normal((32, 32, 3))).astype(np.float32)

    def opponents(image):
        return np.moveaxis((image.astype(float)) @ OPPONENT.T.astype(float), -1, 0)

    same = {"channel_axis": -1, "bounds": None}
    whole = opponents(denoise(noisy, 0.06, **same))
    half = opponents(denoise(noisy, 0.06, luma=0.5, chroma=0.0, **same))
    before = opponents(noisy)
    np.testing.assert_allclose(half[0], (before[0] + whole[0]) / 2, atol=1e-5)
    np.testing.assert_allclose(half[1:], before[1:], atol=1e-5)
    smoother = opponents(denoise(noisy, 0.03, luma=2.0, chroma=2.0, **same))
    np.testing.assert_allclose(smoother, whole, atol=1e-5)
    with pytest.raises(ValueError, match="chroma: a strength"):
        denoise(noisy, 0.06, chroma=-1.0, **same)
