"""How large compressed data would become, counted piece by piece: a few megabytes may stand for gigabytes.

Decompressors that hand over everything at once are asked only when it is known to fit.
"""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Callable
from typing import Any

PIECE = 1 << 20  # bytes looked at together
ROOM = 128 << 20  # bytes that a decompressor may want for itself
# TIFF's numbers of compressions that tifffile undoes without its optional codecs, and so without a limit.
DEFLATE, PACKBITS, LZMA, ZSTD = (8, 32946, 50013), (32773,), (34925,), (34926, 50000)


def inflates_beyond(compression: int, data: bytes, most: int) -> bool:
    """Whether data under one of TIFF's compressions become more than `most` bytes; not said of damaged ones.

    >>> inflates_beyond(8, zlib.compress(bytes(1000)), 999), inflates_beyond(8, zlib.compress(bytes(1000)), 1000)
    (True, False)
    """
    count = next((one for numbers, one in _COUNTS.items() if compression in numbers), None)
    return count is not None and count(data, most) > most


def _by_zlib(data: bytes, most: int) -> int:
    unpack, found = zlib.decompressobj(), 0
    try:
        while data and found <= most:
            found += len(unpack.decompress(data, PIECE))
            data = unpack.unconsumed_tail
    except zlib.error:
        pass  # who decodes it says so
    return found


def _by_pieces(unpacker: Callable[[], Any], errors: type[Exception], data: bytes, most: int) -> int:
    """Of formats that are streams one after the other."""
    found = 0
    try:
        while data and found <= most:
            unpack, given = unpacker(), data
            while not unpack.eof and found <= most:
                piece = unpack.decompress(given, PIECE)
                if not piece and unpack.needs_input:
                    return found  # cut short
                found, given = found + len(piece), b""
            data = unpack.unused_data
    except errors:
        pass
    return found


def _by_lzma(data: bytes, most: int) -> int:
    try:
        return _by_pieces(lambda: lzma.LZMADecompressor(memlimit=ROOM), MemoryError, data, most)
    except lzma.LZMAError as problem:
        # What it needs to begin with is told in the data too.
        return most + 1 if "limit" in str(problem) else 0


def _by_zstd(data: bytes, most: int) -> int:
    try:
        from compression import zstd  # since Python 3.14; before, tifffile has none either
    except ImportError:
        return 0
    return _by_pieces(zstd.ZstdDecompressor, zstd.ZstdError, data, most)


def _by_packbits(data: bytes, most: int) -> int:
    """By the lengths of its runs alone."""
    at = found = 0
    while at < len(data) and found <= most:
        head = data[at]
        literal = head < 128
        found += head + 1 if literal else (257 - head) % 129  # 128 stands for nothing
        at += head + 2 if literal else 2 if head > 128 else 1
    return found


_COUNTS: dict[tuple[int, ...], Callable[[bytes, int], int]] = {
    DEFLATE: _by_zlib, PACKBITS: _by_packbits, LZMA: _by_lzma, ZSTD: _by_zstd,
}  # fmt: skip
