"""What the command line and the web page both do with pictures as files hold them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.codecs.scale import enlarged
from cosparse.images import Picture, default_range, to_working
from cosparse.reconstruction.start import enlarge


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
