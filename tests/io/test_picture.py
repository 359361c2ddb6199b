"""The door: what goes in comes out again, or says why not."""

from __future__ import annotations

import io
import re
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from picture_files import encoded, png, tiff
from PIL import Image
from pixels import noise, same

from cosparse.io.picture import Picture, read_grey, read_greys, read_image, write_image
from cosparse.io.values import default_range

ICC = bytes(range(256)) * 2  # carried, not understood
EXIF = b"Exif\0\0MM\0*\0\0\0\x08" + struct.pack(">HHHIHHI", 1, 274, 3, 1, 6, 0, 0)  # turned by 90


@settings(max_examples=150, deadline=None)
@given(
    kind=st.sampled_from([("png", "u1"), ("png", "u2"), ("bmp", "u1")]
                         + [("tiff", d) for d in ("u1", "u2", "f4")]),
    size=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    pages=st.integers(1, 3), colour=st.booleans(), alpha=st.booleans(), seed=st.integers(0, 99),
)  # fmt: skip
def test_round_trip_is_exact(kind, size, pages, colour, alpha, seed):
    name, dtype = kind
    stack = name == "tiff" and pages > 1
    shape = (pages, *size) if stack else size
    see_through = noise(shape, dtype, seed + 1) if alpha and name != "bmp" else None
    like = Picture(np.zeros(0), see_through, -1 if colour else None, stack)
    pixels, out = noise((*shape, 3) if colour else shape, dtype, seed), io.BytesIO()
    write_image(out, pixels, like=like, format=name)
    back = read_image(out.getvalue())
    same(back.pixels, pixels)
    assert (back.format, back.stack, back.channel_axis) == (name, stack, like.channel_axis)
    assert back.data_range == default_range(dtype)
    if see_through is None:
        assert back.alpha is None
    else:
        same(back.alpha, see_through)


@pytest.mark.parametrize("shape", [(40, 30), (40, 30, 3)])
def test_jpeg_is_near_lossless(tmp_path, shape):
    pixels = np.linspace(0, 255, np.prod(shape)).reshape(shape).astype(np.uint8)
    write_image(tmp_path / "a.jpg", pixels)
    back = read_image(tmp_path / "a.jpg")
    assert back.format == "jpeg"
    assert np.abs(back.pixels.astype(int) - pixels).max() <= 4


def test_the_range_can_be_said():
    deep = noise((6, 5), np.uint16) >> 4
    assert read_image(tiff(deep), data_range=4095).data_range == 4095
    assert read_image(tiff(noise((6, 5), np.float32)), data_range=40).data_range == 40
    (grey,) = read_greys(tiff(deep), data_range=4095)
    np.testing.assert_allclose(grey, deep * (255 / 4095), rtol=1e-6)
    for bad in (0, -1, np.nan, np.inf):
        with pytest.raises(ValueError, match="data_range: must be positive and finite"):
            read_image(tiff(deep), data_range=bad)


def test_greys_of_every_page():
    stack = noise((2, 3, 6, 5, 3))
    out = io.BytesIO()
    write_image(out, stack, format="tiff")
    greys = read_greys(out.getvalue())
    assert [grey.shape for grey in greys] == [(6, 5)] * 6
    np.testing.assert_allclose(greys[5], stack[1, 2] @ [0.2125, 0.7154, 0.0721], atol=1e-3)
    with pytest.raises(ValueError, match="image: holds 6 pages; give a single picture"):
        read_grey(out.getvalue())


def test_read_grey(tmp_path):
    write_image(tmp_path / "a.png", np.full((3, 4, 3), [65535, 0, 0], np.uint16))
    np.testing.assert_allclose(read_grey(tmp_path / "a.png"), np.full((3, 4), 255 * 0.2125), rtol=1e-5)
    stack = noise((5, 20, 30), np.uint16)
    write_image(tmp_path / "a.tif", stack)
    pages = read_greys(tmp_path / "a.tif")
    np.testing.assert_allclose(pages, stack / 257, rtol=1e-5)
    assert len(pages) == 5 and pages[0].dtype == np.float32
    with pytest.raises(ValueError, match=r"a\.tif: holds 5 pages; give a single picture"):
        read_grey(tmp_path / "a.tif")


