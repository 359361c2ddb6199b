"""The door: what goes in comes out again, or says why not."""

from __future__ import annotations

import dataclasses
import io
import os
import re
import stat
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
import tifffile
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageOps
from pixels import noise, same

from cosparse.io.find import find_images, unread_files
from cosparse.io.formats import UNREAD
from cosparse.io.picture import Picture, read_grey, read_greys, read_image, write_image
from cosparse.io.values import default_range

ICC = bytes(range(256)) * 2  # carried, not understood
EXIF = b"Exif\0\0MM\0*\0\0\0\x08" + struct.pack(">HHHIHHI", 1, 274, 3, 1, 6, 0, 0)  # turned by 90


def encoded(array, format="png", **options):
    out = io.BytesIO()
    image = array if isinstance(array, Image.Image) else Image.fromarray(array)
    image.save(out, format, **options)
    return out.getvalue()


def tiff(array, **options):
    out = io.BytesIO()
    tifffile.imwrite(out, array, metadata=None, **options)
    return out.getvalue()


def png(header, rows, *chunks):
    """Return a PNG from its header fields and unfiltered rows, for what Pillow cannot write."""
    parts = [(b"IHDR", struct.pack(">IIBBBBB", *header, 0, 0, 0)), *chunks]
    parts += [(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows))), (b"IEND", b"")]
    packed = (struct.pack(">I", len(b)) + t + b + struct.pack(">I", zlib.crc32(t + b)) for t, b in parts)
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


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


def test_tiff_kinds():
    grey = noise((7, 5))
    same(read_image(tiff(255 - grey, photometric="miniswhite")).pixels, grey)
    same(read_image(tiff(grey, compression="zlib", predictor=2)).pixels, grey)
    for mode, array in {
        "L": grey,
        "I;16": noise((7, 5), np.uint16),
        "F": noise((7, 5), "f4"),
    }.items():
        assert Image.fromarray(array).mode == mode
        same(read_image(encoded(array, "tiff", compression="tiff_lzw")).pixels, array)
    planes = noise((3, 7, 5), np.uint16)
    data = tiff(planes, photometric="rgb", planarconfig="separate")
    same(read_image(data).pixels, np.moveaxis(planes, 0, -1))
    same(read_image(tiff(np.array([[0, 65535]], np.int32))).pixels, np.array([[0, 65535]], np.uint16))
    half = np.array([[[100, 50, 0, 128]]], np.uint8)  # premultiplied
    data = tiff(half, photometric="rgb", extrasamples=[1])
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


@pytest.mark.parametrize(("values", "expected"), [
    ([0, 1], 1), ([0, np.nan], 1), ([np.nan, np.nan], 1), ([0, np.inf, 0.5], 1), ([0, 200], 255), ([-0.1, 1.3], 1),
    ([-40, 290], 255), ([0] * 99 + [4000] * 99, 4000), ([-1000] * 9 + [3000] * 9, 4000), ([-1000, -1000], 255),
    ([0.5] * 299 + [900], 1),  # a single hot pixel says nothing
])  # fmt: skip
def test_range_of_a_float_tiff(values, expected):
    picture = read_image(tiff(np.array([values], np.float32)))
    assert picture.data_range == expected
    np.testing.assert_array_equal(picture.pixels, np.array([values], np.float32))


def test_noise_does_not_change_the_range():
    """Over ten times: a large file is judged by a sample."""
    clean = np.linspace(0, 1, 1200 * 1000, dtype=np.float32).reshape(1200, 1000)
    noisy = clean + 0.1 * np.random.default_rng(0).standard_normal(clean.shape, np.float32)
    for scale in (1.0, 255.0):
        assert read_image(tiff(scale * noisy)).data_range == scale == read_image(tiff(scale * clean)).data_range


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


# --- formats that are read and not written ----------------------------------------------------


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


