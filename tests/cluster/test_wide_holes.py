"""Wide holes by tiles: as in the whole picture, and refused where they are larger than a tile."""

from __future__ import annotations

import numpy as np
import pytest
import zarr
from test_tiles import as_zarr

import cosparse
from cosparse import cluster
from cosparse.cluster.layout import Layout
from cosparse.cluster.tiles import assign
from cosparse.cluster.wide_holes import holes_of


@pytest.fixture(scope="module")
def woven():
    """A texture that repeats every 14 pixels, with some noise."""
    rng = np.random.default_rng(0)
    tile = rng.integers(40, 216, (14, 14))
    return (np.tile(tile, (14, 13))[:190, :180] + rng.normal(0, 3, (190, 180))).clip(0, 255).astype(np.uint8)


def test_a_hole_across_tiles_is_that_of_the_whole_picture(local, woven, tmp_path):
    mask = np.zeros(woven.shape, bool)
    mask[70:102, 64:96] = True  # tiles meet at 80
    source, target = as_zarr(tmp_path / "a.zarr", np.where(mask, 0, woven).astype(np.uint8)), tmp_path / "b.zarr"
    cluster.repair_picture("inpaint", source, target, mask=mask, client=local, tile=80, overlap=32, quality="fast")
    whole = cosparse.inpaint(woven, mask, quality="fast")
    np.testing.assert_array_equal(zarr.open_array(target, mode="r")[:], whole)
    assert np.abs(whole[mask].astype(int) - woven[mask]).mean() < 10
    with pytest.raises(ValueError, match="source: a tile sees only"):
        assign("inpaint", {"source": ~mask}, True, Layout((), mask.shape), woven.dtype)


def test_a_hole_begins_in_one_tile_and_a_larger_one_is_refused():
    mask = np.zeros((400, 400), bool)
    mask[90:130, 60:120] = True
    whole = (slice(0, 400), slice(0, 400))
    tiles = [(slice(i, i + 100), slice(j, j + 100)) for i in range(0, 400, 100) for j in range(0, 400, 100)]
    found = [holes_of(mask, tile, whole, mask.shape, False) for tile in tiles]
    assert [boxes for boxes in found if boxes] == [[(slice(90, 130), slice(60, 120))]]
    mask[20:380, 150:250] = True
    around = (slice(0, 300), slice(100, 400))
    with pytest.raises(ValueError, match=r"mask: the hole about rows .* is larger than a tile"):
        holes_of(mask[around], (slice(100, 200), slice(200, 300)), around, mask.shape, False)
