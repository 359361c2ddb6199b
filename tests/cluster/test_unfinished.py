"""Only what we made is ever removed or replaced."""

from __future__ import annotations

import contextlib
import errno
import json

import numpy as np
import pytest
import zarr

from cosparse import cluster
from cosparse.cluster import unfinished
from cosparse.cluster.large_picture import TiledRepair
from cosparse.cluster.unfinished import Unfinished, check_target


@pytest.fixture
def repair(local, scene, tmp_path):
    """A small repair to out.zarr."""

    def call(**options):
        options = {"sigma": 5, "tile": 64, "quality": "fast", "client": local, **options}
        return cluster.repair_picture("denoise", scene[:64, :80], tmp_path / "out.zarr", **options)

    return call


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("foreign", ["folder", "file", "record"])
def test_a_folder_of_that_name_that_is_not_ours_stays(repair, tmp_path, foreign, force):
    part = tmp_path / "out.zarr.part"
    if foreign == "file":
        part.write_text("mine")
    else:
        part.mkdir()
        (part / "thesis.txt").write_text("mine")
        if foreign == "record":  # someone else's jobs
            (part / "job.json").write_text(json.dumps({"job": "print"}))
    with pytest.raises(FileExistsError, match=r"out\.zarr\.part: .* was not made by cosparse"):
        repair(force=force)
    assert (part if foreign == "file" else part / "thesis.txt").read_text() == "mine"


def test_an_empty_folder_may_be_used_and_what_others_put_there_stays(repair, tmp_path, monkeypatch):
    part = tmp_path / "out.zarr.part"
    part.mkdir()

    def fail(*_):
        (part / "notes.txt").write_text("mine")
        raise RuntimeError("stop here")

    with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="stop here"):
        patch.setattr(TiledRepair, "_finish", fail)
        repair()
    assert (part / "job.json").exists()
    with pytest.raises(FileExistsError, match="differs in sigma"):
        repair(sigma=6)
    assert repair(sigma=6, force=True).resumed == 0
    assert [entry.name for entry in part.iterdir()] == ["notes.txt"]


def test_tiles_of_an_older_version_are_refused_and_with_force_forgotten(repair, tmp_path):
    part = tmp_path / "out.zarr.part"
    (part / "done").mkdir(parents=True)
    (part / "done" / "0.0").touch()
    (part / "job.json").write_text(json.dumps({"job": {"version": "0.1.0"}, "found": {}, "paths": []}))
    with pytest.raises(FileExistsError, match="holds tiles of another repair, which differs in version"):
        repair()
    assert (part / "done" / "0.0").exists()
    assert repair(force=True).resumed == 0
    assert not part.exists()


def test_with_force_only_pictures_are_replaced(tmp_path):
    group, plain, tiff = tmp_path / "group.zarr", tmp_path / "plain.zarr", tmp_path / "folder.tif"
    zarr.create_group(group)
    for folder in (plain, tiff):
        folder.mkdir()
    (tmp_path / "file.zarr").write_text("mine")
    for goal in (group, plain, tmp_path / "file.zarr"):
        with pytest.raises(FileExistsError, match=rf"{goal.name}: is not a zarr array"):
            check_target(goal, force=True)
    with pytest.raises(FileExistsError, match="is a folder, which is never replaced"):
        check_target(tiff, force=True)
    for zarr_format in (2, 3):
        zarr.create_array(tmp_path / f"{zarr_format}.zarr", shape=(2, 2), dtype="u1", zarr_format=zarr_format)
        check_target(tmp_path / f"{zarr_format}.zarr", force=True)
        with pytest.raises(FileExistsError, match="exists"):
            check_target(tmp_path / f"{zarr_format}.zarr", force=False)


