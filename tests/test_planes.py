"""The door of the tasks: any array in, the same kind of array out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cosparse.reconstruction.planes import GAINS, OPPONENT, by_page, by_plane, close_image, open_image


def apply(image, colour, change, **more):
    """Change every plane of an image."""
    return by_page(
        image,
        colour,
        lambda page, number, told: by_plane(
            page, colour, lambda channel: channel.plane, lambda channel, start, told: change(channel), **more
        ),
    )


LAYOUTS = [
    ((5, 7), None),
    ((2, 5, 7), None),
    ((5, 7, 3), -1),
    ((3, 5, 7), 0),
    ((5, 3, 7), 1),
    ((5, 7, 4), 2),
    ((5, 7, 1), -1),
    ((5, 7, 2), -1),
    ((5, 7, 6), -1),
    ((2, 5, 7, 3), -1),
    ((2, 3, 5, 7), 1),
]


@pytest.mark.parametrize("shape, axis", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
@given(data=st.data())
def test_in_and_out_again(shape, axis, dtype, data):
    """Integers to the bit, also through the colour transform; floats to single precision."""
    elements = st.floats(0, 1, width=32) if np.dtype(dtype).kind == "f" else None
    image = data.draw(hnp.arrays(dtype, shape, elements=elements))
    working, caller = open_image(image, None, axis)
    assert working.dtype == np.float32 and working.max() <= 255
    back = close_image(apply(working, axis is not None, lambda channel: channel.plane), caller)
    assert back.dtype == image.dtype and back.shape == image.shape and back.flags.c_contiguous
    if image.dtype.kind == "u":
        np.testing.assert_array_equal(back, image)
    else:
        np.testing.assert_allclose(back, image, atol=1e-6)


def test_colour_becomes_luma_and_two_opponents():
    image = np.random.default_rng(0).random((4, 6, 3)).astype(np.float32) * 255
    seen = []
    apply(image, True, lambda channel: (seen.append(channel), channel.plane)[1])
    np.testing.assert_allclose(seen[0].plane, image.mean(-1), rtol=1e-5)
    assert [channel.bounds for channel in seen] == [(0.0, 255.0), None, None]
    grey = np.repeat(image[..., :1], 3, axis=-1)
    assert np.abs(grey @ OPPONENT[1:].T).max() < 1e-4


def test_noise_of_a_channel_is_the_images_times_its_gain():
    noise = np.random.default_rng(0).standard_normal((100_000, 3))
    np.testing.assert_allclose((noise @ OPPONENT.T).std(axis=0), GAINS, rtol=0.02)


def test_alpha_is_not_repaired_only_resized():
    image = np.random.default_rng(0).random((4, 6, 4)).astype(np.float32)
    result = apply(image, True, lambda channel: channel.plane * 0)
    assert not result[..., :3].any()
    np.testing.assert_array_equal(result[..., 3], image[..., 3])
    half = apply(image, True, lambda channel: channel.plane[::2, ::2], resize=lambda plane: plane[::2, ::2])
    assert half.shape == (2, 3, 4)


@pytest.mark.parametrize(
    "image, axis, message",
    [
        (np.zeros(5), None, "image: expected"),
        (np.zeros((2, 2, 2, 2)), None, "image: expected"),
        (np.zeros((9, 9, 3)), None, "image: .*looks like a colour image.*channel_axis=-1"),
        (np.zeros((9, 9, 4)), None, "image: .*channel_axis=-1"),
        (np.zeros((9, 9, 3)), 3, "channel_axis: 3"),
        (np.zeros((9, 9)), 0, "channel_axis: 0"),
        (np.zeros((0, 9)), None, "image: is empty"),
        (np.zeros((9, 0, 3)), -1, "image: is empty"),
        (np.full((3, 3), np.inf), None, "image: has infinite"),
        (np.zeros((3, 3), int), None, "image: int64"),
        (np.zeros((3, 3), complex), None, "image: "),
        (np.array([["a", "b"]]), None, "image: "),
        (np.ma.masked_array(np.zeros((3, 3)), np.eye(3, dtype=bool)), None, "image: has masked"),
    ],
)
def test_what_is_not_an_image_is_refused_by_name(image, axis, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        open_image(image, None, axis)


@pytest.mark.parametrize("span", [0, -1.0, np.nan, np.inf])
def test_data_range_is_positive(span):
    with pytest.raises(ValueError, match="^data_range: "):
        open_image(np.zeros((3, 3)), span, None)
