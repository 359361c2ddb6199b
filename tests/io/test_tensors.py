"""A file of arrays and words: read by the library, and of the same bytes each time."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from safetensors import deserialize, safe_open
from safetensors.numpy import load

from cosparse.io.tensors import packed

ARRAYS = {"b": np.arange(6, dtype=np.float32).reshape(2, 3), "a": np.arange(5, dtype=np.int8), "c": np.float64([1 / 3])}


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=9)))
def test_it_is_read_as_it_was_written(words):
    blob = packed(ARRAYS, words)
    found = load(blob)
    assert {name: (one.dtype, one.tobytes()) for name, one in found.items()} == {
        name: (one.dtype, one.tobytes()) for name, one in ARRAYS.items()
    }
    assert len(deserialize(blob)) == 3


def test_words_come_back_and_bytes_are_the_same_each_time(tmp_path):
    words = {letter: letter * 3 for letter in "zyxwvutsrqponmlkjihgfedcbaµ"}
    blobs = {packed(ARRAYS, words) for _ in range(20)}
    assert len(blobs) == 1
    (tmp_path / "file").write_bytes(blobs.pop())
    with safe_open(tmp_path / "file", framework="numpy") as file:
        assert file.metadata() == words
