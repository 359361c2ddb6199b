"""OME-Zarr: what a group says of its picture goes in and comes out, and others can read it."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tifffile
import zarr
from test_tiles import noisy, rms

import cosparse
from cosparse import cluster
from cosparse.cli import main
from cosparse.cluster.multiscales import Multiscales, halved
from cosparse.cluster.sources import OnDisk
from cosparse.cluster.unfinished import check_target
from cosparse.io.picture import read_image

AXES = [
    {"name": "t", "type": "time", "unit": "second"}, {"name": "c", "type": "channel"},
    {"name": "y", "type": "space", "unit": "micrometer"}, {"name": "x", "type": "space", "unit": "micrometer"},
]  # fmt: skip
OMERO = {
    "id": 7, "rdefs": {"model": "color"},
    "channels": [
        {"label": name, "color": colour, "active": True, "window": {"start": 0, "end": 255, "min": 0, "max": 255}}
        for name, colour in (("DAPI", "0000FF"), ("GFP", "00FF00"))
    ],
}  # fmt: skip
SCALE, PLACE = [1.5, 1.0, 0.2, 0.1], [0.0, 0.0, 10.0, 20.0]


def level(path, times):
    scale = [*SCALE[:2], SCALE[2] * times, SCALE[3] * times]
    return {
        "path": path,
        "coordinateTransformations": [
            {"type": "scale", "scale": scale}, {"type": "translation", "translation": PLACE},
        ],
    }  # fmt: skip


def written(folder, version, pixels, levels=("full", "half", "quarter"), **more):
    """A group by hand, of a picture (t, c, y, x), with labels beside it; smaller levels are left empty."""
    group = zarr.open_group(folder, mode="w", zarr_format={"0.4": 2, "0.5": 3}[version])
    for number, path in enumerate(levels):
        sides = [-(-side // 2**number) for side in pixels.shape[-2:]]
        array = group.create_array(path, shape=(*pixels.shape[:-2], *sides), chunks=(1, 1, 50, 50), dtype=pixels.dtype)
        if number == 0:
            array[:] = pixels
    picture = {
        "name": "cells", "axes": AXES, "datasets": [level(path, 2**n) for n, path in enumerate(levels)],
        "coordinateTransformations": [{"type": "scale", "scale": [1.0, 1.0, 1.0, 1.0]}], "type": "gaussian", **more,
    }  # fmt: skip
    said = {"multiscales": [{**picture, "version": "0.4"} if version == "0.4" else picture], "omero": OMERO}
    said = said if version == "0.4" else {"ome": {**said, "version": version}}
    group.attrs.put({**said, "made by": "hand"})
    group.create_group("labels").create_group("nuclei")
    return folder


@pytest.fixture(scope="module")
def stack(scene):
    """Two times, two channels, 16 bit; sides that do not halve."""
    crops = [[scene[:61, :75], scene[60:121, :75]], [scene[20:81, 90:165], scene[80:141, 90:165]]]
    return np.clip(noisy(np.array(crops), 12) * 257, 0, 65535).astype(np.uint16)


@pytest.fixture(scope="module")
def repaired(tmp_path_factory, stack, separate):
    """Both versions by the command line: the groups, and what was said."""
    folder = tmp_path_factory.mktemp("ome")
    said = {}
    for version in ("0.4", "0.5"):
        source, target = written(folder / f"in{version}.ome.zarr", version, stack), folder / f"out{version}.ome.zarr"
        with pytest.MonkeyPatch.context() as patch:
            lines = []
            patch.setattr("cosparse.cli.on_cluster.json_line", lines.append)
            asked = ("denoise", source, target, "--quality", "fast", "--json", "--scheduler", separate.address)
            assert main([str(word) for word in asked]) == 0
        said[version] = target, lines[0]
    return said


@pytest.mark.parametrize("version", ["0.4", "0.5"])
def test_a_group_comes_out_as_it_went_in(repaired, stack, version):
    """Its axes, sizes and places of pixels, channels; its channels each alone; its sizes made again of the result."""
    target, said = repaired[version]
    assert said["layout"] == "4 pages of 61x75 pixels"
    assert said["notes"] == ("labels are not kept (nuclei)",)
    group = zarr.open_group(target, mode="r")
    assert group.metadata.zarr_format == {"0.4": 2, "0.5": 3}[version]
    pixels = group["0"][:]
    assert pixels.dtype == np.uint16
    assert rms(pixels, cosparse.denoise(stack, quality="fast"), 257) < 0.01
    assert sorted(group.array_keys()) == ["0", "1", "2"] and not list(group.group_keys())
    expected = pixels
    for name in "12":
        expected = np.array([[halved(page) for page in pages] for pages in expected])
        np.testing.assert_array_equal(group[name][:], expected)
    attributes = dict(group.attrs)
    assert attributes["made by"] == "hand"
    told = attributes if version == "0.4" else attributes["ome"]
    assert told["omero"]["channels"] == OMERO["channels"] and "id" not in told["omero"]
    (picture,) = told["multiscales"]
    assert (picture["name"], picture["axes"]) == ("cells", AXES)
    assert (picture if version == "0.4" else told)["version"] == version
    assert picture["datasets"][0] == {**level("0", 1)}
    scale, place = (list(one.values())[1] for one in picture["datasets"][2]["coordinateTransformations"])
    assert scale == [1.5, 1.0, 0.8, 0.4]
    # The middle of the first pixel of a level is that of the pixels it is the mean of.
    np.testing.assert_allclose(place, [0, 0, 10 + 1.5 * 0.2, 20 + 1.5 * 0.1])
    if version == "0.5":
        assert {group[name].metadata.dimension_names for name in "012"} == {("t", "c", "y", "x")}
    else:
        assert (target / "1/0/0/0/0").is_file()  # folders for axes, as 0.4 wants them


@pytest.mark.parametrize("version", ["0.4", "0.5"])
def test_ome_zarr_py_reads_what_was_written(repaired, version):
    ome_zarr_io = pytest.importorskip("ome_zarr.io", reason="needs ome-zarr, which make test-napari installs")
    from ome_zarr.reader import Reader

    target, _ = repaired[version]
    (node,) = Reader(ome_zarr_io.parse_url(str(target)))()
    assert [axis["name"] for axis in node.metadata["axes"]] == ["t", "c", "y", "x"]
    assert (node.metadata["name"], node.metadata["channel_names"]) == ("cells", ["DAPI", "GFP"])
    assert node.metadata["coordinateTransformations"][0][0]["scale"] == SCALE
    assert [level.shape for level in node.data] == [(2, 2, 61, 75), (2, 2, 31, 38), (2, 2, 16, 19)]
    np.testing.assert_array_equal(np.asarray(node.data[0]), zarr.open_group(target, mode="r")["0"][:])


@pytest.mark.parametrize("version", ["0.4", "0.5"])
def test_what_was_written_is_valid_by_the_models_of_the_format(repaired, version):
    models = pytest.importorskip("ome_zarr_models", reason="needs ome-zarr, which make test-napari installs")
    target, _ = repaired[version]
    image = models.open_ome_zarr(zarr.open_group(target, mode="r"), version=version)
    assert type(image).__name__ == "Image"


def test_an_ome_tiff_of_a_group_has_its_axes_sizes_and_channels(tmp_path, stack, separate):
    source = written(tmp_path / "in.ome.zarr", "0.5", stack)
    report = cluster.repair_picture(
        "denoise", source, tmp_path / "out.ome.tif", sigma=12 * 257, quality="fast", client=separate.client
    )
    assert "of its OME-Zarr group, only axes, sizes of pixels and names of channels are kept" in report.lost
    picture = read_image(tmp_path / "out.ome.tif")
    assert picture.axes == "TCYX" and picture.pixels.shape == stack.shape
    with tifffile.TiffFile(tmp_path / "out.ome.tif") as file:
        pixels = tifffile.xml2dict(file.ome_metadata)["OME"]["Image"]["Pixels"]
    assert (pixels["PhysicalSizeX"], pixels["PhysicalSizeY"], pixels["TimeIncrement"]) == (0.1, 0.2, 1.5)
    assert pixels["PhysicalSizeXUnit"] == "µm" and [one["Name"] for one in pixels["Channel"]] == ["DAPI", "GFP"]


def test_enlarged_pixels_are_smaller_and_stay_where_they_are(tmp_path, stack, separate):
    source = written(tmp_path / "in.ome.zarr", "0.4", stack[:1, :1], levels=("0",))
    cluster.repair_picture("upscale", source, tmp_path / "out.zarr", factor=2, quality="fast", client=separate.client)
    group = zarr.open_group(tmp_path / "out.zarr", mode="r")
    assert group["0"].shape == (1, 1, 122, 150) and list(group.array_keys()) == ["0"]
    scale, place = group.attrs["multiscales"][0]["datasets"][0]["coordinateTransformations"]
    assert scale["scale"] == [1.5, 1.0, 0.1, 0.05]
    np.testing.assert_allclose(place["translation"], [0, 0, 10 - 0.05, 20 - 0.025])


def test_a_mask_may_be_labels_of_the_group(tmp_path, stack, separate, capsys):
    """Of any number; one level, no axes of time and channels."""
    source = written(tmp_path / "in.ome.zarr", "0.4", stack)
    holes = np.zeros(stack.shape[-2:], np.uint8)
    holes[20:24, 30:40] = 3
    labels = zarr.open_group(source / "labels/nuclei", mode="a", zarr_format=2)
    labels.create_array("0", data=holes)
    one = {"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [0.2, 0.1]}]}
    labels.attrs.put({"multiscales": [{"version": "0.4", "axes": AXES[2:], "datasets": [one]}], "image-label": {}})
    asked = ("inpaint", source, tmp_path / "out.ome.zarr", "--mask", source / "labels/nuclei", "--quality", "fast")
    assert main([str(word) for word in (*asked, "--scheduler", separate.address, "--no-grouping")]) == 0
    found = zarr.open_group(tmp_path / "out.ome.zarr", mode="r")["0"][:]
    changed = (found != stack).any(axis=(0, 1))
    assert changed[holes > 0].mean() > 0.9 and not changed[holes == 0].any()


def test_a_repair_goes_on_where_it_was_ended(tmp_path, stack, separate):
    source, target = written(tmp_path / "in.ome.zarr", "0.5", stack), tmp_path / "out.ome.zarr"
    options = {"sigma": 12 * 257, "quality": "fast", "client": separate.client}

    class Ended(Exception):
        pass

    def end(done, tiles):
        if done == 2:
            raise Ended

    with pytest.raises(Ended):
        cluster.repair_picture("denoise", source, target, callback=end, **options)
    assert not target.exists()
    report = cluster.repair_picture("denoise", source, target, **options)
    assert report.resumed >= 2 and report.tiles == 4
    found = zarr.open_group(target, mode="r")["0"][:]
    assert rms(found, cosparse.denoise(stack, 12 * 257, quality="fast"), 257) < 0.01
    report = cluster.repair_picture("denoise", source, target, force=True, **options)  # a plain group is replaced
    assert report.resumed == 0


# --- without a cluster ----------------------------------------------------------------------------------


def test_the_group_is_read_as_its_largest_level(tmp_path, stack):
    found = OnDisk(written(tmp_path / "in.ome.zarr", "0.4", stack))
    assert found.shape == stack.shape and found.colour is False
    np.testing.assert_array_equal(found[1, 0], stack[1, 0])
    assert found.description.names == ("t", "c", "y", "x")
    attributes = json.loads((tmp_path / "in.ome.zarr/.zattrs").read_text())
    del attributes["multiscales"][0]["version"]  # as some writers leave it out
    (tmp_path / "in.ome.zarr/.zattrs").write_text(json.dumps(attributes))
    assert OnDisk(tmp_path / "in.ome.zarr").ome.version == "0.4"
    inner = OnDisk(tmp_path / "in.ome.zarr/full")
    assert inner.ome is None and "name the group to keep it" in inner.description.lost[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": "0.2"}, "is an OME-Zarr of version 0.2, and 0.4 and 0.5 are read; name an array in it"),
        ({"version": "0.5"}, "is an OME-Zarr 0.5 in zarr format 2, which do not go together"),
        ({"axes": [*AXES[:1], *AXES[2:], AXES[1]]}, "has the axes t, y, x, c, and the last two must be rows and"),
        ({"axes": AXES[1:]}, "has 3 axes, and a size or a place of a pixel that does not fit them"),
        ({"datasets": []}, "what it says of itself is no OME-Zarr"),
        ({"datasets": [{"path": "../elsewhere"}]}, "says that its pixels are outside of it"),
        ({"datasets": [level("absent", 1)]}, r"its full resolution \(absent\) is not there"),
        (
            {"datasets": [{"path": "full", "coordinateTransformations": [{"type": "affine"}]}]},
            "transformation 'affine'",
        ),
    ],
)
def test_what_would_be_read_wrongly_is_refused_by_name(tmp_path, stack, change, message):
    folder = written(tmp_path / "in.ome.zarr", "0.4", stack)
    attributes = json.loads((folder / ".zattrs").read_text())
    attributes["multiscales"][0] |= change
    (folder / ".zattrs").write_text(json.dumps(attributes))
    with pytest.raises(ValueError, match=rf"in\.ome\.zarr: .*{message}"):
        OnDisk(folder, shown="in.ome.zarr")


def test_a_plate_and_a_group_of_arrays_are_refused(tmp_path):
    group = zarr.open_group(tmp_path / "plate.zarr", mode="w")
    group.attrs["ome"] = {"version": "0.5", "plate": {}}
    with pytest.raises(ValueError, match="is a plate of wells; name one of its images"):
        OnDisk(tmp_path / "plate.zarr")
    zarr.open_group(tmp_path / "group.zarr", mode="w").create_array("a", shape=(4, 4), dtype="u1")
    with pytest.raises(ValueError, match=r"is a zarr group; name an array in it \(a\)"):
        OnDisk(tmp_path / "group.zarr")


def test_a_group_with_labels_is_never_replaced(tmp_path, stack):
    folder = written(tmp_path / "in.ome.zarr", "0.5", stack)
    with pytest.raises(FileExistsError, match="only such are replaced"):
        check_target(folder, force=True)
    (folder / "labels/nuclei/zarr.json").unlink()
    (folder / "labels/nuclei").rmdir()
    (folder / "labels/zarr.json").unlink()
    (folder / "labels").rmdir()
    check_target(folder, force=True)


def test_levels_halve_and_floats_stay_floats():
    ome = Multiscales("0.5", tuple(AXES[2:]), (0.2, 0.1), (0.0, 0.0), levels=2)
    first, second = ome.attributes()["ome"]["multiscales"][0]["datasets"]
    assert first["coordinateTransformations"] == [{"type": "scale", "scale": [0.2, 0.1]}]
    assert second["coordinateTransformations"][1] == {"type": "translation", "translation": [0.1, 0.05]}
    plane = np.arange(15, dtype=np.float32).reshape(3, 5)
    np.testing.assert_array_equal(halved(plane), [[3, 5, 6.5], [10.5, 12.5, 14]])


@pytest.mark.parametrize("version", ["0.4", "0.5"])
def test_a_group_by_ome_zarr_py_is_read(tmp_path, stack, version):
    writer = pytest.importorskip("ome_zarr.writer", reason="needs ome-zarr, which make test-napari installs")
    from ome_zarr.format import format_from_version

    group = zarr.open_group(tmp_path / "in.ome.zarr", mode="w", zarr_format={"0.4": 2, "0.5": 3}[version])
    scale = dict(zip("tcyx", SCALE, strict=True))
    writer.write_image(stack, group, axes="tcyx", fmt=format_from_version(version), scale=scale)
    found = OnDisk(tmp_path / "in.ome.zarr")
    np.testing.assert_array_equal(found[:], stack)
    assert found.ome.names == ("t", "c", "y", "x") and found.ome.levels > 1
    assert found.ome.version == version and found.ome.scale == tuple(SCALE)
