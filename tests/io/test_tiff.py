"""TIFF: axes and the size of a pixel come back as they went in. Read again by tifffile, not by our own reader."""

from __future__ import annotations

import io
from xml.etree import ElementTree

import numpy as np
import pytest
import tifffile
from hypothesis import given, settings
from hypothesis import strategies as st
from pixels import noise, same

from cosparse.io.picture import Picture, read_image, write_image
from cosparse.repair import enlarged_like

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


def test_five_axes_of_imagej():
    """Its stacks of more than 4 GB have one header for all pages, as the second of these does."""
    for truncate in (False, True):
        data = tiff(FIVE, imagej=True, metadata=IMAGEJ, resolution=(10, 5), truncate=truncate)
        picture = read_image(data)
        same(picture.pixels, FIVE)
        assert (picture.axes, picture.stack, picture.notes) == ("TZCYX", True, ())
        with written(picture.pixels, picture) as tif:
            assert tif.is_imagej and tif.series[0].axes == "TZCYX"
            same(tif.asarray(), FIVE)
            told = tif.imagej_metadata
            for key in IMAGEJ.keys() - {"axes", "LUTs"}:
                assert told[key] == IMAGEJ[key], key
            np.testing.assert_array_equal(told["LUTs"], IMAGEJ["LUTs"])
            assert tif.pages[0].tags["XResolution"].value == (10, 1)
            assert tif.pages[0].tags["YResolution"].value == (5, 1)
            assert tif.pages[0].tags["ResolutionUnit"].value == 1


def test_micrometres_of_imagej():
    """It writes them escaped, other programs as a letter beyond ASCII, which tifffile would not write."""
    escaped = "\\u00B5m"
    data = tiff(FIVE[0, 0], imagej=True, metadata={"axes": "CYX", "unit": escaped, "Info": UM})
    for raw in (data, data.replace(escaped.encode(), b"\xb5m".ljust(len(escaped)))):
        picture = read_image(raw)
        with written(picture.pixels, picture) as tif:
            assert tif.imagej_metadata["unit"].rstrip() == escaped
            assert tif.imagej_metadata["Info"] == UM


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(["ome", "imagej", "shaped"]), dtype=st.sampled_from(["u1", "u2", "f4"]), colour=st.booleans(),
    axes=st.sampled_from(["", "Z", "T", "C", "TZ", "ZC", "TC", "TZC"]), seed=st.integers(0, 99),
    order=st.sampled_from("<>"),
)  # fmt: skip
def test_any_axes_come_back(kind, axes, dtype, colour, seed, order):
    if colour and ((kind == "ome" and "C" in axes) or (kind == "imagej" and dtype != "u1")):
        return  # channels of three samples each, which tifffile writes otherwise; ImageJ has colours of 8 bits only
    shape = (*np.random.default_rng(seed).integers(2, 5, len(axes)).tolist(), 6, 5) + (3,) * colour
    pixels = noise(shape, dtype, seed)
    letters = axes + "YX" + "S" * colour
    flags = {} if kind == "shaped" else {kind: True}
    options = {"photometric": "rgb" if colour else "minisblack", "metadata": {"axes": letters}, "byteorder": order}
    picture = read_image(tiff(pixels, **flags, **options))
    same(picture.pixels, pixels)
    assert picture.axes == letters and picture.stack == bool(axes)
    with written(picture.pixels, picture) as tif:
        assert tif.series[0].kind == kind or not axes
        assert tif.series[0].axes == letters and tif.series[0].shape == shape
        same(tif.asarray().astype(dtype), pixels)


def test_arrays_of_any_number_of_axes_without_names():
    with written(FIVE, None) as tif:
        assert tif.series[0].shape == FIVE.shape
        same(tif.asarray(), FIVE)
        tif.filehandle.seek(0)
        picture = read_image(tif.filehandle.read())
    same(picture.pixels, FIVE)
    assert picture.axes == "" and picture.stack
    # A stack of colours, and a grey one as narrow as a colour is deep.
    with written(noise((2, 4, 6, 5, 3)), None) as tif:
        assert tif.pages[0].shape == (6, 5, 3) and len(tif.pages) == 8
    narrow = Picture(noise((2, 4, 6, 3)), stack=True)
    with written(narrow.pixels, narrow) as tif:
        assert tif.pages[0].shape == (6, 3) and len(tif.pages) == 8


def test_a_resolution_without_a_unit_is_kept():
    picture = read_image(tiff(noise((6, 5)), metadata=None, resolution=(10, 20), resolutionunit=1))
    with written(picture.pixels, picture) as tif:
        assert tif.pages[0].resolution == (10, 20) and tif.pages[0].resolutionunit == 1


