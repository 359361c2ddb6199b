"""Small whole files of every kind that is read, to be damaged."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import tifffile
from picture_files import encoded, png
from PIL import Image, PngImagePlugin

import cosparse
from torture.mutations import safetensors_of

PICTURES = ("png", "jpeg", "tiff", "bmp", "gif", "webp")
ROWS, COLUMNS = np.mgrid[:19, :23]
GREY = np.uint8((ROWS * 11 + COLUMNS * 7) % 256)
COLOUR = np.stack([GREY, GREY.T.repeat(2, 0)[:19, :1].repeat(23, 1), 255 - GREY], axis=-1)
DEEP = COLOUR.astype(np.uint16) * 257
STACK = np.stack([GREY, 255 - GREY, GREY // 2])


@cache
def of(kind: str) -> tuple[bytes, ...]:
    """The specimens of a format of one file."""
    return tuple(_MADE[kind]())


def _exif() -> bytes:
    tags = Image.Exif()
    tags[271], tags[274], tags[306] = "Maker", 6, "2026:01:01 00:00:00"
    tags.get_ifd(0x8769)[37500] = b"maker's note" * 9
    tags.get_ifd(0x8825)[1] = "N"
    return tags.tobytes()


def _png() -> Iterator[bytes]:
    text = PngImagePlugin.PngInfo()
    text.add_text("Title", "a bridge")
    text.add_text("Long", "words " * 40, zip=True)
    text.add_itxt("XML:com.adobe.xmp", "<x tiff:Orientation='6'/>")
    yield encoded(GREY)
    yield encoded(COLOUR, dpi=(72, 72), pnginfo=text, exif=_exif(), icc_profile=b"profile" * 30)
    yield encoded(np.dstack([COLOUR, GREY]))
    yield encoded(Image.fromarray(COLOUR).quantize(16), transparency=3)
    yield encoded(GREY.astype(np.uint16) * 257)
    yield encoded(Image.fromarray(GREY > 99))
    yield png((23, 19, 16, 2), [row.astype(">u2").tobytes() for row in DEEP], (b"tRNS", b"\0\7" * 3))
    yield png((23, 19, 16, 4), [np.dstack([row, row]).astype(">u2").tobytes() for row in DEEP[..., :1]])
    frames = [Image.fromarray(GREY), Image.fromarray(255 - GREY)]
    yield encoded(frames[0], save_all=True, append_images=frames[1:])


def _jpeg() -> Iterator[bytes]:
    yield encoded(GREY, "jpeg")
    yield encoded(COLOUR, "jpeg", quality=60, exif=_exif(), comment="a bridge", dpi=(300, 300))
    yield encoded(COLOUR, "jpeg", progressive=True, subsampling=0, icc_profile=b"profile" * 30)
    yield encoded(Image.fromarray(COLOUR).convert("CMYK"), "jpeg")
    yield encoded(Image.fromarray(COLOUR), "mpo", save_all=True, append_images=[Image.fromarray(COLOUR)])


def _tiff() -> Iterator[bytes]:
    plain: list[tuple[Any, dict[str, Any]]] = [
        (GREY, {}),
        (COLOUR, {"compression": "zlib", "predictor": True, "resolution": (72, 72)}),
        (DEEP, {"tile": (16, 16), "compression": "zlib"}),
        (np.dstack([COLOUR, GREY]), {"extrasamples": [1], "byteorder": ">"}),
        (STACK, {"imagej": True, "metadata": {"axes": "ZYX", "unit": "um"}}),
        (STACK, {"ome": True, "metadata": {"axes": "ZYX"}}),
        (STACK, {"metadata": {"axes": "TYX"}, "bigtiff": True}),
        (np.float32(COLOUR) / 255, {"planarconfig": "separate", "photometric": "rgb"}),
    ]
    for values, options in plain:
        out = io.BytesIO()
        tifffile.imwrite(out, values, **options)
        yield out.getvalue()
    for compression in ("tiff_lzw", "jpeg", "group4", "packbits", "lzma", "tiff_adobe_deflate"):
        picture = Image.fromarray(GREY > 99) if compression == "group4" else Image.fromarray(COLOUR)
        yield encoded(picture, "tiff", compression=compression)
    yield encoded(Image.fromarray(COLOUR).quantize(16), "tiff", exif=_exif())


def _bmp() -> Iterator[bytes]:
    yield encoded(GREY, "bmp")
    yield encoded(COLOUR, "bmp", dpi=(72, 72))
    yield encoded(Image.fromarray(GREY > 99), "bmp")
    yield encoded(Image.fromarray(np.dstack([COLOUR, GREY])), "bmp")
    head = b"BM" + (54 + 64 + 12).to_bytes(4, "little") + bytes(4) + (54 + 64).to_bytes(4, "little")
    # 8 bits in runs, which Pillow reads and does not write.
    info = np.array([40, 4, 2], "<u4").tobytes() + np.array([1, 8], "<u2").tobytes()
    info += np.array([1, 12, 72, 72, 16, 0], "<u4").tobytes()
    yield head + info + bytes(range(64)) + bytes([4, 7, 0, 0, 2, 1, 2, 9, 0, 0, 0, 1])


def _gif() -> Iterator[bytes]:
    yield encoded(GREY, "gif")
    frames = [Image.fromarray(COLOUR).quantize(16), Image.fromarray(255 - COLOUR).quantize(16)]
    yield encoded(frames[0], "gif", save_all=True, append_images=frames[1:], transparency=2, comment=b"a bridge")


def _webp() -> Iterator[bytes]:
    yield encoded(COLOUR, "webp", exif=_exif())
    yield encoded(np.dstack([COLOUR, GREY]), "webp", lossless=True)


def _safetensors() -> Iterator[bytes]:
    staged = cosparse.load_operator("staged")
    for one in (
        cosparse.AnalysisOperator.dct(3), cosparse.AnalysisOperator.finite_differences(), refined().operator,
        replace(staged, steps={"denoise": staged.steps["denoise"]}),
    ):  # fmt: skip
        yield (whole := saved(one))
        yield _without_digest(whole)  # as earlier versions wrote it: damage shows by what is wrong alone


def _without_digest(data: bytes) -> bytes:
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:end])
    del header["__metadata__"]["digest"]
    return safetensors_of(header, data[end:])


def saved(operator: cosparse.AnalysisOperator) -> bytes:
    """An operator's file."""
    with tempfile.TemporaryDirectory() as folder:
        operator.save(path := Path(folder, "operator.safetensors"))
        return path.read_bytes()


