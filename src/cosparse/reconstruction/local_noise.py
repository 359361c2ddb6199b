"""Noise whose level differs from pixel to pixel, and what that means for every patch.

The data term takes each pixel at its own level, ½Σ (s - y)²·(σ₀/σ(x))², with σ₀ a level that is typical of the whole
page. A patch has the root mean square of its pixels' levels, σ_p, and the prior of that level, whose weight there is
(σ₀/σ_p)² as well: where the noise is the same everywhere, all is as it is for a number. So that all factors come from
small tables, patches' levels are rounded to a grid of σ₀ times powers of 1.05.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from cosparse.kernels.reference import patch_means, patch_sums
from cosparse.noise import Map, Noise
from cosparse.reconstruction.noise_level import typical_level
from cosparse.reconstruction.planes import Channel, Plane

STEP = 1.05  # ratio of neighbouring levels of the grid
MOST_TAKEN = 1.3  # by validation: without effect where levels differ by a factor of four


def channel_noise(sigma: float, noise: Noise | None, channel: Channel) -> tuple[float, Map | None, NDArray[np.float64]]:
    """Of a channel of a page with noise of level sigma, or with a map of it: its typical level, its map, and the grid
    of that map's levels; of other noise there is no map, and no grid."""
    own = of_channel(noise, channel)
    return (sigma * channel.gain, None, np.empty(0)) if own is None else (typical_level(own), own, grid(own))


def of_channel(noise: Noise | None, channel: Channel) -> Map | None:
    """A page's map of noise levels as that of one of its channels; None of other noise."""
    if not isinstance(noise, Map):
        return None
    if noise.sigma.ndim == 2:
        return Map(noise.sigma * np.float32(channel.gain), typical=channel.gain * typical_level(noise))
    squares = np.square(np.asarray(channel.mixed, np.float32))
    strength = channel.gain / float(np.sqrt(squares.sum()))
    each = np.broadcast_to(noise.typical or typical_level(noise), len(squares))
    level = strength * float(np.sqrt(np.square(each) @ squares))
    return Map(np.float32(strength) * np.sqrt(noise.sigma**2 @ squares), typical=level)


def grid(noise: Map) -> NDArray[np.float64]:
    """The levels, from that of the least noisy pixel to that of the noisiest."""
    low, high = _numbers(noise, np.array([noise.sigma.min(), noise.sigma.max()]))
    return np.asarray(typical_level(noise) * STEP ** np.arange(low, high + 1.0))


def pixel_levels(noise: Map) -> NDArray[np.intp]:
    """Where in the grid each pixel is."""
    return np.asarray(_numbers(noise, noise.sigma) - _numbers(noise, noise.sigma.min()))


def patch_levels(noise: Map, patch: tuple[int, int], stride: tuple[int, int]) -> NDArray[np.intp]:
    """Where in the grid each patch is, (rows, columns)."""
    low, high = noise.sigma.min(), noise.sigma.max()
    level = np.sqrt(patch_means(noise.sigma**2, patch, stride)).clip(low, high)
    return np.asarray(_numbers(noise, level) - _numbers(noise, low))


def relative_variance(noise: Map) -> Plane:
    """(σ/σ₀)² of every pixel."""
    return np.asarray(np.square(noise.sigma / np.float32(typical_level(noise))))


def precision(noise: Map) -> Plane:
    """(σ₀/σ)² of every pixel: how much its data count."""
    return np.asarray(np.square(np.float32(typical_level(noise)) / noise.sigma))


def taken_of(noise: Map, patch: tuple[int, int], stride: tuple[int, int]) -> Plane:
    """σ/σ₀ of every pixel, but at most so much that on average over its patches σ/σ_p is no more than `MOST_TAKEN`.

    For a pixel that is far noisier than all about it would else move several times as far as any patch says.
    """
    less = (typical_level(noise) / grid(noise))[patch_levels(noise, patch, stride)]
    seen, sums = (patch_sums(values, noise.sigma.shape, patch, stride) for values in (np.ones_like(less), less))
    return np.minimum(np.sqrt(relative_variance(noise)), MOST_TAKEN * seen / sums).astype(np.float32)


def enlarged(noise: Map, factor: float) -> Map:
    """Of an image that was made `factor` times as large: every pixel's level in all that came of it."""
    rows, columns = (
        np.minimum((np.arange(math.ceil(side * factor)) + 0.5) / factor, side - 1).astype(int)
        for side in noise.sigma.shape
    )
    return Map(noise.sigma[np.ix_(rows, columns)], typical=typical_level(noise))


def _numbers(noise: Map, sigma: NDArray[np.floating] | np.floating) -> NDArray[np.intp]:
    """Of the nearest levels of an endless grid."""
    return np.asarray(np.rint(np.log(np.asarray(sigma, float) / typical_level(noise)) / np.log(STEP)), np.intp)
