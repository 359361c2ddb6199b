"""Deblocking: dB gained over the decoded file, and coefficients that stay where the file says they are."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from skimage import data

import cosparse
from cosparse import Jpeg, deblock, load_operator
from cosparse.jpeg import coefficients, turned
from cosparse.reconstruction.intervals import Intervals, level_of

GREY = data.camera()[80:240, 160:320]
COLOUR = data.astronaut()[20:157, 150:271]


def gain(truth, decoded, **options):
    return cosparse.psnr(truth, deblock(decoded, **options)) - cosparse.psnr(truth, decoded)


# dB over the decoded image; a change of the steps or of the table moves them.
GOLDEN = {
    "staged": {10: 1.898, 20: 1.927, 40: 2.028, 80: 1.900},
    "default": {10: 1.486, 20: 1.435, 40: 1.584, 80: 1.540},
}
GOLDEN_COLOUR = {
    "staged": {"4:4:4": 1.230, "4:2:2": 1.142, "4:2:0": 1.093},
    "default": {"4:4:4": 1.106, "4:2:2": 1.090, "4:2:0": 1.034},
}


@pytest.mark.parametrize("operator", GOLDEN)
def test_grey_gains(operator):
    for quality, expected in GOLDEN[operator].items():
        jpeg = Jpeg.standard(quality)
        decoded = jpeg.sample(GREY).astype(np.uint8)
        reached = gain(GREY, decoded, quantization=jpeg, operator=operator)
        assert reached == pytest.approx(expected, abs=0.03), quality


@pytest.mark.parametrize("operator", GOLDEN_COLOUR)
def test_colour_gains_whatever_the_size_of_chroma(operator):
    for subsampling, expected in GOLDEN_COLOUR[operator].items():
        jpeg = Jpeg.standard(15, subsampling)
        decoded = jpeg.sample(COLOUR).astype(np.uint8)
        reached = gain(COLOUR, decoded, quantization=jpeg, operator=operator, channel_axis=-1)
        assert reached == pytest.approx(expected, abs=0.03), subsampling


@pytest.mark.parametrize("operator", ["staged", "default"])
@pytest.mark.parametrize("quality", [10, 30])
def test_coefficients_stay_in_their_intervals(operator, quality):
    jpeg = Jpeg.standard(quality)
    decoded = jpeg.sample(GREY)
    result = deblock(decoded, jpeg, operator=operator, data_range=255, bounds=None)
    within = Intervals.of(decoded.astype(np.float32), jpeg.quantization[0])
    off = np.abs(coefficients(result.astype(np.float32) - 128) - within.centres) / within.steps
    assert off.max() < 0.5 + 1e-3 and off.max() > 0.2


@pytest.mark.parametrize("orientation", range(2, 9))
def test_turned_with_its_blocks(orientation):
    plain, other = Jpeg.standard(20), Jpeg(Jpeg.standard(20).quantization, orientation=orientation)
    decoded = plain.sample(COLOUR).astype(np.uint8)
    expected = turned(deblock(decoded, plain, channel_axis=-1, quality="fast"), orientation)
    result = deblock(turned(decoded, orientation), other, channel_axis=-1, quality="fast")
    np.testing.assert_array_equal(result, expected)


def test_units_and_pages():
    jpeg = Jpeg.standard(20)
    decoded = jpeg.sample(GREY[:64, :64]).astype(np.uint8)
    expected = deblock(decoded.astype(float), jpeg, data_range=255)
    np.testing.assert_allclose(deblock(decoded / 255, jpeg), expected / 255, atol=1e-5)
    pages = np.stack([decoded, decoded[:, ::-1][::-1]])
    np.testing.assert_array_equal(deblock(pages, jpeg)[0], deblock(decoded, jpeg))
    assert (deblock(np.full((19, 5), 77, np.uint8), jpeg) == 77).all()


def test_pillows_tables_as_they_are(tmp_path):
    Image.fromarray(GREY).save(tmp_path / "a.jpg", quality=15)
    with Image.open(tmp_path / "a.jpg") as image:
        decoded, tables = np.asarray(image), image.quantization
    assert gain(GREY, decoded, quantization=tables) > 1


def test_a_fine_jpeg_is_hardly_changed():
    jpeg = Jpeg.standard(98)
    decoded = jpeg.sample(GREY).astype(np.uint8)
    assert np.abs(deblock(decoded, jpeg).astype(float) - decoded).max() <= 6
    assert gain(GREY, decoded, quantization=jpeg) > 0
    finest = Jpeg.standard(100)
    decoded = finest.sample(GREY).astype(np.uint8)
    np.testing.assert_array_equal(deblock(decoded, finest), decoded)


def test_a_weight_asks_for_the_energy():
    jpeg = Jpeg.standard(10)
    decoded = jpeg.sample(GREY[:48, :48])
    light, heavy = (deblock(decoded, jpeg, weight=weight, data_range=255) for weight in (0.01, 3.0))
    assert cosparse.psnr(decoded, light, data_range=255) > cosparse.psnr(decoded, heavy, data_range=255) + 1
    assert "deblock" in load_operator("staged").steps and "deblock" not in load_operator("default").steps


def test_other_tasks_take_it_for_white_noise():
    jpeg = Jpeg.standard(10)
    decoded = jpeg.sample(GREY[:96, :96]) / 255
    denoised, deblocked = cosparse.denoise(decoded, noise=jpeg), deblock(decoded, jpeg)
    clean = GREY[:96, :96] / 255
    assert cosparse.psnr(clean, deblocked) > cosparse.psnr(clean, denoised) + 0.2
    np.testing.assert_array_equal(denoised, cosparse.denoise(decoded, level_of(jpeg.quantization[0]) / 255))


@pytest.mark.parametrize(
    "image, more, said",
    [
        (GREY[3:, 5:], {}, "image: its blocks do not fit the tables"),
        (np.zeros((2, 16, 16)), {"channel_axis": 0}, "image: a JPEG is grey or has three colours, got 2"),
        (GREY, {"noise": cosparse.Gaussian(3)}, "noise: "),
    ],
)
def test_bad_input(image, more, said):
    decoded = Jpeg.standard(20).sample(GREY)[3:, 5:] if image.shape == (157, 155) else image
    with pytest.raises(ValueError, match=said):
        deblock(decoded, Jpeg.standard(20), **{"data_range": 255, **more})
    with pytest.raises(ValueError, match="quantization: "):
        deblock(image, np.ones((3, 3)), data_range=255)
