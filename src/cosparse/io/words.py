"""What a picture file says in words: XMP, the text of a PNG, a comment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

XMP_KEY = "XML:com.adobe.xmp"  # of the text of a PNG
XMP_TAG = 700  # of a TIFF
RAW = "Raw profile type "  # ImageMagick's text that is not text
_TURNED = re.compile(rb"(tiff:Orientation\s{0,9}(?:=\s{0,9}[\"']|>)\s{0,9})[2-8]")


def upright_xmp(block: object) -> bytes:
    """XMP that says what the pixels are, the right way up, and shows no thumbnail of what was painted out."""
    data = block.encode() if isinstance(block, str) else block
    data = data.rstrip(b"\0") if isinstance(data, bytes) else b""  # a damaged file may have numbers there
    data = _TURNED.sub(rb"\g<1>1", data)
    for name in (b"xmp:Thumbnails", b"xap:Thumbnails"):
        start, end = data.find(b"<" + name), data.rfind(b"</" + name + b">")
        if 0 <= start < end:
            data = data[:start] + data[end + len(name) + 3 :]
    return data


def text_of(chunks: Mapping[str, Any]) -> dict[str, str]:
    """The text of a PNG that is meant to be read."""
    return {
        str(key): str(value)
        for key, value in chunks.items()
        if isinstance(value, str) and key != XMP_KEY and not key.startswith(RAW)
    }


def png_info(metadata: Mapping[str, Any]) -> Any:
    """Text and XMP as the chunks of a PNG, for Pillow."""
    from PIL.PngImagePlugin import PngInfo

    info = PngInfo()
    for key, value in metadata.get("text", {}).items():
        info.add_text(key, value)  # in UTF-8 where Latin-1 is not enough
    if xmp := metadata.get("xmp"):
        info.add_itxt(XMP_KEY, xmp.decode("utf-8", "replace"))
    return info
