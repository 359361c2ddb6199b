"""Read and write image files, and move values to and from float32 on 0..255.

PNG, JPEG, BMP and TIFF, and to read WebP, AVIF, GIF and HEIC; 8 bit, 16 bit and (TIFF) float32;
grey or colour, with or without transparency; TIFF stacks of any number of axes. Pixels that cannot be
read or written without loss are an error; what is lost besides is said, see :func:`losses`.
"""

from __future__ import annotations

import glob
import io
import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from cosparse.codecs import READ_ONLY, SUFFIXES, UNREAD, Array, RefusedError, decode, encode, joined, one_line, readable
from cosparse.codecs import losses as metadata_losses
from cosparse.codecs.disk import open_file, save_file, shown_name

PathLike = str | os.PathLike[str]
SAMPLE = 2**20  # values of a large float file that are looked at for its range


@dataclass(frozen=True, eq=False)
class Picture:
    """What an image file held.

    Attributes
    ----------
    pixels : ndarray
        uint8, uint16 or float32, shape (h, w) or (h, w, 3), after the axes of a stack: (z, h, w) or
        (t, z, c, h, w).
    alpha : ndarray or None
        Transparency, of the shape of `pixels` without colours; `pixels` never include it.
    channel_axis : int or None
        -1 for colour, None for grey.
    stack : bool
        Whether axes of pages lead.
    data_range : float
        The value that stands for white: 255 for uint8, 65535 for uint16, for floats see :func:`float_range`;
        or what the reader was told.
    metadata : mapping
        As present, ``exif``, ``icc_profile``, ``xmp`` and ``comment`` (bytes), ``text`` (of a PNG, a mapping), ``dpi``
        (x, y); of a TIFF ``resolution`` (x, y, its unit: 1 none, 3 per cm) where that is not per inch, and
        ``ome`` (OME-XML), ``imagej`` or ``shaped`` (mappings): what the file says of its axes and scales. EXIF and XMP
        say the right way up, as the pixels are; the EXIF of a TIFF is gathered from its tags and directories.
    format : str
        "png", "jpeg", "bmp" or "tiff"; "webp", "avif", "gif" or "heic", which are not written.
    axes : str
        A letter for each axis of `pixels`, as tifffile and OME name them: "YXS", "ZYX", "TZCYX". Empty where the
        file does not say.
    notes : tuple of str
        What in the file was left behind, a line each.
    """

    pixels: Array
    alpha: Array | None = None
    channel_axis: int | None = None
    stack: bool = False
    data_range: float = 255.0
    metadata: Mapping[str, Any] = field(default_factory=dict)
    format: str = "png"
    axes: str = ""
    notes: tuple[str, ...] = ()

    @property
    def pages(self) -> Array:
        """The pixels as (pages, h, w) or (pages, h, w, 3), one page if it is no stack.

        >>> Picture(np.zeros((2, 5, 8, 9)), stack=True).pages.shape
        (10, 8, 9)
        """
        ends = 2 if self.channel_axis is None else 3
        return self.pixels.reshape(-1, *self.pixels.shape[-ends:])

    @property
    def leading(self) -> tuple[int, ...]:
        """The lengths of the axes of pages: () for a single picture."""
        ends = 2 if self.channel_axis is None else 3
        return self.pixels.shape[:-ends] if self.stack else ()


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
        f"{name}: {dtype} values have no agreed range; pass data_range, or convert to uint8, uint16 or float"
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


