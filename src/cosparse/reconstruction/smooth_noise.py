"""Noise that was smoothed after it came: by resizing or demosaicing. How strong is it, how wide?

Whatever smooths noise takes its fine part away and leaves the coarse one. White noise under a Gaussian of so many
pixels stands for all of that: two numbers, its level and the width, which the levels of four bands of frequencies tell.
What :func:`flat_blocks.band_level` finds of such noise is somewhat less than there is, as the coefficients of a band
differ then, and seems to be texture in part; so it is compared with what it finds of flat pictures in noise
(`benchmarks/noise/smooth.py`, which prints the table).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cosparse.noise import Correlated
from cosparse.reconstruction.flat_blocks import Level
from cosparse.reconstruction.psf import gaussian_kernel

# The width of the Gaussian in pixels, and the levels found in the bands, from low frequencies to high ones, of noise 1.
FOUND = (
    (0.3, 0.912, 0.983, 0.997, 0.984), (0.4, 1.007, 1.032, 0.999, 0.918), (0.5, 1.192, 1.129, 0.974, 0.754),
    (0.6, 1.381, 1.186, 0.880, 0.534), (0.7, 1.531, 1.179, 0.750, 0.314), (0.8, 1.610, 1.111, 0.563, 0.208),
    (0.9, 1.659, 1.015, 0.412, 0.090), (1.0, 1.675, 0.899, 0.246, 0.059), (1.2, 1.614, 0.629, 0.142, 0.027),
    (1.4, 1.479, 0.376, 0.089, 0.015), (1.7, 1.167, 0.242, 0.075, 0.015), (2.0, 0.894, 0.170, 0.049, 0.015),
)  # fmt: skip
WIDTHS = np.arange(0.3, 2.01, 0.025)
EXACT = 0.1  # the relative error that the table has at best: noise was smoothed by something like a Gaussian
LITTLE = 0.05  # of the strongest band: rounding to whole grey levels and the like, which adds to the others
WIDE = 0.45  # pixels: what is narrower is as good as white, and trained steps remove it better


def smooth_noise(bands: Sequence[Level]) -> tuple[Correlated, float] | None:
    """The smoothed noise that these levels of the four bands tell of, and the error of its level; None if it is white.

    The width is the one at which the logarithms of the levels lie nearest to those of the table, each by its error.
    """
    found = np.array([max(level.sigma, 0.1) for level in bands])
    errors = np.hypot(np.array([level.error for level in bands]) / found, EXACT)
    trust = 1 / (errors**2 + (LITTLE * found.max() / found) ** 2)
    off = np.log(found) - _table()
    mean = off @ trust / trust.sum()
    misfit = (off - mean[:, None]) ** 2 @ trust
    best = int(np.argmin(misfit))
    if WIDTHS[best] < WIDE:
        return None
    sigma = float(np.exp(mean[best]))
    error = sigma * float(np.sqrt(max(1.0, misfit[best]) / trust.sum()))
    return Correlated(sigma, kernel=gaussian_kernel(float(WIDTHS[best]))), error


def _table() -> NDArray[np.float64]:
    """The logarithms of the levels of each band for every width."""
    known = np.array(FOUND)
    return np.stack([np.interp(WIDTHS, known[:, 0], np.log(levels)) for levels in known.T[1:]], axis=1)
