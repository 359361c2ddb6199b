"""How noisy an image is: as the caller says, or estimated."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse.jpeg import Jpeg
from cosparse.noise import Correlated, Gaussian, Map, Noise, PoissonGaussian, level, root_mean_square
from cosparse.reconstruction.estimation import Model, page_noise
from cosparse.reconstruction.intervals import level_of
from cosparse.reconstruction.planes import Caller, Pages, open_image

LEAST, MOST = 0.01, 1000.0  # on 0..255: levels of a map are taken to lie between these, which are as good as 0 and ∞
NOTHING = 1e-9  # grey levels: less noise is none; what is divided by it would leave the range of single precision


def estimate_sigma(
    image: ArrayLike, *, data_range: float | None = None, channel_axis: int | None = None, alpha: bool = False
) -> float:
    """One level for the noise of an image, in its own units: that of :func:`estimate_noise` with model="gaussian".

    The mean over the pages of a stack; :func:`denoise` and :func:`deblur` take each page's own. Of pictures narrower
    than 24 pixels, the median of the finest wavelets, as a normal deviation.

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
    return float(np.mean([typical_level(page_noise(page, "gaussian")) for page in working])) * caller.data_range / 255.0


def page_noises(working: Pages, caller: Caller, noise: Noise | None, model: Model = "gaussian") -> list[Noise]:
    """The noise of every page on 0..255, given or estimated as of some model."""
    if noise is None:
        return [page_noise(page, model) for page in working]
    if isinstance(noise, Jpeg):  # white noise of about as much error: only deblocking knows better
        return [Gaussian(level_of(noise.quantization[0]))] * len(working)
    at_work = noise.scaled(255.0 / caller.data_range, caller.offset)
    if isinstance(at_work, Correlated):
        spectrum = at_work.spectrum((working.shape[1], working.shape[2]))  # refuses one of another size
        at_work = Gaussian(at_work.sigma) if np.ptp(spectrum) <= 1e-6 * spectrum.max() else at_work
    if not isinstance(at_work, Map):
        return [at_work if typical_level(at_work) >= NOTHING else Gaussian(0.0)] * len(working)
    pages, typical = _laid_out(at_work.sigma, working, caller).clip(LEAST, MOST), at_work.typical
    return [Map(one, typical=root_mean_square(one, (0, 1)) if typical is None else typical) for one in pages]


def _laid_out(sigma: NDArray[np.float32], working: Pages, caller: Caller) -> NDArray[np.float32]:
    """A map of noise levels as the pages are: (n, h, w[, channels])."""
    if sigma.shape == working.shape[1:3]:
        return np.broadcast_to(sigma, (len(working), *sigma.shape))
    if caller.alpha is not None and caller.channel_axis is not None and sigma.ndim == len(caller.shape):
        colours = caller.shape[caller.channel_axis]
        if sigma.shape[caller.channel_axis] == colours + 1:  # the transparency has none
            sigma = sigma.take(range(colours), axis=caller.channel_axis)
    if sigma.shape != caller.shape:
        raise ValueError(
            f"sigma: a map of noise levels has the image's shape {caller.shape}, or that of its pixels "
            f"{working.shape[1:3]}; got {sigma.shape}"
        )
    return caller.paged(sigma)


def typical_level(noise: Noise) -> float:
    """One number for a page's noise, on 0..255: the root of its mean variance."""
    if isinstance(noise, Map):
        return float(root_mean_square(noise.sigma if noise.typical is None else np.asarray(noise.typical)))
    if isinstance(noise, PoissonGaussian):
        return float(np.sqrt(noise.variance(np.full(np.shape(noise.gain), 127.5)).mean()))
    assert isinstance(noise, Gaussian | Correlated)
    return noise.sigma


def largest_level(noise: Noise) -> float:
    """That of the noisiest pixel of a page."""
    return float(noise.sigma.max()) if isinstance(noise, Map) else typical_level(noise)


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