def _range_of_floats(pixels: Array) -> float:
    """:func:`float_range` of these, of many by a fixed sample of them."""
    flat = pixels.ravel()
    if flat.size > SAMPLE:
        flat = flat[np.random.default_rng(0).integers(0, flat.size, SAMPLE)]
    finite = flat[np.isfinite(flat)]
    if finite.size == 0 and flat.size < pixels.size:
        finite = pixels[np.isfinite(pixels)]
    if finite.size == 0:
        return 1.0
    low, high = np.percentile(finite.astype(np.float64), [1, 99])
    return float_range(float(low), float(high))


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
    """Return `values` on 0..255 as `dtype`, the inverse of :func:`to_working`.

    Integers are rounded and clipped, floats neither.

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

    A file is taken whatever its suffix; folders and patterns give the suffixes that can be read only
    (those of HEIC if its decoder is installed), sorted, without hidden files. Each file appears once.
    What is passed over in a folder, :func:`unread_files` tells.

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
        images = _visible(inside, depth, readable)
        if not images:
            raise ValueError(f"{shown}: this {kind} holds no PNG, JPEG, BMP or TIFF image, nor another that is read")
        found.update(dict.fromkeys(images))
    return list(found)


def unread_files(folder: PathLike) -> list[Path]:
    """List the files of a folder that look like pictures, by their suffix, but that :func:`find_images` leaves out.

    :data:`cosparse.codecs.UNREAD` says why, suffix by suffix; HEIC is left out where its decoder is not installed
    (``pip install 'cosparse[heic]'``). Sorted, without hidden files; empty if it is not a folder.
    """
    path = Path(folder)
    if not path.is_dir():
        return []
    return _visible(path.rglob("*"), len(path.parts), lambda end: end in UNREAD | READ_ONLY and not readable(end))


def _visible(paths: Iterable[Path], depth: int, wanted: Callable[[str], bool]) -> list[Path]:
    """The files with wanted suffixes, sorted, without those that are hidden below `depth`."""
    return sorted(
        p
        for p in paths
        if wanted(p.suffix.lower()) and not any(part.startswith(".") for part in p.parts[depth:]) and p.is_file()
    )


# --- reading --------------------------------------------------------------------------------


def read_image(
    source: PathLike | bytes | BinaryIO,
    *,
    name: str | None = None,
    max_pixels: int = 500_000_000,
    data_range: float | None = None,
) -> Picture:
    """Read a PNG, JPEG, BMP, TIFF, WebP, AVIF, GIF or HEIC, known by its content and not by its suffix.

    Palettes and 1-bit images are expanded to 8 bits, EXIF and TIFF orientation is applied,
    premultiplied TIFF colours are divided by their alpha, float64 becomes float32. Of a GIF the first frame is
    read, of a TIFF the first series with all its pages and axes; what is left behind, ``Picture.notes`` says.

    Parameters
    ----------
    source : path, bytes or binary file
        Text is a path.
    name : str, optional
        What error messages call it; the path by default.
    max_pixels : int
        Refuse, before decoding, an image or a stack with more pixels in all.
    data_range : float, optional
        The value that stands for white, where it is not what `Picture.data_range` says: of a float file, or of
        one with 12 bits in 16 (4095).

    Returns
    -------
    Picture

    Raises
    ------
    FileNotFoundError, IsADirectoryError, PermissionError
        As for `open`.
    ValueError
        The file is not such an image, is damaged, or holds what would be lost.
    """
    if data_range is not None:
        data_range = _range(np.dtype(np.float32), data_range, "data_range")
    if isinstance(source, str | os.PathLike):
        shown = shown_name(name or source)
        with open_file(source, shown) as handle:
            return _picture(handle, shown, max_pixels, data_range)
    data = bytes(source) if isinstance(source, bytes | bytearray | memoryview) else source.read()
    return _picture(io.BytesIO(data), shown_name(name or "image"), max_pixels, data_range)


def read_greys(
    source: PathLike | bytes | BinaryIO, *, data_range: float | None = None
) -> list[npt.NDArray[np.float32]]:
    """Read every page as (h, w) float32 on 0..255, the luma of colours. `data_range` as in :func:`read_image`."""
    picture = read_image(source, data_range=data_range)
    return [_grey(page, picture) for page in picture.pages]


def read_grey(source: PathLike | bytes | BinaryIO) -> npt.NDArray[np.float32]:
    """Read a single picture as (h, w) float32 on 0..255, the luma of a colour; a stack is refused."""
    picture = read_image(source)
    if picture.stack:
        shown = shown_name(source) if isinstance(source, str | os.PathLike) else "image"
        raise ValueError(f"{shown}: holds {len(picture.pages)} pages; give a single picture")
    return _grey(picture.pixels, picture)


def _grey(page: Array, picture: Picture) -> npt.NDArray[np.float32]:
    work = to_working(page, data_range=picture.data_range)
    if picture.channel_axis is None:
        return work
    from skimage.color import rgb2gray

    return np.ascontiguousarray(rgb2gray(work), dtype=np.float32)


def _picture(fp: BinaryIO, shown: str, max_pixels: int, data_range: float | None) -> Picture:
    kind, samples = decode(fp, shown, max_pixels)
    try:
        pixels, alpha = samples.split()
    except RefusedError as error:
        raise ValueError(f"{shown}: {error}") from None
    if data_range is None:
        data_range = _range_of_floats(pixels) if pixels.dtype.kind == "f" else default_range(pixels)
    colour = samples.channels >= 3
    return Picture(
        pixels,
        alpha,
        -1 if colour else None,
        samples.leading > 0,
        data_range,
        samples.metadata,
        kind,
        "" if samples.axes is None else samples.axes + "YX" + "S" * colour,
        samples.notes,
    )


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
        (h, w), (h, w, 3) or, with transparency, (h, w, 4); with leading axes of pages, a TIFF stack.
        The last of three axes or more is colour if it is 3 or 4 long, unless `like` is a grey stack.
    like : Picture, optional
        Whose alpha, axes and metadata to keep: what was an OME-TIFF or ImageJ's is one again, if it has as many
        pages along each axis. Its alpha must fit the pixels, and so must its scale: after enlarging pass
        :func:`cosparse.pictures.enlarged_like`. What a format cannot hold is left out, see :func:`losses`.
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
    kind = _written(asked, shown)
    try:
        alpha = like.alpha if like else None
        grey = max(3, like.pixels.ndim) if like and like.stack and like.channel_axis is None else None
        samples, colour, leading = joined(np.asarray(pixels), alpha, grey)
        metadata, axes = dict(like.metadata) if like else {}, ""
        if like and colour != (like.channel_axis is not None):
            metadata.pop("icc_profile", None)  # a profile for grey is wrong on RGB, and the reverse
        if like and samples.shape[:leading] == like.leading:
            axes = like.axes[:leading]
        else:  # words about other axes
            metadata = {key: value for key, value in metadata.items() if key not in ("ome", "imagej", "shaped")}
        data = encode(kind, samples, colour, leading, axes, metadata)
    except MemoryError:
        raise
    except RefusedError as error:
        raise ValueError(f"{shown}: {error}") from None
    except Exception as error:
        raise ValueError(f"{shown}: cannot be written as {kind.upper()} ({one_line(error)})") from error
    if isinstance(target, str | os.PathLike):
        save_file(Path(os.path.realpath(target)), data, shown)  # a link stays one
    else:
        target.write(data)


def losses(picture: Picture, format: str) -> tuple[str, ...]:
    """What of a picture's metadata a format cannot hold, a line each: "XMP cannot be kept in BMP".

    `format` is a name or a suffix: "png", "jpeg", "bmp", "tiff" or ".tif".

    >>> losses(Picture(np.zeros((4, 4), np.uint8), metadata={"comment": b"a bridge"}), "png")
    ('the comment cannot be kept in PNG',)
    """
    return metadata_losses(picture.metadata, _written(format, "format"))


def _written(asked: str, shown: str) -> str:
    """The format of a name or suffix, if it is one that is written."""
    suffix = "." + asked.lower().lstrip(".")
    kind = SUFFIXES.get(suffix) or (suffix[1:] if suffix[1:] in SUFFIXES.values() else None)
    if kind is None:
        raise ValueError(f"{shown}: cannot write format {asked!r}; write PNG or TIFF, JPEG or BMP")
    return kind
