"""Read and write image files, and move values to and from float32 on 0..255.

PNG, JPEG, BMP and TIFF; 8 bit, 16 bit and (TIFF) float32; grey or colour, with or without
transparency; TIFF stacks. What cannot be read or written without loss is an error.
"""

from __future__ import annotations

import contextlib
import glob
import io
import math
import os
import shutil
import struct
import sys
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from cosparse.files import replacing

# Pillow, tifffile and scikit-image are imported where used, so that importing the package is fast.

Array = npt.NDArray[Any]
PathLike = str | os.PathLike[str]

_SUFFIXES = {
    ".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".bmp": "bmp", ".tif": "tiff", ".tiff": "tiff",
}  # fmt: skip
_MAGIC = {
    b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg", b"BM": "bmp", b"II*\0": "tiff",
    b"MM\0*": "tiff", b"II+\0": "tiff", b"MM\0+": "tiff",
}  # fmt: skip
_TIFF_TEXT = (271, 272, 306, 315, 33432)  # make, model, date, artist, copyright
_ORIENTATION = 274


class _RefusedError(ValueError):
    """A reason worded for the user, to which the file's name is then prefixed."""


@dataclass(frozen=True, eq=False)
class Picture:
    """What an image file held.

    Attributes
    ----------
    pixels : ndarray
        uint8, uint16 or float32, shape (h, w) or (h, w, 3); (pages, h, w[, 3]) when `stack`.
    alpha : ndarray or None
        Transparency, of the shape of `pixels` without channels; `pixels` never include it.
    channel_axis : int or None
        -1 for colour, None for grey.
    stack : bool
        Whether the leading axis counts the pages of a TIFF.
    data_range : float
        255 for uint8 and 65535 for uint16. For floats 1.0 if every finite value lies in [0, 1],
        else 255 if none exceeds 255, else the largest finite value.
    metadata : mapping
        ``exif`` and ``icc_profile`` (bytes), ``dpi`` (x, y), ``tiff`` (text tags), as present.
    format : str
        "png", "jpeg", "bmp" or "tiff".
    """

    pixels: Array
    alpha: Array | None = None
    channel_axis: int | None = None
    stack: bool = False
    data_range: float = 255.0
    metadata: Mapping[str, Any] = field(default_factory=dict)
    format: str = "png"


# --- values ---------------------------------------------------------------------------------------


def default_range(like: npt.DTypeLike | Array, *, name: str = "image") -> float:
    """Return the value that stands for white: 255, 65535, 1.0 for floats and bool.

    >>> default_range(np.uint16)
    65535.0
    """
    dtype = like.dtype if isinstance(like, np.ndarray | np.generic) else np.dtype(like)
    if dtype.kind in "bf":
        return 1.0
    if dtype.kind == "u":
        return float(np.iinfo(dtype).max)
    raise ValueError(
        f"{name}: {dtype} values have no agreed range; pass data_range, or convert to uint8, "
        "uint16 or float"
    )


def _range(like: Array | np.dtype[Any], data_range: float | None, name: str) -> float:
    if data_range is None:
        return default_range(like, name=name)
    if not 0 < data_range < math.inf:
        raise ValueError(f"data_range: must be positive and finite, got {data_range!r}")
    return float(data_range)


def to_working(
    image: npt.ArrayLike, *, data_range: float | None = None, name: str = "image"
) -> npt.NDArray[np.float32]:
    """Return a new C-contiguous float32 copy of `image` on 0..255.

    NaN passes (it marks missing pixels); infinite, empty, masked and non-numeric arrays raise a
    ValueError that begins with `name`.

    >>> to_working(np.array([0, 257, 65535], np.uint16))
    array([  0.,   1., 255.], dtype=float32)
    """
    array = np.asarray(image)
    if array.dtype.kind not in "buif":
        raise ValueError(f"{name}: holds {array.dtype} values; pass an array of real numbers")
    if array.size == 0:
        raise ValueError(f"{name}: is empty (shape {array.shape}); pass at least one pixel")
    if isinstance(image, np.ma.MaskedArray) and np.ma.is_masked(image):
        raise ValueError(f"{name}: has masked values; fill them, or use inpaint with the mask")
    scale = 255.0 / _range(array, data_range, name)
    with np.errstate(over="ignore"):  # an overflow becomes an infinity, reported below
        precise = np.float64 if array.dtype.itemsize > 4 else np.float32
        wide: Array = array.astype(precise, order="C")
        wide *= scale
        work: npt.NDArray[np.float32] = wide.astype(np.float32, copy=False)
    if array.dtype.kind == "f" and np.isinf(work).any():
        raise ValueError(f"{name}: has infinite values; replace them, or mark them missing as NaN")
    return work


