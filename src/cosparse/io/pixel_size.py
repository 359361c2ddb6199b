"""The size of a pixel, in whichever words a file has for it, when pixels are turned or become more."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from cosparse.io import ome

PLACES = ("ROI", "Overlays", "Plot")  # ImageJ's drawings, in pixels, in a form of its own


def clean_dpi(dpi: Any) -> tuple[float, float] | None:
    """A resolution that makes sense, or None."""
    with contextlib.suppress(TypeError, ValueError, ZeroDivisionError, OverflowError):
        x, y = (float(value) for value in dpi)
        if 0 < x < 65536 and 0 < y < 65536:
            return x, y
    return None


def turned(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata of the same picture with rows as columns."""
    new = dict(metadata)
    if "dpi" in new:
        new["dpi"] = new["dpi"][::-1]
    if "resolution" in new:
        x, y, unit = new["resolution"]
        new["resolution"] = (y, x, unit)
    if "ome" in new:
        new["ome"] = ome.turned(new["ome"])
    return new


def enlarged(metadata: Mapping[str, Any], factor: float) -> dict[str, Any]:
    """Metadata of the same picture with `factor` times as many pixels along each side.

    >>> enlarged({"dpi": (300.0, 300.0)}, 2)
    {'dpi': (600.0, 600.0)}
    """
    new = dict(metadata)
    if "dpi" in new:
        new["dpi"] = clean_dpi(factor * value for value in new["dpi"])
        if new["dpi"] is None:
            del new["dpi"]
    if "resolution" in new:
        x, y, unit = new["resolution"]
        new["resolution"] = (factor * x, factor * y, unit)
    if "ome" in new:
        new["ome"] = ome.enlarged(new["ome"], factor)
    if "imagej" in new:
        told = {key: value for key, value in new["imagej"].items() if key not in PLACES}
        for key in {"xorigin", "yorigin"} & told.keys():
            told[key] = told[key] * factor
        new["imagej"] = told
    return new
