"""What Pillow reads and writes: PNG, JPEG and BMP, and to read GIF, WebP and AVIF.

16-bit colour, which it does not know, is read a byte at a time.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np

from cosparse.io import exif, words
from cosparse.io.decoded import RefusedError, Samples, check_size, from_bits, left_behind
from cosparse.io.pixel_size import clean_dpi
from cosparse.io.values import Array
from cosparse.jpeg import FACTORS, Jpeg


def decode(fp: BinaryIO, kind: str, head: bytes, max_pixels: int) -> Samples:
    """Decode a file of the format `kind` that begins with `head`; of several frames the first."""
    if kind == "webp":  # to open one is to make room for its pixels
        check_size(_webp_size(head), max_pixels)
    plugin = _plugin(kind)
    # Not Image.open: its own size limit is global, lower than ours, and a warning first.
    image = plugin(fp)
    check_size(image.size, max_pixels)
    if kind == "png" and getattr(image, "n_frames", 1) > 1:
        raise RefusedError("is an animated PNG; save its frames as separate files")
    bits, colour = (head[24], head[25]) if kind == "png" else (8, 2)  # fixed places in the header
    mode = image.mode
    if bits == 16 and colour == 4:
        # Pillow cuts grey+alpha to 8 bits, but 4 bytes a pixel is also what 8-bit RGBA is.
        image.tile = [image.tile[0]._replace(args="RGBA")]
        values = np.array(image).view(">u2")
    else:
        values = array_of(image)
        if bits == 16 and colour in (2, 6):
            values = two_bytes(values, one_byte(fp, plugin, 0, "L"))
    # Pillow keeps the text of a PNG among the rest: one with the key "exif" is not EXIF.
    info = {key: value for key, value in image.info.items() if not isinstance(value, str)}
    key = info.get("transparency")
    if key is not None and mode in ("1", "L", "I;16", "RGB"):
        values = _keyed(values, key, mode, bits)
    orientation, block = exif.upright(info.get("exif", b""))
    metadata = {
        "exif": block,
        "icc_profile": info.get("icc_profile"),
        "dpi": clean_dpi(info.get("dpi")),
        "xmp": words.upright_xmp(info.get("xmp") or image.info.get(words.XMP_KEY)),
        "text": words.text_of(image.text) if kind == "png" else {},
        "comment": info.get("comment"),
    }
    jpeg = _compression(image) if kind == "jpeg" else None
    return Samples(values, 0, orientation, metadata, notes=tuple(_left_behind(image, kind, fp)), jpeg=jpeg)


def encode(kind: str, values: Array, metadata: Mapping[str, Any]) -> memoryview:
    """Encode 8-bit samples, or 16-bit grey as PNG, with metadata that the format holds."""
    from PIL import Image

    options = dict(metadata)
    if kind == "png":
        options["pnginfo"] = words.png_info(metadata)
    if kind == "jpeg":
        options.update(quality=95, subsampling=0)
    out = io.BytesIO()
    Image.fromarray(values).save(out, format=kind, **options)
    return out.getbuffer()


def _compression(image: Any) -> Jpeg | None:
    """The tables of a JPEG's planes, and how its chroma was made smaller; None if it is unlike those that cameras make.

    Pillow has of every component its name, its samples in a row and a column of a unit, and the number of its table.
    """
    names, across, down, tables = zip(*image.layer, strict=True)
    colours = len(names) == 3
    plain_rgb = colours and (bytes(names) == b"RGB" or image.info.get("adobe_transform") == 0)
    if len(names) not in (1, 3) or plain_rgb or not all(number in image.quantization for number in tables):
        return None
    if colours and (across[1:], down[1:]) != ((across[1],) * 2, (down[1],) * 2):
        return None
    ratio = (down[0] / down[-1], across[0] / across[-1])
    subsampling = next((name for name, factors in FACTORS.items() if factors == ratio), None)
    return None if subsampling is None else Jpeg([image.quantization[number] for number in tables], subsampling)


def _plugin(kind: str) -> Any:
    """Pillow's class for a format; AVIF came with its version 11.3, and not to every machine."""
    from importlib import import_module

    from PIL import features

    if kind in ("webp", "avif") and kind not in features.get_supported_modules():
        raise RefusedError(f"is {kind.upper()}, which the installed Pillow cannot read; update it or convert to PNG")
    name = "WebP" if kind == "webp" else kind.capitalize()
    return getattr(import_module(f"PIL.{name}ImagePlugin"), f"{name}ImageFile")


