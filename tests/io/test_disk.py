"""Paths that cannot be read or written are named; permissions, links and devices stay what they are."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from pixels import noise

from cosparse.io.disk import shown_name
from cosparse.io.picture import read_image, write_image


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions and links")
def test_permissions_links_and_devices(tmp_path):
    old = os.umask(0o027)
    try:
        write_image(tmp_path / "a.png", noise((4, 4)))
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "a.png").stat().st_mode) == 0o640
    (tmp_path / "link.png").symlink_to("a.png")
    write_image(tmp_path / "link.png", noise((5, 5)))
    assert (tmp_path / "link.png").is_symlink()
    assert stat.S_IMODE((tmp_path / "a.png").stat().st_mode) == 0o640
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_image(tmp_path / "pipe", noise((5, 5)), format="png")
    assert read_image(os.read(reader, 9999)).pixels.shape == (5, 5)
    os.close(reader)
    with pytest.raises(FileNotFoundError, match="none"):
        write_image(tmp_path / "none" / "a.png", noise((4, 4)))
    with pytest.raises(IsADirectoryError):
        write_image(tmp_path, noise((4, 4)), format="png")


def test_paths_that_cannot_be_read(tmp_path, monkeypatch):
    for path, error in [("none.png", FileNotFoundError), (".", IsADirectoryError), ("\0", ValueError)]:
        with pytest.raises(error, match=r"; "):
            read_image(tmp_path / path if path != "\0" else path)

    def refuse(*_):
        raise PermissionError(13, "denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(PermissionError, match=r"a\.png: may not be read"):
        read_image(tmp_path / "a.png")


def test_a_name_is_one_line_whatever_it_has():
    assert shown_name(Path("a b.png")) == "a b.png" == shown_name(b"a b.png")
    assert shown_name("Br\N{LATIN SMALL LETTER U WITH DIAERESIS}cke.png").startswith("Br\xfc")
    assert shown_name("new\nline.png") == r"'new\nline.png'"
