"""What Pillow reads: its own formats as it does, and what it has no mode for without loss."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
from picture_files import encoded, png
from PIL import Image, ImageOps
from pixels import noise, same

from cosparse.io.picture import read_image, write_image

ICC = bytes(range(256)) * 2  # carried, not understood


@pytest.mark.parametrize("interlaced", [False, True])
def test_16_bit_colour_png_of_another_writer(interlaced):
    pixels = noise((1, 1, 3), np.uint16)  # one pixel: Adam7 has one pass, so the rows are the same
    data = png((1, 1, 16, 2), [pixels.astype(">u2").tobytes()])
    if interlaced:
        head = data[12:28] + b"\1"
        data = data[:12] + head + struct.pack(">I", zlib.crc32(head)) + data[33:]
    same(read_image(data).pixels, pixels)


def test_palette_bits_and_transparent_keys_are_expanded():
    colours = noise((6, 5, 3))
    paletted = Image.fromarray(colours).quantize(30)
    same(read_image(encoded(paletted)).pixels, np.array(paletted.convert("RGB")))
    keyed = read_image(encoded(paletted, transparency=bytes(range(30))))
    same(keyed.alpha, np.array(paletted))
    same(read_image(encoded(paletted, "tiff")).pixels, np.array(paletted.convert("RGB")))
    bits = np.eye(9, dtype=bool)
    for format in ("png", "bmp", "tiff"):
        same(np.atleast_3d(read_image(encoded(bits, format)).pixels)[..., 0], bits * np.uint8(255))
    four = read_image(png((2, 1, 4, 0), [b"\x5f"], (b"tRNS", b"\0\x05")))  # 4-bit grey 5 is "nothing"
    same(four.pixels, np.array([[85, 255]], np.uint8))
    same(four.alpha, np.array([[0, 255]], np.uint8))
    deep = png((1, 2, 16, 2), [b"\1\2\3\4\5\6", b"\1\2\3\4\5\7"], (b"tRNS", b"\1\2\3\4\5\6"))
    same(read_image(deep).alpha, np.array([[0], [65535]], np.uint16))


@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
@pytest.mark.parametrize("format", ["webp", "avif", "gif"])
def test_other_formats_are_read(format, mode):
    pixels = np.kron(noise((3, 4, len(mode))), np.ones((8, 8, 1), np.uint8))
    pixels[..., 3:] = np.where(pixels[..., 3:] > 100, 255, 0)  # a GIF knows no half
    options = {} if format == "gif" else {"lossless": True} if format == "webp" else {"quality": 100}
    data = encoded(pixels, format, **options)
    picture = read_image(data, name="photograph.jpg")  # known by content
    with Image.open(io.BytesIO(data)) as image:
        want = np.array(image.convert(mode))
    same(picture.pixels, want[..., :3])
    assert (picture.format, picture.channel_axis, picture.notes) == (format, -1, ())
    if mode == "RGBA":
        same(picture.alpha, want[..., 3])
    if format == "webp":
        same(picture.pixels[pixels[..., -1] > 0], pixels[pixels[..., -1] > 0][:, :3])
    with pytest.raises(ValueError, match=f"cannot write format '{format}'; write PNG or TIFF"):
        write_image(io.BytesIO(), picture.pixels, like=picture)


@pytest.mark.parametrize("format", ["webp", "avif"])
def test_orientation_and_metadata_of_other_formats(format):
    pixels = np.kron(noise((2, 3, 3)), np.ones((16, 16, 1), np.uint8))
    exif = Image.Exif()
    exif[274], exif[271] = 6, "Maker"
    data = encoded(pixels, format, exif=exif, icc_profile=ICC, quality=100)
    with Image.open(io.BytesIO(data)) as image:
        want = np.array(ImageOps.exif_transpose(image).convert("RGB"))
    picture = read_image(data)
    same(picture.pixels, want)
    out = io.BytesIO()
    write_image(out, picture.pixels, like=picture, format="jpeg")
    with Image.open(out) as image:
        assert (image.getexif()[271], image.getexif().get(274, 1)) == ("Maker", 1)
        assert image.info["icc_profile"] == ICC


@pytest.mark.parametrize("format", ["webp", "avif", "gif", "mpo"])
def test_of_several_frames_the_first(format):
    frames = [Image.fromarray(np.full((16, 16, 3), level, np.uint8)) for level in (0, 120, 240)]
    data = encoded(frames[0], format, save_all=True, append_images=frames[1:])
    picture = read_image(data)
    assert picture.pixels.max() < 20 and not picture.stack
    assert picture.notes == ("2 other frames in the file are not kept",)


def test_deep_avif_is_said_to_be_cut():
    data = bytearray(encoded(noise((16, 16, 3)), "avif"))
    assert not read_image(bytes(data)).notes
    data[data.index(b"av1C") + 6] |= 0x40  # Pillow writes none of more than 8 bits: so its headers say
    at = data.index(b"pixi") + 9
    data[at : at + 3] = b"\x0a\x0a\x0a"
    assert "its 10 or 12 bits are read as 8" in read_image(bytes(data)).notes