def _webp_size(head: bytes) -> tuple[int, int]:
    """Width and height, from the first chunk of any of the three kinds of WebP."""
    kind, body = head[12:16], head[20:]
    if kind == b"VP8X":
        return 1 + int.from_bytes(body[4:7], "little"), 1 + int.from_bytes(body[7:10], "little")
    if kind == b"VP8L":
        both = int.from_bytes(body[1:5], "little")
        return 1 + (both & 0x3FFF), 1 + (both >> 14 & 0x3FFF)
    return int.from_bytes(body[6:8], "little") & 0x3FFF, int.from_bytes(body[8:10], "little") & 0x3FFF


def _left_behind(image: Any, kind: str, fp: BinaryIO) -> Iterator[str]:
    """What of a file does not come along."""
    frames = int(getattr(image, "n_frames", 1))
    if kind == "jpeg":
        with contextlib.suppress(Exception):  # damaged lists of frames make Pillow raise nearly anything
            frames = int((image._getmp() or {}).get(0xB001, 1))
        if 0x0404 in image.info.get("photoshop", {}):
            yield "IPTC captions are not kept"
        if any(body.startswith(b"http://ns.adobe.com/xmp/extension/") for _, body in image.applist):
            yield "extended XMP is not kept"
    if kind == "png" and any(key.startswith(words.RAW) for key in image.text):
        yield "raw profiles in the text are not kept"
    if kind == "avif":
        fp.seek(0)
        found = fp.read(65536).partition(b"av1C")[2]
        if found[2:3] and found[2] & 0x40:  # the flag of more than 8 bits
            yield "its 10 or 12 bits are read as 8"
    if frames > 1:
        yield left_behind(frames - 1, "frame")


def array_of(image: Any) -> Array:
    """Return the samples of an opened Pillow image, palettes and 1 bit expanded."""
    if image.mode == "CMYK":
        raise RefusedError("is a CMYK image; convert it to RGB first")
    if image.mode in ("P", "PA", "YCbCr"):
        image.load()
        see_through = image.mode == "PA" or "transparency" in image.info
        image = image.convert("RGBA" if see_through else "RGB")
    return from_bits(np.array(image))


def one_byte(fp: BinaryIO, plugin: Any, frame: int, order: str) -> Array:
    """Return one byte of each sample of 16-bit colour.

    Pillow has no 16-bit colour mode: it keeps one byte of each sample, the high one if told the
    true byte order, "B" or "L". Told the opposite order it keeps the low one.
    """
    fp.seek(0)
    image = plugin(fp)
    image.seek(frame)
    tile, raw = image.tile[0], f"{image.mode};16{order}"
    args = raw if isinstance(tile.args, str) else (raw, *tile.args[1:])
    image.tile = [tile._replace(args=args)]
    return np.array(image)


def two_bytes(high: Array, low: Array) -> Array:
    """Join what two calls of :func:`one_byte` gave."""
    both: Array = np.bitwise_or(high.astype(np.uint16) << 8, low)
    return both


def _keyed(values: Array, key: Any, mode: str, bits: int) -> Array:
    """Add the alpha of a PNG in which one grey or colour stands for "nothing here"."""
    if mode != "RGB":
        values = values[..., None]
    stored = np.atleast_1d(key) & (2 ** max(bits, 8) - 1)
    if mode == "L":
        stored *= 255 // (2**bits - 1)  # Pillow spreads 2 and 4 bits over 0..255
    solid = (values != stored).any(axis=-1, keepdims=True)
    alpha = np.where(solid, np.iinfo(values.dtype).max, 0).astype(values.dtype)
    return np.concatenate([values, alpha], axis=-1)
