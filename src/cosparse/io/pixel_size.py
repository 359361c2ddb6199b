"""The size of a pixel, in whichever words a file has for it, when pixels are turned or become more."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from cosparse.io import ome

PLACES = ("ROI", "Overlays", "Plot")  # ImageJ's drawings, in pixels, in a form of its own


def clean_dpi(dpi: Any, most: int = 2**16) -> tuple[float, float] | None:
    """A resolution that makes sense, below `most`, or None."""
    with contextlib.suppress(TypeError, ValueError, ZeroDivisionError, OverflowError):
        x, y = (float(value) for value in dpi)
        if 0 < x < most and 0 < y < most:
            return x, y
    return None


def _changed(metadata: Mapping[str, Any], **changes: Callable[[Any], Any]) -> dict[str, Any]:
    """Metadata with those that are there changed, without what then makes no sense."""
    new = {key: changes[key](value) if key in changes else value for key, value in metadata.items()}
    return {key: value for key, value in new.items() if value is not None}


def turned(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata of the same picture with rows as columns."""
    return _changed(
        metadata, dpi=lambda xy: xy[::-1], resolution=lambda told: (told[1], told[0], told[2]), ome=ome.turned
    )


def enlarged(metadata: Mapping[str, Any], factor: float) -> dict[str, Any]:
    """Metadata of the same picture with `factor` times as many pixels along each side.

    >>> enlarged({"dpi": (300.0, 300.0)}, 2)
    {'dpi': (600.0, 600.0)}
    """

    def imagej(told: Mapping[str, Any]) -> dict[str, Any]:
        scaled = {key: told[key] * factor for key in ("xorigin", "yorigin") if key in told}
        return {key: value for key, value in {**told, **scaled}.items() if key not in PLACES}

    def shaped(told: Mapping[str, Any]) -> dict[str, Any]:
        sizes = [key for key in ("PhysicalSizeX", "PhysicalSizeY") if isinstance(told.get(key), int | float)]
        return {**told, **{key: told[key] / factor for key in sizes}}

    return _changed(
        metadata,
        dpi=lambda xy: clean_dpi(factor * value for value in xy),
        resolution=lambda told: (factor * told[0], factor * told[1], told[2]),
        ome=lambda xml: ome.enlarged(xml, factor),
        imagej=imagej,
        shaped=shaped,
    )
