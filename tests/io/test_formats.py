"""Which format a file is, what each holds, and that what it cannot hold is said."""

from __future__ import annotations

import io

import numpy as np
import pytest
from picture_files import encoded
from pixels import noise

from cosparse.io import formats
from cosparse.io.picture import read_image, write_image


@pytest.mark.parametrize(("name", "pixels", "says"), [
    ("a.jpg", noise((4, 4, 4)), "JPEG cannot hold transparency; write PNG or TIFF"),
    ("a.bmp", noise((4, 4, 4)), "BMP cannot hold transparency; write PNG or TIFF"),
    ("a.jpg", noise((4, 4), np.uint16), "JPEG cannot hold 16 bits; write PNG or TIFF"),
    ("a.png", noise((4, 4), np.float32), "PNG cannot hold floats; write TIFF"),
    ("a.png", noise((2, 4, 5)), "PNG cannot hold a stack; write TIFF"),
    ("a.gif", noise((4, 4)), "cannot write format '.gif'"),
    ("a", noise((4, 4)), "cannot write format ''"),
    ("a.png", np.zeros((4, 4), int), "cannot write int64 pixels"),
    ("a.png", np.zeros((0, 4), np.uint8), "cannot write shape"),
    ("a.jpg", np.zeros((1, 70000), np.uint8), "cannot be written as JPEG"),
])  # fmt: skip
def test_what_a_format_cannot_hold(tmp_path, name, pixels, says):
    with pytest.raises(ValueError) as caught:
        write_image(tmp_path / name, pixels)
    assert f"{tmp_path / name}: {says}" in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_every_suffix_has_its_place():
    """None is read and left out at a time, and all that is written can be read."""
    assert not formats.UNREAD.keys() & (formats.SUFFIXES | formats.READ_ONLY).keys()
    assert all(formats.readable(suffix) and formats.readable(suffix.upper()) for suffix in formats.SUFFIXES)
    assert not any(formats.readable(suffix) for suffix in [*formats.UNREAD, ".txt", ""])


@pytest.mark.parametrize("format", sorted(set(formats.SUFFIXES.values())))
def test_what_is_not_said_to_be_lost_comes_back(format):
    """Of each kind of metadata either a line says that it is lost, or the written file has it."""
    metadata = {
        "dpi": (300.0, 150.0), "exif": b"Exif\0\0II*\0\x08\0\0\0\1\0\x0f\1\2\0\4\0\0\0abc\0\0\0\0\0",
        "icc_profile": b"a profile", "xmp": b"<x:xmpmeta/>", "text": {"Title": "a bridge"}, "comment": b"a bridge",
    }  # fmt: skip
    pixels = noise((8, 6, 3))
    samples = formats.Samples(pixels, metadata=metadata)
    back = read_image(bytes(formats.encode(format, samples))).metadata
    lost = formats.losses(metadata, format)
    assert len(back) + len(lost) == len(metadata)
    assert back["dpi"] == pytest.approx(metadata["dpi"], rel=1e-3)
    assert all(back[key] == metadata[key] for key in back if key != "dpi")
    assert all(line.endswith(f" cannot be kept in {format.upper()}") for line in lost)


def test_the_content_counts_and_not_the_name():
    for format in ("png", "jpeg", "bmp", "tiff", "gif", "webp"):
        assert read_image(encoded(noise((8, 6)), format), name="a.dat").format == format
    with pytest.raises(ValueError, match="cannot write format 'gif'"):
        write_image(io.BytesIO(), np.zeros((4, 4), np.uint8), format="gif")
