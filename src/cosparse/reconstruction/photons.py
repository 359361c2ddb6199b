"""Gain and read noise of a single picture: the variance of flat blocks against their brightness.

The mean square e of a flat block's finest n coefficients, of mean brightness m, is (v(m) + t)·χ²ₙ/n with
v(m) = gain·m + c. Blocks that are not quite flat have a t > 0; which ones is not known, so every block counts as a
mixture of both, and the line is the most likely one (Foi et al. 2008 fit it to level sets of wavelets). That tells
whether there are photons at all. How many is told by all coefficients of all blocks, see :mod:`.block_textures`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.reconstruction.block_textures import most_likely_line
from cosparse.reconstruction.flat_blocks import ORDER

Array = NDArray[Any]

FINEST = ORDER >= 8
FREEDOM = int(np.count_nonzero(FINEST))
CLASSES = 10  # of brightness, in each of which the flattest blocks are taken
FLAT = 0.3  # of the blocks of a class
MOST = 2500  # blocks
NEGLIGIBLE = 6.0  # of the log likelihood: what an intercept below zero must explain to be believed
BRIGHTNESSES = 14  # classes of brightness
ENOUGH = 150  # differences in one, for its variance to count
SATURATION = 3.0  # deviations from an end where values are cut off: nearer blocks seem less noisy than they are


@dataclass(frozen=True)
class VarianceLine:
    """v(m) = gain·m + intercept, and by how much it explains the blocks better than one variance for all.

    `darkest` is the least brightness of a block, `ratio` that of the variances of bright blocks and of dark ones,
    `error` a standard deviation of the gain's logarithm.
    """

    gain: float
    intercept: float
    darkest: float
    evidence: float
    ratio: float
    error: float

    def parameters(self) -> tuple[float, float, float]:
        """Gain, read noise and offset.

        A line that meets zero at a brightness is of a sensor with that offset; so is one of a picture that was shifted
        far below zero. Of others the offset is 0.
        """
        read = max(self.intercept, 0.0) ** 0.5
        if self.gain > 0 and (self.intercept < 0 or self.darkest < -read):
            return self.gain, 0.0, -self.intercept / self.gain
        return self.gain, read, 0.0


def fit_line(found: NDArray[np.float32], ends: tuple[float, float] = (-np.inf, np.inf)) -> VarianceLine | None:
    """Of the cosine transforms of a plane's blocks; None if all are equally bright. Values are cut off at `ends`."""
    found = _inside(found, ends)
    means, energies = _flat(found)
    low, high = np.quantile(means, (0.1, 0.9)) if means.size else (0.0, 0.0)
    scale = float(np.median(energies)) if energies.size else 0.0
    if not high - low > 1e-3 or not scale > 1e-9:
        return None
    place = (means - low) / (high - low)
    loss = _loss(energies / scale, place)
    flat_fit = _smallest(lambda p: loss(p[0], p[0], p[1], p[2]), (0.0, 1.0, -0.5))
    free = _smallest(lambda p: loss(*p), (*_first_line(energies / scale, place), *flat_fit[0][1:]))
    dark, bright = np.exp(free[0][:2]) * scale
    gain = float((bright - dark) / (high - low))
    intercept = float(dark - gain * low)
    if gain > 0 > intercept and low > 0:
        log_ratio = np.log(high / low)
        bound = _smallest(lambda p: loss(p[0], p[0] + log_ratio, p[1], p[2]), (free[0][0], *free[0][2:]))
        if bound[1] - free[1] < NEGLIGIBLE:
            gain, intercept = float(np.exp(bound[0][0]) * scale / low), 0.0
    gain, intercept = most_likely_line(found, (max(gain, 0.0), intercept))
    # The variance of a normal variable, from n squares, is known to sqrt(2/n); a third of overlapping blocks count.
    error = (bright + dark) / max(abs(bright - dark), 1e-9) * (2.0 / (FREEDOM * max(len(means) / 6, 1))) ** 0.5
    evidence, darkest = flat_fit[1] - free[1], float(means.min())
    return VarianceLine(gain, intercept, darkest, evidence, float(bright / dark), float(min(error, 1.0)))


def _inside(found: NDArray[np.float32], ends: tuple[float, float]) -> NDArray[np.float32]:
    """The blocks that are far enough from where values are cut off."""
    means = found[:, 0, 0] / found.shape[1]
    fine = np.mean(found[:, FINEST] ** 2, axis=1, dtype=float)
    margin = SATURATION * float(np.quantile(fine, 0.25)) ** 0.5 if len(fine) else 0.0
    return np.asarray(found[(means > ends[0] + margin) & (means < ends[1] - margin)])


