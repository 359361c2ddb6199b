"""EXIF: who took a picture, when, where and how. A block in JPEG and PNG, directories of their own in TIFF.

Values are carried as the bytes they are, so that nothing is lost in understanding them; a TIFF is
therefore written in the byte order of its EXIF.
"""

from __future__ import annotations

import contextlib
import io
import os
import struct
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import BinaryIO

ORIENTATION, DESCRIPTION, SOFTWARE = 274, 270, 305
EXIF, GPS, INTEROPERABILITY, MAKER_NOTE, THUMBNAIL, THUMBNAIL_LENGTH = 34665, 34853, 40965, 37500, 513, 514
# What may stand in the first directory of any picture: description, make, model, orientation, software, date, artist,
# computer, rating, copyright, Windows' title, comment, author, keywords and subject. The rest of it is about pixels.
FIRST = frozenset(
    {DESCRIPTION, 271, 272, ORIENTATION, SOFTWARE, 306, 315, 316, 18246, 18249, 33432, *range(40091, 40096), EXIF, GPS}
)
BELOW = {0: {EXIF, GPS}, EXIF: {INTEROPERABILITY}}  # what other directories a directory has
PREFIX = b"Exif\0\0"
# Bytes of a value by its type: byte, text, short, long, rational, signed ones, undefined, floats, directory, UTF-8.
SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 129: 1}
LARGEST = 2**24  # bytes of values of a directory; a few thousand entries could each name the whole of a file
BROKEN = (struct.error, OverflowError, ValueError, OSError)


@dataclass(frozen=True)
class Entry:
    """A value of some type, or a directory further down."""

    kind: int
    count: int
    value: bytes | dict[int, Entry]


Directory = dict[int, Entry]


class ByteLayout:
    """How numbers stand in a file: byte order "<" or ">", and whether it is a BigTIFF."""

    def __init__(self, order: str, big: bool = False) -> None:
        self.order, self.big = order, big
        self.room = 8 if big else 4  # bytes of an offset, and so of a value that stands in its entry
        forms = ("Q", "Q", "HHQ8s") if big else ("I", "H", "HHI4s")
        self.offset, self.length, self.entry = (order + form for form in forms)


def from_tiff(fp: BinaryIO, at: int, layout: ByteLayout, without: Collection[int] = ()) -> bytes:
    """The block that says what the TIFF directory at `at` does, upright; empty if that is nothing.

    A directory that is damaged gives what can be read of it: the picture matters more.
    """
    found: Directory = {}
    with contextlib.suppress(*BROKEN):
        found = _read(fp, at, layout, FIRST - set(without))
    return upright(_block(found, layout.order))[1] if found else b""


def into_tiff(out: BinaryIO, block: bytes) -> None:
    """Add what a block says to the first page of a TIFF in its byte order.

    The page's directory is written again at the end, with more entries, and the header made to point to it.
    """
    added = _parsed(block, FIRST)
    if not added:
        return
    if ORIENTATION in added:  # the pixels are upright, whatever a damaged block says
        added[ORIENTATION] = Entry(3, 1, struct.pack(byte_order(block) + "H", 1))
    out.seek(2)
    layout = ByteLayout(byte_order(block), big=out.read(2) in (b"+\0", b"\0+"))
    out.seek(layout.room)  # where the header says, in either kind of TIFF, where the first directory is
    (first,) = struct.unpack(layout.offset, out.read(layout.room))
    entries, following = _entries(out, first, layout)
    page: Directory = {tag: Entry(*entry) for tag, entry in entries.items()}
    at = out.seek(0, os.SEEK_END)
    at += out.write(b"\0" * (-at % 8))  # directories begin at even places, those of a BigTIFF at eighths
    out.write(_packed(added | page, layout, at, following))
    out.seek(layout.room)
    out.write(struct.pack(layout.offset, at))


def byte_order(block: bytes) -> str:
    """Of a block: "<", ">", or nothing if it is not one."""
    return {b"II": "<", b"MM": ">"}.get(block.removeprefix(PREFIX)[:2], "")


def shortened(block: bytes, limit: int) -> bytes:
    """A block of at most `limit` bytes: without the maker's note, or else nothing at all."""
    if len(block) <= limit:
        return block
    found = _parsed(block)
    inner = found.get(EXIF)
    if inner and isinstance(inner.value, dict):
        kept = {tag: entry for tag, entry in inner.value.items() if tag != MAKER_NOTE}
        found[EXIF] = replace(inner, value=kept)
    block = _block(found, byte_order(block)) if found else b""
    return block if len(block) <= limit else b""


