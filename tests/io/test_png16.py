"""PNG of 16 bits and several channels, taken apart by hand."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
from pixels import noise

from cosparse.io import png16


def chunks(data):
    """Names and contents of the chunks of a PNG, the checksum of each compared."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, found = 8, []
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        name, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack_from(">I", data, at + 8 + length) == (zlib.crc32(name + body),)
        found.append((name, body))
        at += 12 + length
    return found


@pytest.mark.parametrize(("channels", "colour_type"), [(2, 4), (3, 2), (4, 6)])
@pytest.mark.parametrize("size", [(1, 1), (5, 7)])
def test_pixels_and_metadata_stand_where_the_standard_says(channels, colour_type, size):
    values = noise((*size, channels), np.uint16)
    metadata = {"icc_profile": b"a profile", "dpi": (300, 150), "exif": b"Exif\0\0II*\0", "text": {"Title": "a bridge"}}
    found = chunks(png16.encode(values, metadata))
    named = dict(found)
    assert list(named) == [b"IHDR", b"iCCP", b"pHYs", b"eXIf", b"tEXt", b"IDAT", b"IEND"]
    assert named[b"IHDR"] == struct.pack(">IIBBBBB", size[1], size[0], 16, colour_type, 0, 0, 0)
    assert zlib.decompress(named[b"iCCP"].removeprefix(b"ICC Profile\0\0")) == b"a profile"
    assert named[b"pHYs"] == struct.pack(">IIB", 11811, 5906, 1)  # pixels a metre
    assert (named[b"eXIf"], named[b"tEXt"]) == (b"II*\0", b"Title\0a bridge")
    packed = b"".join(body for name, body in found if name == b"IDAT")
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(size[0], -1)
    assert (rows[:, 0] == 1).all()  # each byte less the one a pixel before it
    plain = rows[:, 1:].reshape(size[0], size[1], 2 * channels).cumsum(axis=1).astype(np.uint8)
    np.testing.assert_array_equal(plain.reshape(size[0], -1).view(">u2").reshape(values.shape), values)
