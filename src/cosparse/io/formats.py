"""The image file formats: bytes to samples and back. Used through :mod:`cosparse.images`.

Pillow and tifffile are imported where used, so that importing the package is fast.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np

from cosparse.io import exif, heif, pillow, png16, tiff
from cosparse.io.decoded import RefusedError, Samples, naming

SUFFIXES = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".bmp": "bmp", ".tif": "tiff", ".tiff": "tiff"}
# What is read besides, and written as one of those.
READ_ONLY = {
    ".webp": "webp", ".avif": "avif", ".gif": "gif", ".mpo": "jpeg", ".heic": "heic", ".heif": "heic", ".hif": "heic",
}  # fmt: skip
# What looks like a picture and is not read, and why. (HEIC is among it where its decoder is not installed.)
UNREAD = {
    **dict.fromkeys(
        (".3fr", ".arw", ".cr2", ".cr3", ".crw", ".dng", ".erf", ".nef", ".nrw", ".orf", ".pef", ".raf", ".raw", ".rw2",
         ".srw", ".x3f"), "camera raw: develop it to TIFF first"),
    **dict.fromkeys((".psd", ".psb", ".xcf", ".kra"), "a painting program's file: export it as TIFF or PNG"),
    **dict.fromkeys((".svg", ".pdf", ".eps", ".ai"), "not made of pixels: export it as PNG"),
    **dict.fromkeys((".jp2", ".j2k", ".jxl", ".jxr", ".exr", ".hdr", ".tga", ".ppm", ".pgm", ".pnm", ".ico", ".dcm",
                     ".czi", ".nd2", ".lif", ".fits"), "a format that is not read: convert it to TIFF or PNG"),
}  # fmt: skip
NAMES = "PNG, JPEG, BMP or TIFF, nor a WebP, AVIF, GIF or HEIC"
_MAGIC = {
    b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg", b"BM": "bmp", b"II*\0": "tiff",
    b"MM\0*": "tiff", b"II+\0": "tiff", b"MM\0+": "tiff", b"GIF87a": "gif", b"GIF89a": "gif",
}  # fmt: skip
_BRANDS = {"avif": {b"avif", b"avis"}, "heic": {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1"}}
# What each of a picture's metadata is called, and which of the formats that are written hold it.
_METADATA = {
    "dpi": ("the resolution", {"png", "jpeg", "bmp", "tiff"}),
    "exif": ("EXIF", {"png", "jpeg", "tiff"}),
    "icc_profile": ("the colour profile", {"png", "jpeg", "tiff"}),
    "xmp": ("XMP", {"png", "jpeg", "tiff"}),
    "text": ("PNG text", {"png"}),
    "comment": ("the comment", {"jpeg"}),
    "resolution": ("the resolution", {"tiff"}),
    "ome": ("OME-XML", {"tiff"}),
    "imagej": ("ImageJ's metadata", {"tiff"}),
    "shaped": ("what the file says of its axes", {"tiff"}),
}
# Bytes of them that a segment of a JPEG holds; the address of the standard stands before XMP.
_LONGEST = {"exif": 65533, "comment": 65533, "xmp": 65533 - 29}


def readable(suffix: str) -> bool:
    """Whether files with this suffix are taken, here and now."""
    kind = SUFFIXES.get(suffix.lower()) or READ_ONLY.get(suffix.lower())
    return kind is not None and (kind != "heic" or heif.installed())


def _kept(metadata: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """What a format holds of a picture's metadata."""
    held = {key: metadata[key] for key, (_, formats) in _METADATA.items() if key in metadata and kind in formats}
    if kind == "jpeg":
        held["exif"] = exif.shortened(held.get("exif", b""), _LONGEST["exif"])
        return {key: value for key, value in held.items() if value and len(value) <= _LONGEST.get(key, len(value))}
    return held


def losses(metadata: Mapping[str, Any], kind: str) -> tuple[str, ...]:
    """What of a picture's metadata a format cannot hold, a line each."""
    held, name = _kept(metadata, kind), kind.upper()
    told = metadata.keys() - ({"resolution"} if "dpi" in metadata else set())  # the same in other words
    lost = [key for key in _METADATA if key in told and metadata[key] and held.get(key) is not metadata[key]]
    never = [f"{_METADATA[key][0]} cannot be kept in {name}" for key in lost if kind not in _METADATA[key][1]]
    long = ["the maker's note" if key in held else _METADATA[key][0] for key in lost if kind in _METADATA[key][1]]
    return (*never, *(f"{what} is too long for {name} and cannot be kept" for what in long))


def decode(fp: BinaryIO, shown: str, max_pixels: int) -> tuple[str, Samples]:
    """The format, known by content, and the samples; a ValueError that begins with `shown`."""
    head = fp.read(64)
    kind = _kind(head)
    if not head:
        raise ValueError(f"{shown}: the file is empty; save or copy it again")
    if kind is None:
        raise ValueError(f"{shown}: not a {NAMES} by its content; convert it to PNG")
    fp.seek(0)
    otherwise = f"cannot be decoded as {kind.upper()} ({{}}); it is damaged or cut short, save or copy it again"
    with naming(shown, otherwise):
        if kind in ("tiff", "heic"):
            samples = (tiff if kind == "tiff" else heif).decode(fp, max_pixels)
        else:
            samples = pillow.decode(fp, kind, head, max_pixels)
        samples = samples.upright()
    return kind, samples


def _kind(head: bytes) -> str | None:
    """The format of a file that begins with `head`."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "webp"
    if head[4:8] == b"ftyp":  # a box with a brand, a version, and all the brands that it may be read as
        end = min(int.from_bytes(head[:4], "big"), len(head))
        brands = {head[8:12], *(head[at : at + 4] for at in range(16, end - 3, 4))}
        return next((kind for kind, known in _BRANDS.items() if brands & known), None)
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)


def encode(kind: str, samples: Samples) -> bytes | memoryview:
    """Encode uint8, uint16 or float32 samples; refuse what the format would lose.

    Of the metadata it holds what it can: see :func:`losses`.
    """
    metadata = _kept(samples.metadata, kind)
    if kind == "tiff":
        return tiff.encode(replace(samples, metadata=metadata))
    name, values = kind.upper(), samples.values
    if samples.leading:
        raise RefusedError(f"{name} cannot hold a stack; write TIFF")
    if kind != "png" and samples.has_alpha:
        raise RefusedError(f"{name} cannot hold transparency; write PNG or TIFF")
    if values.dtype.kind == "f":
        raise RefusedError(f"{name} cannot hold floats; write TIFF, or convert to uint8")
    if kind != "png" and values.dtype != np.uint8:
        raise RefusedError(f"{name} cannot hold 16 bits; write PNG or TIFF")
    if values.dtype == np.uint16 and values.ndim == 3:
        return png16.encode(values, metadata)
    return pillow.encode(kind, values, metadata)
