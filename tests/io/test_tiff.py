"""TIFF: kinds, axes and descriptions come back as they went in. Read again by tifffile, not by our own reader."""

from __future__ import annotations

import io

import numpy as np
import pytest
import tifffile
from hypothesis import given, settings
from hypothesis import strategies as st
from microscope import FIVE, IMAGEJ, OME, UM, tiff, written
from picture_files import encoded
from picture_files import tiff as plain
from PIL import Image
from pixels import noise, same

from cosparse.io.picture import Picture, read_image


def test_tiff_kinds():
    grey = noise((7, 5))
    same(read_image(plain(255 - grey, photometric="miniswhite")).pixels, grey)
    same(read_image(plain(grey, compression="zlib", predictor=2)).pixels, grey)
    for mode, array in {"L": grey, "I;16": noise((7, 5), np.uint16), "F": noise((7, 5), "f4")}.items():
        assert Image.fromarray(array).mode == mode
        same(read_image(encoded(array, "tiff", compression="tiff_lzw")).pixels, array)
    planes = noise((3, 7, 5), np.uint16)
    data = plain(planes, photometric="rgb", planarconfig="separate")
    same(read_image(data).pixels, np.moveaxis(planes, 0, -1))
    same(read_image(plain(np.array([[0, 65535]], np.int32))).pixels, np.array([[0, 65535]], np.uint16))
    half = np.array([[[100, 50, 0, 128]]], np.uint8)  # premultiplied
    data = plain(half, photometric="rgb", extrasamples=[1])
    same(read_image(data).pixels, np.array([[[199, 100, 0]]], np.uint8))
    thumbnail = io.BytesIO()
    with tifffile.TiffWriter(thumbnail) as writer:
        writer.write(grey, metadata=None)
        writer.write(grey[::2, ::2], subfiletype=1, metadata=None)
    same(read_image(thumbnail.getvalue()).pixels, grey)


