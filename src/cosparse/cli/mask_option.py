"""The options --mask, --tolerance and --grow: an image, the alpha channel, a painted colour, NaN."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.cli.console import UsageProblem
from cosparse.io.formats import SUFFIXES
from cosparse.io.masks import Mask, nan_mask, painted_mask, transparent_mask, white_mask, widened
from cosparse.io.picture import Picture, read_image
from cosparse.io.values import default_range

Maker = Callable[[Picture, Path], Mask]  # of a picture, and its path below the folder that was given
NONE = {"alpha": "no pixel is transparent", "nan": "no pixel is NaN"}


@dataclass(frozen=True)
class MaskOption:
    """What the three options say."""

    spec: str
    tolerance: float = 20.0
    grow: int = 0

    @property
    def transparent(self) -> bool:
        """Whether what is transparent is missing: the result is then opaque."""
        return self.spec == "alpha"

    @property
    def in_pixels(self) -> bool:
        """Whether the pixels say themselves that they are missing: as NaN, or by a colour."""
        return self.spec == "nan" or self.spec.startswith("#")

    def maker(self, absolute: bool = False) -> Maker:
        """What turns a picture into its mask; an `absolute` one does so in any current folder."""
        make = self._maker(absolute)

        def missing(picture: Picture, place: Path) -> Mask:
            mask, unknown = make(picture, place), nan_mask(picture.pixels, picture.channel_axis is not None)
            if mask.shape not in (unknown.shape, unknown.shape[-2:]):
                raise ValueError(f"the mask is {_size(mask)}, the image {_size(unknown)}; they must agree")
            if not mask.any():
                painted = f"no pixel is as near to {self.spec} as --tolerance asks; raise it"
                white = painted if self.in_pixels else "the mask has no white pixel (white marks what is missing)"
                raise ValueError(f"{NONE.get(self.spec, white)}; nothing to fill in")
            return np.asarray(widened(mask, self.grow) | unknown)

        return missing

    def _maker(self, absolute: bool) -> Maker:
        if self.transparent:
            return lambda picture, place: transparent_mask(picture)
        if self.in_pixels:
            find = self._finder()
            return lambda picture, place: find(picture.pixels, picture.channel_axis is not None, picture.data_range)
        if (path := Path(self.spec)).is_dir():
            folder = path.absolute() if absolute else path
            return lambda picture, place: white_mask(read_image(_beside(folder, place)))
        shared = mask_image(path)
        return lambda picture, place: shared

    def _finder(self) -> Callable[[Any, bool, float], Any]:
        """Where pixels say that they are missing; of NumPy's arrays or Dask's, whose white is known."""
        colour = None if self.spec == "nan" else _colour(self.spec)

        def find(pixels: Any, coloured: bool, span: float) -> Any:
            if colour is not None:
                return painted_mask(pixels * np.float32(255 / span), colour, self.tolerance, coloured)
            if pixels.dtype.kind != "f":
                raise ValueError("holds no NaN, only float images can; use a mask image or a colour")
            return nan_mask(pixels, coloured)

        return find

    def lazy(self, picture: Any, coloured: bool, span: float) -> Any:
        """As `maker` has it, of a Dask array whose white is `span`: True where missing; nothing is computed yet.

        The picture is (..., h, w), with three colours last if it is `coloured`, and without transparency.
        """
        from cosparse.cluster.sources import is_zarr

        unknown = nan_mask(picture, coloured)
        if self.in_pixels:
            try:
                missing = self._finder()(picture, coloured, span)
            except ValueError as error:
                raise ValueError(f"--mask {self.spec}: the picture {error}") from error
        elif self.transparent or (Path(self.spec).is_dir() and not is_zarr(self.spec)):
            text = "by tiles, a mask is an image, a colour '#rrggbb' or nan; save it as one"
            raise UsageProblem(f"--mask {self.spec}: {text}")
        else:
            missing = _mask_file(Path(self.spec).resolve(), unknown.chunks)
        if self.grow:
            depth = {missing.ndim - 2: self.grow, missing.ndim - 1: self.grow}
            missing = missing.map_overlap(widened, depth=depth, boundary=False, dtype=bool, pixels=self.grow)
        return missing | unknown


def _colour(spec: str) -> NDArray[np.float32]:
    """Red, green and blue on 0..255."""
    if not re.fullmatch("#[0-9a-fA-F]{6}", spec):
        raise UsageProblem(f"--mask {spec}: a colour is written '#rrggbb', as '#ff0000'")
    return np.array([int(spec[i : i + 2], 16) for i in (1, 3, 5)], np.float32)


def mask_image(path: Path, option: str = "--mask") -> Mask:
    """White in an image file."""
    try:
        return white_mask(read_image(path))
    except (OSError, ValueError) as error:
        raise UsageProblem(f"{option}: {error}") from error


def _beside(folder: Path, place: Path) -> Path:
    """The mask of an image, in a folder of masks of the same names."""
    names = [folder / place, *(folder / place.with_suffix(end) for end in SUFFIXES)]
    found = next((name for name in names if name.is_file()), None)
    if found is None:
        raise ValueError(f"no mask {folder / place.with_suffix('.png')}; add it")
    return found


def _size(mask: Mask) -> str:
    """Width by height, and pages."""
    return "x".join(str(side) for side in (mask.shape[-1], mask.shape[-2], *mask.shape[:-2]))


def _mask_file(path: Path, chunks: tuple[tuple[int, ...], ...]) -> Any:
    """White in a zarr array or a TIFF, read where it is needed, or in another image file, read whole.

    Of labels in an OME-Zarr group, every one is white.

    One for each page, or one for all.
    """
    from cosparse.cluster.sources import TIFF, OnDisk, as_dask, is_zarr

    try:
        found = OnDisk(path) if is_zarr(path) or path.suffix.lower() in TIFF else mask_image(path)
    except (OSError, ValueError) as error:
        raise UsageProblem(f"--mask: {error}") from error
    shape = tuple(map(sum, chunks))
    if found.shape not in (shape, shape[-2:]):
        raise ValueError(f"--mask: has shape {found.shape}, the picture {shape}; they must agree")
    values = as_dask(found, chunks[-found.ndim :])
    if values.dtype == bool:
        return values
    labels = isinstance(found, OnDisk) and found.ome is not None and found.ome.labels
    return values > (0 if labels else default_range(values.dtype) / 2)
