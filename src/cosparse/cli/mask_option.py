"""Masks as people have them: an image, the alpha channel, a painted colour, NaN."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.cli.console import UsageProblem
from cosparse.cli.targets import Job
from cosparse.io.formats import SUFFIXES
from cosparse.io.picture import Picture, read_image
from cosparse.io.values import default_range, to_working
from cosparse.repair import white_mask

Mask = NDArray[np.bool_]
Maker = Callable[[Picture, Job], Mask]


def mask_maker(spec: str, tolerance: float, grow: int) -> Maker:
    """What turns an image into its mask of missing pixels."""
    make = _maker(spec, tolerance)

    def grown(picture: Picture, job: Job) -> Mask:
        mask, pages = make(picture, job), _nan(picture)
        if mask.shape not in (pages.shape, pages.shape[-2:]):
            raise ValueError(f"the mask is {_size(mask)}, the image {_size(pages)}; they must agree")
        if not mask.any():
            raise ValueError(f"{_nothing(spec)}; nothing to fill in")
        return np.asarray(_widened(mask, grow) | pages)

    return grown


def _widened(mask: Mask, grow: int) -> Mask:
    """A mask (of each page) with so many pixels more about what is missing."""
    from scipy.ndimage import binary_dilation

    if not grow:
        return mask
    disc = np.hypot(*np.mgrid[-grow : grow + 1, -grow : grow + 1]) <= grow + 0.5
    return np.asarray(binary_dilation(mask, disc[(None,) * (mask.ndim - 2)]))


def _maker(spec: str, tolerance: float) -> Maker:
    if spec == "alpha":
        return lambda picture, job: _from_alpha(picture)
    if spec == "nan":
        return lambda picture, job: _from_nan(picture)
    if spec.startswith("#"):
        colour = _colour_of(spec)
        return lambda picture, job: _from_colour(picture, colour, tolerance)
    path = Path(spec)
    if path.is_dir():
        return lambda picture, job: white_mask(read_image(_beside(path, job.place)))
    shared = _mask_image(path)
    return lambda picture, job: shared


def _mask_image(path: Path) -> Mask:
    """White in an image file."""
    try:
        return white_mask(read_image(path))
    except (OSError, ValueError) as error:
        raise UsageProblem(f"--mask: {error}") from error


def _colour_of(spec: str) -> NDArray[np.float32]:
    """Red, green and blue on 0..255."""
    if not re.fullmatch("#[0-9a-fA-F]{6}", spec):
        raise UsageProblem(f"--mask {spec}: a colour is written '#rrggbb', as '#ff0000'")
    return np.array([int(spec[i : i + 2], 16) for i in (1, 3, 5)], np.float32)


def _beside(folder: Path, place: Path) -> Path:
    """The mask of an image, in a folder of masks of the same names."""
    names = [folder / place, *(folder / place.with_suffix(end) for end in SUFFIXES)]
    found = next((name for name in names if name.is_file()), None)
    if found is None:
        raise ValueError(f"no mask {folder / place.with_suffix('.png')}; add it")
    return found


def _colour(picture: Picture) -> bool:
    return picture.channel_axis is not None


def _from_alpha(picture: Picture) -> Mask:
    if picture.alpha is None:
        raise ValueError("has no transparency for --mask alpha; use a mask image or a colour")
    return np.asarray(picture.alpha < default_range(picture.alpha) / 2)


def _from_nan(picture: Picture) -> Mask:
    if picture.pixels.dtype.kind != "f":
        raise ValueError("holds no NaN, only float TIFF images can; use a mask image or a colour")
    return _nan(picture)


def _nan(picture: Picture) -> Mask:
    missing = np.isnan(picture.pixels)
    return np.asarray(missing.any(axis=-1) if _colour(picture) else missing)


def _from_colour(picture: Picture, colour: NDArray[Any], tolerance: float) -> Mask:
    values = to_working(picture.pixels, data_range=picture.data_range)
    return np.asarray(_painted(values, colour, tolerance, _colour(picture)))


def _painted(values: Any, colour: NDArray[Any], tolerance: float, coloured: bool) -> Any:
    """Where pixels on 0..255 have a colour; for NumPy's arrays and Dask's."""
    if coloured:
        return (np.abs(values - colour) <= tolerance).all(axis=-1)
    if np.ptp(colour) > 0:
        raise ValueError("is grey, no pixel has that colour; use a grey like '#ffffff'")
    return np.abs(values - colour[0]) <= tolerance


def _size(mask: Mask) -> str:
    """Width by height, and pages."""
    return "x".join(str(side) for side in (mask.shape[-1], mask.shape[-2], *mask.shape[:-2]))


def _nothing(spec: str) -> str:
    if spec.startswith("#"):
        return f"no pixel is as near to {spec} as --tolerance asks; raise it"
    if spec == "alpha":
        return "no pixel is transparent"
    if spec == "nan":
        return "no pixel is NaN"
    return "the mask has no white pixel (white marks what is missing)"


def lazy_mask(spec: str, tolerance: float, grow: int, picture: Any, span: float, coloured: bool) -> Any:
    """True where a pixel of a Dask array is missing, as `mask_maker` has it; nothing is computed yet.

    The picture is (..., h, w), with three colours last if it is `coloured`, and without transparency.
    """
    import dask.array as da

    from cosparse.cluster.sources import is_zarr

    pages = picture.ndim - coloured
    unknown = da.zeros(picture.shape[:pages], dtype=bool, chunks=picture.chunks[:pages])
    if picture.dtype.kind == "f":
        unknown = da.isnan(picture).any(axis=-1) if coloured else da.isnan(picture)
    if spec.startswith("#"):
        colour = _colour_of(spec)
        try:
            missing = _painted(picture * np.float32(255 / span), colour, tolerance, coloured)
        except ValueError as error:
            raise ValueError(f"--mask {spec}: the picture {error}") from error
    elif spec == "nan":
        if picture.dtype.kind != "f":
            raise ValueError("--mask nan: the picture holds whole numbers and no NaN; use a mask image or a colour")
        missing = unknown
    elif spec == "alpha" or (Path(spec).is_dir() and not is_zarr(spec)):
        raise UsageProblem(f"--mask {spec}: by tiles, a mask is an image, a colour '#rrggbb' or nan; save it as one")
    else:
        missing = _mask_file(Path(spec).resolve(), picture.chunks[:pages])
    if grow:
        depth = {missing.ndim - 2: grow, missing.ndim - 1: grow}
        missing = missing.map_overlap(_widened, depth=depth, boundary=False, dtype=bool, grow=grow)
    return missing | unknown


def _mask_file(path: Path, chunks: tuple[tuple[int, ...], ...]) -> Any:
    """White in a zarr array or a TIFF, read where it is needed, or in another image file, read whole.

    One for each page, or one for all.
    """
    from cosparse.cluster.sources import TIFF, OnDisk, as_dask, is_zarr

    try:
        found = OnDisk(path) if is_zarr(path) or path.suffix.lower() in TIFF else _mask_image(path)
    except (OSError, ValueError) as error:
        raise UsageProblem(f"--mask: {error}") from error
    shape = tuple(map(sum, chunks))
    if found.shape not in (shape, shape[-2:]):
        raise ValueError(f"--mask: has shape {found.shape}, the picture {shape}; they must agree")
    values = as_dask(found, chunks[-found.ndim :])
    return values if values.dtype == bool else values > default_range(values.dtype) / 2
