"""The size of a pixel goes with the pixels, in all the words that files have for it."""

from __future__ import annotations

import numpy as np
import pytest
from microscope import FIVE, IMAGEJ, OME, pixels_of, tiff, written
from pixels import noise

from cosparse.io.picture import read_image
from cosparse.io.pixel_size import clean_dpi, enlarged, turned
from cosparse.repair import enlarged_like


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


def test_rows_as_columns():
    metadata = {"dpi": (300.0, 150.0), "resolution": (10.0, 20.0, 3), "comment": b"a bridge"}
    assert turned(metadata) == {"dpi": (150.0, 300.0), "resolution": (20.0, 10.0, 3), "comment": b"a bridge"}
    assert turned(turned(metadata)) == metadata


def test_what_makes_no_sense_goes():
    assert enlarged({"dpi": (40_000.0, 40_000.0), "comment": b"a bridge"}, 2) == {"comment": b"a bridge"}
    told = {"xorigin": 3.0, "spacing": 0.3, "ROI": b"drawn"}
    assert enlarged({"imagej": told}, 2) == {"imagej": {"xorigin": 6.0, "spacing": 0.3}}
    assert enlarged({"shaped": {"PhysicalSizeX": 3.0}}, 2) == {"shaped": {"PhysicalSizeX": 1.5}}


@pytest.mark.parametrize("dpi", [None, 72, (0, 72), (72,), ("a", "b"), (70_000, 72), (np.nan, 72), (1, 2, 3)])
def test_a_resolution_that_is_none(dpi):
    assert clean_dpi(dpi) is None
