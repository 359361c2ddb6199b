"""The noise of measurements that are not pixels: how much each of them counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse.noise import Gaussian, Map, Noise, PoissonGaussian
from cosparse.reconstruction.noise_level import LEAST, stated_noise

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class DataNoise:
    """That of the data of a reconstruction, where white is 255."""

    model: Gaussian | Map | PoissonGaussian

    @classmethod
    def of(
        cls, sigma: ArrayLike, noise: Noise | None, shape: tuple[int, ...], scale: float, imaginary: bool
    ) -> DataNoise:
        """As the caller says for data of such a shape, in units of which `scale` are one of 255."""
        if np.ndim(sigma) > 0 and noise is None:
            noise, sigma = Map(np.reshape(sigma, (1, -1)) if np.shape(sigma) == shape else np.atleast_2d(sigma)), 0.0
        model = stated_noise(sigma, noise)
        if not isinstance(model, Gaussian | Map | PoissonGaussian):
            raise ValueError(f"noise: expected Gaussian, Map or PoissonGaussian, got {model!r}")
        size = int(np.prod(shape))
        if isinstance(model, Map) and model.sigma.shape not in (shape, (1, size)):
            raise ValueError(f"sigma: has shape {model.sigma.shape}, but y {shape}; give one for each of its values")
        if isinstance(model, PoissonGaussian) and imaginary:
            raise ValueError("noise: photons are counted in real numbers, but y is complex; pass sigma")
        return cls(model.scaled(scale))

    def first(self, data: Array) -> tuple[float, Array | None]:
        """As :meth:`weighed`, before there is an image: of photons one level for all, as weights by noisy data would
        favour those that came out low."""
        if isinstance(self.model, PoissonGaussian):
            return float(np.sqrt(self._variance(data).mean())), None
        return self.weighed(data)

    def weighed(self, means: Array) -> tuple[float, Array | None]:
        """One level for all, and how much the squared misfit of each counts in proportion if these are the means.

        The level is that of as many values, all as noisy, that would say as much: its variance is the harmonic mean.
        """
        if isinstance(self.model, Gaussian):
            return self.model.sigma, None
        variance = self._variance(means)
        level = float(1 / np.sqrt(np.mean(1 / variance)))
        return level, np.asarray(level**2 / variance, np.float32)

    def _variance(self, means: Array) -> Array:
        """Of each value; of photons that of one at least, as an estimate of none would be believed without end."""
        if isinstance(self.model, PoissonGaussian):
            found = self.model.variance(np.maximum(means, np.add(self.model.offset, self.model.gain)))
        else:
            found = np.square(np.ravel(self.model.sigma), dtype=float)
        return np.asarray(found.clip(LEAST**2))