def learned(**more: Any) -> cosparse.LearnResult:
    """A learning run of some milliseconds."""
    patches = cosparse.sample_patches([GREY], size=3, count=60)
    return cosparse.learn_operator(patches, 10, settings=cosparse.Settings(iterations=6), **more)


def refined(**more: Any) -> cosparse.RefineResult:
    """A training of some milliseconds."""
    photo = np.kron(GREY, np.ones((2, 2))) / 255
    return cosparse.refine_operator(
        cosparse.AnalysisOperator.dct(3), [photo, photo.T], sigma=20, steps=3, batch=1, crop=24, validations=1,
        stages=1, pools=2, **more,
    )  # fmt: skip


RUNS = (learned, refined)


def _checkpoint() -> Iterator[bytes]:
    """Of each of the two runs, stopped half-way."""
    for run in RUNS:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "run")
            run(checkpoint=path, callback=lambda seen: getattr(seen, "iteration", getattr(seen, "step", 0)) >= 2)
            yield path.read_bytes()


def zarr_folders(folder: Path) -> list[Path]:
    """Arrays of both formats, with several compressors, and OME-Zarr groups."""
    import zarr
    from numcodecs import GZip
    from zarr.codecs import BloscCodec, GzipCodec

    from cosparse.cluster.multiscales import Multiscales

    two: dict[str, Any] = {"chunks": (8, 8), "zarr_format": 2}
    three: dict[str, Any] = {"chunks": (8, 8), "zarr_format": 3}
    zarr.create_array(folder / "a.zarr", data=GREY, compressors=GZip(), **two)
    zarr.create_array(folder / "b.zarr", data=np.float32(GREY) / 255, compressors=None, fill_value=0.5, **two)
    zarr.create_array(folder / "c.zarr", data=GREY, compressors=GzipCodec(), **three)
    zarr.create_array(folder / "d.zarr", data=STACK, chunks=(1, 8, 8), zarr_format=3, attributes={"unit": "um"})
    zarr.create_array(folder / "e.zarr", data=GREY, compressors=BloscCodec(), shards=(16, 16), **three)
    axes = tuple({"name": name, "type": "space"} for name in "yx")
    for name, version in (("f.zarr", "0.4"), ("g.zarr", "0.5")):
        kind = {"0.4": 2, "0.5": 3}[version]
        group = zarr.open_group(folder / name, mode="w", zarr_format=kind)
        keys: Any = {"chunk_key_encoding": {"name": "v2", "separator": "/"}} if kind == 2 else {}
        group.create_array("0", data=GREY, chunks=(8, 8), **keys)
        Multiscales(version, axes, (1.0, 1.0), (0.0, 0.0), levels=2).write(folder / name)
    return sorted(folder.glob("*.zarr"))


_MADE: dict[str, Any] = {
    "png": _png, "jpeg": _jpeg, "tiff": _tiff, "bmp": _bmp, "gif": _gif, "webp": _webp, "safetensors": _safetensors,
    "checkpoint": _checkpoint,
}  # fmt: skip