def from_working(
    values: npt.ArrayLike, *, dtype: npt.DTypeLike, data_range: float | None = None
) -> Array:
    """Return `values` on 0..255 as `dtype`: integers rounded and clipped, floats neither.

    >>> from_working([-3.0, 127.4, 300.0], dtype=np.uint8)
    array([  0, 127, 255], dtype=uint8)
    """
    target: np.dtype[Any] = np.dtype(dtype)
    work: Array = np.asarray(values)
    if target.kind not in "buif":
        raise ValueError(f"dtype: {target} cannot hold an image; use uint8, uint16 or float32")
    # Wide integers are not exact in float32.
    wide = target.itemsize > (4 if target.kind == "f" else 2)
    precise = np.result_type(work, np.float64 if wide else np.float32)
    scaled: Array = np.multiply(work, _range(target, data_range, "dtype") / 255.0, dtype=precise)
    if target.kind == "f":
        return scaled.astype(target)
    if np.isnan(scaled).any():
        raise ValueError(f"values: hold NaN, which {target} cannot; fill them or use a float dtype")
    if target.kind == "b":
        return np.greater_equal(scaled, 0.5)
    bounds, exact = np.iinfo(target), 2**53  # beyond 2**53 a float64 would round out of the type
    np.rint(scaled, out=scaled)
    np.clip(scaled, max(bounds.min, -exact), min(bounds.max, exact), out=scaled)
    return scaled.astype(target)


# --- finding --------------------------------------------------------------------------------------


def find_images(paths: PathLike | Iterable[PathLike]) -> list[Path]:
    """List the image files that `paths` name: files, folders (searched through) and patterns.

    A file is taken whatever its suffix; folders and patterns give the supported suffixes only,
    sorted, without hidden files. Each file appears once.

    Raises
    ------
    FileNotFoundError
        A path does not exist.
    ValueError
        A folder or a pattern holds no image.
    """
    found: dict[Path, None] = {}
    inside: Iterable[Path]
    for given in [paths] if isinstance(paths, str | os.PathLike) else paths:
        path, shown = Path(given), _shown(given)
        if path.is_dir():
            kind, inside = "folder", path.rglob("*")
        elif path.exists():
            found[path] = None
            continue
        elif glob.has_magic(str(path)):
            kind, inside = "pattern", map(Path, glob.iglob(str(path), recursive=True))
        else:
            raise FileNotFoundError(f"{shown}: no such file or folder; check the path")
        depth = len(path.parts) if kind == "folder" else -1  # the folder given may itself be hidden
        images = sorted(
            p
            for p in inside
            if p.suffix.lower() in _SUFFIXES
            and not any(part.startswith(".") for part in p.parts[depth:])
            and p.is_file()
        )
        if not images:
            raise ValueError(f"{shown}: this {kind} holds no PNG, JPEG, BMP or TIFF image")
        found.update(dict.fromkeys(images))
    return list(found)


# --- reading --------------------------------------------------------------------------------------


def read_image(
    source: PathLike | bytes | BinaryIO, *, name: str | None = None, max_pixels: int = 500_000_000
) -> Picture:
    """Read a PNG, JPEG, BMP or TIFF, known by its content and not by its suffix.

    Palettes and 1-bit images are expanded to 8 bits, EXIF and TIFF orientation is applied,
    premultiplied TIFF colours are divided by their alpha, float64 becomes float32.

    Parameters
    ----------
    source : path, bytes or binary file
        Text is a path.
    name : str, optional
        What error messages call it; the path by default.
    max_pixels : int
        Refuse, before decoding, an image or a stack with more pixels in all.

    Raises
    ------
    FileNotFoundError, IsADirectoryError, PermissionError
        As for `open`.
    ValueError
        The file is not such an image, is damaged, or holds what would be lost.
    """
    if isinstance(source, str | os.PathLike):
        shown = _shown(name or source)
        with _open(source, shown) as handle:
            return _decode(handle, shown, max_pixels)
    data = bytes(source) if isinstance(source, bytes | bytearray | memoryview) else source.read()
    return _decode(io.BytesIO(data), _shown(name or "image"), max_pixels)


