"""Pictures as files hold them: repaired, enlarged, read as masks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.io.picture import Picture
from cosparse.io.pixel_size import enlarged
from cosparse.io.values import default_range, to_working
from cosparse.reconstruction.start import enlarge
from cosparse.reconstruction.tasks import TASKS
from cosparse.reconstruction.watch import Callback


@dataclass(frozen=True, eq=False)
class Repaired:
    """A repaired picture, to be written as it is, and the noise of its pages on 0..255: as given, or estimated."""

    picture: Picture
    sigmas: tuple[float, ...]


def repair(
    picture: Picture, task: str, *, sigma: float | None = None, callback: Callback = None, **options: Any
) -> Repaired:
    """Repair a picture: the door of the command line, the web page and the cluster's many files.

    Parameters
    ----------
    picture : Picture
        As :func:`cosparse.images.read_image` gives it. Its transparency is kept, or enlarged with it.
    task : {"denoise", "inpaint", "upscale", "deblur"}
    sigma : float, optional
        The noise on a scale of 0..255, whatever the picture's own. Left out: estimated where the task does so, else 0.
    callback : callable, optional
        As of the tasks.
    **options
        Those of the task but `data_range`, `channel_axis` and `alpha`, which the picture knows.
    """
    kind, pixels = TASKS[task], picture.pixels
    if task != "inpaint" and pixels.dtype.kind == "f" and np.isnan(pixels).any():
        raise ValueError("holds NaN; fill them in first with: cosparse inpaint --mask nan")
    if sigma is not None or not kind.estimates_noise:
        options["sigma"] = (sigma or 0.0) * picture.data_range / 255.0
    request = kind.request(pixels, data_range=picture.data_range, channel_axis=picture.channel_axis, **options)
    like = enlarged_like(picture, options["factor"]) if "factor" in options else picture
    return Repaired(replace(like, pixels=request.run(callback)), request.sigmas)


def bicubic(picture: Picture, factor: int) -> NDArray[np.float32]:
    """The pixels of a picture enlarged by interpolation, in its own units: what upscaling is compared with."""
    return by_plane(picture, lambda plane: enlarge(plane, factor))


def by_plane(picture: Picture, change: Callable[[NDArray[np.float32]], NDArray[np.float32]]) -> NDArray[np.float32]:
    """The pixels of a picture, each colour of each page changed by itself; it may become larger or smaller.

    >>> by_plane(Picture(np.ones((4, 6, 3), np.uint8), channel_axis=-1), lambda plane: plane[::2]).shape
    (2, 6, 3)
    """
    pages = picture.pages.astype(np.float32)
    planes = pages if picture.channel_axis is None else np.moveaxis(pages, -1, 1)
    new = np.stack([change(plane) for plane in planes.reshape(-1, *planes.shape[-2:])])
    new = new.reshape(*planes.shape[:-2], *new.shape[-2:])
    pages = new if picture.channel_axis is None else np.moveaxis(new, 1, -1)
    return pages.reshape(*picture.leading, *pages.shape[1:])


def white_mask(mask: Picture) -> NDArray[np.bool_]:
    """White is missing; of a see-through mask, what is white and visible.

    >>> white_mask(Picture(np.array([[0, 255]], np.uint8)))
    array([[False,  True]])
    """
    values: NDArray[Any] = to_working(mask.pixels, data_range=mask.data_range)
    if mask.channel_axis is not None:
        values = values.mean(axis=-1)
    if mask.alpha is not None:
        values = values * (mask.alpha / default_range(mask.alpha))
    return np.asarray(values > 127.5)


def enlarged_like(picture: Picture, factor: int) -> Picture:
    """What to write the enlarged pixels of a picture like: its alpha enlarged, its pixels so much smaller.

    Resolution, pixel sizes of OME-TIFF and ImageJ follow, so that the picture keeps its size on paper and under the
    microscope.

    >>> enlarged_like(Picture(np.zeros((4, 4), np.uint8), metadata={"dpi": (300.0, 300.0)}), 2).metadata
    {'dpi': (600.0, 600.0)}
    """
    alpha = enlarged_alpha(picture, factor)
    return replace(picture, alpha=alpha, metadata=enlarged(picture.metadata, factor))


def enlarged_alpha(picture: Picture, factor: int) -> Any:
    """The transparency of a picture, if it has any, to go with its enlarged pixels."""
    alpha = picture.alpha
    if alpha is None:
        return None
    top = default_range(alpha)
    planes = alpha.reshape(-1, *alpha.shape[-2:])
    large = np.stack([enlarge(p.astype(np.float32), factor).clip(0, top) for p in planes])
    if alpha.dtype.kind == "u":
        large = np.rint(large)
    return large.reshape(*alpha.shape[:-2], *large.shape[-2:]).astype(alpha.dtype)