@pytest.mark.parametrize(("format", "dtype"), [
    ("png", "u1"), ("png", "u2"), ("jpeg", "u1"), ("bmp", "u1"), ("tiff", "u1"), ("tiff", "u2"),
])  # fmt: skip
def test_metadata_is_kept(format, dtype):
    source = read_image(encoded(noise((4, 6, 3)), "jpeg", exif=EXIF, icc_profile=ICC, dpi=(300, 150)))
    assert source.pixels.shape == (6, 4, 3)
    out = io.BytesIO()
    write_image(out, noise(source.pixels.shape, dtype), like=source, format=format)
    kept = read_image(out.getvalue()).metadata
    assert kept["dpi"] == pytest.approx((150, 300), rel=1e-3)
    assert kept.get("icc_profile") == (None if format == "bmp" else ICC)
    upright = EXIF.replace(b"\0\6", b"\0\1")
    assert kept.get("exif") == (None if format == "bmp" else upright)
    write_image(out := io.BytesIO(), noise((6, 4)), like=source, format="png")
    assert "icc_profile" not in read_image(out.getvalue()).metadata  # made for RGB


GREY, STACK = noise((40, 40)), noise((5, 20, 30), np.uint16)
BAD = {
    "empty.png": (b"", "empty"),
    "text.png": (b"just words", "not a PNG, JPEG, BMP or TIFF"),
    "cut.gif": (encoded(GREY, "gif")[:900], "damaged"),
    "cut.webp": (encoded(GREY, "webp")[:300], "damaged"),
    "cut.avif": (encoded(GREY, "avif")[:600], "damaged"),
    "huge.gif": (encoded(GREY, "gif")[:6] + b"\xff\xff\xff\xff" + encoded(GREY, "gif")[10:], "over the limit"),
    "huge.webp": (b"RIFF\x20\0\0\0WEBPVP8X\x0a\0\0\0" + bytes(4) + b"\xff" * 6 + bytes(8), "over the limit"),
    "huge.avif": (re.sub(b"ispe....(........)", b"ispe" + bytes(4) + struct.pack(">II", 30000, 30000),
                         encoded(GREY, "avif"), flags=re.DOTALL), ""),
    "psd.png": (b"8BPS\0\1" + bytes(40), "not a PNG"),
    "cut.png": (encoded(GREY)[:900], "damaged"),
    "head.png": (encoded(GREY)[:20], "damaged"),
    "cut.jpg": (encoded(GREY, "jpeg")[:700], "damaged"),
    "cut.bmp": (encoded(GREY, "bmp")[:1500], "damaged"),
    "cut.tif": (tiff(GREY)[:900], "cut short"),
    "pages.tif": (tiff(STACK, photometric="minisblack")[:-500], "cut short"),
    "lzw.tif": (encoded(GREY, "tiff", compression="tiff_lzw").replace(b"\x80", b"\7"), ""),
    "huge.png": (png((60000, 60000, 8, 0), [b""]), "over the limit of 500000000"),
    "huge.tif": (tiff(GREY).replace(struct.pack("<HHII", 256, 4, 1, 40),
                                    struct.pack("<HHII", 256, 4, 1, 2**31)), "over the limit"),
    "cmyk.jpg": (encoded(Image.new("CMYK", (8, 8)), "jpeg"), "convert it to RGB"),
    "cmyk.tif": (encoded(Image.new("CMYK", (8, 8)), "tiff"), "convert it to RGB"),
    "signed.tif": (tiff(-np.ones((4, 4), np.int16)), "from -1 to -1"),
    "complex.tif": (tiff(np.ones((4, 4), np.complex64)), "complex64"),
    "bands.tif": (tiff(noise((4, 4, 7)), photometric=1, planarconfig="contig"), "7 channels"),
    "new\nline.png": (b"words", "not a PNG"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_named_in_one_line(tmp_path, name):
    data, says = BAD[name]
    (tmp_path / name).write_bytes(data)
    for source, shown in [(tmp_path / name, name), (data, "upload")]:
        with pytest.raises(ValueError) as caught:
            read_image(source, name=None if shown == name else shown)
        message = str(caught.value)
        assert shown.replace("\n", "\\n") in message
        assert says in message
        assert "\n" not in message
        assert ";" in message  # what to do


def test_max_pixels_counts_pages_and_can_be_raised():
    with pytest.raises(ValueError, match="30x20x5 pixels, over the limit of 2999"):
        read_image(tiff(STACK, photometric="minisblack"), max_pixels=2999)
    same(read_image(tiff(STACK, photometric="minisblack"), max_pixels=3000).pixels, STACK)
    big = np.zeros((10000, 9500), np.uint8)  # Pillow would warn above 89 million
    assert read_image(encoded(big, "bmp")).pixels.shape == big.shape


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_damaged_file_never_raises_anything_else(data):
    whole = data.draw(st.sampled_from([*sorted(k for k in BAD if BAD[k][0]), "good.tif"]))
    raw = bytearray(BAD[whole][0] if whole in BAD else tiff(STACK, photometric="minisblack"))
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        read_image(bytes(raw), max_pixels=10**6)
    except ValueError as error:
        assert re.fullmatch("image: .+", str(error))
