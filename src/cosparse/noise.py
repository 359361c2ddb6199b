"""Noise as cameras, microscopes and files make it: models in the image's own units.

Every task takes one as `noise=`. What differs between them is the data term alone, ½‖W(A s - y)‖², where W is the
inverse of the noise's deviation: a number, one for each pixel, or a filter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Noise(ABC):
    """What all models have.

    Attributes
    ----------
    confidence : float
        Between 0 and 1: 1 of a model that was stated, less of one that :func:`cosparse.estimate_noise` found.
    """

    confidence: float = field(default=1.0, kw_only=True, repr=False)

    @abstractmethod
    def variance(self, image: ArrayLike) -> Array:
        """Of every pixel of a clean image."""

    @abstractmethod
    def scaled(self, factor: float, shift: float = 0.0) -> Noise:
        """The same noise in other units, where a value v has become (v - shift)·factor."""

    def sample(self, clean: ArrayLike, rng: np.random.Generator | int | None = None) -> Array:
        """A noisy copy of a clean image, as floats: white normal deviates times the deviation of each pixel."""
        values = np.asarray(clean, float)
        return values + np.sqrt(self.variance(values)) * np.random.default_rng(rng).standard_normal(values.shape)


@dataclass(frozen=True, eq=False, repr=False)
class Gaussian(Noise):
    """White normal noise of one level.

    Parameters
    ----------
    sigma : float
        Its standard deviation, in the image's units.
    confidence : float
        How sure it is, 0 to 1: less than 1 of what was estimated.

    Examples
    --------
    >>> import numpy as np, cosparse
    >>> noise = cosparse.Gaussian(0.1)
    >>> noise, round(float(noise.sample(np.zeros((64, 64)), rng=0).std()), 2)
    (Gaussian(sigma=0.1), 0.1)
    """

    sigma: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", level(self.sigma))

    def __repr__(self) -> str:
        return f"Gaussian(sigma={self.sigma:.4g})"

    def variance(self, image: ArrayLike) -> Array:
        """sigma²."""
        return np.full(np.shape(image), self.sigma**2)

    def scaled(self, factor: float, shift: float = 0.0) -> Gaussian:
        """In other units."""
        return replace(self, sigma=self.sigma * factor)


@dataclass(frozen=True, eq=False)
class Map(Noise):
    """White normal noise whose level differs from pixel to pixel.

    Parameters
    ----------
    sigma : array
        The standard deviation of every pixel, in the image's units: (h, w) for all pages and channels, or of the
        image's shape. Positive; where a pixel says nothing at all, inpaint it.
    typical : float or array of one for each channel, optional
        Of a map that is part of a larger one, as that of a tile: the root mean square of the whole, so that tiles are
        repaired as the whole would be.
    confidence : float
        How sure it is, 0 to 1: less than 1 of what was estimated.

    Examples
    --------
    >>> import numpy as np, cosparse
    >>> rim = cosparse.Map(np.linspace(0.05, 0.2, 64) * np.ones((64, 1)))
    >>> rim
    Map(sigma from 0.05 to 0.2, shape (64, 64))
    >>> bool(rim.sample(np.zeros((64, 64)), rng=0)[:, 32:].std() > 0.1)
    True
    """

    sigma: Array
    typical: Any = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        sigma = np.array(self.sigma, np.float32, order="C")
        if sigma.ndim < 2 or not np.isfinite(sigma).all() or not (sigma > 0).all():
            raise ValueError(
                "sigma: a map of noise levels must have at least two axes and be finite and positive everywhere"
                + ("; give pixels without any noise a small level" if (sigma == 0).any() else "")
            )
        sigma.flags.writeable = False
        object.__setattr__(self, "sigma", sigma)
        if self.typical is None:
            return
        typical = np.asarray(self.typical, float)
        if typical.ndim > 1 or not (np.isfinite(typical) & (typical > 0)).all():
            raise ValueError(f"typical: must be a positive number, or one for each channel, got {self.typical!r}")
        object.__setattr__(self, "typical", float(typical) if typical.ndim == 0 else tuple(map(float, typical)))

    def __repr__(self) -> str:
        low, high = float(self.sigma.min()), float(self.sigma.max())
        return f"Map(sigma from {low:.4g} to {high:.4g}, shape {self.sigma.shape})"

    def variance(self, image: ArrayLike) -> Array:
        """sigma², laid out as the image."""
        return np.broadcast_to(self.sigma.astype(float) ** 2, np.shape(image)).copy()

    def scaled(self, factor: float, shift: float = 0.0) -> Map:
        """In other units."""
        typical = None if self.typical is None else np.multiply(self.typical, factor)
        return replace(self, sigma=self.sigma * np.float32(factor), typical=typical)


@dataclass(frozen=True, eq=False, repr=False)
class PoissonGaussian(Noise):
    """Photons and read noise: a pixel of clean value s has the variance gain·(s - offset) + read².

    Parameters
    ----------
    gain : float, or array of one for each channel
        What one photon adds to a value, in the image's units.
    read : float or array
        The standard deviation of what the electronics add.
    offset : float or array
        The value of a pixel that no light falls on.
    confidence : float
        How sure it is, 0 to 1: less than 1 of what was estimated.

    References
    ----------
    A. Foi, M. Trimeche, V. Katkovnik, K. Egiazarian: Practical Poissonian-Gaussian noise modeling and fitting for
    single-image raw-data. IEEE Transactions on Image Processing 17(10), 2008.

    Examples
    --------
    >>> import numpy as np, cosparse
    >>> photons = cosparse.PoissonGaussian(gain=2.0, read=3.0, offset=100.0)
    >>> photons.variance([[100.0, 150.0]])
    array([[  9., 109.]])
    """

    gain: Any
    read: Any = 0.0
    offset: Any = 0.0

    def __post_init__(self) -> None:
        for name, least in (("gain", 0.0), ("read", 0.0), ("offset", -np.inf)):
            value = np.asarray(getattr(self, name), float)
            if value.ndim > 1 or not np.isfinite(value).all() or (value < least).any():
                must = "a finite number" if name == "offset" else "a number that is not negative"
                raise ValueError(f"{name}: must be {must}, or one for each channel, got {getattr(self, name)!r}")
            object.__setattr__(self, name, float(value) if value.ndim == 0 else tuple(map(float, value)))
        if not np.all(np.asarray(self.gain) > 0):
            raise ValueError(f"gain: must be positive, got {self.gain!r}; without photons the noise is Gaussian")

    def __repr__(self) -> str:
        words = [
            f"{name}={value:.4g}" if np.ndim(value) == 0 else f"{name}=({', '.join(f'{one:.4g}' for one in value)})"
            for name, value in (("gain", self.gain), ("read", self.read), ("offset", self.offset))
        ]
        return f"PoissonGaussian({', '.join(words)})"

    def _numbers(self) -> tuple[Array, Array, Array]:
        return np.asarray(self.gain, float), np.asarray(self.read, float), np.asarray(self.offset, float)

    def variance(self, image: ArrayLike) -> Array:
        """gain·(s - offset) + read², at least read²; channels, if there are several numbers, on the last axis."""
        gain, read, offset = self._numbers()
        return np.asarray(gain * np.maximum(np.asarray(image, float) - offset, 0) + read**2)

    def scaled(self, factor: float, shift: float = 0.0) -> PoissonGaussian:
        """In other units."""
        gain, read, offset = self._numbers()
        return replace(self, gain=gain * factor, read=read * factor, offset=(offset - shift) * factor)

    def sample(self, clean: ArrayLike, rng: np.random.Generator | int | None = None) -> Array:
        """Counts of photons, and what the electronics add."""
        values, draw = np.asarray(clean, float), np.random.default_rng(rng)
        gain, read, offset = self._numbers()
        counts = draw.poisson(np.maximum(values - offset, 0) / gain)
        return np.asarray(gain * counts + offset + read * draw.standard_normal(values.shape))


@dataclass(frozen=True, eq=False)
class Correlated(Noise):
    """Normal noise that neighbours share, as after demosaicing, resizing or in a scanner: white noise, filtered.

    Parameters
    ----------
    sigma : float
        The standard deviation of a pixel, in the image's units.
    psd : (h, w) array, optional
        Its power spectrum, of the image's size, frequencies as in `numpy.fft.fft2`; up to a factor, as sigma says
        how much noise there is.
    kernel : array, optional
        Instead: what white noise was convolved with, up to a factor.
    confidence : float
        How sure it is, 0 to 1: less than 1 of what was estimated.

    Examples
    --------
    >>> import numpy as np, cosparse
    >>> streaks = cosparse.Correlated(0.1, kernel=np.ones((1, 9)))
    >>> noisy = streaks.sample(np.zeros((64, 64)), rng=0)
    >>> round(float(noisy.std()), 1), bool(np.corrcoef(noisy[:, 1:].ravel(), noisy[:, :-1].ravel())[0, 1] > 0.8)
    (0.1, True)
    """

    sigma: float
    psd: Array | None = None
    kernel: Array | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", level(self.sigma))
        if (self.psd is None) == (self.kernel is None):
            raise ValueError("psd, kernel: give one of them, the noise's power spectrum or what it was filtered by")
        name = "psd" if self.kernel is None else "kernel"
        values = np.array(getattr(self, name), np.float64, order="C")
        if values.ndim != 2 or not np.isfinite(values).all() or not values.any():
            raise ValueError(f"{name}: expected a finite array of two axes that is not all zero, got {values.shape}")
        if name == "psd" and (values < 0).any():
            raise ValueError("psd: holds negative numbers; a power spectrum has none")
        if name == "psd":
            values += np.roll(values[::-1, ::-1], 1, axis=(0, 1))  # both ways, as of every real picture
        values /= values.mean() if name == "psd" else np.linalg.norm(values)
        values.flags.writeable = False
        object.__setattr__(self, name, values)

    def __repr__(self) -> str:
        name, given = ("kernel", self.kernel) if self.psd is None else ("psd", self.psd)
        assert given is not None
        return f"Correlated(sigma={self.sigma:.4g}, {name} of shape {given.shape})"

    def spectrum(self, shape: tuple[int, int]) -> Array:
        """The power spectrum of an image's size, with mean sigma²: the variance of a pixel."""
        if self.psd is not None:
            if self.psd.shape != tuple(shape):
                raise ValueError(
                    f"psd: has shape {self.psd.shape}, but the image {tuple(shape)}; give the kernel instead, which "
                    "fits any size"
                )
            return self.sigma**2 * self.psd
        assert self.kernel is not None
        wrapped = np.zeros(shape)
        for (row, column), value in np.ndenumerate(self.kernel):  # a kernel larger than the image wraps around
            wrapped[row % shape[0], column % shape[1]] += value
        found = np.abs(np.fft.fft2(wrapped)) ** 2
        return np.asarray(self.sigma**2 * found / found.mean())

    def variance(self, image: ArrayLike) -> Array:
        """sigma²."""
        return np.full(np.shape(image), self.sigma**2)

    def scaled(self, factor: float, shift: float = 0.0) -> Correlated:
        """In other units."""
        return replace(self, sigma=self.sigma * factor)

    def sample(self, clean: ArrayLike, rng: np.random.Generator | int | None = None) -> Array:
        """White noise filtered around the borders, over the last two axes of an image."""
        values = np.asarray(clean, float)
        white = np.random.default_rng(rng).standard_normal(values.shape)
        root = np.sqrt(self.spectrum((values.shape[-2], values.shape[-1])))
        return values + np.fft.ifft2(root * np.fft.fft2(white)).real


def root_mean_square(sigma: Array, axis: tuple[int, ...] | None = None) -> Array:
    """Of noise levels, over all axes or some."""
    return np.asarray(np.sqrt(np.mean(np.square(sigma, dtype=float), axis=axis)))


def level(sigma: Any) -> float:
    """A noise level as a number that is not negative."""
    try:
        value = float(sigma)
    except (TypeError, ValueError):
        value = -1.0
    if not 0 <= value < np.inf:
        raise ValueError(f"sigma: must be a number that is not negative, got {sigma!r}")
    return value
