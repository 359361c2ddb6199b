"""How strong noise is, told from texture: noise is the same in all blocks of a picture, texture is not.

A picture is seen as blocks of 8x8 pixels, each as its cosine transform. In a band of frequencies with n coefficients a
block has the mean energy

    e = (σ² + t)·χ²ₙ/n,

where σ² is the noise, the same for all, and t ≥ 0 what the block has of the picture itself: log-normal, with a spread
that is never small. Of many energies the low tail then tells both apart: where it has the shape of χ²ₙ it is noise,
where it is wider it is texture, however strong. Blocks that are flat in all other bands are looked at, which says
nothing about the noise in this one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

SIDE = 8  # pixels of a block
MOST = 96  # blocks along an axis; the larger the picture, the further they lie apart
FEWEST = 64  # blocks that something can be said of
SATURATED = 2e-3  # of all pixels: if more have the least or the largest value, they were cut off there
ORDER = np.add.outer(np.arange(SIDE), np.arange(SIDE))  # of a coefficient: its two frequencies added up
BANDS = tuple((low <= ORDER) & (high >= ORDER) for low, high in ((2, 3), (4, 5), (6, 7), (8, 14)))  # from low to high
FLATTEST = 0.15  # of all blocks are looked at

# What σ², the middle of t and its spread may be, where a quarter of the energies are less than 1. That there is no
# texture at all counts for as much as six of its strengths: without, noise alone is taken for 2 % less than it is.
_NOISE = np.concatenate([[0.0, 0.03, 0.1, 0.2], np.arange(0.3, 1.45, 0.06)])
_TEXTURE = np.concatenate([[1e-4], np.geomspace(0.004, 5, 10)])
_PRIOR = np.concatenate([[6.0], np.ones(10)])
_SPREAD = np.array([0.5, 0.85, 1.4, 2.2])
_EDGES = np.geomspace(0.15, 6, 29)  # of the histogram of energies
_ROUNDING = 0.02  # of a level: what the steps of these lists leave open
_COUNTS = 300.0  # blocks overlap, and the model is not exact: more count for no more than this


@dataclass(frozen=True)
class Level:
    """A noise level and its error, both standard deviations."""

    sigma: float
    error: float

    def surely(self, errors: float = 1.5) -> float:
        """What it is at least."""
        return max(self.sigma - errors * self.error, 0.0)

    def at_most(self, errors: float = 1.5) -> float:
        """What it is at most."""
        return self.sigma + errors * self.error


def sampled(side: int) -> NDArray[np.intp]:
    """The rows, or columns, of which blocks are made: eight for each, some of them more than once."""
    starts = np.unique(np.linspace(0, side - SIDE, min(MOST, (side - SIDE) // 2 + 1)).astype(np.intp))
    return np.asarray((starts[:, None] + np.arange(SIDE)).ravel())


def mosaic(page: Array) -> Array:
    """The blocks of a page (h, w[, channels]) side by side: all that is looked at of a picture of any size."""
    return np.asarray(page[sampled(page.shape[0])][:, sampled(page.shape[1])])


def blocks_of(tiles: Array) -> Array:
    """(n, 8, 8[, channels]) of a mosaic, without those where values were cut off; all if nothing is left then."""
    rows, columns = (side // SIDE for side in tiles.shape[:2])
    apart = tiles.reshape(rows, SIDE, columns, SIDE, *tiles.shape[2:]).swapaxes(1, 2)
    blocks = apart.reshape(-1, SIDE, SIDE, *tiles.shape[2:])
    whole = np.ones(len(blocks), bool)
    for values in np.moveaxis(blocks, -1, 0) if blocks.ndim == 4 else [blocks]:
        low, high = cut_off(values)
        whole &= ((values > low) & (values < high)).all(axis=(1, 2))
    return np.asarray(blocks[whole] if np.count_nonzero(whole) >= FEWEST else blocks)


def cut_off(values: Array) -> tuple[float, float]:
    """Below and above which values were cut off; infinity where none were."""
    low, high = float(values.min()), float(values.max())
    most = SATURATED * values.size
    return (
        low if np.count_nonzero(values == values.min()) > most else -np.inf,
        high if np.count_nonzero(values == values.max()) > most else np.inf,
    )


def coefficients(blocks: Array) -> NDArray[np.float32]:
    """The cosine transform of every block: white noise has the same level in all of them."""
    from scipy.fft import dctn

    return np.asarray(dctn(np.asarray(blocks, np.float32), axes=(1, 2), norm="ortho"))


def band_energies(found: NDArray[np.float32]) -> Array:
    """(n, bands): the mean square of every block's coefficients in each."""
    return np.stack([np.mean(found[:, band] ** 2, axis=1, dtype=float) for band in BANDS], axis=1)


def band_level(energies: Array, band: int, part: float = FLATTEST) -> Level:
    """The noise in one band, from the part of all blocks that is flattest in the others."""
    ranks = np.argsort(np.argsort(energies, axis=0, kind="stable"), axis=0, kind="stable")
    others = np.delete(ranks, band, axis=1).max(axis=1)
    count = min(len(energies), max(int(part * len(energies)), FEWEST))
    chosen = np.argsort(others, kind="stable")[:count]
    return noise_level_of(energies[chosen, band], int(np.count_nonzero(BANDS[band])))


def noise_level_of(energies: Array, freedom: int) -> Level:
    """σ of energies that are means of so many squares: its mean, and deviation, over all that may have made them."""
    scale = float(np.quantile(energies, 0.25)) if energies.size else 0.0
    if not scale > 1e-9:
        return Level(0.0, 0.0)
    counts = np.histogram(energies / scale, np.concatenate([[0.0], _EDGES, [np.inf]]))[0].astype(float)
    counts *= min(1.0, _COUNTS / counts.sum())
    likely = _expected(freedom) @ counts
    each = (np.exp(likely - likely.max()) * _PRIOR[:, None]).sum(axis=(1, 2))
    each /= each.sum()
    roots = np.sqrt(_NOISE)
    mean = float(each @ roots)
    error = np.sqrt(max(float(each @ _NOISE) - mean**2, 0.0) + _ROUNDING**2)
    return Level(mean * scale**0.5, float(error) * scale**0.5)


@lru_cache
def _expected(freedom: int) -> Array:
    """The logarithm of the part of all energies in each bin, for every noise, texture and spread."""
    from scipy.special import gammainc

    nodes, weights = np.polynomial.hermite_e.hermegauss(13)
    noise, texture, spread = (axis[..., None] for axis in np.meshgrid(_NOISE, _TEXTURE, _SPREAD, indexing="ij"))
    variance = (noise + texture * np.exp(spread * nodes)).astype(np.float32)
    half = np.float32(freedom / 2)
    below = np.stack([gammainc(half, half * np.float32(edge) / variance) @ weights for edge in _EDGES], axis=-1)
    below /= weights.sum()
    first, last = np.zeros_like(below[..., :1]), np.ones_like(below[..., :1])
    shares = np.diff(np.concatenate([first, below, last], axis=-1), axis=-1)
    return np.asarray(np.log(np.maximum(shares, 1e-9)))
