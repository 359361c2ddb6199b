"""EXIF goes wherever a format can hold it, byte for byte, and never costs a picture."""

from __future__ import annotations

import io
import re
import struct
from functools import cache

import numpy as np
import pytest
import tifffile
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, TiffImagePlugin

from cosparse.io import exif as module
from cosparse.io.picture import Picture, read_image, write_image
from cosparse.io.values import default_range

EXIF, GPS, INTEROPERABILITY = 34665, 34853, 40965
NOTE = bytes(range(256)) * 3  # of the maker; nobody else understands it
TIME, NORTH = TiffImagePlugin.IFDRational(1, 250), (52.0, 31.0, 12.5)


def camera(order="<", note=NOTE):
    """The EXIF of a photograph taken with the camera held upright: turned by 90 degrees."""
    exif = Image.Exif()
    exif.endian = order
    exif[270], exif[271], exif[274], exif[306] = "A bridge", "Maker", 6, "2024:05:06 07:08:09"
    exif[EXIF] = {33434: TIME, 34855: 400, 36867: "2024:05:06 07:08:09", 37500: note, INTEROPERABILITY: {1: "R98"}}
    exif[GPS] = {0: b"\2\3\0\0", 1: "N", 2: NORTH}
    return exif


def check(exif, deepest=True):
    """A Pillow Exif holds what :func:`camera` made, upright."""
    assert (exif[270], exif[271], exif[306], exif.get(274, 1)) == ("A bridge", "Maker", "2024:05:06 07:08:09", 1)
    taken = exif.get_ifd(EXIF)
    assert (taken[33434], taken[34855], taken[36867]) == (TIME, 400, "2024:05:06 07:08:09")
    assert taken[37500] == NOTE
    assert not deepest or exif.get_ifd(INTEROPERABILITY) == {1: "R98"}
    assert (exif.get_ifd(GPS)[1], exif.get_ifd(GPS)[2]) == ("N", NORTH)


def noise(shape, dtype=np.uint8):
    values = np.random.default_rng(0).random(shape)
    return (values * default_range(np.dtype(dtype))).astype(dtype)


@cache
def source(format, order="<"):
    out = io.BytesIO()
    Image.fromarray(noise((4, 6, 3))).save(out, format, exif=camera(order).tobytes())
    picture = read_image(out.getvalue())
    assert picture.pixels.shape == (6, 4, 3)
    return picture


def written(pixels, like, format):
    out = io.BytesIO()
    write_image(out, pixels, like=like, format=format)
    return out.getvalue()


@pytest.mark.parametrize("before", ["jpeg", "png", "tiff"])
@pytest.mark.parametrize("after", ["jpeg", "png", "tiff"])
@pytest.mark.parametrize("order", "<>")
def test_it_goes_from_any_format_to_any(before, after, order):
    picture = source(before, order)
    for _ in range(2):  # again, from what was written
        data = written(picture.pixels, picture, after)
        with Image.open(io.BytesIO(data)) as image:
            check(image.getexif(), deepest=before != "tiff")  # which Pillow leaves pointing nowhere in a TIFF
        picture = read_image(data)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("alpha", [False, True])
@pytest.mark.parametrize("pages", [1, 3])
@pytest.mark.parametrize("order", "<>")
def test_every_kind_of_tiff_holds_it(dtype, colour, alpha, pages, order):
    shape = ((pages,) if pages > 1 else ()) + (6, 4)
    pixels = noise((*shape, 3) if colour else shape, dtype)
    see_through = noise(shape, dtype) if alpha else None
    metadata = {**source("jpeg", order).metadata, "dpi": (300, 150)}
    like = Picture(pixels, see_through, -1 if colour else None, pages > 1, metadata=metadata)
    data = written(pixels, like, "tiff")
    with tifffile.TiffFile(io.BytesIO(data)) as tif:
        assert len(tif.pages) == pages and tif.byteorder == order
        first = tif.pages[0]
        taken, place = first.tags[EXIF].value, first.tags[GPS].value
        assert first.tags["Make"].value == "Maker" and first.tags["Orientation"].value == 1
        assert (taken["ExposureTime"], taken["DateTimeOriginal"]) == ((1, 250), "2024:05:06 07:08:09")
        assert taken["MakerNote"] == NOTE and place["GPSLatitudeRef"] == "N"
        codes = [tag.code for tag in first.tags]
        assert codes == sorted(codes)
        offset = first.offset
        assert all(EXIF not in page.tags for page in tif.pages[1:])
    exif = Image.Exif()
    exif.endian = order
    exif.load_from_fp(io.BytesIO(data), offset)  # Pillow reads no page of three floats, but its EXIF
    check(exif)
    if dtype == np.uint8 and not (alpha and not colour):
        with Image.open(io.BytesIO(data)) as image:
            check(image.getexif())
    back = read_image(data)
    np.testing.assert_array_equal(back.pixels, pixels)
    assert back.alpha is None or (back.alpha == see_through).all()
    assert back.metadata["dpi"] == pytest.approx((300, 150))


