"""The image file formats: bytes to samples and back. Used through :mod:`cosparse.images`.

Pillow and tifffile are imported where used, so that importing the package is fast.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from cosparse.codecs import pillow, png16, tiff
from cosparse.codecs.samples import Array, RefusedError, Samples, joined, one_line

__all__ = [
    "SUFFIXES", "Array", "RefusedError", "Samples", "decode", "encode", "joined", "one_line",
]  # fmt: skip

SUFFIXES = {
    ".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".bmp": "bmp", ".tif": "tiff", ".tiff": "tiff",
}  # fmt: skip
_MAGIC = {
    b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg", b"BM": "bmp", b"II*\0": "tiff",
    b"MM\0*": "tiff", b"II+\0": "tiff", b"MM\0+": "tiff",
}  # fmt: skip


def decode(fp: BinaryIO, shown: str, max_pixels: int) -> tuple[str, Samples]:
    """The format, known by content, and the samples; a ValueError that begins with `shown`."""
    head = fp.read(32)
    kind = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)
    if not head:
        raise ValueError(f"{shown}: the file is empty; save or copy it again")
    if kind is None:
        raise ValueError(f"{shown}: not a PNG, JPEG, BMP or TIFF by its content; convert it to PNG")
    fp.seek(0)
    try:
        if kind == "tiff":
            return kind, tiff.decode(fp, max_pixels).upright()
        return kind, pillow.decode(fp, kind, head, max_pixels).upright()
    except MemoryError:
        raise
    except RefusedError as error:
        raise ValueError(f"{shown}: {error}") from None
    except Exception as error:  # a damaged file makes decoders raise nearly anything
        raise ValueError(
            f"{shown}: cannot be decoded as {kind.upper()} ({one_line(error)}); it is damaged "
            "or cut short, save or copy it again"
        ) from error


def encode(
    kind: str, values: Array, colour: bool, stack: bool, metadata: Mapping[str, Any]
) -> bytes | memoryview:
    """Encode uint8, uint16 or float32 samples, alpha last; refuse what the format would lose."""
    has_alpha = values.ndim - stack == 3 and values.shape[-1] in (2, 4)
    if kind == "tiff":
        return tiff.encode(values, colour, has_alpha, metadata)
    name = kind.upper()
    if stack:
        raise RefusedError(f"{name} cannot hold a stack; write TIFF")
    if kind != "png" and has_alpha:
        raise RefusedError(f"{name} cannot hold transparency; write PNG or TIFF")
    if values.dtype.kind == "f":
        raise RefusedError(f"{name} cannot hold floats; write TIFF, or convert to uint8")
    if kind != "png" and values.dtype != np.uint8:
        raise RefusedError(f"{name} cannot hold 16 bits; write PNG or TIFF")
    if values.dtype == np.uint16 and values.ndim == 3:
        return png16.encode(values, metadata)
    return pillow.encode(kind, values, metadata)
