"""Which pixels are missing, as pictures say it: white in a mask, transparent, NaN, painted in a colour."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.io.picture import Picture
from cosparse.io.values import default_range

Mask = NDArray[np.bool_]


def white_mask(mask: Picture) -> Mask:
    """White is missing; of a see-through mask, what is white and visible.

    >>> white_mask(Picture(np.array([[0, 255]], np.uint8)))
    array([[False,  True]])
    """
    values: NDArray[Any] = mask.working
    if mask.channel_axis is not None:
        values = values.mean(axis=-1)
    if mask.alpha is not None:
        values = values * (mask.alpha / default_range(mask.alpha))
    return np.asarray(values > 127.5)


def transparent_mask(picture: Picture) -> Mask:
    """Where a picture is more transparent than not."""
    if picture.alpha is None:
        raise ValueError("has no transparency for --mask alpha; use a mask image or a colour")
    return np.asarray(picture.alpha < default_range(picture.alpha) / 2)


def nan_mask(pixels: Any, coloured: bool) -> Any:
    """Where a colour of a pixel is NaN; like :func:`painted_mask` for NumPy's arrays and Dask's.

    >>> nan_mask(np.array([[1, np.nan]]), False)
    array([[False,  True]])
    """
    missing = np.isnan(pixels)
    return missing.any(axis=-1) if coloured else missing


def painted_mask(values: Any, colour: NDArray[Any], tolerance: float, coloured: bool) -> Any:
    """Where pixels on 0..255 are as near to a colour (red, green, blue) as `tolerance` in each of its three.

    >>> painted_mask(np.array([[250, 9]], np.float32), np.full(3, 255), 20, False)
    array([[ True, False]])
    """
    if coloured:
        return (np.abs(values - colour) <= tolerance).all(axis=-1)
    if np.ptp(colour) > 0:
        raise ValueError("is grey, no pixel has that colour; use a grey like '#ffffff'")
    return np.abs(values - colour[0]) <= tolerance


def widened(mask: Mask, pixels: int) -> Mask:
    """A mask, or one of each page, with so many pixels more about what is missing."""
    from scipy.ndimage import binary_dilation

    if not pixels:
        return mask
    disc = np.hypot(*np.mgrid[-pixels : pixels + 1, -pixels : pixels + 1]) <= pixels + 0.5
    return np.asarray(binary_dilation(mask, disc[(None,) * (mask.ndim - 2)]))