def test_what_a_folder_gives(tmp_path):
    for name, format in {"a.png": "png", "b.webp": "webp", "c.avif": "avif", "d.GIF": "gif", "e.jpg": "jpeg"}.items():
        (tmp_path / name).write_bytes(encoded(GREY, format))
    for name in ("raw.NEF", "x.psd", "deep/y.jp2", ".hidden.cr2", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"something")
    assert [path.name for path in find_images(tmp_path)] == ["a.png", "b.webp", "c.avif", "d.GIF", "e.jpg"]
    assert [path.name for path in unread_files(tmp_path)] == ["y.jp2", "raw.NEF", "x.psd"]
    assert all(path.suffix.lower() in UNREAD for path in unread_files(tmp_path))
    assert unread_files(tmp_path / "a.png") == []


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("format", ["png", "jpeg", "tiff"])
def test_orientation_is_applied_and_reset(orientation, format):
    grey = np.kron(np.arange(6).reshape(2, 3) * 50, np.ones((8, 8))).astype(np.uint8)
    exif = Image.Exif()
    exif[274], exif[271] = orientation, "Maker"
    with Image.open(io.BytesIO(encoded(grey, format, exif=exif))) as image:
        want = np.array(ImageOps.exif_transpose(image))
    picture = read_image(encoded(grey, format, exif=exif))
    np.testing.assert_allclose(picture.pixels, want)
    kept = Image.Exif()
    kept.load(picture.metadata["exif"])
    assert (kept[274], kept[271]) == (1, "Maker")


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


def test_alpha_follows_dtype_and_must_fit(tmp_path):
    like = Picture(noise((4, 4)), np.full((4, 4), 51, np.uint8))
    write_image(tmp_path / "a.png", noise((4, 4, 3), np.uint16), like=like)
    same(read_image(tmp_path / "a.png").alpha, np.full((4, 4), 13107, np.uint16))
    with pytest.raises(ValueError, match=r"a\.png: .*like\.alpha is \(4, 4\)"):
        write_image(tmp_path / "a.png", noise((8, 8)), like=like)
    wider = dataclasses.replace(like, alpha=np.full((8, 8), 7, np.uint8))
    write_image(tmp_path / "a.png", noise((8, 8)), like=wider)
    assert read_image(tmp_path / "a.png").alpha.shape == (8, 8)


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


@pytest.mark.parametrize("failure", [OSError(28, "No space left"), KeyboardInterrupt()])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, failure):
    write_image(tmp_path / "a.png", noise((4, 4)))
    before = (tmp_path / "a.png").read_bytes()
    really = Path.write_bytes

    def half(self, data):
        really(self, data[:20])
        raise failure

    monkeypatch.setattr(Path, "write_bytes", half)
    with pytest.raises(type(failure), match=r"a\.png" if isinstance(failure, OSError) else None):
        write_image(tmp_path / "a.png", noise((9, 9)))
    assert [p.name for p in tmp_path.iterdir()] == ["a.png"]
    assert (tmp_path / "a.png").read_bytes() == before


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions and links")
def test_permissions_links_and_devices(tmp_path):
    old = os.umask(0o027)
    try:
        write_image(tmp_path / "a.png", noise((4, 4)))
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "a.png").stat().st_mode) == 0o640
    (tmp_path / "link.png").symlink_to("a.png")
    write_image(tmp_path / "link.png", noise((5, 5)))
    assert (tmp_path / "link.png").is_symlink()
    assert stat.S_IMODE((tmp_path / "a.png").stat().st_mode) == 0o640
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_image(tmp_path / "pipe", noise((5, 5)), format="png")
    assert read_image(os.read(reader, 9999)).pixels.shape == (5, 5)
    os.close(reader)
    with pytest.raises(FileNotFoundError, match="none"):
        write_image(tmp_path / "none" / "a.png", noise((4, 4)))
    with pytest.raises(IsADirectoryError):
        write_image(tmp_path, noise((4, 4)), format="png")


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


def test_paths_that_cannot_be_read(tmp_path, monkeypatch):
    for path, error in [
        ("none.png", FileNotFoundError),
        (".", IsADirectoryError),
        ("\0", ValueError),
    ]:
        with pytest.raises(error, match=r"; "):
            read_image(tmp_path / path if path != "\0" else path)

    def refuse(*_):
        raise PermissionError(13, "denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(PermissionError, match=r"a\.png: may not be read"):
        read_image(tmp_path / "a.png")


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
