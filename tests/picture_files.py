"""Picture files for the tests, made by Pillow, by tifffile or by hand, none by our own writers."""

from __future__ import annotations

import io
import struct
import zlib

import tifffile
from PIL import Image


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
