"""Damage to files: of any bytes, and of what each format is made of, with lengths and checksums put right again.

A mutation is drawn from random numbers alone, so that a seed and a number give a file again.
"""

from __future__ import annotations

import gzip
import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Rng = np.random.Generator
NUMBERS = (0, 1, 2, 3, 7, 8, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000,
           0xFFFFFFFF, 2**32, 2**62, 2**63 - 1, 2**64 - 1)  # fmt: skip
MOST = 1 << 16  # bytes, of what is inserted


def mutated(kind: str, data: bytes, other: bytes, rng: Rng) -> bytes:
    """One to three damages of a file; `other` is one of the same format, to take pieces from."""
    knowing = KNOWING.get(kind)
    for _ in range(1 + int(rng.integers(3))):
        knows = knowing is not None and rng.random() < 0.7
        data = knowing(data, rng) if knowing is not None and knows else anyhow(data, other, rng)
    return data


def number(rng: Rng, size: int) -> int:
    """One that is often got wrong, of so many bytes."""
    if rng.random() < 0.3:
        return int.from_bytes(rng.bytes(size), "little")
    return (int(rng.choice(np.array(NUMBERS, object))) + int(rng.integers(-1, 2))) % (1 << 8 * size)


def place(rng: Rng, data: bytes | bytearray) -> int:
    """Somewhere, rather near the beginning."""
    end = max(len(data), 1)
    return int(end * rng.random() ** (1 if rng.random() < 0.5 else 3))


def anyhow(data: bytes, other: bytes, rng: Rng) -> bytes:
    """Bits flipped, numbers put in, pieces cut out, doubled, moved, zeroed, exchanged, or the end cut off."""
    body = bytearray(data)
    at, length = place(rng, body), 1 + int(rng.integers(max(1, min(len(body), 64))))
    match int(rng.integers(8)):
        case 0:
            for _ in range(1 + int(rng.integers(4))):
                if body:
                    body[place(rng, body) % len(body)] ^= 1 << int(rng.integers(8))
        case 1:
            size = int(rng.choice([1, 2, 4, 8]))
            body[at : at + size] = number(rng, size).to_bytes(size, str(rng.choice(["little", "big"])))  # type: ignore[arg-type]
        case 2:
            del body[at : at + length]
        case 3:
            body[at:at] = body[at : at + length] * (1 + int(rng.integers(3)))
        case 4:
            body[at : at + length] = bytes(length)
        case 5:
            start = place(rng, other)
            body[at : at + length] = other[start : start + length]
        case 6:
            body[at:at] = rng.bytes(length)
        case _:
            del body[at:]
    return bytes(body)


def changed(body: bytes, rng: Rng) -> bytes:
    """A few bytes of a part."""
    return anyhow(body, body, rng) if body else number(rng, 4).to_bytes(4, "big")


# --- PNG: chunks, with their lengths and checksums ----------------------------------------------------------

STRANGE = (b"tRNS", b"PLTE", b"IHDR", b"iCCP", b"zTXt", b"iTXt", b"eXIf", b"acTL", b"fcTL", b"fdAT", b"pHYs", b"gAMA",
           b"cHRM", b"sRGB", b"IEND", b"IDAT", b"sBIT", b"tEXt", b"mkBF")  # fmt: skip


def png_chunks(data: bytes) -> list[tuple[bytes, bytes]]:
    """Names and bodies, as far as they go."""
    at, found = 8, []
    while at + 8 <= len(data):
        (length,) = struct.unpack_from(">I", data, at)
        found.append((data[at + 4 : at + 8], data[at + 8 : at + 8 + length]))
        at += 12 + length
    return found


