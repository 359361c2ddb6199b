"""Small files that stand for large ones: what they claim, or what comes of decompressing them."""

from __future__ import annotations

import io
import json
import lzma
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tifffile
from picture_files import encoded, png

from torture import mutations, specimens

INFLATED, PIECE = 3 << 30, 16 << 20  # bytes, of what decompresses
Make = Callable[[Path], Any]


def _deflated() -> bytes:
    """The zeros as raw blocks: one piece, packed so that it may be repeated."""
    packer = zlib.compressobj(9, wbits=-15)
    piece = packer.compress(bytes(PIECE)) + packer.flush(zlib.Z_FULL_FLUSH)
    return piece * (INFLATED // PIECE) + b"\x03\0"


def _zeros() -> bytes:
    """Gigabytes of zeros in megabytes, by zlib."""
    return b"\x78\xda" + _deflated() + struct.pack(">I", (INFLATED % 65521) << 16 | 1)


def _zeros_by_lzma() -> bytes:
    return lzma.compress(bytes(PIECE)) * (INFLATED // PIECE)


def _tiff(data: bytes | None = None, **tags: int) -> bytes:
    """A grey TIFF of 16x16 whose tags and data are others."""
    out = io.BytesIO()
    tifffile.imwrite(out, np.zeros((16, 16), np.uint8), metadata=None, software=False, compression="zlib")
    body = bytearray(out.getvalue())
    numbers = {"width": 256, "height": 257, "compression": 259, "rows": 278}
    changes = {numbers[name]: value for name, value in tags.items()}
    if data is not None:
        changes |= {273: len(body), 279: len(data)}
    (at,) = struct.unpack_from("<I", body, 4)
    (entries,) = struct.unpack_from("<H", body, at)
    for place in range(at + 2, at + 2 + 12 * entries, 12):
        (tag,) = struct.unpack_from("<H", body, place)
        if tag in changes:
            struct.pack_into("<HII", body, place + 2, 4, 1, changes[tag])
    return bytes(body) + (data or b"")


def _tiled(side: int) -> bytes:
    """16x16 pixels in a single tile that claims to be far larger."""
    out = io.BytesIO()
    tifffile.imwrite(out, np.zeros((16, 16), np.uint8), metadata=None, software=False, tile=(16, 16))
    body = bytearray(out.getvalue())
    (at,) = struct.unpack_from("<I", body, 4)
    (entries,) = struct.unpack_from("<H", body, at)
    for place in range(at + 2, at + 2 + 12 * entries, 12):
        if struct.unpack_from("<H", body, place)[0] in (322, 323):
            struct.pack_into("<HII", body, place + 2, 4, 1, side)
    return bytes(body)


def _described(description: str) -> bytes:
    out = io.BytesIO()
    tifffile.imwrite(out, specimens.GREY, metadata=None, description=description, software=False)
    return out.getvalue()


def _laughs() -> str:
    """Entities of entities: a thousand million words."""
    entities = "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(9))
    return (
        f'<?xml version="1.0"?><!DOCTYPE OME [<!ENTITY a0 "ha">{entities}]>'
        '<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Image><Description>&a9;</Description></Image></OME>'
    )


def _large_ome() -> str:
    return (
        '<?xml version="1.0"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Image ID="Image:0">'
        '<Pixels ID="Pixels:0" DimensionOrder="XYZCT" Type="uint8" SizeX="23" SizeY="19" SizeC="1" SizeZ="99999999" '
        'SizeT="99999999"><TiffData IFD="0" PlaneCount="99999999"/></Pixels></Image></OME>'
    )


def _packbits() -> bytes:
    """Two bytes that stand for 128, again and again: 600 MB, and eight times that as a list."""
    return _tiff(b"\x81\0" * (5 << 20), compression=32773)


def _png_with(name: bytes, body: bytes) -> bytes:
    chunks = mutations.png_chunks(encoded(specimens.GREY))
    return mutations.png_of([chunks[0], (name, body), *chunks[1:]])


def _jpeg() -> bytes:
    body = bytearray(encoded(specimens.GREY, "jpeg"))
    at = body.index(b"\xff\xc0")
    struct.pack_into(">HH", body, at + 5, 65500, 65500)
    return bytes(body)


def _bmp() -> bytes:
    body = bytearray(encoded(specimens.GREY, "bmp"))
    struct.pack_into("<ii", body, 18, 100_000, 100_000)
    return bytes(body)


def _gif(screen: bool) -> bytes:
    body = bytearray(encoded(specimens.GREY, "gif"))
    at = 6 if screen else body.index(b",", 13 + 3 * 256) + 5
    struct.pack_into("<HH", body, at, 65535, 65535)
    return bytes(body)


def _operator(**said: str) -> bytes:
    whole = specimens.of("safetensors")[0]
    end = 8 + int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8:end])
    header["__metadata__"] |= said
    return mutations.safetensors_of(header, whole[end:])


