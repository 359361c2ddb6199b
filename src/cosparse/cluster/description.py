"""What a file says of its pixels besides them, to be said of the result too: names and sizes of axes, profiles."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np

from cosparse.io.pixel_size import PLACES

if TYPE_CHECKING:
    import tifffile
    import zarr

AXES = "TZCYXS"  # the letters that ImageJ and OME know, in ImageJ's order
COUNTED = {"images", "channels", "slices", "frames", "hyperstack", "axes", "shape", "ImageJ"}  # tifffile counts anew
SIZES = {"PhysicalSizeX", "PhysicalSizeY", "PhysicalSizeZ", "TimeIncrement"}
LARGE = 3 << 30  # bytes, beyond which a TIFF must be a BigTIFF


@dataclass(frozen=True)
class Description:
    """Of a picture, whichever kind of file it is in.

    Attributes
    ----------
    axes : str
        A letter for each axis, as tifffile has them; empty if the file does not say.
    kind : str
        "imagej" or "ome", if the file is a TIFF of that kind.
    metadata : mapping
        What it says there, as tifffile's writer wants it: spacing, unit, PhysicalSizeX, ...
    tags : mapping
        Colour profile and resolution, as tifffile's writer wants them.
    names, attributes, zarr_format
        Of a zarr array.
    lost : tuple of str
        What does not go along, a line each.
    """

    axes: str = ""
    kind: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    tags: Mapping[str, Any] = field(default_factory=dict)
    names: tuple[str | None, ...] | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    zarr_format: int | None = None
    lost: tuple[str, ...] = ()

    def enlarged(self, factor: int) -> Description:
        """The same of pixels that are so many times as many along each side."""
        if factor == 1:
            return self
        tags = dict(self.tags)
        if "resolution" in tags:
            tags["resolution"] = tuple(factor * value for value in tags["resolution"])
        metadata = {name: value for name, value in self.metadata.items() if name not in PLACES}
        metadata |= {name: metadata[name] / factor for name in ("PhysicalSizeX", "PhysicalSizeY") if name in metadata}
        metadata |= {name: metadata[name] * factor for name in ("xorigin", "yorigin") if name in metadata}
        lost = self.lost
        if self.attributes:
            lost = (*lost, "zarr attributes are kept as they are, also if they tell the size of a pixel")
        return replace(self, tags=tags, metadata=metadata, lost=lost)

    def for_zarr(self, axes: int) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Arguments of `zarr.create_array`, and what is lost so."""
        found: dict[str, Any] = {"attributes": {**_plain(self.metadata), **self.attributes}}
        lost = list(self.lost)
        if self.zarr_format is not None:
            found["zarr_format"] = self.zarr_format
        names = self.names or (tuple(self.axes.lower()) if len(self.axes) == axes else None)
        if names is not None and self.zarr_format != 2:
            found["dimension_names"] = names
        if self.tags.get("iccprofile"):
            lost.append("the colour profile is not kept in zarr")
        if "resolution" in self.tags:
            found["attributes"]["resolution"] = [*self.tags["resolution"], self.tags.get("resolutionunit", 1)]
        return found, tuple(lost)

    def for_tiff(
        self, goal: Path, shape: tuple[int, ...], dtype: np.dtype[Any], colour: bool, leading: int
    ) -> tuple[dict[str, Any], dict[str, Any], tuple[str, ...]]:
        """Arguments of tifffile's writer and of its `write`, and what is lost so."""
        lost = list(self.lost)
        if self.attributes:
            lost.append(f"zarr attributes are not kept in TIFF ({', '.join(sorted(self.attributes)[:5])})")
        axes = self.axes if len(self.axes) == len(shape) else ""
        if not axes and self.names and all(self.names) and len(self.names) == len(shape):
            axes = "".join(str(name)[0].upper() for name in self.names)
        letters = axes or ("YXS" if colour else "YX") * (not leading)
        fits = bool(letters) and len(set(letters)) == len(letters) and set(letters) <= set(AXES)
        large = int(np.prod(shape)) * dtype.itemsize > LARGE
        opened: dict[str, Any] = {"bigtiff": large}
        written = {**self.tags, "metadata": {**self.metadata, "axes": letters}}
        if self.kind == "ome" or goal.name.lower().endswith((".ome.tif", ".ome.tiff")):
            if fits:
                return {**opened, "ome": True}, written, tuple(lost)
            lost.append("it is no OME-TIFF: what its axes are is not known")
        if self.kind == "imagej":
            kept = str(dtype) in ("uint8", "uint16", "float32") and (not colour or dtype == np.uint8)
            if fits and kept and not large and sorted(letters, key=AXES.find) == list(letters):
                return {"imagej": True}, written, tuple(lost)
            lost.append("ImageJ's metadata is not kept: such a picture does not fit ImageJ's format")
        named = {"axes": axes} if axes else {}
        return opened, {**self.tags, "metadata": {**_plain(self.metadata), **named} if leading else None}, tuple(lost)


