"""How noisy an image is: as the caller says, or estimated."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse.reconstruction.planes import Caller, Plane, open_finite


def estimate_sigma(
    image: ArrayLike, *, data_range: float | None = None, channel_axis: int | None = None
) -> float:
    """The standard deviation of the noise in the image's own units, from its finest wavelets.

    The mean over colours, and over the pages of a stack; :func:`denoise` and :func:`deblur` take each page's own.
    """
    working, caller = open_finite(image, data_range, channel_axis)
    return _estimate(working, caller.channel_axis is not None) * caller.data_range / 255.0


def page_levels(working: NDArray[np.float32], caller: Caller, sigma: float | None) -> list[float]:
    """The noise of every page on 0..255, given or estimated."""
    colour = caller.channel_axis is not None
    pages = working if working.ndim == (4 if colour else 3) else working[None]
    if sigma is None:
        return [_estimate(page, colour) for page in pages]
    return [caller.scale(checked(sigma))] * len(pages)


def _estimate(working: NDArray[np.float32], colour: bool) -> float:
    """On 0..255; the mean over pages and colours. An image of a pixel or two has no noise to speak of."""
    if colour and working.shape[-1] in (2, 4):
        working = working[..., :-1]
    planes = np.moveaxis(working, -1, 0) if colour else working
    planes = planes.reshape(-1, *(working.shape[-3:-1] if colour else working.shape[-2:]))
    if min(planes.shape[1:]) < 2:
        return 0.0
    levels = [_finest_wavelets(plane) for plane in planes if plane.min() < plane.max()]
    return float(np.mean(levels)) if levels else 0.0


def _finest_wavelets(plane: Plane) -> float:
    """The median of the diagonal details, as a normal deviation (Donoho and Johnstone 1994).

    The same number as scikit-image's `estimate_sigma`, which warns that two or three columns look like colours.
    """
    import pywt

    details = np.abs(pywt.dwtn(plane, "db2")["dd"])
    details = details[details > 0]
    return float(np.median(details)) / 0.6744897501960817 if details.size else 0.0


def checked(sigma: float) -> float:
    """A noise level as a number that is not negative."""
    try:
        level = float(sigma)
    except (TypeError, ValueError):
        level = -1.0
    if not 0 <= level < np.inf:
        raise ValueError(f"sigma: must be a number that is not negative, got {sigma!r}")
    return level
