"""16-bit PNG of 2 to 4 channels, which Pillow cannot write."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from cosparse.io.values import Array
from cosparse.io.words import png_info


def encode(values: Array, metadata: Mapping[str, Any]) -> bytes:
    """Encode (h, w, 2 to 4) uint16."""
    height, width, channels = values.shape
    head = struct.pack(">IIBBBBB", width, height, 16, {2: 4, 3: 2, 4: 6}[channels], 0, 0, 0)
    parts = [b"\x89PNG\r\n\x1a\n", _chunk(b"IHDR", head)]
    if profile := metadata.get("icc_profile"):
        parts.append(_chunk(b"iCCP", b"ICC Profile\0\0" + zlib.compress(profile)))
    if dpi := metadata.get("dpi"):
        parts.append(_chunk(b"pHYs", struct.pack(">IIB", *(round(v / 0.0254) for v in dpi), 1)))
    if exif := metadata.get("exif"):
        parts.append(_chunk(b"eXIf", exif.removeprefix(b"Exif\0\0")))
    parts += [_chunk(name, body) for name, body, *_ in png_info(metadata).chunks]
    # Each row begins with its filter: 1, every byte less the one a pixel before it (mod 256).
    rows = values.astype(">u2").view(np.uint8).reshape(height, -1)
    filtered = np.empty((height, rows.shape[1] + 1), np.uint8)
    filtered[:, 0], filtered[:, 1:] = 1, rows
    filtered[:, 1 + 2 * channels :] -= rows[:, : -2 * channels]
    packer = zlib.compressobj(6)
    blocks = np.array_split(filtered, max(1, filtered.nbytes >> 24))  # a chunk ends at 2 GB
    packed = [*(packer.compress(block.tobytes()) for block in blocks), packer.flush()]
    parts += [_chunk(b"IDAT", body) for body in packed if body]
    return b"".join([*parts, _chunk(b"IEND", b"")])


def _chunk(tag: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + tag + body + struct.pack(">I", zlib.crc32(tag + body))
