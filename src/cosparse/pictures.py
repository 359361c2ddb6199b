"""What the command line and the web page both do with pictures as files hold them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

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


def enlarged_alpha(picture: Picture, factor: int) -> Any:
    """The transparency of a picture, if it has any, to go with its enlarged pixels."""
    if picture.alpha is None:
        return None
    top = default_range(picture.alpha)
    planes = picture.alpha if picture.stack else picture.alpha[None]
    large = np.stack([enlarge(p.astype(np.float32), factor).clip(0, top) for p in planes])
    if picture.alpha.dtype.kind == "u":
        large = np.rint(large)
    return (large if picture.stack else large[0]).astype(picture.alpha.dtype)