def _flat(found: NDArray[np.float32]) -> tuple[Array, Array]:
    """Mean and finest energy of blocks that are flat in all coarser frequencies, of every brightness."""
    means = found[:, 0, 0].astype(float) / found.shape[1]
    fine = np.mean(found[:, FINEST] ** 2, axis=1, dtype=float)
    coarse = np.mean(found[:, (ORDER > 0) & ~FINEST] ** 2, axis=1, dtype=float)
    chosen = [
        part[np.argsort(coarse[part], kind="stable")[: max(int(FLAT * len(part)), min(len(part), 10))]]
        for part in np.array_split(np.argsort(means, kind="stable"), CLASSES)
    ]
    picked = np.concatenate(chosen)
    picked = picked[np.linspace(0, len(picked) - 1, min(len(picked), MOST)).astype(np.intp)]
    return means[picked], fine[picked]


def _loss(energies: Array, place: Array) -> Callable[..., float]:
    """The negative log likelihood: by the log variance of dark and bright blocks, how many are flat, the others' t."""
    from scipy.special import logsumexp

    nodes, weights = np.polynomial.hermite_e.hermegauss(9)
    weights = weights / weights.sum()
    half, logs = FREEDOM / 2, np.log(np.maximum(energies, 1e-12))

    def likelihood(variance: Array, energy: Array, log: Array) -> Array:
        return np.asarray(half * (1 + log - np.log(variance) - energy / variance))

    def loss(dark: float, bright: float, flat: float, texture: float) -> float:
        ends = np.exp(np.clip([dark, bright], -30, 30))
        variance = np.maximum(ends[0] * (1 - place) + ends[1] * place, 0.02 * ends.max())
        share = 1 / (1 + np.exp(-np.clip(flat, -12, 12)))
        more = variance[:, None] + np.exp(np.clip(texture + nodes, -30, 30))
        rough = logsumexp(likelihood(more, energies[:, None], logs[:, None]), axis=1, b=weights)
        mixed = np.logaddexp(np.log(share) + likelihood(variance, energies, logs), np.log1p(-share) + rough)
        return float(-mixed.sum() - 3.0 * np.log(share))

    return loss


def _first_line(energies: Array, place: Array) -> tuple[float, float]:
    """Where the search starts: log variances of dark and bright blocks by the least of each class."""
    parts = np.array_split(np.argsort(place, kind="stable"), CLASSES)
    there = np.array([place[part].mean() for part in parts])
    least = np.array([np.quantile(energies[part], 0.3) for part in parts])
    slope, start = np.polyfit(there, least, 1, w=1 / np.maximum(least, 1e-3))
    floor = 0.05 * float(least.mean())
    return float(np.log(max(start, floor))), float(np.log(max(start + slope, floor)))


def _smallest(loss: Callable[[Array], float], start: tuple[float, ...]) -> tuple[Array, float]:
    """Where a function of a few numbers is least, and how much it is there."""
    from scipy.optimize import minimize

    options = {"maxiter": 400, "xatol": 2e-3, "fatol": 0.02}
    found = minimize(loss, start, method="Nelder-Mead", options=options)
    return np.asarray(found.x), float(found.fun)


def by_brightness(plane: Array) -> tuple[Array, Array]:
    """How noise depends on brightness: so bright, and the variance there, of some classes of brightness on 0..255.

    The diagonal differences of squares of 2x2 pixels, by the brightness of their block of 8x8. Of normal noise such a
    difference, (a - b - c + d)/2, has the noise's own variance; what the picture shows mostly cancels in it, and the
    median leaves out where it does not. Blocks that touch black or white, where values are cut off, do not count.

    >>> flat = 100 + 5 * np.random.default_rng(0).standard_normal((64, 64))
    >>> bool(abs(np.mean(by_brightness(flat)[1]) - 25) < 3)
    True
    """
    tall, wide = (side // 8 for side in plane.shape)
    blocks = np.asarray(plane[: 8 * tall, : 8 * wide], float).reshape(tall, 4, 2, wide, 4, 2)
    differences = np.abs(np.diff(np.diff(blocks, axis=2), axis=5)) / 2
    inside = (blocks.min(axis=(1, 2, 4, 5)) > 0.5) & (blocks.max(axis=(1, 2, 4, 5)) < 254.5)
    each = differences.transpose(0, 3, 1, 4, 2, 5).reshape(tall, wide, 16)[inside]
    bright = blocks.mean(axis=(1, 2, 4, 5))[inside]
    level = np.minimum((bright / 256 * BRIGHTNESSES).astype(int), BRIGHTNESSES - 1)
    found = [
        (float(bright[level == one].mean()), float(np.median(each[level == one]) / 0.6744897501960817) ** 2)
        for one in range(BRIGHTNESSES)
        if 16 * np.count_nonzero(level == one) >= ENOUGH
    ]
    brightness, variance = np.array(found, float).reshape(-1, 2).T
    return brightness, variance


def rises(plane: Array) -> bool:
    """Whether the brighter the picture is, the noisier: by more than variances of one level scatter."""
    brightness, variance = by_brightness(plane)
    if len(variance) < 4 or not variance.max() > 2 * variance.min() > 0:
        return False
    return bool(np.corrcoef(brightness, variance)[0, 1] > 0.9)
