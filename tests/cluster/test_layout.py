"""How the axes of a picture are read, without a cluster."""

from __future__ import annotations

import numpy as np
import pytest
import tifffile

from cosparse.cluster.layout import Layout, layout_of
from cosparse.cluster.sources import OnDisk, thinned


@pytest.mark.parametrize(
    ("shape", "channel_axis", "leading", "size", "channels"),
    [
        ((30, 40), "auto", (), (30, 40), None),
        ((30, 40, 3), "auto", (), (30, 40), 3),
        ((30, 40, 2), "auto", (), (30, 40), 2),
        ((3, 30, 40), "auto", (3,), (30, 40), None),
        ((3, 30, 4), "auto", (3,), (30, 4), None),  # four columns, not channels: there are only three rows then
        ((30, 40, 3), None, (30,), (40, 3), None),
        ((30, 40, 9), "auto", (30,), (40, 9), None),
        ((30, 40, 9), -1, (), (30, 40), 9),
        ((5, 30, 40, 3), "auto", (5, 30), (40, 3), None),
        ((5, 30, 40, 3), -1, (5,), (30, 40), 3),
        ((2, 3, 4, 30, 40), "auto", (2, 3, 4), (30, 40), None),
    ],
)
def test_leading_axes_are_pages(shape, channel_axis, leading, size, channels):
    found = layout_of(np.zeros(shape, np.uint8), channel_axis)
    assert found == Layout(leading, size, channels)
    assert found.shape() == shape
    assert found.shape(2) == (*leading, 2 * size[0], 2 * size[1], *((channels,) if channels else ()))


def test_arrays_do_not_guess_transparency_and_files_know_it(tmp_path):
    pixels = np.zeros((32, 48, 4), np.uint8)
    assert not layout_of(pixels).alpha
    assert layout_of(pixels, alpha=True).alpha
    tifffile.imwrite(tmp_path / "alpha.tif", pixels, photometric="rgb", extrasamples=[2])
    tifffile.imwrite(tmp_path / "four.tif", pixels, photometric="minisblack", planarconfig="contig")
    tifffile.imwrite(tmp_path / "stack.tif", pixels[..., :3][None].repeat(2, axis=0), photometric="rgb")
    assert layout_of(OnDisk(tmp_path / "alpha.tif")) == Layout((), (32, 48), 4, alpha=True)
    assert layout_of(OnDisk(tmp_path / "four.tif")) == Layout((), (32, 48), 4)
    assert layout_of(OnDisk(tmp_path / "stack.tif")) == Layout((2,), (32, 48), 3)
    assert str(layout_of(OnDisk(tmp_path / "stack.tif"))) == "2 pages of 32x48 pixels, 3 channels"


@pytest.mark.parametrize(
    ("shape", "options", "message"),
    [
        ((30,), {}, r"source: expected \(h, w\), pages of it"),
        ((30, 0), {}, "source: expected"),
        ((30, 40), {"channel_axis": -1}, "channel_axis: expected -1 or None, got -1"),
        ((3, 30, 40), {"channel_axis": 0}, "channel_axis: .* move the channels"),
        ((3, 30, 40), {"alpha": True}, "alpha: source has no channel beside a first"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(shape, options, message):
    with pytest.raises(ValueError, match=message):
        layout_of(np.zeros(shape), **options)


def test_a_file_is_named_and_not_contradicted(tmp_path):
    tifffile.imwrite(tmp_path / "in.tif", np.zeros((32, 48, 3), np.uint8), photometric="rgb")
    with pytest.raises(ValueError, match=r"channel_axis: .*in\.tif says that it has channels"):
        layout_of(OnDisk(tmp_path / "in.tif"), None)


@pytest.mark.parametrize("shape", [(4000, 3000), (500, 90, 80), (3, 4, 200, 300), (20, 1000, 9)])
def test_a_few_pixels_from_everywhere(shape):
    layout = layout_of(np.empty(shape, np.int8))
    few = thinned(np.broadcast_to(np.arange(shape[-1]), shape), layout, count=5000)
    assert 1000 < few.size < 20_000
    assert np.ptp(few) > 0.8 * (shape[-1] - 1)