def _store(**changes: Any) -> Make:
    def make(folder: Path) -> Path:
        import zarr

        place = folder / "large.zarr"
        zarr.create_array(place, shape=(8, 8), chunks=(8, 8), dtype="u1", overwrite=True)
        said = json.loads((place / "zarr.json").read_text())
        (place / "zarr.json").write_text(json.dumps({**said, **changes}))
        return place

    return make


def _grid(side: int) -> dict[str, Any]:
    return {"name": "regular", "configuration": {"chunk_shape": [side, side]}}


DEEP = "[" * 200_000
BOMBS: dict[str, tuple[str, Make]] = {
    "PNG of 60000x60000": ("png", lambda _: png((60_000, 60_000, 8, 0), [b"\0"])),
    "PNG text": ("png", lambda _: _png_with(b"zTXt", b"Title\0\0" + _zeros())),
    "PNG profile": ("png", lambda _: _png_with(b"iCCP", b"name\0\0" + _zeros())),
    "PNG pixels": ("png", lambda _: mutations.png_of([(b"IHDR", struct.pack(">IIBBBBB", 16, 16, 8, 0, 0, 0, 0)),
                                                      (b"IDAT", _zeros()), (b"IEND", b"")])),
    "JPEG of 65500x65500": ("jpeg", lambda _: _jpeg()),
    "BMP of 100000x100000": ("bmp", lambda _: _bmp()),
    "GIF screen": ("gif", lambda _: _gif(True)),
    "GIF frame": ("gif", lambda _: _gif(False)),
    "TIFF of 70000x70000": ("tiff", lambda _: _tiff(width=70_000, height=70_000, rows=70_000)),
    "TIFF strip by zlib": ("tiff", lambda _: _tiff(_zeros())),
    "TIFF strip by LZMA": ("tiff", lambda _: _tiff(_zeros_by_lzma(), compression=34925)),
    "TIFF strip by PackBits": ("tiff", lambda _: _packbits()),
    "TIFF tile of 60000x60000": ("tiff", lambda _: _tiled(60_000)),
    "OME-XML of many planes": ("tiff", lambda _: _described(_large_ome())),
    "OME-XML of entities": ("tiff", lambda _: _described(_laughs())),
    "ImageJ of many images": ("tiff", lambda _: _described("ImageJ=1.11a\nimages=999999999\nslices=999999999\n")),
    "tifffile's shape": ("tiff", lambda _: _described('{"shape": [99999999, 19, 23], "axes": "QYX"}')),
    "safetensors header of 2^60": ("safetensors", lambda _: struct.pack("<Q", 2**60) + b"{}"),
    "safetensors header of 90 MB": ("safetensors", lambda _: mutations.safetensors_of(b" " * 90_000_000 + b"{}", b"")),
    "operator, deep JSON": ("safetensors", lambda _: _operator(provenance=DEEP)),
    "operator, deep steps": ("safetensors", lambda _: _operator(steps=DEEP)),
    "operator, large patches": ("safetensors", lambda _: _operator(patch_shape="[999999999, 999999999]")),
    "checkpoint, deep JSON": ("checkpoint", lambda _: _operator(format="cosparse-checkpoint-3", settings=DEEP)),
    "zarr of large chunks": ("zarr", _store(shape=[2**40, 2**40], chunk_grid=_grid(2**20))),
    "zarr of 2^80 pixels": ("zarr", _store(shape=[2**40, 2**40])),
    "zarr, deep attributes": ("zarr", _store(attributes=json.loads("[" * 900 + "]" * 900))),
}  # fmt: skip
