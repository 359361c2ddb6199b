"""Stacks of five axes as microscopes write them, by tifffile; and what is written, read again by tifffile."""

from __future__ import annotations

import io
from xml.etree import ElementTree

import numpy as np
import tifffile
from pixels import noise

from cosparse.io.picture import write_image

UM = "\N{MICRO SIGN}m"
FIVE = noise((2, 3, 4, 12, 10), np.uint16)
OME = {
    "axes": "TZCYX", "PhysicalSizeX": 0.1, "PhysicalSizeXUnit": UM, "PhysicalSizeY": 0.2, "PhysicalSizeYUnit": UM,
    "PhysicalSizeZ": 0.3, "PhysicalSizeZUnit": UM, "TimeIncrement": 1.5, "TimeIncrementUnit": "s",
    "Channel": {"Name": ["DAPI", "GFP", "RFP", "Cy5"], "Color": [255, 65280, 16711680, -1]},
}  # fmt: skip
IMAGEJ = {
    "axes": "TZCYX", "spacing": 0.3, "unit": "um", "finterval": 1.5, "Info": "made by hand", "mode": "composite",
    "Labels": [f"plane {n}" for n in range(24)], "Ranges": tuple(range(8)), "min": 3.0, "max": 4000.0,
    "LUTs": [np.tile(np.arange(256, dtype=np.uint8), (3, 1)) // (n + 1) for n in range(4)],
}  # fmt: skip


def tiff(array, **options):
    out = io.BytesIO()
    tifffile.imwrite(out, array, **{"photometric": "minisblack", **options})
    return out.getvalue()


def written(pixels, like):
    out = io.BytesIO()
    write_image(out, pixels, like=like, format="tiff")
    return tifffile.TiffFile(io.BytesIO(out.getvalue()))


def pixels_of(tif):
    """The attributes of OME's <Pixels>, and its channels'."""
    (pixels,) = ElementTree.fromstring(tif.ome_metadata).iter(
        "{http://www.openmicroscopy.org/Schemas/OME/2016-06}Pixels"
    )
    return pixels.attrib, [child.attrib for child in pixels if child.tag.endswith("Channel")]
