"""The model of a JPEG against the encoder and decoder that Pillow has, and the tables of files as they are read."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from picture_files import encoded
from PIL import Image, ImageOps
from skimage import data

from cosparse import Jpeg
from cosparse.io.picture import read_image
from cosparse.jpeg import FACTORS, coefficients, enlarged_chroma, plane_of, reduced_chroma, turned, whole

GREY, COLOUR = data.camera()[90:207, 190:301], data.astronaut()[30:147, 170:281]  # neither side a multiple of 8


def test_block_cosines_are_orthonormal():
    plane = np.random.default_rng(0).standard_normal((24, 40))
    found = coefficients(plane)
    assert found.shape == (3, 5, 8, 8)
    np.testing.assert_allclose(plane_of(found), plane, atol=1e-6)
    assert (found**2).sum() == pytest.approx((plane**2).sum(), rel=1e-6)
    assert whole(24, 41).sum() == 15 and whole(24, 41).shape == (3, 6)


@pytest.mark.parametrize("quality", [10, 40, 90])
def test_grey_as_pillow_decodes_it(quality):
    picture = read_image(encoded(GREY, "jpeg", quality=quality))
    np.testing.assert_array_equal(picture.jpeg.quantization[0], Jpeg.standard(quality).quantization[0])
    away = np.abs(picture.jpeg.sample(GREY) - picture.pixels)
    # libjpeg's cosines are of whole numbers: now and then a coefficient that lies between two steps goes to the other.
    assert np.mean(away <= 1) > 0.95 and away.mean() < 0.3
    assert np.mean(away[:96, :96] ** 2) < 0.1 * np.mean((picture.pixels[:96, :96] - 1.0 * GREY[:96, :96]) ** 2)


@pytest.mark.parametrize("subsampling", ["4:4:4", "4:2:2", "4:2:0"])
def test_colour_as_pillow_decodes_it(subsampling):
    picture = read_image(encoded(COLOUR, "jpeg", quality=60, subsampling=subsampling))
    assert picture.jpeg.subsampling == subsampling
    assert (picture.jpeg.quantization[0] != picture.jpeg.quantization[1]).any()
    ours = picture.jpeg.sample(COLOUR)
    assert np.mean(np.abs(ours - picture.pixels) <= 2) > 0.93
    error = np.mean((picture.pixels - 1.0 * COLOUR) ** 2)
    assert np.mean((ours - COLOUR) ** 2) == pytest.approx(error, rel=0.02)


def test_variance_is_that_of_the_error():
    for quality in (10, 50):
        jpeg = Jpeg.standard(quality)
        assert jpeg.variance(GREY).mean() == pytest.approx(np.mean((jpeg.sample(GREY) - GREY) ** 2), rel=0.15)
    unit = jpeg.scaled(1 / 255)
    np.testing.assert_allclose(unit.sample(GREY / 255), jpeg.sample(GREY) / 255, atol=1e-9)
    np.testing.assert_allclose(unit.variance(GREY / 255), jpeg.variance(GREY) / 255**2, rtol=1e-6)


@pytest.mark.parametrize("factors", FACTORS.values(), ids=list(FACTORS))
@pytest.mark.parametrize("odd", [0, 1])
def test_small_chroma_is_found_again(factors, odd):
    small = np.random.default_rng(0).standard_normal((17, 23))
    shape = tuple(factor * side - (odd and factor - 1) for factor, side in zip(factors, small.shape, strict=True))
    np.testing.assert_allclose(reduced_chroma(enlarged_chroma(small, factors, shape), factors), small, atol=1e-9)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_blocks_turn_with_the_picture(orientation):
    exif = Image.Exif()
    exif[274] = orientation
    saved = encoded(GREY, "jpeg", quality=20, exif=exif)
    picture = read_image(saved)
    assert picture.jpeg.orientation == orientation
    stored = read_image(encoded(GREY, "jpeg", quality=20)).pixels
    np.testing.assert_array_equal(turned(picture.pixels, orientation, back=True), stored)
    np.testing.assert_array_equal(turned(stored, orientation), picture.pixels)
    upright = np.asarray(ImageOps.exif_transpose(Image.fromarray(GREY).copy()))  # untouched: it has no EXIF
    assert np.abs(picture.jpeg.sample(turned(upright, orientation)) - picture.pixels).mean() < 0.3


def test_other_files():
    assert read_image(encoded(GREY)).jpeg is None
    progressive = read_image(encoded(COLOUR, "jpeg", quality=30, progressive=True))
    assert repr(progressive.jpeg) == repr(Jpeg.standard(30))
    assert read_image(encoded(COLOUR, "jpeg", quality=30, keep_rgb=True)).jpeg is None  # no luma in it


def test_made_in_many_ways():
    table = np.full((8, 8), 9)
    for given in (table, table.ravel().tolist(), {0: table.ravel().tolist()}, [table], {0: table, 1: table}):
        assert [one.shape for one in Jpeg(given).quantization] == [(8, 8)] * 3
    one = pickle.loads(pickle.dumps(Jpeg({0: table, 1: 2 * table}, "4:4:4")))
    assert repr(one) == "Jpeg(steps from 9 to 9, 4:4:4)" and one.quantization[2].max() == 18
    with pytest.raises(ValueError, match="read-only"):
        Jpeg(table).quantization[0][0, 0] = 1


@pytest.mark.parametrize(
    "given, said",
    [
        (np.zeros((8, 8)), "at least 1"),
        (np.full((8, 8), np.nan), "at least 1"),
        (np.ones(63), "8x8"),
        ({}, "one to three tables"),
        ("fine", "8x8|tables"),
        (None, "8x8|tables"),
    ],
)
def test_what_is_no_table(given, said):
    with pytest.raises(ValueError, match=f"quantization: .*({said})"):
        Jpeg(given)


def test_what_is_no_jpeg():
    with pytest.raises(ValueError, match="subsampling: expected one of 4:4:4"):
        Jpeg(np.ones((8, 8)), "4:2:3")
    with pytest.raises(ValueError, match="orientation"):
        Jpeg(np.ones((8, 8)), orientation=9)
    with pytest.raises(ValueError, match="quality: must lie between 1 and 100"):
        Jpeg.standard(0)
    with pytest.raises(ValueError, match=r"image: a JPEG is \(h, w\)"):
        Jpeg.standard(50).sample(np.zeros((2, 8, 8, 2)))
