"""A picture in, a picture out; and what goes with its enlarged pixels."""

from __future__ import annotations

import numpy as np
import pytest
from pixels import noise
from skimage import data

import cosparse
from cosparse.io.picture import Picture, read_image, write_image
from cosparse.reconstruction.start import enlarge
from cosparse.repair import bicubic, enlarged_like, repair

PHOTO = data.camera()[100:140, 200:248]


@pytest.mark.parametrize("white", [255.0, 4095.0])
@pytest.mark.parametrize("sigma", [12.0, None])
def test_the_noise_is_on_255_whatever_the_range(sigma, white):
    """The picture is repaired as its array, and told the noise of each page."""
    pixels = np.stack([PHOTO, PHOTO[::-1]]).astype(np.float32) * np.float32(white / 255)
    found = repair(Picture(pixels, stack=True, data_range=white), "denoise", sigma=sigma, quality="fast")
    expected = cosparse.denoise(pixels, sigma and sigma * white / 255, data_range=white, quality="fast")
    np.testing.assert_array_equal(found.picture.pixels, expected)
    levels = [sigma or cosparse.estimate_sigma(page, data_range=white) * 255 / white for page in pixels]
    assert found.sigmas == pytest.approx(levels, rel=1e-5)


def test_what_a_picture_is_besides_its_pixels_is_kept():
    alpha = noise(PHOTO.shape)
    picture = Picture(PHOTO, alpha, metadata={"dpi": (300.0, 300.0)}, format="tiff", notes=("a note",))
    found = repair(picture, "inpaint", mask=PHOTO < 20, quality="fast").picture
    np.testing.assert_array_equal(found.pixels[PHOTO >= 20], PHOTO[PHOTO >= 20])
    assert found.alpha is alpha and (found.metadata, found.format) == (picture.metadata, "tiff")
    large = repair(picture, "upscale", factor=2, quality="fast").picture
    assert large.pixels.shape == large.alpha.shape == (80, 96) and large.metadata == {"dpi": (600.0, 600.0)}


def test_nan_needs_a_mask():
    holes = np.where(np.eye(32) > 0, np.nan, 0.5).astype(np.float32)
    with pytest.raises(ValueError, match="holds NaN; fill them in first"):
        repair(Picture(holes, data_range=1.0), "denoise")
    filled = repair(Picture(holes, data_range=1.0), "inpaint", mask=np.isnan(holes), quality="fast").picture
    np.testing.assert_allclose(filled.pixels, 0.5, atol=1e-4)


def test_every_page_and_colour_is_enlarged_by_itself():
    pixels = noise((2, 5, 6, 3))
    large = bicubic(Picture(pixels, channel_axis=-1, stack=True), 3)
    assert large.shape == (2, 15, 18, 3)
    np.testing.assert_array_equal(large[1, ..., 2], enlarge(pixels[1, ..., 2].astype(np.float32), 3))


def test_the_alpha_of_every_page_is_enlarged(tmp_path):
    alpha = np.zeros((2, 3, 4, 5), np.uint8)
    alpha[1] = 255
    picture = Picture(noise(alpha.shape), alpha, stack=True, metadata={"dpi": (300.0, 150.0)}, axes="TZYX")
    like = enlarged_like(picture, 3)
    assert like.alpha.shape == (2, 3, 12, 15) and like.alpha.dtype == np.uint8
    assert not like.alpha[0].any() and (like.alpha[1] == 255).all()
    write_image(tmp_path / "a.tif", noise((2, 3, 12, 15)), like=like)
    back = read_image(tmp_path / "a.tif")
    assert back.metadata["dpi"] == (900, 450) and back.axes == "TZYX"
    np.testing.assert_array_equal(back.alpha, like.alpha)


def test_a_resolution_beyond_what_files_hold_is_dropped():
    assert enlarged_like(Picture(noise((4, 4)), metadata={"dpi": (60_000.0, 60_000.0)}), 4).metadata == {}
