"""How noisy an image is: as the caller says, or estimated."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse.jpeg import Jpeg
from cosparse.noise import Correlated, Gaussian, Map, Noise, PoissonGaussian, level
from cosparse.reconstruction.intervals import level_of
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


def page_noises(working: Pages, caller: Caller, noise: Noise | None) -> list[Noise]:
    """The noise of every page on 0..255, given or estimated."""
    if noise is None:
        return [Gaussian(_page_level(page)) for page in working]
    if isinstance(noise, Jpeg):  # white noise of about as much error: only deblocking knows better
        return [Gaussian(level_of(noise.quantization[0]))] * len(working)
    at_work = noise.scaled(255.0 / caller.data_range, caller.offset)
    if not isinstance(at_work, Map):
        return [at_work] * len(working)
    return [Map(one) for one in _laid_out(at_work.sigma, working, caller)]


def _laid_out(sigma: NDArray[np.float32], working: Pages, caller: Caller) -> NDArray[np.float32]:
    """A map of noise levels as the pages are: (n, h, w[, channels])."""
    if sigma.shape == working.shape[1:3]:
        return np.broadcast_to(sigma, (len(working), *sigma.shape))
    if sigma.shape != caller.shape:
        raise ValueError(
            f"sigma: a map of noise levels has the image's shape {caller.shape}, or that of its pixels "
            f"{working.shape[1:3]}; got {sigma.shape}"
        )
    return caller.paged(sigma)


def typical_level(noise: Noise) -> float:
    """One number for a page's noise, on 0..255: the root of its mean variance."""
    if isinstance(noise, Map):
        return float(np.sqrt(np.mean(noise.sigma**2, dtype=float)))
    if isinstance(noise, PoissonGaussian):
        return float(np.sqrt(noise.variance(np.full(np.shape(noise.gain), 127.5)).mean()))
    assert isinstance(noise, Gaussian | Correlated)
    return noise.sigma


def stated_noise(sigma: object, noise: Noise | None) -> Noise | None:
    """What a task was told: a number, a map or a model. None leaves it to be estimated."""
    if noise is not None:
        if not isinstance(noise, Noise):
            raise ValueError(f"noise: expected a model such as cosparse.Gaussian(sigma), got {noise!r}")
        if sigma is not None and not np.array_equal(np.asarray(sigma, object), 0):
            raise ValueError("sigma, noise: say how noisy the image is by one of them")
        return noise
    if sigma is None:
        return None
    return Gaussian(level(sigma)) if np.ndim(sigma) == 0 else Map(np.asarray(sigma))  # type: ignore[arg-type]


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
