"""Read and write image files, and move values to and from float32 on 0..255.

PNG, JPEG, BMP and TIFF, and to read WebP, AVIF, GIF and HEIC; 8 bit, 16 bit and (TIFF) float32;
grey or colour, with or without transparency; TIFF stacks of any number of axes. Pixels that cannot be
read or written without loss are an error; what is lost besides is said, see :func:`losses`.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from cosparse.io import formats
from cosparse.io.decoded import Samples, joined, naming
from cosparse.io.disk import PathLike, open_file, save_file, shown_name
from cosparse.io.values import Array, checked_range, default_range, range_of_floats, to_working
from cosparse.jpeg import Jpeg

Source = PathLike | bytes | BinaryIO


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
    jpeg : Jpeg or None
        How a JPEG was compressed: its tables, how its chroma was made smaller, and how it was turned since.
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
    jpeg: Jpeg | None = None

    @property
    def pages(self) -> Array:
        """The pixels as (pages, h, w) or (pages, h, w, 3), one page if it is no stack.

        >>> Picture(np.zeros((2, 5, 8, 9)), stack=True).pages.shape
        (10, 8, 9)
        """
        ends = 2 if self.channel_axis is None else 3
        return self.pixels.reshape(-1, *self.pixels.shape[-ends:])

    @property
    def working(self) -> npt.NDArray[np.float32]:
        """The pixels on 0..255, an array of their own."""
        return to_working(self.pixels, data_range=self.data_range)

    @property
    def leading(self) -> tuple[int, ...]:
        """The lengths of the axes of pages: () for a single picture."""
        ends = 2 if self.channel_axis is None else 3
        return self.pixels.shape[:-ends] if self.stack else ()


def read_image(
    source: Source, *, name: str | None = None, max_pixels: int = 500_000_000, data_range: float | None = None
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
        data_range = checked_range(np.dtype(np.float32), data_range, "data_range")
    if isinstance(source, str | os.PathLike):
        shown = shown_name(name or source)
        opened = open_file(source, shown)
    else:
        shown = shown_name(name or "image")
        opened = io.BytesIO(source if isinstance(source, bytes | bytearray | memoryview) else source.read())
    with opened as handle:
        kind, samples = formats.decode(handle, shown, max_pixels)
    pixels, alpha = samples.split()
    if data_range is None:
        data_range = range_of_floats(pixels) if pixels.dtype.kind == "f" else default_range(pixels)
    axes = "" if samples.axes is None else samples.axes + "YX" + "S" * samples.colour
    channel_axis, stack = -1 if samples.colour else None, samples.leading > 0
    return Picture(
        pixels, alpha, channel_axis, stack, data_range, samples.metadata, kind, axes, samples.notes, samples.jpeg
    )


def read_greys(source: Source, *, data_range: float | None = None) -> list[npt.NDArray[np.float32]]:
    """Read every page as (h, w) float32 on 0..255, the luma of colours. `data_range` as in :func:`read_image`."""
    picture = read_image(source, data_range=data_range)
    return [_grey(page, picture) for page in picture.pages]


def read_grey(source: Source) -> npt.NDArray[np.float32]:
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


def write_image(
    target: PathLike | BinaryIO, pixels: npt.ArrayLike, *, like: Picture | None = None, format: str | None = None
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
        :func:`cosparse.repair.enlarged_like`. What a format cannot hold is left out, see :func:`losses`.
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
    kind = _written(format or suffix or (like.format if like else ""), shown)
    with naming(shown, f"cannot be written as {kind.upper()} ({{}})"):
        alpha = like.alpha if like else None
        grey = max(3, like.pixels.ndim) if like and like.stack and like.channel_axis is None else None
        samples = joined(np.asarray(pixels), alpha, grey)
        data = formats.encode(kind, samples if like is None else _like(samples, like))
    if isinstance(target, str | os.PathLike):
        save_file(Path(os.path.realpath(target)), data, shown)  # a link stays one
    else:
        target.write(data)


def _like(samples: Samples, like: Picture) -> Samples:
    """The samples with axes and metadata of a picture, as far as these fit."""
    same_axes = samples.values.shape[: samples.leading] == like.leading
    wrong = set() if same_axes else {"ome", "imagej", "shaped"}  # words about other axes
    if samples.colour != (like.channel_axis is not None):
        wrong.add("icc_profile")  # a profile for grey is wrong on RGB, and the reverse
    metadata = {key: value for key, value in like.metadata.items() if key not in wrong}
    return replace(samples, axes=like.axes[: samples.leading] if same_axes else "", metadata=metadata)


def losses(picture: Picture, format: str) -> tuple[str, ...]:
    """What of a picture's metadata a format cannot hold, a line each: "XMP cannot be kept in BMP".

    `format` is a name or a suffix: "png", "jpeg", "bmp", "tiff" or ".tif".

    >>> losses(Picture(np.zeros((4, 4), np.uint8), metadata={"comment": b"a bridge"}), "png")
    ('the comment cannot be kept in PNG',)
    """
    return formats.losses(picture.metadata, _written(format, "format"))


def _written(asked: str, shown: str) -> str:
    """The format of a name or suffix, if it is one that is written."""
    suffix = "." + asked.lower().lstrip(".")
    kind = formats.SUFFIXES.get(suffix, suffix[1:])
    if kind not in formats.SUFFIXES.values():
        raise ValueError(f"{shown}: cannot write format {asked!r}; write PNG or TIFF, JPEG or BMP")
    return kind