def read_grey(source: PathLike | bytes | BinaryIO) -> npt.NDArray[np.float32]:
    """Read as (h, w) float32 on 0..255: the luma of a colour, the first page of a stack."""
    picture = read_image(source)
    work = to_working(
        picture.pixels[0] if picture.stack else picture.pixels, data_range=picture.data_range
    )
    if picture.channel_axis is None:
        return work
    from skimage.color import rgb2gray

    return np.ascontiguousarray(rgb2gray(work), dtype=np.float32)


def _shown(name: object) -> str:
    """Return a file's name as one line, whatever characters it has."""
    text = os.fsdecode(name) if isinstance(name, bytes | os.PathLike) else str(name)
    return text if text.isprintable() else ascii(text)


def _open(path: PathLike, shown: str) -> BinaryIO:
    try:
        if os.path.isdir(path):  # Windows would say that permission is denied
            raise IsADirectoryError
        return open(path, "rb")
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(f"{shown}: no such file; check the path") from None
    except IsADirectoryError:
        raise IsADirectoryError(f"{shown}: is a folder; name a file in it") from None
    except PermissionError:
        raise PermissionError(f"{shown}: may not be read; change its permissions") from None
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{shown}: cannot be opened ({_one_line(error)}); check the path"
        ) from None


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def _decode(fp: BinaryIO, shown: str, max_pixels: int) -> Picture:
    head = fp.read(32)
    kind = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)
    if not head:
        raise ValueError(f"{shown}: the file is empty; save or copy it again")
    if kind is None:
        raise ValueError(f"{shown}: not a PNG, JPEG, BMP or TIFF by its content; convert it to PNG")
    fp.seek(0)
    try:
        if kind == "tiff":
            samples, stack, orientation, metadata = _decode_tiff(fp, max_pixels)
        else:
            samples, orientation, metadata = _decode_pillow(fp, kind, head, max_pixels)
            stack = False
        return _picture(samples, stack, orientation, metadata, kind)
    except MemoryError:
        raise
    except _RefusedError as error:
        raise ValueError(f"{shown}: {error}") from None
    except Exception as error:  # a damaged file makes decoders raise nearly anything
        raise ValueError(
            f"{shown}: cannot be decoded as {kind.upper()} ({_one_line(error)}); it is damaged "
            "or cut short, save or copy it again"
        ) from error