@pytest.mark.parametrize("order", "<>")
def test_a_big_tiff_holds_it_too(order):
    """What tifffile writes for more than 4 GB, and what others do for less."""
    out = io.BytesIO()
    pixels = noise((6, 4), np.uint16)
    tifffile.imwrite(out, pixels, bigtiff=True, byteorder=order, metadata=None, software=False)
    module.into_tiff(out, source("jpeg", order).metadata["exif"])
    with tifffile.TiffFile(io.BytesIO(out.getvalue())) as tif:
        assert tif.is_bigtiff and tif.pages[0].tags[EXIF].value["DateTimeOriginal"] == "2024:05:06 07:08:09"
    picture = read_image(out.getvalue())
    np.testing.assert_array_equal(picture.pixels, pixels)
    with Image.open(io.BytesIO(written(picture.pixels, picture, "png"))) as image:
        check(image.getexif())


def test_too_much_for_a_jpeg_loses_the_makers_note_only():
    out = io.BytesIO()
    Image.fromarray(noise((4, 6))).save(out, "png", exif=camera(note=NOTE * 100).tobytes())
    picture = read_image(out.getvalue())
    with Image.open(io.BytesIO(written(picture.pixels, picture, "tiff"))) as image:
        assert image.getexif().get_ifd(EXIF)[37500] == NOTE * 100
    with Image.open(io.BytesIO(written(picture.pixels, picture, "jpeg"))) as image:
        taken = image.getexif().get_ifd(EXIF)
        assert taken[36867] == "2024:05:06 07:08:09" and 37500 not in taken
    huge = Image.Exif()
    huge[270] = "words " * 20_000
    full = Picture(picture.pixels, metadata={"exif": huge.tobytes()})
    assert "exif" not in read_image(written(full.pixels, full, "jpeg")).metadata


@pytest.mark.parametrize("order", ["<", ">"])
def test_the_cameras_thumbnail_is_not_kept(order):
    """It would still show what was painted out."""
    small = io.BytesIO()
    Image.fromarray(noise((9, 9))).save(small, "jpeg")
    block = camera(order).tobytes()
    body, size = block.removeprefix(module.PREFIX), len(block) - len(module.PREFIX)
    first = struct.unpack_from(order + "I", body, 4)[0]
    link = first + 2 + 12 * struct.unpack_from(order + "H", body, first)[0]
    directory = struct.pack(order + "HHHIIHHIII", 2, 513, 4, 1, size + 30, 514, 4, 1, small.tell(), 0)
    body = body[:link] + struct.pack(order + "I", size) + body[link + 4 :] + directory + small.getvalue()
    out = io.BytesIO()
    Image.fromarray(noise((8, 8))).save(out, "jpeg", exif=module.PREFIX + body)
    assert Image.open(out).getexif().get_ifd(-1)[514] == small.tell()  # it was there
    kept = read_image(out.getvalue()).metadata["exif"]
    assert small.getvalue()[20:60] in out.getvalue() and small.getvalue()[20:60] not in kept
    exif = Image.Exif()
    exif.load(kept)
    assert not exif.get_ifd(-1)
    check(exif)


def test_words_about_the_layout_of_a_file_are_not_carried():
    """A stack of ImageJ's describes itself as one in its description; the result is another file."""
    out = io.BytesIO()
    tifffile.imwrite(out, noise((3, 6, 5)), imagej=True, extratags=[(315, 2, 0, "A. Painter", True)])
    picture = read_image(out.getvalue())
    with tifffile.TiffFile(io.BytesIO(written(picture.pixels[:2], picture, "tiff"))) as tif:
        assert not tif.is_imagej and len(tif.pages) == 2
        assert tif.pages[0].tags["Artist"].value == "A. Painter"
    out = io.BytesIO()
    tifffile.imwrite(out, noise((6, 4)), description="A caption", metadata=None)
    picture = read_image(out.getvalue())
    with Image.open(io.BytesIO(written(picture.pixels, picture, "jpeg"))) as image:
        assert image.getexif()[270] == "A caption"


@settings(max_examples=150)
@given(st.data())
def test_damage_never_costs_the_picture(data):
    """Whatever stands in the directories of a block: it is written, and read, and the pixels are all there."""
    block = bytearray(source("jpeg", data.draw(st.sampled_from("<>"))).metadata["exif"])
    for _ in range(data.draw(st.integers(1, 6))):
        block[data.draw(st.integers(14, 400))] = data.draw(st.integers(0, 255))
    block = bytes(block[: data.draw(st.integers(10, len(block)))])
    pixels = noise((6, 4, 3), np.uint16)
    back = read_image(written(pixels, Picture(pixels, channel_axis=-1, metadata={"exif": block}), "tiff"))
    np.testing.assert_array_equal(back.pixels, pixels)


@settings(max_examples=100)
@given(st.data())
def test_a_damaged_tiff_is_read_or_refused(data):
    raw = bytearray(written(noise((6, 4)), source("jpeg"), "tiff"))
    (start,) = struct.unpack_from("<I", raw, 4)
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(start, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        read_image(bytes(raw), max_pixels=10**6)
    except ValueError as error:
        assert re.fullmatch("image: .+", str(error))
