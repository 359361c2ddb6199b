"""Pictures as files hold them: repaired, enlarged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.io.picture import Picture
from cosparse.io.pixel_size import enlarged
from cosparse.io.values import default_range
from cosparse.jpeg import Jpeg
from cosparse.noise import Noise
from cosparse.reconstruction.start import Plane, enlarge
from cosparse.reconstruction.tasks import TASKS

Array = NDArray[Any]
COARSE = 60  # of a JPEG's quality: below, its blocks show


@dataclass(frozen=True, eq=False)
class Repaired:
    """A repaired picture, to be written as it is, and the noise of its pages on 0..255: as given, or estimated.

    `kinds` are the models of noise that is not of one level, in the picture's units. Of a JPEG that was deblocked: how
    it was taken to be compressed, and a word about it where that needs one.
    """

    picture: Picture
    sigmas: tuple[float, ...]
    jpeg: Jpeg | None = None
    notes: tuple[str, ...] = ()
    kinds: tuple[Noise, ...] = ()


def repair(picture: Picture, task: str, *, sigma: float | None = None, **options: Any) -> Repaired:
    """Repair a picture: the door of the command line, the web page and the cluster's many files.

    Parameters
    ----------
    picture : Picture
        As :func:`cosparse.images.read_image` gives it. Its transparency is kept, or enlarged with it.
    task : {"denoise", "inpaint", "upscale", "deblur", "deblock"}
    sigma : float, optional
        The noise on a scale of 0..255, whatever the picture's own. Left out: estimated where the task does so, else 0;
        or what kind it is is said by `noise`, in the picture's units.
    **options
        Those of the task but `data_range`, `channel_axis` and `alpha`, which the picture knows. Of "deblock", the
        `quantization` may be left out: it is the picture's own, or that of an earlier, coarser save.
    """
    kind, pixels = TASKS[task], picture.pixels
    if "mask" not in options and pixels.dtype.kind == "f" and np.isnan(pixels).any():
        raise ValueError("holds NaN; fill them in first with: cosparse inpaint --mask nan")
    jpeg: Jpeg | None = None
    notes: tuple[str, ...] = ()
    if kind.compressed:
        jpeg, notes = _compression(picture, options.pop("quantization", None))
        options["quantization"] = jpeg
    elif task == "denoise" and picture.jpeg is not None and picture.jpeg.quality < COARSE:
        notes = (
            f"a JPEG of quality {picture.jpeg.quality:.0f}, whose blocks are no noise: cosparse deblock undoes them",
        )
    if not kind.compressed and options.get("noise") is None and (sigma is not None or not kind.estimates_noise):
        options["sigma"] = (sigma or 0.0) * picture.data_range / 255.0
    request = kind.request(pixels, data_range=picture.data_range, channel_axis=picture.channel_axis, **options)
    like = enlarged_like(picture, options["factor"]) if "factor" in options else picture
    return Repaired(replace(like, pixels=request.run(), jpeg=None), request.sigmas, jpeg, notes, request.kinds)


def _compression(picture: Picture, told: Jpeg | None) -> tuple[Jpeg, tuple[str, ...]]:
    """What is to be undone, and a word about it: as the caller says, as the file says, or as it was saved before."""
    if told is not None:
        return told, ()
    if picture.jpeg is None:
        what = "is a JPEG without luma and chroma" if picture.format == "jpeg" else f"is {picture.format.upper()}"
        raise ValueError(
            f"image: {what} and has no tables to go by; give the JPEG file itself, or how it was saved: --jpeg-quality"
        )
    before = picture.jpeg.earlier(picture.pixels)
    if before is None:
        return picture.jpeg, ()
    return before, (f"was saved before at about quality {before.quality}, which is undone",)


def by_plane(picture: Picture, change: Callable[[Plane], Plane]) -> Array:
    """The pixels of a picture, each colour of each page changed by itself; it may become larger or smaller.

    >>> by_plane(Picture(np.zeros((2, 8, 9, 3)), channel_axis=-1, stack=True), lambda plane: plane[::4]).shape
    (2, 2, 9, 3)
    """
    planes = picture.pixels if picture.channel_axis is None else np.moveaxis(picture.pixels, -1, -3)
    each = planes.reshape(-1, *planes.shape[-2:])
    changed = np.stack([change(np.ascontiguousarray(plane, np.float32)) for plane in each])
    changed = changed.reshape(*planes.shape[:-2], *changed.shape[1:])
    return changed if picture.channel_axis is None else np.ascontiguousarray(np.moveaxis(changed, -3, -1))


def bicubic(picture: Picture, factor: float) -> Array:
    """The pixels of a picture enlarged by interpolation, in its own units: what upscaling is compared with."""
    return by_plane(picture, lambda plane: enlarge(plane, factor))


def enlarged_like(picture: Picture, factor: float) -> Picture:
    """What to write the enlarged pixels of a picture like: its alpha enlarged, its pixels so much smaller.

    Resolution, pixel sizes of OME-TIFF and ImageJ follow, so that the picture keeps its size on paper and under the
    microscope.

    >>> enlarged_like(Picture(np.zeros((4, 4), np.uint8), metadata={"dpi": (300.0, 300.0)}), 2).metadata
    {'dpi': (600.0, 600.0)}
    """
    alpha, metadata = picture.alpha, enlarged(picture.metadata, factor)
    if alpha is not None:
        large = bicubic(Picture(alpha), factor).clip(0, default_range(alpha))
        alpha = (np.rint(large) if alpha.dtype.kind == "u" else large).astype(alpha.dtype)
    return replace(picture, alpha=alpha, metadata=metadata)
