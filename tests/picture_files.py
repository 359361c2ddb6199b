"""Picture files for the tests, made by Pillow, by tifffile or by hand, none by our own writers."""

from __future__ import annotations

import base64
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


# 48 x 32 pixels that grow brighter to the right, downwards, and from red to blue, said to be turned by 90 degrees.
HEIC = base64.b64decode(
    "AAAAHGZ0eXBoZWljAAAAAG1pZjFoZWljbWlhZgAAAchtZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAAAAAAADRpbG9jAAAA"
    "AERAAAIAAQAAAAAB7AABAAAAAAAAAJAAAgAAAAACfAABAAAAAAAAADYAAAA4aWluZgAAAAAAAgAAABVpbmZlAgAAAAABAABodmMxAAAAABVpbmZl"
    "AgAAAQACAABFeGlmAAAAAA5waXRtAAAAAAABAAABB2lwcnAAAADmaXBjbwAAAHZodmNDAQNwAAAAkAAAAAAAHvAA/P34+AAADwNgAAEAGEABDAH/"
    "/wNwAAADAJAAAAMAAAMAHroCQGEAAQAqQgEBA3AAAAMAkAAAAwAAAwAeoCCBBZbq5Ka5uAhoMCAAAAMDIAAAAwAhYgABAAZEAcFzwIkAAAATY29s"
    "cm5jbHgAAQANAAaAAAAAFGlzcGUAAAAAAAAAQAAAAEAAAAAoY2xhcAAAADAAAAABAAAAIAAAAAH////wAAAAAv///+AAAAACAAAAEHBpeGkAAAAA"
    "AwgICAAAAAlpcm90AwAAABlpcG1hAAAAAAAAAAEAAQaBAgMFhIYAAAAaaXJlZgAAAAAAAAAOY2RzYwACAAEAAQAAAM5tZGF0AAAAjCgBrwngPfsI"
    "O1rweTBPRv11K/xdQ8UctlHSo3AchB2Y4xV9gv0cqCclya0M+HXzp/8oYmvEHFvx2OjqHzqUOQw/265NdHnWAmB/pbHfJkREr2m1UvJAC4La0Npm"
    "C26FFnePYwGy5p0sn3dFwClk5NRyH54GCkesHfIrCh0YRNrwnzuLBSbrvaqSbQF3AAAABkV4aWYAAE1NACoAAAAIAAIBDwACAAAABgAAACYBEgAD"
    "AAAAAQAGAAAAAAAATWFrZXIA"
)
