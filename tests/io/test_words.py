"""XMP, text and comments go along wherever both formats hold them; where not, it is said."""

from __future__ import annotations

import io

import numpy as np
import pytest
import tifffile
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from pixels import noise

from cosparse.io import words
from cosparse.io.picture import Picture, losses, read_image, write_image

XMP = (
    b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:Description tiff:Orientation="%d" xmp:Rating="5">'
    b"<xmp:Thumbnails><rdf:Alt>aGlkZGVu</rdf:Alt></xmp:Thumbnails>"
    b"<dc:title>Br\xc3\xbccke</dc:title></rdf:Description></x:xmpmeta>"
)
KEPT = XMP.replace(b"<xmp:Thumbnails><rdf:Alt>aGlkZGVu</rdf:Alt></xmp:Thumbnails>", b"") % 1
TEXT = {"Author": "A. Painter", "Title": "\N{GREEK SMALL LETTER OMEGA}", "exif": "a word", "comment": "another"}


def file_with_xmp(format):
    out = io.BytesIO()
    image = Image.fromarray(noise((8, 6, 3)))
    if format == "tiff":
        tag = (700, 1, len(XMP % 6), XMP % 6, True)
        tifffile.imwrite(out, np.array(image), metadata=None, software=False, extratags=[tag])
    elif format == "png":
        info = PngInfo()
        info.add_itxt("XML:com.adobe.xmp", (XMP % 6).decode())
        image.save(out, format, pnginfo=info)
    else:
        image.save(out, format, xmp=XMP % 6)
    return out.getvalue()


def written(picture, format, dtype=np.uint8):
    out = io.BytesIO()
    write_image(out, noise(picture.pixels.shape, dtype), like=picture, format=format)
    return out.getvalue()


def xmp_of(data):
    """As Pillow reads it."""
    with Image.open(io.BytesIO(data)) as image:
        image.load()
        return image.info["xmp"]


@pytest.mark.parametrize("before", ["jpeg", "png", "tiff", "webp", "avif"])
def test_xmp_goes_from_any_format_to_any(before):
    picture = read_image(file_with_xmp(before))
    assert picture.metadata["xmp"] == KEPT  # it neither turns the picture again nor shows what it was
    for after in ("jpeg", "png", "tiff"):
        assert xmp_of(written(picture, after)) == KEPT
        assert read_image(written(picture, after)).metadata["xmp"] == KEPT
    with tifffile.TiffFile(io.BytesIO(written(picture, "tiff", np.uint16))) as tif:
        assert tif.pages[0].tags[700].value == KEPT
    deep = read_image(written(picture, "png", np.uint16))  # not written by Pillow
    assert deep.pixels.dtype == np.uint16 and deep.metadata["xmp"] == KEPT
    assert losses(picture, "bmp") == ("XMP cannot be kept in BMP",)
    assert "xmp" not in read_image(written(picture, "bmp")).metadata


@pytest.mark.parametrize(("said", "kept"), [
    (b'tiff:Orientation="8"', b'tiff:Orientation="1"'), (b"tiff:Orientation = '3'", b"tiff:Orientation = '1'"),
    (b"<tiff:Orientation>6</tiff:Orientation>", b"<tiff:Orientation>1</tiff:Orientation>"),
    (b"<xmp:Thumbnails>unclosed", b"<xmp:Thumbnails>unclosed"), (b"any\xff bytes\0\0", b"any\xff bytes"),
])  # fmt: skip
def test_xmp_is_upright(said, kept):
    assert words.upright_xmp(said) == kept


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_png_text_is_kept_in_png(dtype):
    info = PngInfo()
    for key, value in TEXT.items():
        info.add_text(key, value)
    info.add_text("Raw profile type exif", "00")
    out = io.BytesIO()
    Image.fromarray(noise((8, 6, 3))).save(out, "png", pnginfo=info)
    picture = read_image(out.getvalue())
    assert picture.metadata["text"] == TEXT
    assert picture.notes == ("raw profiles in the text are not kept",)
    with Image.open(io.BytesIO(written(picture, "png", dtype))) as image:
        assert image.text == TEXT
    assert losses(picture, ".jpg") == ("PNG text cannot be kept in JPEG",)


def test_a_comment_is_kept_in_jpeg():
    out = io.BytesIO()
    Image.fromarray(noise((8, 6, 3))).save(out, "jpeg", comment=b"a bridge")
    picture = read_image(out.getvalue())
    with Image.open(io.BytesIO(written(picture, "jpeg"))) as image:
        assert image.info["comment"] == b"a bridge"
    assert losses(picture, "tiff") == ("the comment cannot be kept in TIFF",)


def test_what_is_too_long_for_a_jpeg_is_said():
    picture = Picture(noise((8, 6)), metadata={"xmp": b"x" * 70_000, "comment": b"c" * 70_000})
    assert losses(picture, "jpeg") == (
        "XMP is too long for JPEG and cannot be kept", "the comment is too long for JPEG and cannot be kept",
    )  # fmt: skip
    assert not {"xmp", "comment"} & read_image(written(picture, "jpeg")).metadata.keys()
    assert losses(picture, "tiff") == ("the comment cannot be kept in TIFF",)
    with pytest.raises(ValueError, match="format: cannot write format 'webp'; write PNG or TIFF"):
        losses(picture, "webp")


def test_a_microscopes_scale_cannot_be_kept_in_png():
    out = io.BytesIO()
    tifffile.imwrite(out, noise((8, 6)), imagej=True, resolution=(10, 10), metadata={"unit": "um"})
    picture = read_image(out.getvalue())
    assert losses(picture, "png") == (
        "the resolution cannot be kept in PNG", "ImageJ's metadata cannot be kept in PNG",
    )  # fmt: skip
    assert losses(picture, "tiff") == ()
