"""PNG, JPEG and BMP, by Pillow; 16-bit colour, which it does not know, a byte at a time."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from cosparse.codecs import exif
from cosparse.codecs.samples import Array, RefusedError, Samples, check_size, clean_dpi

LONGEST = 65533  # bytes of a segment of a JPEG


def decode(fp: BinaryIO, kind: str, head: bytes, max_pixels: int) -> Samples:
    """Decode a file of the format `kind` that begins with `head`."""
    from PIL import BmpImagePlugin, JpegImagePlugin, PngImagePlugin

    plugins: dict[str, Any] = {
        "png": PngImagePlugin.PngImageFile,
        "jpeg": JpegImagePlugin.JpegImageFile,
        "bmp": BmpImagePlugin.BmpImageFile,
    }
    # Not Image.open: its own size limit is global, lower than ours, and a warning first.
    image = plugins[kind](fp)
    width, height = image.size
    check_size(width, height, 1, max_pixels)
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
            values = two_bytes(values, one_byte(fp, plugins[kind], 0, "L"))
    key = image.info.get("transparency")
    if key is not None and mode in ("1", "L", "I;16", "RGB"):
        values = _keyed(values, key, mode, bits)
    orientation, block = exif.upright(exif.without_thumbnail(image.info.get("exif", b"")))
    metadata = {
        "exif": block,
        "icc_profile": image.info.get("icc_profile"),
        "dpi": clean_dpi(image.info.get("dpi")),
    }
    return Samples(values, False, orientation, metadata)


def encode(kind: str, values: Array, metadata: Mapping[str, Any]) -> memoryview:
    """Encode 8-bit samples, or 16-bit grey as PNG."""
    from PIL import Image

    held = ("dpi",) if kind == "bmp" else ("dpi", "exif", "icc_profile")
    options = {key: metadata[key] for key in held if key in metadata}
    if kind == "jpeg":
        options.update(quality=95, subsampling=0)
        options["exif"] = exif.shortened(metadata.get("exif", b""), LONGEST)
    out = io.BytesIO()
    Image.fromarray(values).save(out, format=kind, **options)
    return out.getbuffer()


def array_of(image: Any) -> Array:
    """Return the samples of an opened Pillow image, palettes and 1 bit expanded."""
    if image.mode == "CMYK":
        raise RefusedError("is a CMYK image; convert it to RGB first")
    if image.mode in ("P", "PA", "YCbCr"):
        image.load()
        see_through = image.mode == "PA" or "transparency" in image.info
        image = image.convert("RGBA" if see_through else "RGB")
    array: Array = np.array(image)
    return array.astype(np.uint8) * np.uint8(255) if array.dtype == bool else array


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

