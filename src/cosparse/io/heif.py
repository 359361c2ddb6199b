"""HEIC and HEIF, as phones write them, by the optional package pi-heif: read, not written."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, BinaryIO

import numpy as np

from cosparse.io import exif, words
from cosparse.io.decoded import RefusedError, Samples, check_size, left_behind, straight
from cosparse.io.values import Array

ASK = "install it with: pip install 'cosparse[heic]'"


def installed() -> bool:
    """Whether there is a decoder."""
    return find_spec("pi_heif") is not None


def decode(fp: BinaryIO, max_pixels: int) -> Samples:
    """Decode the first picture, its 10 or 12 bits as 16."""
    if not installed():
        raise RefusedError(f"is HEIC, which needs a decoder of its own; {ASK}, or convert it to PNG")
    import pi_heif

    found: Any = pi_heif.open_heif(fp, convert_hdr_to_8bit=False)
    image = found[found.primary_index]
    check_size(image.size, max_pixels)
    values: Array = np.array(image)[:, : image.size[0]]  # a copy: the decoder's own memory goes with it
    if image.mode.startswith("RGBa"):
        values = straight(values)
    # The decoder has turned the pixels, whatever EXIF and XMP say.
    metadata = {
        "exif": exif.upright(image.info.get("exif") or b"")[1],
        "icc_profile": image.info.get("icc_profile"),
        "xmp": words.upright_xmp(image.info.get("xmp")),
    }
    notes = [left_behind(len(found) - 1, "picture")] if len(found) > 1 else []
    if image.info.get("depth_images"):
        notes.append("the map of depths is not kept")
    return Samples(values, 0, 1, metadata, notes=tuple(notes))
