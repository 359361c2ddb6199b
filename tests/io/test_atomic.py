"""Files are written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from pixels import noise

from cosparse.io.atomic import replacing
from cosparse.io.picture import write_image


def test_nobody_sees_half_of_a_file(tmp_path):
    target = tmp_path / "a.bin"
    for content in (b"first", b"second"):
        before = target.read_bytes() if target.exists() else None
        with replacing(target) as temporary:
            temporary.write_bytes(content)
            assert (target.read_bytes() if target.exists() else None) == before
            assert temporary.parent == tmp_path and temporary.name.startswith(".")
        assert target.read_bytes() == content
    assert list(tmp_path.iterdir()) == [target]


def test_two_writers_do_not_meet(tmp_path):
    with replacing(tmp_path / "a") as one, replacing(tmp_path / "a") as other:
        assert one != other
        one.write_bytes(b"one")
        other.write_bytes(b"other")
    assert (tmp_path / "a").read_bytes() == b"one" and len(list(tmp_path.iterdir())) == 1


def test_what_cannot_be_a_file(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder; name a file in it"), replacing(tmp_path):
        pass
    with pytest.raises(FileNotFoundError, match="does not exist; create it first"), replacing(tmp_path / "b" / "a"):
        pass


@pytest.mark.parametrize("failure", [OSError(28, "No space left"), KeyboardInterrupt()])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, failure):
    write_image(tmp_path / "a.png", noise((4, 4)))
    before = (tmp_path / "a.png").read_bytes()
    really = Path.write_bytes

    def half(self, data):
        really(self, data[:20])
        raise failure

    monkeypatch.setattr(Path, "write_bytes", half)
    with pytest.raises(type(failure), match=r"a\.png" if isinstance(failure, OSError) else None):
        write_image(tmp_path / "a.png", noise((9, 9)))
    assert [p.name for p in tmp_path.iterdir()] == ["a.png"]
    assert (tmp_path / "a.png").read_bytes() == before
