"""Training patches: which are taken, from where, and what is done to them."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosparse import sample_patches
from cosparse.io.picture import write_image

NOISE = np.random.default_rng(7).random((40, 50))


def centred(windows):
    patches = windows.reshape(-1, windows.shape[-2] * windows.shape[-1]).astype(float)
    patches = patches - patches.mean(axis=1, keepdims=True)
    return patches / np.linalg.norm(patches, axis=1, keepdims=True)


def sort_rows(patches):
    return patches[np.lexsort(patches.T)]


@given(st.integers(2, 9), st.integers(1, 60), st.integers(0, 99))
def test_centred_unit_norm_and_float32(size, count, seed):
    patches = sample_patches([NOISE, NOISE[:20, :30]], size=size, count=count, rng=seed)
    assert patches.shape == (count, size * size)
    assert patches.dtype == np.float32 and patches.flags.c_contiguous
    np.testing.assert_allclose(patches.sum(axis=1), 0, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(patches, axis=1), 1, rtol=0, atol=1e-6)


def test_every_place_exactly_once_when_all_are_asked_for():
    image = NOISE[:13, :11]
    windows = np.lib.stride_tricks.sliding_window_view(image, (4, 4))
    patches = sample_patches(image, size=4, count=10 * 8)
    np.testing.assert_allclose(sort_rows(patches), sort_rows(centred(windows)), atol=1e-5)
    with pytest.raises(ValueError, match="count: the images hold only 80 patches"):
        sample_patches(image, size=4, count=81)


def test_the_same_seed_gives_the_same_patches():
    first = sample_patches([NOISE], count=50, rng=3)
    assert first.tobytes() == sample_patches([NOISE], count=50, rng=3).tobytes()
    generator = np.random.default_rng(3)
    assert first.tobytes() == sample_patches([NOISE], count=50, rng=generator).tobytes()
    assert first.tobytes() != sample_patches([NOISE], count=50, rng=4).tobytes()


def test_shared_by_area_or_equally():
    # One image varies only downwards, the other only across: a patch tells where it came from.
    rng = np.random.default_rng(0)
    large = np.tile(rng.random((120, 1)), (1, 60))
    small = np.tile(rng.random((1, 30)), (20, 1))

    def from_large(share):
        patches = sample_patches([large, small], size=5, count=260, share=share)
        return (np.ptp(patches.reshape(-1, 5, 5), axis=2).max(axis=1) < 1e-6).sum()

    places_large, places_small = 116 * 56, 16 * 26
    expected = 260 * places_large / (places_large + places_small)
    assert abs(from_large("area") - expected) <= 1
    assert from_large("equal") == 130


def test_the_others_make_up_for_an_image_that_is_flat_or_too_small():
    flat, tiny = np.full((200, 200), 0.4), NOISE[:5]
    assert len(sample_patches([flat, NOISE, tiny], count=300, share="area")) == 300
    assert len(sample_patches([tiny, flat, NOISE], count=300, share="equal")) == 300
    # A quota that rounds to nothing is no reason to give nothing.
    assert len(sample_patches([NOISE, flat], count=1)) == 1


def test_nearly_constant_patches_are_passed_over():
    image = NOISE.copy()
    image[:, :25] = 0.5 + 0.025 * NOISE[:, :25]  # a standard deviation of about 1.8 grey levels
    windows = np.lib.stride_tricks.sliding_window_view(image * 255, (6, 6))
    textured = (windows.std(axis=(2, 3)) > 2).sum()
    assert len(sample_patches(image, size=6, count=textured)) == textured
    with pytest.raises(ValueError, match=f"only {textured} patches"):
        sample_patches(image, size=6, count=textured + 1)
    with pytest.raises(ValueError, match="nearly constant"):
        sample_patches(np.full((30, 30), 0.5), count=1)


def test_the_range_of_the_values_does_not_matter():
    integers = np.round(NOISE * 255).astype(np.uint8)
    patches = sample_patches(integers, count=40)
    np.testing.assert_allclose(patches, sample_patches(integers / 255, count=40), atol=1e-5)
    wide = integers.astype(np.uint16) * 257
    np.testing.assert_allclose(patches, sample_patches(wide, count=40), atol=1e-5)


def test_one_colour_image_is_one_image():
    colour = np.random.default_rng(1).random((30, 40, 3))
    grey = colour @ [0.2125, 0.7154, 0.0721]
    for given_as in (colour, [colour]):
        patches = sample_patches(given_as, size=3, count=50)
        np.testing.assert_allclose(patches, sample_patches(grey, size=3, count=50), atol=1e-4)


def test_a_stack_is_a_sequence_of_images():
    stack = np.random.default_rng(1).random((4, 20, 20))
    assert sample_patches(stack, count=30).tobytes() == sample_patches(list(stack), count=30).tobytes()


def test_further_axes_are_pages():
    rng = np.random.default_rng(1)
    for shape, pages in [((2, 3, 20, 20), 6), ((2, 2, 3, 12, 14), 12), ((4, 20, 20, 3), 4)]:
        stack = rng.random(shape)
        expected = sample_patches(list(stack.reshape(pages, *shape[-3 + (shape[-1] != 3) :])), count=30).tobytes()
        assert sample_patches(stack, count=30).tobytes() == expected
        assert sample_patches([stack], count=30).tobytes() == expected


def test_every_page_of_a_file_is_used(tmp_path):
    stack = np.random.default_rng(1).integers(0, 65536, (2, 3, 20, 21), np.uint16)
    write_image(tmp_path / "stack.tif", stack)
    expected = sample_patches(stack, count=1092).tobytes()  # all there are
    assert sample_patches(tmp_path / "stack.tif", count=1092).tobytes() == expected


def test_flatness_is_measured_against_the_range(tmp_path):
    flat = 128 + 0.5 * np.random.default_rng(0).standard_normal((40, 40)).astype(np.float32)
    with pytest.raises(ValueError, match="nearly constant"):
        sample_patches(flat, count=10, data_range=255)
    steps = np.random.default_rng(0).integers(0, 4096, (40, 40), np.uint16)
    np.testing.assert_allclose(
        sample_patches(steps, count=40, data_range=4095), sample_patches(steps / 4095, count=40), atol=1e-5
    )
    for values, taken in [(flat, 255), (flat / 255, 1)]:  # a file of floats says by the bulk of them
        write_image(tmp_path / "flat.tif", values)
        with pytest.raises(ValueError, match="nearly constant"):
            sample_patches(tmp_path / "flat.tif", count=10)
        assert len(sample_patches(tmp_path / "flat.tif", count=10, data_range=taken / 100)) == 10


def test_from_files_and_folders(tmp_path):
    pictures = [np.round(NOISE * 255).astype(np.uint8), np.round(NOISE.T * 255).astype(np.uint8)]
    for name, picture in zip("ab", pictures, strict=True):
        write_image(tmp_path / f"{name}.png", picture)
    expected = sample_patches(pictures, count=60).tobytes()
    assert sample_patches(tmp_path, count=60).tobytes() == expected
    assert sample_patches([tmp_path / "a.png", str(tmp_path / "b.png")], count=60).tobytes() == expected


def test_never_all_patches_in_memory():
    # Nearly everything is flat, so nearly every place has to be looked at.
    image = np.full((500, 500), 128, np.uint8)
    image[-30:, -30:] = np.random.default_rng(0).integers(0, 256, (30, 30))
    sample_patches(image[-60:, -60:], count=5)  # whatever is imported on the way is not counted
    tracemalloc.start()
    try:
        sample_patches(image, count=300)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    all_patches = 493**2 * 64 * 4
    assert peak < all_patches / 4


@pytest.mark.parametrize(
    ("images", "arguments", "complaint"),
    [
        (NOISE, {"size": 1}, "size"),
        (NOISE, {"size": 65}, "size"),
        (NOISE, {"count": 0}, "count"),
        (NOISE, {"share": "fair"}, "share"),
        ([], {}, "images: none given"),
        ([NOISE[:7]], {}, "images: none is as large as one patch of 8 x 8"),
        ([NOISE, NOISE[0]], {}, r"images\[1\]"),
        ([NOISE, np.full((9, 9), np.nan)], {}, r"images\[1\].*NaN"),
        ([np.full((9, 9), np.inf)], {}, r"images\[0\].*infinite"),
        ([np.zeros((9, 9, 4, 2))], {}, "none is as large as one patch"),  # 81 pages of 4 x 2 pixels
        (NOISE, {"data_range": 0}, "data_range"),
    ],
)
def test_bad_input_is_named(images, arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        sample_patches(images, **{"count": 10, **arguments})


def test_a_folder_without_images(tmp_path):
    (tmp_path / "notes.txt").write_text("no image")
    with pytest.raises(ValueError, match=tmp_path.name):
        sample_patches(tmp_path)


def test_leaves_the_callers_things_alone():
    image = NOISE.copy()
    state, filters = np.random.get_state()[1].copy(), list(warnings.filters)  # noqa: NPY002
    sample_patches(image, count=50)
    np.testing.assert_array_equal(image, NOISE)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    assert warnings.filters == filters