def of_zarr(array: zarr.Array[Any], folder: Path | None) -> Description:
    """What a zarr array says of itself, and that an OME group about its folder says more."""
    metadata = array.metadata
    names = getattr(metadata, "dimension_names", None)
    lost = ("what the OME group about it says (axes, sizes of pixels) is not kept",)
    return Description(
        names=tuple(names) if names else None, attributes=dict(array.attrs), zarr_format=int(metadata.zarr_format),
        lost=lost if folder is not None and _is_ome(folder.parent) else (),
    )  # fmt: skip


def _is_ome(folder: Path) -> bool:
    for name in ("zarr.json", ".zattrs"):
        with suppress(OSError, ValueError, AttributeError, TypeError):
            said = json.loads((folder / name).read_text())
            if {"ome", "multiscales"} & set(said.get("attributes", said)):
                return True
    return False


def of_tiff(file: tifffile.TiffFile) -> Description:
    """What an open TIFF says of its first series."""
    series = file.series[0]
    page: Any = series.levels[0].pages[0]
    tags: dict[str, Any] = {"iccprofile": page.iccprofile}
    if 282 in page.tags:
        unit = int(page.resolutionunit)
        resolution = tuple(float(value) for value in page.get_resolution())
        if unit in (2, 3) or resolution != (1.0, 1.0):  # 1 of no unit is what is written for nothing
            tags |= {"resolution": resolution, "resolutionunit": unit}
    axes = "" if set(series.axes) & set("QI") else series.axes
    if file.is_ome:
        metadata, kind = _physical(file.ome_metadata), "ome"
        lost: tuple[str, ...] = ("of its OME-XML, only axes and sizes of pixels are kept",)
    elif file.is_imagej:
        metadata, kind, lost = _without(file.imagej_metadata or {}), "imagej", ()
    else:
        metadata, kind, lost = _without((file.shaped_metadata or [{}])[0] if file.is_shaped else {}), "", ()
    if len(file.series) > 1:
        lost = (*lost, f"{len(file.series) - 1} more series in the file are left out")
    return Description(axes, kind, metadata, tags, lost=lost)


def _without(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in metadata.items() if name not in COUNTED}


def _plain(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What JSON can hold of it."""
    return {name: value for name, value in metadata.items() if isinstance(value, str | int | float | bool)}


def _physical(xml: str | None) -> dict[str, Any]:
    """The sizes of a pixel, with their units."""
    with suppress(ElementTree.ParseError):
        for pixels in ElementTree.fromstring(xml or "").iterfind(".//{*}Pixels"):
            sizes = {name: float(pixels.attrib[name]) for name in SIZES & set(pixels.attrib)}
            units = {f"{name}Unit": pixels.get(f"{name}Unit") for name in sizes}
            return {**sizes, **{name: unit for name, unit in units.items() if unit}}
    return {}
