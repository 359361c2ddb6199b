"""What a run over many files remembers, without a cluster."""

from __future__ import annotations

import json
import os

import pytest

from cosparse import AnalysisOperator
from cosparse.cluster.record import Record

ASKED = {"task": "denoise", "sigma": 5.0, "operator": AnalysisOperator.dct(3)}


@pytest.fixture
def files(tmp_path):
    """A source, and where its result goes."""
    source, target = tmp_path / "in.png", tmp_path / "out.png"
    written(source, b"old", 1)
    return source, target


def written(path, content, second):
    """A file as of a certain second."""
    path.write_bytes(content)
    os.utime(path, ns=(second * 10**9, second * 10**9))


def test_done_is_what_was_begun_written_and_not_changed_since(tmp_path, files):
    source, target = files
    path = tmp_path / "deep" / "record.json"
    assert not Record(path, **ASKED).done(source, target)
    Record(path, **ASKED).begin(source, target)
    assert not Record(path, **ASKED).done(source, target)
    written(target, b"result", 2)  # by a worker that outlived its client
    assert Record(path, **ASKED).done(source, target)
    written(source, b"new", 3)
    record = Record(path, **ASKED)
    assert not record.done(source, target) and record.ours(target)
    record.begin(source, target)  # and the client is killed: the result is still that of the old source
    assert not Record(path, **ASKED).done(source, target)
    written(target, b"result", 4)
    assert Record(path, **ASKED).done(source, target)
    source.unlink()
    assert not Record(path, **ASKED).done(source, target)


def test_what_others_made_is_not_ours(tmp_path, files):
    source, target = files
    written(target, b"mine", 1)
    record = Record(tmp_path / "record.json", **ASKED)
    record.begin(source, target)
    assert not record.ours(target) and not Record(tmp_path / "record.json", **ASKED).ours(target)
    target.unlink()
    record.begin(source, target)
    record.failed(target)
    written(target, b"mine", 2)
    assert not record.ours(target) and not Record(tmp_path / "record.json", **ASKED).ours(target)


def test_a_line_cut_short_is_passed_over(tmp_path, files):
    source, target = files
    path = tmp_path / "record.json"
    Record(path, **ASKED).begin(source, target)
    written(target, b"result", 2)
    path.write_text(path.read_text() + '\n{"target": "/half')
    record = Record(path, **ASKED)
    assert record.done(source, target)
    record.begin(source, tmp_path / "second.png")
    written(tmp_path / "second.png", b"result", 2)
    assert Record(path, **ASKED).done(source, tmp_path / "second.png")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (json.dumps({"cosparse": "0.1.0", "token": "1"}), "is a record of an older version; remove it"),
        ("", "is not a record of cosparse"),
        ("my notes", "is not a record of cosparse"),
    ],
)
def test_what_is_no_record_is_refused_and_kept(tmp_path, content, message):
    path = tmp_path / "record.json"
    path.write_text(content)
    with pytest.raises(FileExistsError, match=message):
        Record(path, **ASKED)
    assert path.read_text() == content


def test_what_differs_is_named(tmp_path):
    Record(tmp_path / "record.json", **ASKED)
    with pytest.raises(FileExistsError, match="differs in sigma, operator, weight;"):
        asked = {**ASKED, "sigma": 6.0, "operator": AnalysisOperator.dct(4), "weight": 1.0}
        Record(tmp_path / "record.json", **asked)
