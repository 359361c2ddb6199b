"""Read and write image files, and move values to and from float32 on 0..255.

PNG, JPEG, BMP and TIFF; 8 bit, 16 bit and (TIFF) float32; grey or colour, with or without
transparency; TIFF stacks. What cannot be read or written without loss is an error.
"""

from __future__ import annotations

import glob
import io
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from cosparse.codecs import SUFFIXES, Array, RefusedError, decode, encode, joined, one_line
from cosparse.codecs.disk import open_file, save_file, shown_name

PathLike = str | os.PathLike[str]


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
        ``exif`` and ``icc_profile`` (bytes), ``dpi`` (x, y), as present. The EXIF says the right way up,
        as the pixels are; that of a TIFF is gathered from its tags and directories.
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


# --- values --------------------------------------------------------------------------------


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


def float_range(low: float, high: float) -> float:
    """Return the value that stands for white in a float file that does not say.

    Parameters
    ----------
    low, high : float
        The 1st and the 99th percentile of its finite values. The bulk of them says what is meant; a little noise
        beyond black and white does not.

    Returns
    -------
    float
        1.0 if -1 <= low and high <= 2; else 255.0 if -255 <= low and high <= 510; else the extent from the lower of
        `low` and 0 to `high`.

    >>> float_range(-0.1, 1.1), float_range(3, 240), float_range(-1000, 3000)
    (1.0, 255.0, 4000.0)
    """
    if low >= -1 and high <= 2:
        return 1.0
    if low >= -255 and high <= 510:
        return 255.0
    return float(high - min(low, 0.0)) or 255.0  # a file that is all one value below 0 has no extent


def _range(like: Array | np.dtype[Any], data_range: float | None, name: str) -> float:
    if data_range is None:
        return default_range(like, name=name)
    if not 0 < data_range < math.inf:
        raise ValueError(f"data_range: must be positive and finite, got {data_range!r}")
    return float(data_range)


def to_working(
    image: npt.ArrayLike, *, data_range: float | None = None, offset: float = 0.0, name: str = "image"
) -> npt.NDArray[np.float32]:
    """Return a new C-contiguous float32 copy of `image` on 0..255: its values less `offset`, times 255/data_range.

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
        raise ValueError(f"{name}: has masked values; fill them, or use inpaint, which takes the mask")
    scale = 255.0 / _range(array, data_range, name)
    with np.errstate(over="ignore"):  # an overflow becomes an infinity, reported below
        precise = np.float64 if array.dtype.itemsize > 4 or offset else np.float32
        wide: Array = array.astype(precise, order="C")
        if offset:
            wide -= offset
        wide *= scale
        work: npt.NDArray[np.float32] = wide.astype(np.float32, copy=False)
    if array.dtype.kind == "f" and np.isinf(work).any():
        raise ValueError(f"{name}: has infinite values; replace them, or mark them missing as NaN")
    return work


def from_working(
    values: npt.ArrayLike, *, dtype: npt.DTypeLike, data_range: float | None = None, offset: float = 0.0
) -> Array:
    """Return `values` on 0..255 as `dtype`, the inverse of :func:`to_working`: integers rounded and clipped, floats not.

    >>> from_working([-3.0, 127.4, 300.0], dtype=np.uint8)
    array([  0, 127, 255], dtype=uint8)
    """
    target: np.dtype[Any] = np.dtype(dtype)
    work: Array = np.asarray(values)
    if target.kind not in "buif":
        raise ValueError(f"dtype: {target} cannot hold an image; use uint8, uint16 or float32")
    # Wide integers are not exact in float32.
    wide = target.itemsize > (4 if target.kind == "f" else 2) or offset != 0
    precise = np.result_type(work, np.float64 if wide else np.float32)
    scaled: Array = np.multiply(work, _range(target, data_range, "dtype") / 255.0, dtype=precise)
    if offset:
        scaled += offset
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


# --- finding --------------------------------------------------------------------------------


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
        path, shown = Path(given), shown_name(given)
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
            if p.suffix.lower() in SUFFIXES
            and not any(part.startswith(".") for part in p.parts[depth:])
            and p.is_file()
        )
        if not images:
            raise ValueError(f"{shown}: this {kind} holds no PNG, JPEG, BMP or TIFF image")
        found.update(dict.fromkeys(images))
    return list(found)


# --- reading --------------------------------------------------------------------------------


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
        shown = shown_name(name or source)
        with open_file(source, shown) as handle:
            return _picture(handle, shown, max_pixels)
    data = bytes(source) if isinstance(source, bytes | bytearray | memoryview) else source.read()
    return _picture(io.BytesIO(data), shown_name(name or "image"), max_pixels)


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


def read_greys(source: PathLike | bytes | BinaryIO) -> list[npt.NDArray[np.float32]]:
    """Read every page as (h, w) float32 on 0..255, the luma of colours."""
    picture = read_image(source)
    pages = to_working(picture.pixels if picture.stack else picture.pixels[None], data_range=picture.data_range)
    if picture.channel_axis is None:
        return list(pages)
    from skimage.color import rgb2gray

    return [np.ascontiguousarray(rgb2gray(page), dtype=np.float32) for page in pages]


def _picture(fp: BinaryIO, shown: str, max_pixels: int) -> Picture:
    kind, samples = decode(fp, shown, max_pixels)
    try:
        pixels, alpha = samples.split()
    except RefusedError as error:
        raise ValueError(f"{shown}: {error}") from None
    data_range = default_range(pixels)
    if pixels.dtype.kind == "f":
        finite = pixels[np.isfinite(pixels)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
        data_range = 1.0 if low >= 0 and high <= 1 else max(255.0, high)
    axis = -1 if samples.channels >= 3 else None
    return Picture(pixels, alpha, axis, samples.stack, data_range, samples.metadata, kind)


# --- writing --------------------------------------------------------------------------------


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
        ``dataclasses.replace(like, alpha=resized)``. A BMP keeps only the dpi, a JPEG no EXIF beyond 64 kB
        (then without the maker's note, if that is enough), a TIFF has it on its first page.
    format : str, optional
        By default from the suffix of `target`, else as `like`.

    Raises
    ------
    ValueError
        The format cannot hold these pixels. JPEG and BMP are 8 bit without transparency, PNG is
        8 or 16 bit, TIFF takes all.
    """
    path = target if isinstance(target, str | os.PathLike) else None
    shown, suffix = ("image", "") if path is None else (shown_name(path), Path(path).suffix)
    asked = format or suffix or (like.format if like else "")
    kind = SUFFIXES.get("." + asked.lower().lstrip("."))
    if kind is None:
        raise ValueError(f"{shown}: cannot write format {asked!r}; use png, jpeg, bmp or tiff")
    try:
        alpha = like.alpha if like else None
        grey_stack = bool(like and like.stack and like.channel_axis is None)
        samples, colour, stack = joined(np.asarray(pixels), alpha, grey_stack)
        metadata = dict(like.metadata) if like else {}
        if like and colour != (like.channel_axis is not None):
            metadata.pop("icc_profile", None)  # a profile for grey is wrong on RGB, and the reverse
        data = encode(kind, samples, colour, stack, metadata)
    except MemoryError:
        raise
    except RefusedError as error:
        raise ValueError(f"{shown}: {error}") from None
    except Exception as error:
        raise ValueError(
            f"{shown}: cannot be written as {kind.upper()} ({one_line(error)})"
        ) from error
    if isinstance(target, str | os.PathLike):
        save_file(Path(os.path.realpath(target)), data, shown)  # a link stays one
    else:
        target.write(data)
