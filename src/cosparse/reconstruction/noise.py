"""How noisy an image is: as the caller says, or estimated."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse.reconstruction.planes import Caller, Pages, Plane, open_image


def estimate_sigma(
    image: ArrayLike, *, data_range: float | None = None, channel_axis: int | None = None, alpha: bool = False
) -> float:
    """The standard deviation of the noise in the image's own units, from its finest wavelets.

    The median of the diagonal details, as a normal deviation; the mean over channels and over the pages of a stack.
    :func:`denoise` and :func:`deblur` take each page's own.

    Parameters
    ----------
    image : array
        (h, w), pages of it (..., h, w), or either with a channel axis; uint8, uint16 or float.
    data_range : float, optional
        The value of white. It does not change the result, but whole numbers of other types need it.
    channel_axis : int, optional
        The axis of the channels, if there is one.
    alpha : bool
        Whether the last channel is transparency, which is not looked at.

    Returns
    -------
    float
        The noise level; 0 for an image of a pixel or two.

    References
    ----------
    D. L. Donoho, I. M. Johnstone: Ideal spatial adaptation by wavelet shrinkage. Biometrika 81(3), 1994.

    Examples
    --------
    >>> import numpy as np, cosparse
    >>> noisy = 0.5 + 0.1 * np.random.default_rng(0).standard_normal((64, 64))
    >>> round(cosparse.estimate_sigma(noisy), 2)
    0.1
    """
    working, caller = open_image(image, data_range, channel_axis, alpha=alpha)
    return float(np.mean([_page_level(page) for page in working])) * caller.data_range / 255.0


def page_levels(working: Pages, caller: Caller, sigma: float | None) -> list[float]:
    """The noise of every page on 0..255, given or estimated."""
    if sigma is None:
        return [_page_level(page) for page in working]
    return [caller.scale(checked(sigma))] * len(working)


def _page_level(page: NDArray[np.float32]) -> float:
    """On 0..255; the mean over the channels. An image of a pixel or two has no noise to speak of."""
    planes = page[None] if page.ndim == 2 else np.moveaxis(page, -1, 0)
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
