"""How close two images are: PSNR and SSIM as the literature reports them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse.io.values import checked_range, default_range


def _pair(
    a: ArrayLike, b: ArrayLike, data_range: float | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    first, second = np.asarray(a), np.asarray(b)
    if first.shape != second.shape:
        raise ValueError(f"a, b: shapes differ, {first.shape} and {second.shape}")
    if first.size == 0:
        raise ValueError("a, b: are empty")
    span = checked_range(first, data_range, "a")
    if data_range is None and default_range(second, name="b") != span:
        raise ValueError(
            f"a, b: {first.dtype} and {second.dtype} values have different ranges; bring both to one scale and "
            "pass data_range"
        )
    return first.astype(float), second.astype(float), span


def psnr(a: ArrayLike, b: ArrayLike, *, data_range: float | None = None) -> float:
    """Peak signal-to-noise ratio in dB, 10·log10(data_range² / mean squared difference).

    Parameters
    ----------
    a, b : array
        Two images of one shape and one scale.
    data_range : float, optional
        The value of white: by default that of the images' type, 255, 65535, or 1 for floats.

    Returns
    -------
    float
        Infinite for equal images.

    Examples
    --------
    >>> import numpy as np
    >>> round(psnr(np.zeros((4, 4)), np.full((4, 4), 0.1)), 6)
    20.0
    """
    first, second, span = _pair(a, b, data_range)
    error = float(np.mean((first - second) ** 2))
    return float("inf") if error == 0 else float(10 * np.log10(span**2 / error))


def ssim(a: ArrayLike, b: ArrayLike, *, data_range: float | None = None, channel_axis: int | None = None) -> float:
    """Mean structural similarity with the parameters of Wang et al. 2004 (11x11 Gaussian, σ=1.5).

    Parameters
    ----------
    a, b : array
        Two images of one shape and one scale, at least 11x11 pixels.
    data_range : float, optional
        The value of white: by default that of the images' type, 255, 65535, or 1 for floats.
    channel_axis : int, optional
        The axis of the channels, over which the mean is taken.

    Returns
    -------
    float
        1 for equal images.

    References
    ----------
    Z. Wang, A. C. Bovik, H. R. Sheikh, E. P. Simoncelli: Image quality assessment: from error visibility to structural
    similarity. IEEE Transactions on Image Processing 13(4), 2004.

    Examples
    --------
    >>> import numpy as np
    >>> ramp = np.tile(np.linspace(0, 1, 16), (16, 1))
    >>> ssim(ramp, ramp)
    1.0
    """
    from skimage.metrics import structural_similarity

    first, second, span = _pair(a, b, data_range)
    sides = [side for axis, side in enumerate(first.shape) if axis != (channel_axis or 0) % first.ndim]
    if min(first.shape if channel_axis is None else sides) < 11:
        raise ValueError(f"a: SSIM compares windows of 11x11 pixels, the image is {first.shape}")
    as_published = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False, "K1": 0.01, "K2": 0.03}
    return float(structural_similarity(first, second, data_range=span, channel_axis=channel_axis, **as_published))
