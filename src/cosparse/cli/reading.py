"""Pictures as the command line reads them: white is what --data-range says, and the same for two that are compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from cosparse.cli.console import UsageProblem
from cosparse.io.picture import Picture, read_image
from cosparse.io.values import to_working

NEAR = 4.0  # ranges of float files that differ by no more were guessed of the same units


def read_picture(source: Path | BinaryIO, data_range: float | None, *, name: str | None = None) -> Picture:
    """Read a file. White is `data_range`, but in files of 8 bits, where it is always 255."""
    picture = read_image(source, name=name, data_range=data_range)
    if picture.pixels.dtype == np.uint8:
        return replace(picture, data_range=255.0)
    return picture


def checked_range(data_range: float | None) -> float | None:
    """What --data-range says, if that can be."""
    if data_range is not None and not 0 < data_range < float("inf"):
        raise UsageProblem(f"--data-range {data_range:g}: must be a positive number")
    return data_range


def in_range_of(first: Picture, second: Picture) -> Picture:
    """The second picture with the first one's range, if both hold the same units.

    The range that was guessed of noisy floats is not quite that of clean ones, and that must not count as a difference.
    """
    alike = first.pixels.dtype == second.pixels.dtype and 1 / NEAR <= second.data_range / first.data_range <= NEAR
    return replace(second, data_range=first.data_range) if alike else second


def working(picture: Picture) -> NDArray[np.float32]:
    """The pixels on 0..255."""
    return to_working(picture.pixels, data_range=picture.data_range)
