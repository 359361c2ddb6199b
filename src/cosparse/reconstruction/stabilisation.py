"""Photon noise made white: the generalised Anscombe transform, and its exact unbiased inverse.

A value of λ photons on average is z = Poisson(λ) + read noise of deviation r (in photons). Its root

    f(z) = 2 √max(z + 3/8 + r², 0)

has a variance of nearly 1 whatever λ is, so that what removes white noise can be used. What that returns is an estimate
of E[f(z) | λ], of which λ is found by a table: f⁻¹ alone would be biased, as a mean of roots is not the root of a mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.noise import PoissonGaussian

Array = NDArray[Any]

LARGE = 100.0  # photons: from here on the closed form of the inverse is exact to 1e-4
NODES = 48  # of the quadrature over the read noise


@dataclass(frozen=True, eq=False)
class Stabilisation:
    """Pages on 0..255 with photon noise, as pages with white noise of one level, and back.

    Parameters
    ----------
    noise : PoissonGaussian
        On 0..255, like the pages; channels, if it has several numbers, are on their last axis.

    References
    ----------
    M. Mäkitalo, A. Foi: Optimal inversion of the generalized Anscombe transformation for Poisson-Gaussian noise. IEEE
    Transactions on Image Processing 22(1), 2013.
    """

    noise: PoissonGaussian

    @property
    def sigma(self) -> float:
        """The level of the white noise: what brings the roots of 0..255 to about 0..255 again."""
        gain, read, offset = self._numbers()
        photons = np.maximum(255.0 - offset, gain) / gain
        return float(255.0 / np.max(_root(photons, read) - _root(0.0, read)))

    def level(self, roots: Array) -> float:
        """One number for the photon noise of a page that was brought here: the root of its mean variance."""
        return float(np.sqrt(self.noise.variance(self.back(roots)).mean()))

    def forward(self, page: Array) -> NDArray[np.float32]:
        """f of every pixel, times the level of the white noise."""
        gain, read, offset = self._numbers()
        return np.asarray(self.sigma * _root((np.asarray(page, float) - offset) / gain, read), np.float32)

    def back(self, page: Array) -> NDArray[np.float32]:
        """The means that such values come from."""
        roots = np.asarray(page, float) / self.sigma
        gain, read, offset = self._numbers()
        if gain.ndim == 0:
            return np.asarray(gain * _photons(roots, float(read)) + offset, np.float32)
        each = [_photons(roots[..., c], float(one)) for c, one in enumerate(read)]
        return np.asarray(gain * np.stack(each, axis=-1) + offset, np.float32)

    def _numbers(self) -> tuple[Array, Array, Array]:
        """Gain, read noise in photons, offset; each a number, or one a channel."""
        gain, read, offset = np.broadcast_arrays(self.noise.gain, self.noise.read, self.noise.offset)
        return gain, read / gain, offset


def _root(photons: Any, read: Any) -> Any:
    return 2 * np.sqrt(np.maximum(photons + 0.375 + read**2, 0))


def _photons(roots: Array, read: float) -> Array:
    """λ of which E[f(z) | λ] is given: none below that of darkness."""
    means, expected = expected_roots(read)
    high = np.maximum(roots, expected[-1])
    large = high**2 / 4 - 0.125 - read**2
    return np.where(roots < expected[-1], np.interp(roots, expected, means), large)


def expected_roots(read: float) -> tuple[Array, Array]:
    """λ up to LARGE, and E[f(z) | λ]: a sum over counts, and over the read noise by Gauss and Hermite."""
    from scipy.stats import poisson

    means = np.concatenate([np.linspace(0, 1, 41)[:-1], np.geomspace(1, LARGE, 160)])
    counts = np.arange(int(LARGE + 12 * np.sqrt(LARGE)))
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    roots = _root(counts[:, None] + read * nodes, read) @ (weights / weights.sum())
    return means, poisson.pmf(counts, means[:, None]) @ roots