def _picture(
    samples: Array, stack: bool, orientation: int, metadata: dict[str, Any], kind: str
) -> Picture:
    """Sort decoded samples, (h, w[, c]) or (pages, h, w[, c]), into a Picture."""
    metadata = {key: value for key, value in metadata.items() if value}
    channels = samples.shape[-1] if samples.ndim - stack == 3 else 1
    samples = _storable(samples)
    row, column = int(stack), int(stack) + 1
    if orientation >= 5:
        samples = samples.swapaxes(row, column)
        if "dpi" in metadata:
            metadata["dpi"] = metadata["dpi"][::-1]
    if orientation in (2, 3, 6, 7):
        samples = np.flip(samples, column)
    if orientation in (3, 4, 7, 8):
        samples = np.flip(samples, row)
    alpha = np.ascontiguousarray(samples[..., -1]) if channels in (2, 4) else None
    pixels = np.ascontiguousarray({2: samples[..., 0], 4: samples[..., :3]}.get(channels, samples))
    if alpha is not None and metadata.get("alpha_kind") == [1]:
        # Premultiplied; everything after this works on straight colours.
        top = default_range(alpha)
        part = (alpha if channels == 2 else alpha[..., None]) / top
        straight = np.divide(pixels, part, out=np.zeros(pixels.shape), where=part > 0)
        if pixels.dtype.kind == "u":
            straight = np.rint(np.minimum(straight, top))
        pixels, metadata["alpha_kind"] = straight.astype(pixels.dtype), [2]
    data_range = default_range(pixels)
    if pixels.dtype.kind == "f":
        finite = pixels[np.isfinite(pixels)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
        data_range = 1.0 if low >= 0 and high <= 1 else max(255.0, high)
    axis = -1 if channels >= 3 else None
    return Picture(pixels, alpha, axis, stack, data_range, metadata, kind)


def _storable(samples: Array) -> Array:
    """Return samples as native uint8, uint16 or float32, or refuse."""
    dtype = samples.dtype
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return samples.astype(np.float32, copy=False)
    if dtype.kind not in "ui":
        raise _RefusedError(f"holds {dtype} values; convert it to 8 bit, 16 bit or float32")
    target: np.dtype[Any] = np.dtype(np.uint8 if dtype.itemsize == 1 else np.uint16)
    if dtype != target and (samples.min() < 0 or samples.max() > np.iinfo(target).max):
        raise _RefusedError(
            f"holds {dtype} values from {samples.min()} to {samples.max()}, which do not fit "
            f"{target}; convert it to {target} or float32"
        )
    return samples.astype(target, copy=False)


def _check_size(size: tuple[int, int], pages: int, max_pixels: int) -> None:
    width, height = size
    if width * height * pages > max_pixels:
        shape = f"{width}x{height}" + (f"x{pages}" if pages > 1 else "")
        raise _RefusedError(f"is {shape} pixels, over the limit of {max_pixels}; raise max_pixels")


def _clean_dpi(dpi: Any) -> tuple[float, float] | None:
    with contextlib.suppress(TypeError, ValueError, ZeroDivisionError, OverflowError):
        x, y = (float(value) for value in dpi)
        if 0 < x < 65536 and 0 < y < 65536:
            return x, y
    return None


def _upright(exif: bytes) -> tuple[int, bytes]:
    """Return the orientation, and the EXIF with that tag set to 1, other bytes as they were."""
    start = 6 if exif.startswith(b"Exif\0\0") else 0
    order = {b"II": "<", b"MM": ">"}.get(exif[start : start + 2])
    with contextlib.suppress(struct.error):
        if order:
            at = start + struct.unpack_from(order + "I", exif, start + 4)[0]
            for index in range(struct.unpack_from(order + "H", exif, at)[0]):
                entry = at + 2 + 12 * index
                tag, kind = struct.unpack_from(order + "HH", exif, entry)
                if tag == _ORIENTATION:
                    form = order + {1: "B", 4: "I"}.get(kind, "H")
                    fixed = bytearray(exif)
                    value = int(struct.unpack_from(form, exif, entry + 8)[0])
                    struct.pack_into(form, fixed, entry + 8, 1)
                    return (value if 1 <= value <= 8 else 1), bytes(fixed)
    return 1, exif


def _samples(image: Any) -> Array:
    """Return the samples of an opened Pillow image, palettes and 1 bit expanded."""
    if image.mode == "CMYK":
        raise _RefusedError("is a CMYK image; convert it to RGB first")
    if image.mode in ("P", "PA", "YCbCr"):
        image.load()
        see_through = image.mode == "PA" or "transparency" in image.info
        image = image.convert("RGBA" if see_through else "RGB")
    array: Array = np.array(image)
    return array.astype(np.uint8) * np.uint8(255) if array.dtype == bool else array


def _one_byte(fp: BinaryIO, plugin: Any, frame: int, order: str) -> Array:
    """Return one byte of each sample of 16-bit colour.

    Pillow has no 16-bit colour mode: it keeps one byte of each sample, the high one if told the
    true byte order, "B" or "L". Told the opposite order it keeps the low one.
    """
    fp.seek(0)
    image = plugin(fp)
    image.seek(frame)
    tile, raw = image.tile[0], f"{image.mode};16{order}"
    args = raw if isinstance(tile.args, str) else (raw, *tile.args[1:])
    image.tile = [tile._replace(args=args)]
    return np.array(image)


def _two_bytes(high: Array, low: Array) -> Array:
    both: Array = np.bitwise_or(high.astype(np.uint16) << 8, low)
    return both


def _decode_pillow(
    fp: BinaryIO, kind: str, head: bytes, max_pixels: int
) -> tuple[Array, int, dict[str, Any]]:
    from PIL import BmpImagePlugin, JpegImagePlugin, PngImagePlugin

    plugins: dict[str, Any] = {
        "png": PngImagePlugin.PngImageFile,
        "jpeg": JpegImagePlugin.JpegImageFile,
        "bmp": BmpImagePlugin.BmpImageFile,
    }
    # Not Image.open: its own size limit is global, lower than ours, and a warning first.
    image = plugins[kind](fp)
    _check_size(image.size, 1, max_pixels)
    if kind == "png" and getattr(image, "n_frames", 1) > 1:
        raise _RefusedError("is an animated PNG; save its frames as separate files")
    bits, colour = (head[24], head[25]) if kind == "png" else (8, 2)  # fixed places in the header
    mode = image.mode
    if bits == 16 and colour == 4:
        # Pillow cuts grey+alpha to 8 bits, but 4 bytes a pixel is also what 8-bit RGBA is.
        image.tile = [image.tile[0]._replace(args="RGBA")]
        samples = np.array(image).view(">u2")
    else:
        samples = _samples(image)
        if bits == 16 and colour in (2, 6):
            samples = _two_bytes(samples, _one_byte(fp, plugins[kind], 0, "L"))
    key = image.info.get("transparency")  # one grey or colour that stands for "nothing here"
    if key is not None and mode in ("1", "L", "I;16", "RGB"):
        if mode != "RGB":
            samples = samples[..., None]
        top = np.iinfo(samples.dtype).max
        stored = np.atleast_1d(key) & (2 ** max(bits, 8) - 1)
        if mode == "L":
            stored *= 255 // (2**bits - 1)  # Pillow spreads 2 and 4 bits over 0..255
        solid = (samples != stored).any(axis=-1, keepdims=True)
        samples = np.concatenate([samples, np.where(solid, top, 0).astype(samples.dtype)], axis=-1)
    orientation, exif = _upright(image.info.get("exif", b""))
    profile, dpi = image.info.get("icc_profile"), _clean_dpi(image.info.get("dpi"))
    metadata = {"exif": exif, "icc_profile": profile, "dpi": dpi}
    return samples, orientation, metadata


def _decode_tiff(fp: BinaryIO, max_pixels: int) -> tuple[Array, bool, int, dict[str, Any]]:
    import tifffile

    with tifffile.TiffFile(fp) as tif:
        size = fp.seek(0, os.SEEK_END)
        every: list[Any] = list(tif.pages)
        # tifffile gives the pages it could reach; a chain that does not end in 0 was cut.
        fp.seek(tif.pages.next_page_offset or 0)
        if any(fp.read(tif.tiff.offsetsize)):
            raise _RefusedError("is cut short, pages are missing; save or copy it again")
        pages = [page for page in every if not page.is_reduced and not page.is_mask]
        if not pages:
            raise _RefusedError("holds no full-size image; convert it to a plain TIFF or PNG")
        first = pages[0]
        wide, high = int(first.imagewidth), int(first.imagelength)  # damage can make them tuples
        _check_size((wide, high), len(pages), max_pixels)
        if any(_layout(page) != _layout(first) for page in pages):
            raise _RefusedError("has pages of different kinds; save them as separate files")
        for page in pages:
            spans = zip(page.dataoffsets, page.databytecounts, strict=True)
            if any(start + length > size for start, length in spans):
                raise _RefusedError("is cut short, pixels are missing; save or copy it again")
        if tif.series[0].size > first.size * len(pages):
            raise _RefusedError("keeps a stack under one header; save it as a plain TIFF stack")
        decoded = [_tiff_page(fp, page, tifffile) for page in pages]
        orientation = int(first.tags.valueof(_ORIENTATION, 1))
        metadata: dict[str, Any] = {"icc_profile": first.iccprofile}
        if 282 in first.tags and first.resolutionunit in (2, 3):  # per inch or per cm
            metadata["dpi"] = _clean_dpi(first.get_resolution(2))
        text = {code: first.tags.valueof(code) for code in _TIFF_TEXT}
        metadata["tiff"] = {code: value for code, value in text.items() if isinstance(value, str)}
        metadata["alpha_kind"] = [int(kind) for kind in first.extrasamples]
        if not _by_tifffile(first, tifffile):  # Pillow turns what it decodes, tifffile does not
            orientation = 1
            if first.bitspersample == 8 and first.samplesperpixel == 4:
                metadata["alpha_kind"] = [2]  # and it divides by the alpha
    stack = len(decoded) > 1
    return (np.stack(decoded) if stack else decoded[0]), stack, orientation, metadata


def _layout(page: Any) -> tuple[Any, ...]:
    return page.shape, page.axes, page.dtype, page.bitspersample, page.photometric


def _check_tiff(page: Any) -> None:
    """Refuse what has no faithful reading as grey or RGB, with or without one alpha."""
    if page.photometric == 5:
        raise _RefusedError("is a CMYK image; convert it to RGB first")
    if page.photometric not in (0, 1, 2, 3, 6):
        raise _RefusedError(f"has {page.photometric.name} colours; convert it to RGB first")
    if page.axes not in ("YX", "YXS", "SYX") or page.dtype is None:
        raise _RefusedError(f"has an unsupported layout {page.axes}; convert it to a plain TIFF")
    if page.bitspersample not in (1, 2, 4, 8, 16, 32, 64):
        raise _RefusedError(f"has {page.bitspersample} bits a sample; convert it to 8 or 16 bits")
    if page.samplesperpixel not in ((3, 4) if page.photometric in (2, 6) else (1, 2)):
        raise _RefusedError(f"has {page.samplesperpixel} channels; keep grey or RGB, and one alpha")


def _by_tifffile(page: Any, tifffile: Any) -> bool:
    """Whether tifffile decodes this without its optional codecs; else Pillow's libtiff does."""
    return (
        page.compression in tifffile.TIFF.DECOMPRESSORS
        and page.predictor in tifffile.TIFF.UNPREDICTORS
        and page.bitspersample not in (2, 4)
        and page.photometric != 6
    )


def _tiff_page(fp: BinaryIO, page: Any, tifffile: Any) -> Array:
    _check_tiff(page)
    if _by_tifffile(page, tifffile):
        return _finish_tiff(page.asarray(), page)
    from PIL import TiffImagePlugin

    try:
        if page.bitspersample == 16 and page.samplesperpixel > 1:
            if page.samplesperpixel == 2 or page.planarconfig != 1:
                raise ValueError("16-bit planes")
            little = sys.byteorder == "little"  # libtiff hands out the machine's own order
            plugin = TiffImagePlugin.TiffImageFile
            halves = (_one_byte(fp, plugin, page.index, o) for o in ("LB" if little else "BL"))
            return _two_bytes(*halves)
        fp.seek(0)
        image = TiffImagePlugin.TiffImageFile(fp)
        image.seek(page.index)
        samples = _samples(image)
        # Pillow turns white-is-zero round at 8 bits and not at 16.
        inverted = page.photometric == 0 and samples.dtype.itemsize == 2
        return np.iinfo(samples.dtype).max - samples if inverted else samples
    except _RefusedError:
        raise
    except Exception as error:
        raise _RefusedError(
            f"cannot be decoded ({page.compression.name} compression, {_one_line(error)}); it is "
            "damaged, or save it without compression"
        ) from error


def _finish_tiff(samples: Array, page: Any) -> Array:
    if page.axes == "SYX":
        samples = np.moveaxis(samples, 0, -1)
    if page.photometric == 3:
        table = np.asarray(page.colormap)  # (3, colours), 16 bit; mostly 8-bit values spread out
        coarse = table >> 8
        if (table == coarse * 257).all() or (table == coarse << 8).all():
            table = coarse.astype(np.uint8)
        return np.moveaxis(table[:, samples], 0, -1)
    if samples.dtype == bool:
        samples = samples.astype(np.uint8) * np.uint8(255)
    if page.photometric == 0:
        if samples.dtype.kind != "u":
            raise _RefusedError("is white-is-zero in a signed type; convert it to black-is-zero")
        samples = np.iinfo(samples.dtype).max - samples
    return samples


# --- writing --------------------------------------------------------------------------------------


def write_image(
    target: PathLike | BinaryIO,
    pixels: npt.ArrayLike,
    *,
    like: Picture | None = None,
    format: str | None = None,
) -> None:
    """Write uint8, uint16, bool or float pixels, whole or not at all.

    Parameters
    ----------
    target : path or binary file
        A file is written under a temporary name beside it and then renamed.
    pixels : array_like
        (h, w), (h, w, 3) or, with transparency, (h, w, 4); with a leading page axis, a TIFF stack.
        Three axes are a grey stack if `like` is one, or if the last is neither 3 nor 4 long.
    like : Picture, optional
        Whose alpha and metadata to keep. Its alpha must fit the pixels: after resizing pass
        ``dataclasses.replace(like, alpha=resized)``. A TIFF keeps no EXIF, a BMP only the dpi.
    format : str, optional
        By default from the suffix of `target`, else as `like`.

    Raises
    ------
    ValueError
        The format cannot hold these pixels. JPEG and BMP are 8 bit without transparency, PNG is
        8 or 16 bit, TIFF takes all.
    """
    path = target if isinstance(target, str | os.PathLike) else None
    shown, suffix = ("image", "") if path is None else (_shown(path), Path(path).suffix)
    asked = format or suffix or (like.format if like else "")
    kind = _SUFFIXES.get("." + asked.lower().lstrip("."))
    if kind is None:
        raise ValueError(f"{shown}: cannot write format {asked!r}; use png, jpeg, bmp or tiff")
    try:
        samples, colour, stack = _to_store(np.asarray(pixels), like)
        data = _encode(kind, samples, colour, stack, dict(like.metadata) if like else {}, like)
    except MemoryError:
        raise
    except _RefusedError as error:
        raise ValueError(f"{shown}: {error}") from None
    except Exception as error:
        raise ValueError(
            f"{shown}: cannot be written as {kind.upper()} ({_one_line(error)})"
        ) from error
    if not isinstance(target, str | os.PathLike):
        target.write(data)
        return
    real = Path(os.path.realpath(target))  # a link stays one
    try:
        if real.exists() and not os.access(real, os.W_OK):  # renaming would get round this
            raise PermissionError
        if real.exists() and not real.is_file() and not real.is_dir():
            real.write_bytes(data)  # a pipe or a device must not be renamed over
            return
        with replacing(real) as temporary:
            temporary.write_bytes(data)
            if real.exists():
                shutil.copymode(real, temporary)
    except PermissionError:
        raise PermissionError(f"{shown}: may not be written; change its permissions") from None
    except (FileNotFoundError, IsADirectoryError):
        raise
    except OSError as error:
        raise OSError(
            f"{shown}: cannot be written ({error.strerror}); check the disk's free space"
        ) from error


def _to_store(pixels: Array, like: Picture | None) -> tuple[Array, bool, bool]:
    """Return native samples with alpha as last channel, whether colour, whether a stack."""
    if pixels.dtype == bool:
        pixels = pixels.astype(np.uint8) * np.uint8(255)
    elif pixels.dtype.kind == "f":
        pixels = pixels.astype(np.float32)
    elif pixels.dtype.kind != "u" or pixels.dtype.itemsize > 2:
        raise _RefusedError(
            f"cannot write {pixels.dtype} pixels; convert to uint8, uint16 or float32"
        )
    if pixels.size == 0 or pixels.ndim not in (2, 3, 4):
        raise _RefusedError(f"cannot write shape {pixels.shape}; use (h, w), (h, w, 3) or a stack")
    grey_pages = pixels.ndim == 3 and (
        pixels.shape[-1] not in (3, 4) or (like and like.stack and like.channel_axis is None)
    )
    colour = pixels.ndim > 2 and not grey_pages
    if colour and pixels.shape[-1] not in (3, 4):
        raise _RefusedError(f"cannot write shape {pixels.shape}; a colour axis is 3 or 4 long")
    stack = pixels.ndim - colour == 3
    pixels = pixels.astype(pixels.dtype.newbyteorder("="), copy=False)
    if like and like.alpha is not None and not (colour and pixels.shape[-1] == 4):
        alpha = like.alpha
        if alpha.shape != pixels.shape[: 2 + stack]:
            raise _RefusedError(
                f"pixels are {pixels.shape} but like.alpha is {alpha.shape}; resize it, or drop it "
                "with dataclasses.replace(like, alpha=None)"
            )
        if alpha.dtype != pixels.dtype:
            alpha = from_working(to_working(alpha, name="like.alpha"), dtype=pixels.dtype)
        pixels = np.concatenate(
            [pixels if colour else pixels[..., None], alpha[..., None]], axis=-1
        )
    return np.ascontiguousarray(pixels), bool(colour), stack


def _encode(
    kind: str,
    samples: Array,
    colour: bool,
    stack: bool,
    metadata: dict[str, Any],
    like: Picture | None,
) -> bytes | memoryview:
    has_alpha = samples.ndim - stack == 3 and samples.shape[-1] in (2, 4)
    deep = samples.dtype != np.uint8
    if like and colour != (like.channel_axis is not None):
        metadata.pop("icc_profile", None)  # a profile for grey is wrong on RGB, and the reverse
    if kind == "tiff":
        return _encode_tiff(samples, colour, has_alpha, metadata)
    if stack:
        raise _RefusedError(f"{kind.upper()} cannot hold a stack; write TIFF")
    if kind != "png" and has_alpha:
        raise _RefusedError(f"{kind.upper()} cannot hold transparency; write PNG or TIFF")
    if samples.dtype.kind == "f":
        raise _RefusedError(f"{kind.upper()} cannot hold floats; write TIFF, or convert to uint8")
    if kind != "png" and deep:
        raise _RefusedError(f"{kind.upper()} cannot hold 16 bits; write PNG or TIFF")
    if deep and samples.ndim == 3:
        return _encode_png16(samples, metadata)
    from PIL import Image

    held = ("dpi",) if kind == "bmp" else ("dpi", "exif", "icc_profile")
    options = {key: metadata[key] for key in held if key in metadata}
    if kind == "jpeg":
        options.update(quality=95, subsampling=0)
    out = io.BytesIO()
    Image.fromarray(samples).save(out, format=kind, **options)
    return out.getbuffer()


def _encode_png16(samples: Array, metadata: Mapping[str, Any]) -> bytes:
    """Return a 16-bit PNG of 2 to 4 channels, which Pillow cannot write."""
    height, width, channels = samples.shape

    def chunk(tag: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + tag + body + struct.pack(">I", zlib.crc32(tag + body))

    head = struct.pack(">IIBBBBB", width, height, 16, {2: 4, 3: 2, 4: 6}[channels], 0, 0, 0)
    parts = [b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", head)]
    if profile := metadata.get("icc_profile"):
        parts.append(chunk(b"iCCP", b"ICC Profile\0\0" + zlib.compress(profile)))
    if dpi := metadata.get("dpi"):
        parts.append(chunk(b"pHYs", struct.pack(">IIB", *(round(v / 0.0254) for v in dpi), 1)))
    if exif := metadata.get("exif"):
        parts.append(chunk(b"eXIf", exif.removeprefix(b"Exif\0\0")))
    # Each row begins with its filter: 1, every byte less the one a pixel before it (mod 256).
    rows = samples.astype(">u2").view(np.uint8).reshape(height, -1)
    filtered = np.empty((height, rows.shape[1] + 1), np.uint8)
    filtered[:, 0], filtered[:, 1:] = 1, rows
    filtered[:, 1 + 2 * channels :] -= rows[:, : -2 * channels]
    packer = zlib.compressobj(6)
    for block in np.array_split(filtered, max(1, filtered.nbytes >> 24)):  # a chunk ends at 2 GB
        if packed := packer.compress(block.tobytes()):
            parts.append(chunk(b"IDAT", packed))
    return b"".join([*parts, chunk(b"IDAT", packer.flush()), chunk(b"IEND", b"")])


def _encode_tiff(
    samples: Array, colour: bool, has_alpha: bool, metadata: Mapping[str, Any]
) -> memoryview:
    import tifffile

    options: dict[str, Any] = {"photometric": "rgb" if colour else "minisblack"}
    options["iccprofile"] = metadata.get("icc_profile")
    if colour or has_alpha:
        options["planarconfig"] = "contig"
    if has_alpha:
        options["extrasamples"] = metadata.get("alpha_kind", [2])
    if "dpi" in metadata:
        options.update(resolution=metadata["dpi"], resolutionunit=2)
    text = metadata.get("tiff", {})
    options["extratags"] = [(code, 2, 0, value, True) for code, value in text.items()]
    out = io.BytesIO()
    tifffile.imwrite(out, samples, metadata=None, software=False, **options)
    return out.getbuffer()
