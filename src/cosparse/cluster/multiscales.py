"""OME-Zarr: a group that holds a picture at several sizes, and says what its axes and channels are.

Versions 0.4 (zarr format 2) and 0.5 (format 3) are read and written; https://ngff.openmicroscopy.org has them. The
picture is its largest level; smaller ones are made again, of the result.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import zarr

FORMATS: dict[str, Literal[2, 3]] = {"0.4": 2, "0.5": 3}  # of zarr, by version
SIDE = 1024  # pixels: of what is made smaller at a time, twice that
# What a group says of other things than its own picture.
FOREIGN = ("bioformats2raw.layout", "plate", "well", "labels", "image-label", "multiscales", "omero", "version")
UNITS = {"micrometer": "µm", "nanometer": "nm", "millimeter": "mm", "centimeter": "cm", "meter": "m", "second": "s",
         "millisecond": "ms", "minute": "min", "hour": "h", "angstrom": "Å", "picometer": "pm"}  # fmt: skip


@dataclass(frozen=True)
class Multiscales:
    """What an OME-Zarr group says: axes as it has them, and of the full resolution the size and place of a pixel.

    `path` is where the pixels are in the group, `levels` how many sizes it had, `outer` the transformations that follow
    those of every level, `others` whatever else stands among the attributes. `lost` has a line for each thing that does
    not go along.
    """

    version: str
    axes: tuple[Mapping[str, Any], ...]
    scale: tuple[float, ...]
    translation: tuple[float, ...]
    levels: int = 1
    name: str | None = None
    path: str = "0"
    outer: tuple[Any, ...] = ()
    omero: Mapping[str, Any] = field(default_factory=dict)
    others: Mapping[str, Any] = field(default_factory=dict)
    labels: bool = False  # whether its values are labels, and no brightness
    lost: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Of the axes."""
        return tuple(str(axis["name"]) for axis in self.axes)

    def enlarged(self, factor: float) -> Multiscales:
        """The same of pixels that are so many times as many along each side; the picture stays where it is."""
        if factor == 1:
            return self
        sizes = [*self.scale[:-2], *(size / factor for size in self.scale[-2:])]
        corner = [
            place - (size - new) / 2 for place, size, new in zip(self.translation, self.scale, sizes, strict=True)
        ]
        return replace(self, scale=tuple(sizes), translation=tuple(corner))

    def attributes(self) -> dict[str, Any]:
        """Of the group that is written: every level half as large as the one before, along rows and columns."""
        picture: dict[str, Any] = {"name": self.name} if self.name is not None else {}
        picture |= {"axes": [dict(axis) for axis in self.axes], "datasets": list(map(self._level, range(self.levels)))}
        if self.outer:
            picture["coordinateTransformations"] = list(self.outer)
        picture |= {"type": "mean"} if self.levels > 1 else {}
        omero = {"omero": dict(self.omero)} if self.omero else {}
        if self.version == "0.4":
            return {**self.others, "multiscales": [{"version": "0.4", **picture}], **omero}
        return {**self.others, "ome": {"version": self.version, "multiscales": [picture], **omero}}

    def _level(self, number: int) -> dict[str, Any]:
        """Where a level is, how large its pixels are, and where the middle of the first one is."""
        times = [1] * (len(self.axes) - 2) + [2**number] * 2
        scale = [size * more for size, more in zip(self.scale, times, strict=True)]
        place = [at + size * (more - 1) / 2 for at, size, more in zip(self.translation, self.scale, times, strict=True)]
        found: list[dict[str, Any]] = [{"type": "scale", "scale": scale}]
        if any(place):
            found.append({"type": "translation", "translation": place})
        return {"path": str(number), "coordinateTransformations": found}

    def plain(self) -> dict[str, Any]:
        """In the words of OME-XML, as tifffile's writer takes them: sizes of pixels, names of channels."""
        told: dict[str, Any] = {}
        for axis, size in zip(self.axes, self.scale, strict=True):
            letter = str(axis["name"]).upper()
            word = "TimeIncrement" if letter == "T" else f"PhysicalSize{letter}"
            if letter in "TZYX" and axis.get("unit") is not None:
                told |= {word: size, word + "Unit": UNITS.get(axis["unit"], axis["unit"])}
        names = [channel.get("label") for channel in self.omero.get("channels", [])]
        if names and all(isinstance(name, str) for name in names) and "c" in self.names:
            told["Channel"] = {"Name": names}
        return told

    def write(self, folder: Path) -> None:
        """The smaller levels of a group whose level 0 is there, and what it says of itself."""
        import zarr

        group = zarr.open_group(folder, mode="a", zarr_format=FORMATS[self.version])
        for number in range(1, self.levels):
            larger: Any = group[str(number - 1)]
            *leading, height, width = larger.shape
            smaller = group.create_array(
                str(number), shape=(*leading, -(-height // 2), -(-width // 2)), chunks=_chunks(larger),
                dtype=larger.dtype, overwrite=True, **_kept(larger),
            )  # fmt: skip
            _fill(larger, smaller)
        group.attrs.put(self.attributes())


def _chunks(larger: zarr.Array[Any]) -> tuple[int, ...]:
    """Those of the level before, but no larger than the level itself."""
    *leading, height, width = larger.shape
    sides = (*leading, -(-height // 2), -(-width // 2))
    return tuple(min(chunk, side) for chunk, side in zip(larger.chunks, sides, strict=True))


def _kept(larger: zarr.Array[Any]) -> dict[str, Any]:
    """How a level is stored that is like another."""
    if larger.metadata.zarr_format == 2:
        return storing(2)
    return {"dimension_names": larger.metadata.dimension_names}


def storing(zarr_format: int) -> dict[str, Any]:
    """What an array in an OME-Zarr group is created with: a folder for each axis, which format 2 must be told."""
    return {"chunk_key_encoding": {"name": "v2", "separator": "/"}} if zarr_format == 2 else {}


def _fill(larger: zarr.Array[Any], smaller: zarr.Array[Any]) -> None:
    """A level from the one before it, some pixels at a time."""
    for page in np.ndindex(*larger.shape[:-2]):
        for top, left in product(*(range(0, side, SIDE) for side in smaller.shape[-2:])):
            seen = np.asarray(larger[(*page, slice(2 * top, 2 * (top + SIDE)), slice(2 * left, 2 * (left + SIDE)))])
            smaller[(*page, slice(top, top + SIDE), slice(left, left + SIDE))] = halved(seen)


def halved(plane: NDArray[Any]) -> NDArray[Any]:
    """The means of 2 x 2 pixels; of an odd last row or column, of what is there.

    >>> halved(np.array([[0, 2, 9], [4, 6, 9], [1, 3, 5]], np.uint8)).tolist()
    [[3, 9], [2, 5]]
    """
    height, width = plane.shape
    edged = np.pad(plane, ((0, height % 2), (0, width % 2)), mode="edge")
    means = edged.reshape(edged.shape[0] // 2, 2, edged.shape[1] // 2, 2).mean(axis=(1, 3), dtype=np.float64)
    found: NDArray[Any] = means if plane.dtype.kind == "f" else np.rint(means)
    return found.astype(plane.dtype)


def of_group(group: zarr.Group, shown: str) -> Multiscales | None:
    """What an OME-Zarr group says; None of any other group. Refuses what would be read wrongly, by the name `shown`."""
    attributes = dict(group.attrs)
    inner = attributes.get("ome")
    said: dict[str, Any] = inner if isinstance(inner, dict) else attributes
    if "multiscales" not in said:
        if collected := _collection(said):
            raise ValueError(f"{shown}: is {collected}; name one of its images, as {Path(shown) / '0'}")
        return None
    try:
        return _read(said, attributes, group)
    except (KeyError, IndexError, TypeError, AttributeError) as problem:
        raise ValueError(
            f"{shown}: what it says of itself is no OME-Zarr ({type(problem).__name__}: {problem}); "
            "mend its attributes, or name an array in it"
        ) from problem
    except ValueError as problem:
        raise ValueError(f"{shown}: {problem}") from problem


def _collection(said: Mapping[str, Any]) -> str:
    words = {"plate": "a plate of wells", "well": "a well", "bioformats2raw.layout": "a collection of images"}
    return next((word for key, word in words.items() if key in said), "")


def _read(said: dict[str, Any], attributes: dict[str, Any], group: zarr.Group) -> Multiscales:
    first, *rest = said["multiscales"]
    stored = group.metadata.zarr_format
    # Some writers do not say: then it is that which goes with the format.
    version = str(said.get("version") or first.get("version") or {2: "0.4", 3: "0.5"}[stored])
    if version not in FORMATS:
        raise ValueError(
            f"is an OME-Zarr of version {version}, and {' and '.join(FORMATS)} are read; name an array in it"
        )
    if FORMATS[version] != stored:
        raise ValueError(f"is an OME-Zarr {version} in zarr format {stored}, which do not go together; name an array")
    axes = tuple(dict(axis) for axis in first["axes"])
    path = str(first["datasets"][0]["path"])
    if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
        raise ValueError(f"says that its pixels are outside of it ({path}); mend its attributes")
    if [axis.get("type", "space") for axis in axes[-2:]] != ["space", "space"] or axes[-1]["name"] == "c":
        names = ", ".join(str(axis["name"]) for axis in axes)
        raise ValueError(
            f"has the axes {names}, and the last two must be rows and columns; move the others before them"
        )
    scale, translation = _placed(first["datasets"][0].get("coordinateTransformations", ()), len(axes))
    omero = {key: value for key, value in said.get("omero", {}).items() if key != "id"}  # it names the source
    others = {key: value for key, value in attributes.items() if key not in (*FOREIGN, "ome")}
    return Multiscales(
        version, axes, scale, translation, len(first["datasets"]), first.get("name"), path,
        tuple(first.get("coordinateTransformations", ())), omero, others, "image-label" in said,
        tuple(_left_behind(group, len(rest))),
    )  # fmt: skip


def _placed(transformations: Any, count: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Size and place of a pixel, along so many axes."""
    scale, translation = (1.0,) * count, (0.0,) * count
    for one in transformations:
        if one["type"] == "scale":
            scale = tuple(map(float, one["scale"]))
        elif one["type"] == "translation":
            translation = tuple(map(float, one["translation"]))
        elif one["type"] != "identity":
            raise ValueError(f"has a transformation {one['type']!r}, and only scale and translation are known")
    if len(scale) != count or len(translation) != count or not all(map(math.isfinite, (*scale, *translation))):
        raise ValueError(f"has {count} axes, and a size or a place of a pixel that does not fit them")
    return scale, translation


def _left_behind(group: zarr.Group, others: int) -> Iterator[str]:
    """What of a group does not come along."""
    if others:
        yield f"{others} other multiscales in the group {'is' if others == 1 else 'are'} not kept"
    if "labels" in group:
        import zarr

        inside = group["labels"]
        names = ", ".join(sorted(inside.group_keys())[:5]) if isinstance(inside, zarr.Group) else ""
        yield f"labels are not kept{f' ({names})' if names else ''}"
