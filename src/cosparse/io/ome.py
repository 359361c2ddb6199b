"""OME-XML: what a microscope's TIFF says of its axes and of the size of a pixel.

It is read here and not by tifffile, which makes lists as long as the XML asks for, and opens the other files it names.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

if TYPE_CHECKING:
    from xml.etree import ElementTree

WHOLE = ("uint8", "uint16", "uint32", "int8", "int16", "int32")
TYPES = {**{name: name for name in WHOLE}, "float32": "float", "float64": "double"}  # OME's names
SIZES = ("PhysicalSizeX", "PhysicalSizeY", "PhysicalSizeZ", "TimeIncrement")
BROKEN = (SyntaxError, KeyError, ValueError, IndexError, OverflowError)  # the first is how XML is found damaged


@dataclass(frozen=True)
class Planes:
    """Which page is which plane: the letters and lengths of the leading axes, the pages in their order."""

    axes: str
    shape: tuple[int, ...]
    order: list[int]
    others: int  # images besides the first


def planes(xml: str, pages: int) -> Planes | None:
    """How the pages of a file make up the first image, or None if the XML does not fit them."""
    from xml.etree import ElementTree

    with contextlib.suppress(*BROKEN):
        root = ElementTree.fromstring(xml)
        images = _named(root, "Image")
        pixels = _named(images[0], "Pixels")[0]
        axes = pixels.attrib["DimensionOrder"][:1:-1]  # "XYCZT" goes from the fastest to the slowest
        channels = _named(pixels, "Channel")
        samples = int(channels[0].get("SamplesPerPixel", 1)) if channels else 1
        shape = [int(pixels.attrib["Size" + axis]) // (samples if axis == "C" else 1) for axis in axes]
        if sorted(axes) != ["C", "T", "Z"] or min(shape) < 1 or prod(shape) > pages:
            return None
        order = _order(root.get("UUID"), _named(pixels, "TiffData"), axes, shape, pages)
        if order is None:
            return None
        kept = [(axis, size) for axis, size in zip(axes, shape, strict=True) if size > 1]
        letters = "".join(axis for axis, _ in kept)
        return Planes(letters, tuple(size for _, size in kept), order, len(images) - 1)
    return None


def fitted(xml: str, values: NDArray[Any], samples: int) -> bytes:
    """The XML for a file that holds `values` of so many samples a pixel; nothing if it cannot be."""

    def change(pixels: Any) -> None:
        channels = [node for node in _children(pixels, "Channel") if node.hasAttribute("SamplesPerPixel")]
        told = int(channels[0].getAttribute("SamplesPerPixel")) if channels else 1
        if told != samples:
            raise ValueError("other samples")
        height, width = values.shape[-3:-1] if samples > 1 else values.shape[-2:]
        dtype = TYPES[str(values.dtype)]
        if pixels.getAttribute("Type") != dtype and pixels.hasAttribute("SignificantBits"):
            pixels.removeAttribute("SignificantBits")
        for name, value in {"SizeX": width, "SizeY": height, "Type": dtype}.items():
            pixels.setAttribute(name, str(value))
        if samples > 1:
            pixels.setAttribute("Interleaved", "true")
        for name in ("TiffData", "BinData", "MetadataOnly"):
            for node in _children(pixels, name):
                pixels.removeChild(node)
        data = pixels.ownerDocument.createElement(pixels.tagName.replace("Pixels", "TiffData"))
        data.setAttribute("IFD", "0")
        data.setAttribute("PlaneCount", str(values.size // (height * width * samples)))
        pixels.insertBefore(data, next(iter(_children(pixels, "Plane")), None))

    text = _edited(xml, change)
    return f'<?xml version="1.0" encoding="UTF-8"?>{text}'.encode() if text else b""


def sizes(xml: str) -> dict[str, Any]:
    """The sizes of a pixel of the first image with their units, by OME's names."""
    from xml.etree import ElementTree

    with contextlib.suppress(*BROKEN):
        pixels = _named(_named(ElementTree.fromstring(xml), "Image")[0], "Pixels")[0].attrib
        told = {name: float(pixels[name]) for name in SIZES if name in pixels}
        return {**told, **{name + "Unit": pixels[name + "Unit"] for name in told if name + "Unit" in pixels}}
    return {}


def enlarged(xml: str, factor: float) -> str:
    """The same of pixels that are `factor` times as many along each side."""

    def change(pixels: Any) -> None:
        for name in ("PhysicalSizeX", "PhysicalSizeY"):
            if pixels.hasAttribute(name):
                pixels.setAttribute(name, f"{float(pixels.getAttribute(name)) / factor:.12g}")

    return _edited(xml, change) or xml


def turned(xml: str) -> str:
    """The same with rows as columns."""

    def change(pixels: Any) -> None:
        for end in ("", "Unit"):
            names = [f"PhysicalSize{axis}{end}" for axis in "XY"]
            values = [pixels.getAttribute(name) for name in names]
            for name, value in zip(names, reversed(values), strict=True):
                if value:
                    pixels.setAttribute(name, value)
                elif pixels.hasAttribute(name):
                    pixels.removeAttribute(name)

    return _edited(xml, change) or xml


def _edited(xml: str, change: Callable[[Any], None]) -> str:
    """The XML of the first image alone, its <Pixels> changed; nothing if that cannot be done."""
    from xml.dom import minidom
    from xml.parsers.expat import ExpatError

    with contextlib.suppress(ExpatError, *BROKEN):
        root: Any = minidom.parseString(xml).documentElement
        first, *others = _children(root, "Image")
        for image in others:
            root.removeChild(image)
        if root.hasAttribute("UUID"):  # it names the file that this was in
            root.removeAttribute("UUID")
        change(_children(first, "Pixels")[0])
        return str(root.toxml())
    return ""


def _order(
    own: str | None, data: list[ElementTree.Element], axes: str, shape: list[int], pages: int
) -> list[int] | None:
    """The page of each plane; None if one is missing or in another file."""
    found: list[int | None] = [None] * prod(shape)
    for element in data:
        for uuid in _named(element, "UUID"):
            own = own or uuid.text
            if uuid.text != own:
                return None
        page = int(element.get("IFD", 0))
        count = int(element.get("PlaneCount", element.get("NumPlanes", 1 if "IFD" in element.attrib else 0)))
        at = 0
        for axis, size in zip(axes, shape, strict=True):
            at = at * size + int(element.get("First" + axis, 0))
        for number in range(min(count or pages, len(found) - at, pages - page)):
            found[at + number] = page + number
    whole = [page for page in found if page is not None and page >= 0]
    return whole if len(whole) == len(found) else None


def _named(element: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [child for child in element if child.tag.rpartition("}")[2] == name]


def _children(node: Any, name: str) -> list[Any]:
    return [child for child in node.childNodes if child.localName == name]
