"""HEIC: read where its decoder is installed, and one line that names it where it is not."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from picture_files import HEIC
from PIL import Image

from cosparse.io import heif
from cosparse.io.find import find_images, unread_files
from cosparse.io.picture import read_image, write_image

decoder = pytest.mark.skipif(not heif.installed(), reason="no pi-heif: pip install 'cosparse[heic]'")


def test_without_the_decoder(tmp_path, monkeypatch):
    monkeypatch.setattr(heif, "installed", lambda: False)
    (tmp_path / "IMG_0001.HEIC").write_bytes(HEIC)
    with pytest.raises(ValueError, match=r"IMG_0001\.HEIC: is HEIC.*pip install 'cosparse\[heic\]'"):
        read_image(tmp_path / "IMG_0001.HEIC")
    write_image(tmp_path / "a.png", np.zeros((4, 4), np.uint8))
    assert find_images(tmp_path) == [tmp_path / "a.png"]
    assert unread_files(tmp_path) == [tmp_path / "IMG_0001.HEIC"]


@decoder
def test_with_the_decoder(tmp_path):
    (tmp_path / "IMG_0001.HEIC").write_bytes(HEIC)
    assert find_images(tmp_path) == [tmp_path / "IMG_0001.HEIC"] and not unread_files(tmp_path)
    picture = read_image(tmp_path / "IMG_0001.HEIC")
    row, column = np.mgrid[:8, :12]
    ramp = 20 * row[..., None] + 8 * column[..., None] + [0, 20, 40]
    expected = np.rot90(np.kron(ramp, np.ones((4, 4, 1))), -1)
    assert picture.pixels.shape == (48, 32, 3) and picture.format == "heic"
    assert np.abs(picture.pixels - expected).mean() < 6
    out = io.BytesIO()
    write_image(out, picture.pixels, like=picture, format="jpeg")
    with Image.open(out) as image:
        exif = image.getexif()
        assert (exif[271], exif.get(274, 1)) == ("Maker", 1)  # upright now
    with pytest.raises(ValueError, match="32x48 pixels, over the limit of 1535"):
        read_image(HEIC, max_pixels=1535)


@decoder
@settings(max_examples=100, deadline=None)
@given(st.data())
def test_damage_is_read_or_refused(data):
    raw = bytearray(HEIC[: data.draw(st.integers(40, len(HEIC)))])
    for _ in range(data.draw(st.integers(0, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        read_image(bytes(raw), max_pixels=10**6)
    except ValueError as error:
        assert re.fullmatch("image: .+", str(error))