def png_of(chunks: list[tuple[bytes, bytes]]) -> bytes:
    """The file of some chunks."""
    packed = (
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


def _png(data: bytes, rng: Rng) -> bytes:
    chunks = png_chunks(data)
    if not chunks:
        return data
    which = int(rng.integers(len(chunks)))
    name, body = chunks[which]
    match int(rng.integers(7)):
        case 0:  # the header's numbers
            head = bytearray(chunks[0][1].ljust(13, b"\0"))
            if rng.random() < 0.5:
                struct.pack_into(">I", head, int(rng.choice([0, 4])), number(rng, 4))
            else:
                head[int(rng.integers(8, 13))] = int(rng.choice([0, 1, 2, 3, 4, 6, 8, 16, 255]))
            chunks[0] = (chunks[0][0], bytes(head))
        case 1:
            chunks.insert(int(rng.integers(len(chunks) + 1)), (STRANGE[int(rng.integers(len(STRANGE)))], rng.bytes(30)))
        case 2:
            del chunks[which]
        case 3:
            chunks.insert(which, chunks[int(rng.integers(len(chunks)))])
        case 4 if name == b"IDAT":
            inside = zlib.decompressobj()
            try:
                chunks[which] = (name, zlib.compress(changed(inside.decompress(body), rng)))
            except zlib.error:
                chunks[which] = (name, changed(body, rng))
        case 5:
            chunks[which] = (STRANGE[int(rng.integers(len(STRANGE)))], body)
        case _:
            chunks[which] = (name, changed(body, rng))
    return png_of(chunks)


# --- JPEG: segments, with their lengths -----------------------------------------------------------------------


def _jpeg(data: bytes, rng: Rng) -> bytes:
    at, segments = 2, []
    while at + 4 <= len(data) and data[at] == 0xFF and data[at + 1] != 0xDA:
        (length,) = struct.unpack_from(">H", data, at + 2)
        segments.append((data[at + 1], data[at + 4 : at + 2 + length]))
        at += 2 + length
    rest = data[at:]
    if not segments:
        return changed(data, rng)
    which = int(rng.integers(len(segments)))
    marker, body = segments[which]
    frames = [place for place, (kind, head) in enumerate(segments) if kind in (0xC0, 0xC1, 0xC2) and len(head) > 5]
    match int(rng.integers(7)):
        case 0 | 1 if frames:  # size, number of components, their samples and tables
            kind, head = segments[frames[0]]
            fresh = bytearray(head)
            if rng.random() < 0.4:
                struct.pack_into(">H", fresh, int(rng.choice([1, 3])), number(rng, 2))
            else:
                fresh[int(rng.integers(len(fresh)))] = number(rng, 1)
            segments[frames[0]] = (kind, bytes(fresh))
        case 2:
            del segments[which]
        case 3:
            segments.insert(which, segments[int(rng.integers(len(segments)))])
        case 4:
            segments[which] = (
                int(rng.choice([0xC0, 0xC1, 0xC2, 0xC3, 0xC4, 0xDB, 0xDD, 0xE1, 0xE2, 0xED, 0xEE])),
                body,
            )
        case 5:
            rest = changed(rest, rng)
        case _:
            segments[which] = (marker, changed(body, rng)[:65533])
    packed = b"".join(b"\xff" + bytes([kind]) + struct.pack(">H", len(one) + 2) + one for kind, one in segments)
    return data[:2] + packed + rest


# --- TIFF: entries of directories -----------------------------------------------------------------------------

TAGS = (254, 256, 257, 258, 259, 262, 266, 270, 273, 274, 277, 278, 279, 282, 284, 296, 317, 320, 322, 323, 324, 325,
        330, 338, 339, 347, 530, 700, 32997, 34665, 34853, 50838, 50839, 65000)  # fmt: skip


def _tiff(data: bytes, rng: Rng) -> bytes:
    body = bytearray(data)
    try:
        order = {b"II": "<", b"MM": ">"}[bytes(body[:2])]
        big = struct.unpack_from(order + "H", body, 2)[0] == 43
        offset, count, entry = ("Q", "Q", 20) if big else ("I", "H", 12)
        (at,) = struct.unpack_from(order + offset, body, 8 if big else 4)
        for _ in range(int(rng.integers(3))):  # one of the first directories
            (entries,) = struct.unpack_from(order + count, body, at)
            (following,) = struct.unpack_from(order + offset, body, at + struct.calcsize(count) + entry * entries)
            at = following or at
        (entries,) = struct.unpack_from(order + count, body, at)
        first = at + struct.calcsize(count)
        one = first + entry * int(rng.integers(max(1, min(entries, 60))))
        field, size = (one + 4, struct.calcsize(offset))
        match int(rng.integers(8)):
            case 0:
                struct.pack_into(order + "H", body, one, int(rng.choice(TAGS)))
            case 1:
                struct.pack_into(order + "H", body, one + 2, int(rng.choice([0, 1, 2, 3, 4, 5, 7, 9, 11, 12, 16, 99])))
            case 2:
                struct.pack_into(order + offset, body, field, number(rng, size))
            case 3 | 4:
                struct.pack_into(order + offset, body, field + size, number(rng, size))
            case 5:
                struct.pack_into(order + "H", body, field + size, number(rng, 2))
            case 6:  # the next directory: a loop, or nowhere
                where = int(rng.choice([at, 0, 8, len(body) - 4, number(rng, 4)]))
                struct.pack_into(order + offset, body, first + entry * entries, where % (1 << 8 * size))
            case _:
                struct.pack_into(order + count, body, at, number(rng, struct.calcsize(count)))
    except (struct.error, KeyError, OverflowError):
        return changed(data, rng)
    return bytes(body)


# --- BMP: its header ------------------------------------------------------------------------------------------


def _bmp(data: bytes, rng: Rng) -> bytes:
    body = bytearray(data)
    at, form = ((2, "<I"), (10, "<I"), (14, "<I"), (18, "<i"), (22, "<i"), (26, "<H"), (28, "<H"), (30, "<I"),
                (34, "<I"), (38, "<I"), (46, "<I"), (50, "<I"))[int(rng.integers(12))]  # fmt: skip
    size = struct.calcsize(form)
    if len(body) >= at + size:
        small = (1, 2, 4, 8, 16, 24, 32) if at in (28, 30) else (0, 12, 40, 64, 108, 124)
        value = int(rng.choice(small)) if rng.random() < 0.3 else number(rng, size)
        body[at : at + size] = (value % (1 << 8 * size)).to_bytes(size, "little")
    return bytes(body)


# --- safetensors: a header of JSON, then numbers --------------------------------------------------------------


def safetensors_of(header: Any, body: bytes) -> bytes:
    """The file of a header and its numbers."""
    words = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(words)) + words + body


