"""What would become of compressed data is counted without taking the room for it."""

from __future__ import annotations

import lzma
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tifffile._imagecodecs import packbits_decode

from cosparse.io.inflating import inflates_beyond

CUT = lzma.compress(bytes(5000))


@given(st.binary(max_size=300), st.integers(0, 40_000))
def test_runs_are_counted_as_they_are_decoded(data, most):
    """But for the last, if the data end in it: that counts as if it were whole."""
    decoded = len(packbits_decode(data))
    if decoded > most:
        assert inflates_beyond(32773, data, most)
    if decoded + 128 <= most:
        assert not inflates_beyond(32773, data, most)


def test_a_claim_of_much_memory_is_enough():
    """A dictionary of a gigabyte, for a single byte."""
    data = lzma.compress(b"x", filters=[{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 20}])
    assert not inflates_beyond(34925, data, 1000)
    at = data.index(b"\x21\x01") + 2  # the filter, one byte of properties: 2^(n/2) or so
    large = data[:at] + bytes([36]) + data[at + 1 :]
    head = 12 + 4 * (1 + large[12])
    large = large[: head - 4] + zlib.crc32(large[12 : head - 4]).to_bytes(4, "little") + large[head:]
    assert inflates_beyond(34925, large, 1000)


@pytest.mark.parametrize("compression", [8, 34925, 32773])
@pytest.mark.parametrize("size", [1, 4095, 3 << 20])
def test_to_the_byte(compression, size):
    data = {
        8: lambda: zlib.compress(bytes(size)),
        34925: lambda: lzma.compress(bytes(size // 2)) + lzma.compress(bytes(size - size // 2)),
        32773: lambda: (
            b"\x81\0" * (size // 128) + (bytes([257 - size % 128, 0]) if size % 128 > 1 else b"\0\0" * (size % 128))
        ),
    }[compression]()
    assert not inflates_beyond(compression, data, size)
    assert inflates_beyond(compression, data, size - 1)


@pytest.mark.parametrize("data", [b"", b"no stream at all", CUT[:-20], CUT[:20], zlib.compress(bytes(5000))[:9]])
def test_of_damaged_data_nothing_is_said(data):
    for compression in (8, 34925, 50000, 5, 1):
        assert not inflates_beyond(compression, data, 10_000)
