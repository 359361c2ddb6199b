"""Which files are images, by path, folder and pattern."""

from __future__ import annotations

import pytest
from picture_files import encoded
from pixels import noise

from cosparse.io.find import find_images, unread_files
from cosparse.io.formats import UNREAD


def test_find_images(tmp_path):
    for name in ["b.PNG", "a.tif", "deep/c.jpg", ".hid.png", ".dir/d.png", "notes.txt", "none/x.txt"]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()

    def found(*paths):
        return [p.relative_to(tmp_path).as_posix() for p in find_images([tmp_path / p for p in paths])]

    assert found(".") == ["a.tif", "b.PNG", "deep/c.jpg"]
    assert found("*") == ["a.tif", "b.PNG"]
    assert found("deep/c.jpg", "notes.txt", "**/*.jpg") == ["deep/c.jpg", "notes.txt"]
    assert found(".dir") == [".dir/d.png"]
    assert find_images(str(tmp_path / "a.tif")) == [tmp_path / "a.tif"]
    for bad, error in [("none", ValueError), ("*.xyz", ValueError), ("gone.png", FileNotFoundError)]:
        with pytest.raises(error, match=bad.replace("*", r"\*")):
            found(bad)


def test_what_a_folder_gives(tmp_path):
    for name, format in {"a.png": "png", "b.webp": "webp", "c.avif": "avif", "d.GIF": "gif", "e.jpg": "jpeg"}.items():
        (tmp_path / name).write_bytes(encoded(noise((40, 40)), format))
    for name in ("raw.NEF", "x.psd", "deep/y.jp2", ".hidden.cr2", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"something")
    assert [path.name for path in find_images(tmp_path)] == ["a.png", "b.webp", "c.avif", "d.GIF", "e.jpg"]
    assert [path.name for path in unread_files(tmp_path)] == ["y.jp2", "raw.NEF", "x.psd"]
    assert all(path.suffix.lower() in UNREAD for path in unread_files(tmp_path))
    assert unread_files(tmp_path / "a.png") == []
