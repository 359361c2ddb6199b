"""How long a large picture will take: a small part of it is repaired first."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from cosparse.io.picture import Picture

LARGE = 6e6  # pixels, of all pages: below, the wait is over before it has been read
SIDE = 512  # of the part; the time of a repair goes with its pixels


def forecast(picture: Picture, work: Callable[[Picture, tuple[slice, slice]], Any]) -> str | None:
    """How large a picture is and about how long `work` on it will take, if that is worth saying.

    `work` is given the middle of the picture, and where that is.
    """
    height, width = picture.pixels.shape[-2:] if picture.channel_axis is None else picture.pixels.shape[-3:-1]
    pixels = picture.pixels.size / (picture.pixels.shape[-1] if picture.channel_axis is not None else 1)
    if pixels < LARGE or min(height, width) < SIDE:
        return None
    rows, columns = (slice((side - SIDE) // 2, (side + SIDE) // 2) for side in (height, width))
    place = (0,) * len(picture.leading) + (rows, columns)
    part = replace(picture, pixels=picture.pixels[place], alpha=None, stack=False, axes="")
    small = replace(part, pixels=part.pixels[:32, :32])
    work(
        small, (slice(rows.start, rows.start + 32), slice(columns.start, columns.start + 32))
    )  # loads what is compiled
    started = time.perf_counter()
    work(part, (rows, columns))
    seconds = (time.perf_counter() - started) * pixels / SIDE**2
    about = f"{seconds / 60:.0f} min" if seconds > 90 else f"{max(seconds, 1):.0f} s"
    return f"{pixels / 1e6:.0f} megapixels, about {about}"
