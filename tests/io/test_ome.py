"""OME-XML: which page is which plane, and the size of a pixel, kept with the file."""

from __future__ import annotations

import io

import numpy as np
import pytest
import tifffile
from microscope import FIVE, OME, UM, pixels_of, tiff, written
from pixels import noise, same

from cosparse.io import ome
from cosparse.io.picture import read_image


def test_five_axes_of_an_ome_tiff():
    picture = read_image(tiff(FIVE, ome=True, metadata=OME, resolution=(1e5, 5e4), resolutionunit=3))
    same(picture.pixels, FIVE)
    same(picture.pages, FIVE.reshape(24, 12, 10))
    assert (picture.axes, picture.stack, picture.notes) == ("TZCYX", True, ())
    with written(picture.pixels[..., ::-1], picture) as tif:
        assert tif.is_ome and tif.series[0].axes == "TZCYX"
        same(tif.asarray(), FIVE[..., ::-1])
        pixels, channels = pixels_of(tif)
        assert [pixels[f"PhysicalSize{axis}"] for axis in "XYZ"] == ["0.1", "0.2", "0.3"]
        assert [pixels[f"PhysicalSize{axis}Unit"] for axis in "XYZ"] == [UM, UM, UM]
        assert (pixels["TimeIncrement"], pixels["TimeIncrementUnit"]) == ("1.5", "s")
        assert [channel["Name"] for channel in channels] == ["DAPI", "GFP", "RFP", "Cy5"]
        assert [channel["Color"] for channel in channels] == ["255", "65280", "16711680", "-1"]
        assert tif.pages[0].tags["XResolution"].value == (100000, 1)
        assert tif.pages[0].tags["ResolutionUnit"].value == 3


def test_colours_and_alpha_of_an_ome_tiff():
    colour = noise((3, 6, 5, 3))
    data = tiff(colour, ome=True, photometric="rgb", metadata={"axes": "ZYXS", "PhysicalSizeX": 2.5})
    picture = read_image(data)
    same(picture.pixels, colour)
    with written(picture.pixels, picture) as tif:
        assert tif.is_ome and pixels_of(tif)[0]["PhysicalSizeX"] == "2.5"
        same(tif.asarray(), colour)


def test_an_ome_tiff_that_is_turned():
    exif = [(274, 3, 1, 6, True)]
    data = tiff(FIVE, ome=True, metadata=OME, extratags=exif)
    picture = read_image(data)
    same(picture.pixels, np.flip(FIVE.swapaxes(-1, -2), -1))
    with written(picture.pixels, picture) as tif:
        assert tif.series[0].shape == (2, 3, 4, 10, 12)
        assert (pixels_of(tif)[0]["PhysicalSizeX"], pixels_of(tif)[0]["PhysicalSizeY"]) == ("0.2", "0.1")


def test_planes_stand_where_the_xml_says():
    """Not in the order of the pages, as some microscopes have it."""
    data = tiff(FIVE[0, :2, 0], ome=True, metadata={"axes": "ZYX"})
    with tifffile.TiffFile(io.BytesIO(data)) as tif:
        xml = tif.ome_metadata
    start, end = xml.index("<TiffData"), xml.rindex("</TiffData>") if "</TiffData>" in xml else xml.index("</Pixels>")
    head = xml[:start] + '<TiffData IFD="1" FirstZ="0"/><TiffData IFD="0" FirstZ="1"/>'
    tail = xml[end:].removeprefix("</TiffData>")
    data = tiff(FIVE[0, :2, 0], metadata=None, description=head + tail)
    picture = read_image(data)
    same(picture.pixels, FIVE[0, 1::-1, 0])
    with written(picture.pixels, picture) as tif:
        same(tif.asarray(), FIVE[0, 1::-1, 0])


@pytest.mark.parametrize("planes", [10**9, 25])
def test_planes_that_are_not_in_the_file(planes):
    """An OME-TIFF may speak of other files, or of more than there can be: its pages are read as they are."""
    data = tiff(FIVE[:, 0, 0], ome=True, metadata={"axes": "TYX"})
    with tifffile.TiffFile(io.BytesIO(data)) as tif:
        xml = tif.ome_metadata
    for name in ("SizeT", "PlaneCount"):
        xml = xml.replace(f'{name}="2"', f'{name}="{planes}"')
    picture = read_image(tiff(FIVE[:, 0, 0], metadata=None, description=xml))
    same(picture.pixels, FIVE[:, 0, 0])
    assert picture.axes == "" and "OME-XML does not fit" in picture.notes[0]


@pytest.mark.parametrize("xml", ["", "<", "<OME/>", "<OME><Image/></OME>", "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"])
def test_what_is_not_ome_says_nothing(xml):
    assert ome.planes(xml, 3) is None
    assert ome.fitted(xml, noise((6, 5)), 1) == b"" and ome.sizes(xml) == {}
    assert ome.enlarged(xml, 2) == xml == ome.turned(xml)
