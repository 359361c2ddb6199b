"""Pictures as the command line reads them: white is what --data-range says, and the same for two that are compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from cosparse.io.picture import Picture, read_image

NEAR = 4.0  # ranges of float files that differ by no more were guessed of the same units


def read_picture(source: Path | BinaryIO, data_range: float | None, *, name: str | None = None) -> Picture:
    """Read a file. White is `data_range`, but in files of 8 bits, where it is always 255."""
    picture = read_image(source, name=name, data_range=data_range)
    return replace(picture, data_range=255.0) if picture.pixels.dtype == np.uint8 else picture


def in_range_of(first: Picture, second: Picture) -> Picture:
    """The second picture with the first one's range, if both hold the same units.

    The range that was guessed of noisy floats is not quite that of clean ones, and that must not count as a difference.
    """
    alike = first.pixels.dtype == second.pixels.dtype and 1 / NEAR <= second.data_range / first.data_range <= NEAR
    return replace(second, data_range=first.data_range) if alike else second