def _safetensors(data: bytes, rng: Rng) -> bytes:
    try:
        (length,) = struct.unpack_from("<Q", data)
        header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    except (struct.error, ValueError):
        return changed(data, rng)
    if not isinstance(header, dict) or not header:
        return changed(data, rng)
    said = header.get("__metadata__")
    match int(rng.integers(6)):
        case 0 if isinstance(said, dict) and said:
            key = str(rng.choice(sorted(said)))
            try:
                said[key] = json.dumps(damaged(json.loads(said[key]), rng))
            except (ValueError, TypeError):
                said[key] = str(damaged(said[key], rng))
        case 1 if isinstance(said, dict) and said:
            del said[str(rng.choice(sorted(said)))]
        case 2:
            one = header[str(rng.choice(sorted(header)))]
            if isinstance(one, dict) and "dtype" in one:
                names = ["F64", "F32", "F16", "BF16", "I64", "I8", "U8", "BOOL", "F8_E4M3", "C64", "X"]
                one["dtype"] = str(rng.choice(names))
        case 3:  # numbers that no operator has
            body = bytearray(body)
            if len(body) >= 4:
                at = int(rng.integers(len(body) // 4)) * 4
                body[at : at + 4] = struct.pack("<f", float(rng.choice([np.nan, np.inf, -np.inf, 1e38, 0, -1])))
        case 4:
            body = changed(bytes(body), rng)
        case _:
            header = damaged(header, rng)
    return safetensors_of(header, bytes(body))


VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1, 2**31, 2**63, 10**30, 1e308, float("nan"), float("inf"), 0.5, "", "x", "0", [], {}, [0],
    [[1]], {"a": 1}, "\0", "é" * 40, [1] * 100, "9" * 5000,
)  # fmt: skip


def damaged(value: Any, rng: Rng) -> Any:
    """Something within a JSON value is another, doubled, or gone."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = str(rng.choice(sorted(map(str, value))))
        fresh = dict(value)
        match int(rng.integers(4)):
            case 0:
                fresh.pop(key, None)
            case 1:
                fresh[f"{key}x"] = fresh.pop(key, None)
            case _:
                fresh[key] = damaged(value.get(key), rng)
        return fresh
    if isinstance(value, list) and value and rng.random() < 0.85:
        at = int(rng.integers(len(value)))
        match int(rng.integers(4)):
            case 0:
                return value[:at] + value[at + 1 :]
            case 1:
                return value[:at] + value[at : at + 1] + value[at:]
            case _:
                return [*value[:at], damaged(value[at], rng), *value[at + 1 :]]
    if isinstance(value, int) and not isinstance(value, bool) and rng.random() < 0.6:
        return value + int(rng.integers(-2, 3))
    return VALUES[int(rng.integers(len(VALUES)))]


def json_text(data: bytes, rng: Rng) -> bytes:
    """A file of JSON, as the descriptions of zarr are."""
    try:
        return json.dumps(damaged(json.loads(data), rng)).encode()
    except ValueError:
        return changed(data, rng)


KNOWING: dict[str, Callable[[bytes, Rng], bytes]] = {
    "png": _png, "jpeg": _jpeg, "tiff": _tiff, "bmp": _bmp, "safetensors": _safetensors, "checkpoint": _safetensors,
    "json": json_text,
}  # fmt: skip


# --- zarr: a folder of descriptions and chunks ----------------------------------------------------------------


def damage_store(store: Path, rng: Rng) -> None:
    """One file of a store, or two: its descriptions more often than its chunks; some are lost, some compressed anew."""
    files = sorted(path for path in store.rglob("*") if path.is_file())
    described = [path for path in files if path.name in ("zarr.json", ".zarray", ".zattrs", ".zgroup")]
    other = described[0].read_bytes()
    for _ in range(1 + int(rng.integers(2))):
        some = described if rng.random() < 0.6 else files
        path = some[int(rng.integers(len(some)))]
        if not path.exists() or rng.random() < 0.05:
            path.unlink(missing_ok=True)
        elif path in described:
            path.write_bytes(mutated("json", path.read_bytes(), other, rng))
        elif rng.random() < 0.2:
            path.write_bytes(gzip.compress(changed(bytes(64), rng)))
        else:
            path.write_bytes(mutated("", path.read_bytes(), b"\0" * 99, rng))