def test_lzw_16_bit_colour_tiff(tmp_path):
    """No LZW in tifffile without its optional codecs, no 16-bit colour in Pillow: yet no loss."""
    pixels = noise((4, 5, 3), np.uint16)
    codes = [256, *pixels.tobytes(), 257]  # clear, literals, end: a valid if poor LZW stream
    bits = "".join(f"{code:09b}" for code in codes)
    packed = int(bits.ljust(-len(bits) % 8 + len(bits), "0"), 2).to_bytes(-(-len(bits) // 8), "big")
    out = io.BytesIO()
    layout = {"shape": pixels.shape, "dtype": "<u2", "byteorder": "<", "photometric": "rgb"}
    tifffile.imwrite(out, iter([packed]), **layout, compression="zlib", metadata=None)
    out.seek(0)
    with tifffile.TiffFile(out) as tif:
        at = tif.pages[0].tags["Compression"].valueoffset
    data = out.getvalue()
    data = data[:at] + b"\5\0" + data[at + 2 :]
    same(read_image(data).pixels, pixels)
    (tmp_path / "lzw.tif").write_bytes(data)  # libtiff reads a real file another way
    same(read_image(tmp_path / "lzw.tif").pixels, pixels)


def test_five_axes_of_imagej():
    """Its stacks of more than 4 GB have one header for all pages, as the second of these does."""
    for truncate in (False, True):
        data = tiff(FIVE, imagej=True, metadata=IMAGEJ, resolution=(10, 5), truncate=truncate)
        picture = read_image(data)
        same(picture.pixels, FIVE)
        assert (picture.axes, picture.stack, picture.notes) == ("TZCYX", True, ())
        with written(picture.pixels, picture) as tif:
            assert tif.is_imagej and tif.series[0].axes == "TZCYX"
            same(tif.asarray(), FIVE)
            told = tif.imagej_metadata
            for key in IMAGEJ.keys() - {"axes", "LUTs"}:
                assert told[key] == IMAGEJ[key], key
            np.testing.assert_array_equal(told["LUTs"], IMAGEJ["LUTs"])
            assert tif.pages[0].tags["XResolution"].value == (10, 1)
            assert tif.pages[0].tags["YResolution"].value == (5, 1)
            assert tif.pages[0].tags["ResolutionUnit"].value == 1


def test_micrometres_of_imagej():
    """It writes them escaped, other programs as a letter beyond ASCII, which tifffile would not write."""
    escaped = "\\u00B5m"
    data = tiff(FIVE[0, 0], imagej=True, metadata={"axes": "CYX", "unit": escaped, "Info": UM})
    for raw in (data, data.replace(escaped.encode(), b"\xb5m".ljust(len(escaped)))):
        picture = read_image(raw)
        with written(picture.pixels, picture) as tif:
            assert tif.imagej_metadata["unit"].rstrip() == escaped
            assert tif.imagej_metadata["Info"] == UM


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(["ome", "imagej", "shaped"]), dtype=st.sampled_from(["u1", "u2", "f4"]), colour=st.booleans(),
    axes=st.sampled_from(["", "Z", "T", "C", "TZ", "ZC", "TC", "TZC"]), seed=st.integers(0, 99),
    order=st.sampled_from("<>"),
)  # fmt: skip
def test_any_axes_come_back(kind, axes, dtype, colour, seed, order):
    if colour and ((kind == "ome" and "C" in axes) or (kind == "imagej" and dtype != "u1")):
        return  # channels of three samples each, which tifffile writes otherwise; ImageJ has colours of 8 bits only
    shape = (*np.random.default_rng(seed).integers(2, 5, len(axes)).tolist(), 6, 5) + (3,) * colour
    pixels = noise(shape, dtype, seed)
    letters = axes + "YX" + "S" * colour
    flags = {} if kind == "shaped" else {kind: True}
    options = {"photometric": "rgb" if colour else "minisblack", "metadata": {"axes": letters}, "byteorder": order}
    picture = read_image(tiff(pixels, **flags, **options))
    same(picture.pixels, pixels)
    assert picture.axes == letters and picture.stack == bool(axes)
    with written(picture.pixels, picture) as tif:
        assert tif.series[0].kind == kind or not axes
        assert tif.series[0].axes == letters and tif.series[0].shape == shape
        same(tif.asarray().astype(dtype), pixels)


def test_arrays_of_any_number_of_axes_without_names():
    with written(FIVE, None) as tif:
        assert tif.series[0].shape == FIVE.shape
        same(tif.asarray(), FIVE)
        tif.filehandle.seek(0)
        picture = read_image(tif.filehandle.read())
    same(picture.pixels, FIVE)
    assert picture.axes == "" and picture.stack
    # A stack of colours, and a grey one as narrow as a colour is deep.
    with written(noise((2, 4, 6, 5, 3)), None) as tif:
        assert tif.pages[0].shape == (6, 5, 3) and len(tif.pages) == 8
    narrow = Picture(noise((2, 4, 6, 3)), stack=True)
    with written(narrow.pixels, narrow) as tif:
        assert tif.pages[0].shape == (6, 3) and len(tif.pages) == 8


def test_what_is_left_behind_is_said():
    out = io.BytesIO()
    with tifffile.TiffWriter(out, ome=True) as writer:
        for _ in range(3):
            writer.write(FIVE[0, 0], metadata={"axes": "CYX"}, photometric="minisblack")
    picture = read_image(out.getvalue())
    same(picture.pixels, FIVE[0, 0])
    assert picture.notes == ("2 other series in the file are not kept",)
    with written(picture.pixels, picture) as tif:
        assert len(tif.series) == 1 and tif.is_ome
    out = io.BytesIO()
    with tifffile.TiffWriter(out) as writer:
        writer.write(FIVE[0, 0], photometric="minisblack", metadata={"axes": "CYX", "lens": "63x"})
        writer.write(FIVE[0, 0, 0, ::2], photometric="minisblack")
    picture = read_image(out.getvalue())
    same(picture.pixels, FIVE[0, 0])
    assert picture.notes == ("1 other series in the file is not kept",)
    with written(picture.pixels, picture) as tif:
        assert tif.shaped_metadata[0]["lens"] == "63x"
    out = io.BytesIO()
    with tifffile.TiffWriter(out) as writer:
        writer.write(FIVE[0, 0, 0], metadata=None, extratags=[(33723, 1, 8, b"captions", True)])
        writer.write(FIVE[0, 0, 0, ::2], subfiletype=1, metadata=None)
    assert read_image(out.getvalue()).notes == (
        "thumbnails or masks in the file are not kept", "IPTC captions are not kept",
    )  # fmt: skip


def test_a_stack_under_one_header_that_is_cut_short():
    data = tiff(FIVE, imagej=True, metadata={"axes": "TZCYX"}, truncate=True)
    with pytest.raises(ValueError, match="cut short"):
        read_image(data[:-500])


def test_no_more_pixels_than_allowed_under_one_header():
    data = tiff(FIVE, imagej=True, metadata={"axes": "TZCYX"}, truncate=True)
    with pytest.raises(ValueError, match="10x12x24 pixels, over the limit of 2879"):
        read_image(data, max_pixels=2879)
    assert read_image(data, max_pixels=2880).pixels.shape == FIVE.shape


DAMAGED = [
    tiff(FIVE, ome=True, metadata=OME), tiff(FIVE, imagej=True, metadata=IMAGEJ),
    tiff(FIVE, imagej=True, metadata=IMAGEJ, truncate=True), tiff(FIVE, metadata={"axes": "TZCYX"}),
]  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_damaged_description_is_read_or_refused(data):
    whole = DAMAGED[data.draw(st.integers(0, len(DAMAGED) - 1))]
    with tifffile.TiffFile(io.BytesIO(whole)) as tif:
        tag = tif.pages[0].tags["ImageDescription"]
        start, length = tag.valueoffset, tag.count
    raw = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        raw[start + data.draw(st.integers(0, length - 1))] = data.draw(st.sampled_from(list(b'0189<>"=/ax\n\0')))
    try:
        picture = read_image(bytes(raw), max_pixels=10**6)
    except ValueError as error:
        assert str(error).startswith("image: ") and "\n" not in str(error)
    else:
        with written(picture.pixels, picture) as tif:  # and whatever was read can be written
            np.testing.assert_array_equal(tif.asarray().ravel(), picture.pixels.ravel())


def test_a_plain_stack_stays_plain():
    picture = read_image(tiff(FIVE[0, 0], metadata=None))
    assert (picture.axes, picture.stack, picture.notes) == ("", True, ())
    with written(picture.pixels, picture) as tif:
        assert "ImageDescription" not in tif.pages[0].tags and len(tif.pages) == 4