def upright(block: bytes) -> tuple[int, bytes]:
    """Return the orientation that a block tells, and the block to keep: upright, without the thumbnail.

    It begins with the prefix that JPEG wants, which other formats leave out. Other bytes stay where they were, as a
    maker's note relies on.
    """
    if not byte_order(block):
        return 1, block
    layout, body = ByteLayout(byte_order(block)), bytearray(block.removeprefix(PREFIX))
    orientation = 1
    with contextlib.suppress(struct.error):
        (first,) = struct.unpack_from(layout.offset, body, 4)
        (number,) = struct.unpack_from(layout.length, body, first)
        with contextlib.suppress(*BROKEN):
            _blank_thumbnail(body, layout, first, number)
        for entry in range(first + 2, first + 2 + 12 * number, 12):
            tag, kind = struct.unpack_from(layout.order + "HH", body, entry)
            if tag == ORIENTATION:
                form = layout.order + {1: "B", 4: "I"}.get(kind, "H")
                (value,) = struct.unpack_from(form, body, entry + 8)
                struct.pack_into(form, body, entry + 8, 1)
                orientation = value if 1 <= value <= 8 else 1
                break
    return orientation, PREFIX + bytes(body)


def _blank_thumbnail(body: bytearray, layout: ByteLayout, first: int, number: int) -> None:
    """Blank the small picture some cameras put there, which would still show what was painted out; unlink it too.

    The directory before it is at `first` and has `number` entries.
    """
    second = _entries(io.BytesIO(body), first, layout)[1]
    if second:
        entries = _entries(io.BytesIO(body), second, layout)[0]
        if {THUMBNAIL, THUMBNAIL_LENGTH} <= entries.keys():
            at, length = (struct.unpack(layout.offset, entries[tag][2])[0] for tag in (THUMBNAIL, THUMBNAIL_LENGTH))
            body[at : at + length] = bytes(len(body[at : at + length]))
        struct.pack_into(layout.offset, body, first + 2 + 12 * number, 0)


def _parsed(block: bytes, wanted: Collection[int] | None = None) -> Directory:
    """The directories of a block, as far as they can be read."""
    fp = io.BytesIO(block.removeprefix(PREFIX))
    layout = ByteLayout(byte_order(block))
    with contextlib.suppress(*BROKEN):
        if layout.order:
            fp.seek(4)
            return _read(fp, struct.unpack(layout.offset, fp.read(4))[0], layout, wanted)
    return {}


def _block(directory: Directory, order: str) -> bytes:
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", 8)
    return PREFIX + head + _packed(directory, ByteLayout(order), 8)


def _entries(fp: BinaryIO, at: int, layout: ByteLayout) -> tuple[dict[int, tuple[int, int, bytes]], int]:
    """(type, count, value or its offset) by tag, and where the next directory is."""
    fp.seek(at)
    (number,) = struct.unpack(layout.length, fp.read(struct.calcsize(layout.length)))
    size = struct.calcsize(layout.entry)
    table = fp.read(size * min(number, 4096))
    (following,) = struct.unpack(layout.offset, fp.read(layout.room).ljust(layout.room, b"\0"))
    lines = struct.iter_unpack(layout.entry, table[: len(table) // size * size])
    return {tag: (kind, count, field) for tag, kind, count, field in lines}, following


def _read(
    fp: BinaryIO, at: int, layout: ByteLayout, wanted: Collection[int] | None = None, inside: int = 0
) -> Directory:
    """A directory with its values and the directories below it; what is damaged is left out."""
    end = fp.seek(0, os.SEEK_END)
    left = LARGEST
    found: Directory = {}
    for tag, (kind, count, field) in _entries(fp, at, layout)[0].items():
        if wanted is not None and tag not in wanted:
            continue
        with contextlib.suppress(*BROKEN):
            if tag in BELOW.get(inside, ()):
                (place,) = struct.unpack_from(layout.order + ("I" if kind in (4, 13) else "Q"), field)
                if below := _read(fp, place, layout, inside=tag):
                    found[tag] = Entry(4, 1, below)
                continue
            length = SIZES.get(kind, 0) * count
            value = field[:length]
            if length > layout.room:
                (place,) = struct.unpack(layout.offset, field)
                left -= length
                if place + length > end or left < 0:
                    continue
                fp.seek(place)
                value = fp.read(length)
            if length:
                found[tag] = Entry(kind, count, value)
    return found


def _packed(directory: Directory, layout: ByteLayout, at: int, following: int = 0) -> bytes:
    """A directory to stand at `at`, followed by the values and directories that do not fit into its entries."""
    head = struct.calcsize(layout.length) + len(directory) * struct.calcsize(layout.entry) + layout.room
    table, rest = [struct.pack(layout.length, len(directory))], b""
    for tag, entry in sorted(directory.items()):
        kind, value = entry.kind, entry.value
        if isinstance(value, dict) or len(value) > layout.room:
            rest += b"\0" * (-(at + head + len(rest)) % layout.room)
            place = at + head + len(rest)
            if isinstance(value, dict):
                kind, value = 18 if layout.big else 4, _packed(value, layout, place)
            rest += value
            value = struct.pack(layout.offset, place)
        table.append(struct.pack(layout.entry, tag, kind, entry.count, value))
    return b"".join([*table, struct.pack(layout.offset, following), rest])