def test_pixels_that_become_more_become_smaller():
    large = np.zeros((2, 3, 4, 24, 20), np.uint16)
    with written(large, enlarged_like(read_image(tiff(FIVE, ome=True, metadata=OME)), 2)) as tif:
        pixels, _ = pixels_of(tif)
        assert tif.series[0].shape == large.shape
        assert [float(pixels[f"PhysicalSize{axis}"]) for axis in "XYZ"] == [0.05, 0.1, 0.3]
    like = read_image(tiff(FIVE, imagej=True, metadata={**IMAGEJ, "Overlays": b"drawn"}, resolution=(10, 5)))
    with written(large, enlarged_like(like, 2)) as tif:
        assert tif.pages[0].resolution == (20, 10) and tif.imagej_metadata["spacing"] == 0.3
        assert "Overlays" not in tif.imagej_metadata  # they would be in the wrong place


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


def test_what_is_left_behind_is_said():
    out = io.BytesIO()
    with tifffile.TiffWriter(out, ome=True) as writer:
        for _ in range(3):
            writer.write(FIVE[0, 0], metadata={"axes": "CYX"}, photometric="minisblack")
    picture = read_image(out.getvalue())
    same(picture.pixels, FIVE[0, 0])
    assert picture.notes == ("2 other series in the file are not kept",)
    with written(picture.pixels, picture) as tif:
        assert len(tif.series) == 1 and tif.is_ome
    out = io.BytesIO()
    with tifffile.TiffWriter(out) as writer:
        writer.write(FIVE[0, 0], photometric="minisblack", metadata={"axes": "CYX", "lens": "63x"})
        writer.write(FIVE[0, 0, 0, ::2], photometric="minisblack")
    picture = read_image(out.getvalue())
    same(picture.pixels, FIVE[0, 0])
    assert picture.notes == ("1 other series in the file is not kept",)
    with written(picture.pixels, picture) as tif:
        assert tif.shaped_metadata[0]["lens"] == "63x"
    out = io.BytesIO()
    with tifffile.TiffWriter(out) as writer:
        writer.write(FIVE[0, 0, 0], metadata=None, extratags=[(33723, 1, 8, b"captions", True)])
        writer.write(FIVE[0, 0, 0, ::2], subfiletype=1, metadata=None)
    assert read_image(out.getvalue()).notes == (
        "thumbnails or masks in the file are not kept", "IPTC captions are not kept",
    )  # fmt: skip


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


def test_a_stack_under_one_header_that_is_cut_short():
    data = tiff(FIVE, imagej=True, metadata={"axes": "TZCYX"}, truncate=True)
    with pytest.raises(ValueError, match="cut short"):
        read_image(data[:-500])


def test_no_more_pixels_than_allowed_under_one_header():
    data = tiff(FIVE, imagej=True, metadata={"axes": "TZCYX"}, truncate=True)
    with pytest.raises(ValueError, match="10x12x24 pixels, over the limit of 2879"):
        read_image(data, max_pixels=2879)
    assert read_image(data, max_pixels=2880).pixels.shape == FIVE.shape


DAMAGED = [
    tiff(FIVE, ome=True, metadata=OME), tiff(FIVE, imagej=True, metadata=IMAGEJ),
    tiff(FIVE, imagej=True, metadata=IMAGEJ, truncate=True), tiff(FIVE, metadata={"axes": "TZCYX"}),
]  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_damaged_description_is_read_or_refused(data):
    whole = DAMAGED[data.draw(st.integers(0, len(DAMAGED) - 1))]
    with tifffile.TiffFile(io.BytesIO(whole)) as tif:
        tag = tif.pages[0].tags["ImageDescription"]
        start, length = tag.valueoffset, tag.count
    raw = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        raw[start + data.draw(st.integers(0, length - 1))] = data.draw(st.sampled_from(list(b'0189<>"=/ax\n\0')))
    try:
        picture = read_image(bytes(raw), max_pixels=10**6)
    except ValueError as error:
        assert str(error).startswith("image: ") and "\n" not in str(error)
    else:
        with written(picture.pixels, picture) as tif:  # and whatever was read can be written
            np.testing.assert_array_equal(tif.asarray().ravel(), picture.pixels.ravel())


def test_a_plain_stack_stays_plain():
    picture = read_image(tiff(FIVE[0, 0], metadata=None))
    assert (picture.axes, picture.stack, picture.notes) == ("", True, ())
    with written(picture.pixels, picture) as tif:
        assert "ImageDescription" not in tif.pages[0].tags and len(tif.pages) == 4
