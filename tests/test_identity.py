"""What is the same run, and what is not."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
import zarr

from cosparse import AnalysisOperator, Penalty
from cosparse.identity import described, differing, digest, stored


def test_a_record_is_what_json_gives_back():
    asked = described(
        operator=AnalysisOperator.dct(3), penalty=Penalty.log(), sigma=np.float32(2.5), bounds=(0, None),
        kernel=np.eye(3), shape=(3, np.int64(4)), callback=print,
    )  # fmt: skip
    assert json.loads(json.dumps(asked)) == asked
    assert asked["operator"] == AnalysisOperator.dct(3).digest()
    assert asked["penalty"]["nu"] == Penalty.log().nu and asked["bounds"] == [0, None]


def test_what_differs_is_named_whoever_has_it():
    asked = described(sigma=1.0, tile=64, kernel=np.eye(3))
    assert differing(asked, asked) == []
    assert differing({**asked, "sigma": 2.0}, asked) == ["sigma"]
    assert differing({"sigma": 1.0, "old": 1, "tile": 64}, asked) == ["kernel", "old"]
    assert differing(None, asked) == ["sigma", "tile", "kernel"]
    assert differing(described(kernel=2 * np.eye(3)), described(kernel=np.eye(3))) == ["kernel"]


def test_arrays_of_the_same_bytes_are_not_the_same():
    zeros = np.zeros((2, 3), np.float32)
    others = [zeros.reshape(3, 2), zeros.astype(np.float64), zeros.astype(np.int32), np.zeros((2, 4), np.float32)]
    assert len({digest([one]) for one in (zeros, *others)}) == 5
    assert digest([zeros, zeros]) != digest([np.zeros((4, 3), np.float32)])
    assert digest([], "ab", "c") != digest([], "a", "bc")


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_zarr_array_rewritten_in_place_is_another(tmp_path, zarr_format):
    """Though its metadata file stays as it is, and every size."""
    array = zarr.create_array(
        tmp_path / "in.zarr", shape=(8, 8), chunks=(4, 4), dtype="u1", zarr_format=zarr_format, compressors=None
    )
    array[:] = 1
    for path in filter(Path.is_file, tmp_path.rglob("*")):
        os.utime(path, ns=(10**18, 10**18))  # long ago: clocks of file systems are coarse
    before = stored(tmp_path / "in.zarr")
    assert stored(tmp_path / "in.zarr") == before
    array[:4, :4] = 2
    assert stored(tmp_path / "in.zarr") != before


def test_files_are_known_by_place_size_and_time(tmp_path):
    (tmp_path / "a").write_bytes(b"12")
    (tmp_path / "b").write_bytes(b"12")
    time = (tmp_path / "a").stat().st_mtime_ns
    os.utime(tmp_path / "b", ns=(time, time))
    first = stored(tmp_path / "a")
    assert first != stored(tmp_path / "b")
    os.utime(tmp_path / "a", ns=(time, time + 1))
    assert stored(tmp_path / "a") != first
    os.utime(tmp_path / "a", ns=(time, time))
    assert stored(tmp_path / "a") == first
    with pytest.raises(FileNotFoundError):
        stored(tmp_path / "absent")
