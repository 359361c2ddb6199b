"""What a file says of its pixels besides them, to be said of the result too, be it a TIFF or a zarr array."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cosparse.cluster.multiscales import Multiscales, storing
from cosparse.io import formats, ome, pixel_size, tiff
from cosparse.io.decoded import Samples

if TYPE_CHECKING:
    import zarr

REDUCED = "of its OME-XML, only axes and sizes of pixels are kept"
FROM_GROUP = "of its OME-Zarr group, only axes, sizes of pixels and names of channels are kept"


@dataclass(frozen=True)
class Description:
    """Of a picture: names of its axes, a TIFF's metadata as :class:`Samples` has them, a zarr array's attributes.

    `group` is what an OME-Zarr group about that array says. `lost` has a line for each thing that does not go along.
    """

    names: tuple[str | None, ...] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    zarr_format: int = 3
    group: Multiscales | None = None
    lost: tuple[str, ...] = ()

    def enlarged(self, factor: float) -> Description:
        """The same of pixels that are so many times as many along each side."""
        if factor == 1:
            return self
        stale = ("zarr attributes are kept as they are, also if they tell the size of a pixel",)
        lost = (*self.lost, *(stale if self.attributes else ()))
        group = self.group and self.group.enlarged(factor)
        return replace(self, metadata=pixel_size.enlarged(self.metadata, factor), lost=lost, group=group)

    def for_zarr(self) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Arguments of `zarr.create_array`, and what is lost so; what a group says is written by it."""
        found: dict[str, Any] = {"attributes": {**self._plain(), **self.attributes}, "zarr_format": self.zarr_format}
        if self.names is not None and self.zarr_format != 2:
            found["dimension_names"] = self.names
        if self.group is not None:
            found |= storing(self.zarr_format)
        if told := tiff.resolution_of(self.metadata):
            found["attributes"]["resolution"] = list(told)
        lost = formats.losses({key: self.metadata.get(key) for key in ("exif", "icc_profile", "xmp")}, "zarr")
        return found, (*self.lost, *lost, *([REDUCED] if "ome" in self.metadata else []))

    def for_tiff(self, goal: Path, array: Any, leading: int) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Arguments of tifffile's writer for a zarr array, and what is lost so."""
        lost, told = list(self.lost), self.metadata
        attributes = {**self.attributes, **(self.group.others if self.group else {})}
        if attributes:
            lost.append(f"zarr attributes are not kept in TIFF ({', '.join(sorted(attributes)[:5])})")
        axes = "".join(str(name or "")[:1].upper() for name in (self.names or ())[:leading])
        samples = Samples(array, leading, metadata=dict(told), axes=axes)
        options, letters = tiff.metadata_options(samples), samples.letters or "?"
        named = "ome" in told or self.group is not None
        if "description" not in options and (named or goal.name.lower().endswith((".ome.tif", ".ome.tiff"))):
            if set(letters) <= set("TZCYXS") and len(set(letters)) == len(letters):
                said = self.group.plain() if self.group else self._plain()
                options |= {"ome": True, "imagej": False, "metadata": {**said, "axes": letters}}
                lost += [REDUCED] if "ome" in told else [FROM_GROUP] if self.group else []
            else:
                lost.append("it is no OME-TIFF: what its axes are is not known")
        if leading and "description" not in options:
            options["metadata"] = options["metadata"] or {}  # in tifffile's words: it tells a stack of one from a page
        if "imagej" in told and "imagej" not in options:
            lost.append("ImageJ's metadata is not kept: such a picture does not fit ImageJ's format")
        return options, tuple(lost)

    def _plain(self) -> dict[str, Any]:
        """What JSON can hold of a TIFF's words, but for how it was laid out; of OME-XML the sizes of pixels."""
        told = {**self.metadata.get("shaped", {}), **self.metadata.get("imagej", {})}
        told |= ome.sizes(self.metadata.get("ome", ""))
        kept = told.keys() - {"ImageJ", "hyperstack"}
        return {name: value for name, value in told.items() if name in kept and isinstance(value, str | int | float)}


def of_zarr(array: zarr.Array[Any], folder: Path | None, group: Multiscales | None = None) -> Description:
    """What a zarr array says of itself, and the OME-Zarr group that was named; of any other about it, that it does."""
    attributes, zarr_format = dict(array.attrs), int(array.metadata.zarr_format)
    if group is not None:
        return Description(group.names, {}, attributes, zarr_format, group, group.lost)
    names = getattr(array.metadata, "dimension_names", None)
    lost = ("what the OME group about it says (axes, sizes of pixels) is not kept; name the group to keep it",)
    about = folder is not None and _is_ome(folder.parent)
    return Description(tuple(names) if names else None, {}, attributes, zarr_format, lost=lost if about else ())


def _is_ome(folder: Path) -> bool:
    for name in ("zarr.json", ".zattrs"):
        with suppress(OSError, ValueError, AttributeError, TypeError):
            said = json.loads((folder / name).read_text())
            if {"ome", "multiscales"} & set(said.get("attributes", said)):
                return True
    return False
