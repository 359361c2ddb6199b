"""What a page that was killed left behind is removed by the next one, and nothing else is."""

from __future__ import annotations

import tempfile

import pytest

from cosparse.studio import leftovers

fcntl = pytest.importorskip("fcntl", reason="no locks on this system")


def test_a_killed_page_s_folder_goes_and_a_running_one_s_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    killed, foreign = tmp_path / "cosparse-studio-killed", tmp_path / "cosparse-studio-foreign"
    for folder in (killed, foreign):
        folder.mkdir()
        (folder / "picture").write_bytes(b"of a visitor")
    (killed / leftovers.LOCK).touch()  # whose lock nobody holds
    (tmp_path / "cosparse-studio-link").symlink_to(killed)
    with leftovers.own_folder() as running:
        assert not killed.exists() and foreign.exists()
        (running / "picture").write_bytes(b"of a visitor")
        with leftovers.own_folder() as another:
            assert another != running and (running / "picture").exists()
        assert not another.exists()
    assert not running.exists()