def test_what_appears_at_the_target_meanwhile_is_not_replaced(repair, tmp_path):
    def appear(done, total):
        if done == 1:
            zarr.create_array(tmp_path / "out.zarr", data=np.ones((3, 3)))

    with pytest.raises(FileExistsError, match=r"out\.zarr: exists"):
        repair(callback=appear)
    assert zarr.open_array(tmp_path / "out.zarr")[:].sum() == 9
    report = repair(force=True)
    assert report.resumed == report.tiles


def test_a_link_is_removed_and_not_what_it_leads_to(tmp_path):
    part, elsewhere = Unfinished(tmp_path / "out.zarr"), tmp_path / "elsewhere"
    part.folder.mkdir()
    elsewhere.mkdir()
    (elsewhere / "thesis.txt").write_text("mine")
    part.store.symlink_to(elsewhere)
    part.clear()
    assert part.saved() is None
    assert (elsewhere / "thesis.txt").exists()


def test_marks_of_tiles_that_are_gone_do_not_count(tmp_path):
    """A run that was killed when its result had its name and the folder was still there."""
    part = Unfinished(tmp_path / "out.zarr")
    part.begin({"task": "denoise"}, force=False)
    (part.folder / "done" / "0.0.0").touch()
    assert part.done() == set()
    part.create(shape=(4, 4), chunks=(4, 4), dtype="u1")
    assert part.done() == set() and not list((part.folder / "done").iterdir())
    (part.folder / "done" / "0.0.0").touch()
    half = part.store / "c" / "0" / "0.1234.partial"
    half.parent.mkdir(parents=True, exist_ok=True)
    half.write_bytes(b"what zarr was writing when it was killed")
    part.create(shape=(4, 4), chunks=(4, 4), dtype="u1")  # there already
    assert not half.exists()
    assert part.done() == {"0.0.0"}


def test_a_run_killed_as_it_began_is_taken_up(tmp_path):
    """Its record was written, and the folders beside it not yet."""
    part = Unfinished(tmp_path / "out.zarr")
    part.begin({"task": "denoise"}, force=False)
    for name in ("done", "pages"):
        (part.folder / name).rmdir()
    part.begin({"task": "denoise"}, force=False)
    part.create(shape=(4, 4), chunks=(4, 4), dtype="u1")
    assert sorted(path.name for path in part.folder.iterdir()) == ["done", "job.json", "pages", "tiles.zarr"]


def test_a_run_killed_as_it_cleared_up_is_known_for_ours(tmp_path, monkeypatch):
    """Whatever was the last to be removed, the next run takes the folder for what it is."""
    removed = []

    def killed(place):
        removed.append(place)
        if len(removed) > limit:
            raise SystemExit
        remove(place)

    remove = unfinished._remove
    for limit in range(9):
        part = Unfinished(tmp_path / "out.zarr")
        part.begin({"limit": limit}, force=True)
        part.create(shape=(4, 4), chunks=(4, 4), dtype="u1")
        (part.folder / "done" / "0.0.0").touch()
        monkeypatch.setattr(unfinished, "_remove", killed)
        with contextlib.suppress(SystemExit):
            part.clear()
        monkeypatch.setattr(unfinished, "_remove", remove)
        removed.clear()
        part.begin({"limit": limit}, force=False)
        assert part.done() in (set(), {"0.0.0"})
        part.create(shape=(4, 4), chunks=(4, 4), dtype="u1")
        assert zarr.open_array(part.store).shape == (4, 4)
        assert not (part.done() and limit)


def test_a_disk_that_fails_is_told_by_the_name_of_the_target(tmp_path):
    part = Unfinished(tmp_path / "out.zarr")
    words = r"out\.zarr: cannot be written.*Input/output error.*kept in .*out\.zarr\.part"
    with pytest.raises(OSError, match=words), part.explained():
        raise OSError(errno.EIO, "Input/output error")
    with pytest.raises(FileNotFoundError, match="elsewhere"), part.explained():
        raise FileNotFoundError(errno.ENOENT, "No such file", "elsewhere")
