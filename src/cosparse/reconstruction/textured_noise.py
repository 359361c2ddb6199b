"""How likely noise of any level is in blocks of a photograph, which a JPEG may have rounded.

The cosine coefficients of a block of 8x8 pixels are normal with the variances of one of the kinds of texture that
photographs have (:mod:`.block_textures`), and noise adds its own,

    c_j ~ N(0, σ²·S_j + s_kj),

where S is the spectrum of the noise: 1 if it is white, less at high frequencies if demosaicing or resizing blurred it.
A JPEG then rounds c_j to a multiple of its step Δ_j. So a coefficient that is zero says that c_j lay within Δ_j/2, and
no more: that the finest band of a JPEG is empty is no sign that there was no noise. The logarithm of how likely a block
is, for all kinds, is a sum over groups of coefficients of a function of their variance alone. It is tabulated once for
a picture, and every level costs a product of matrices.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosparse.reconstruction.block_textures import BEFOREHAND, GROUPS, SIZES, textures
from cosparse.reconstruction.flat_blocks import SIDE, Level

Array = NDArray[Any]

LEVELS = np.geomspace(0.4, 60, 34)  # of the noise, at low frequencies
BLURS = (0.0, 0.4, 0.8)  # pixels, deviations of a normal: white noise; some; as demosaicing and enlarging leave it
WHITE = BLURS[:1]
VARIANCES = np.geomspace(0.05, 3e5, 56)  # of a coefficient, at which likelihoods are tabulated
MOST = 1000  # blocks that are looked at
CLASSES, FEWEST = 6, 40  # of brightness, each with a level of its own; blocks in each, at least
ROUNDS = 4  # in which the frequencies of textures are found
DRIFT = 0.15  # of the logarithm: by about so much do the levels of neighbouring classes differ
COUNTS = 0.05  # of a block: textures are more alike within a picture than the model says
SHOWN = (2, 8)  # groups of frequencies, oblique ones, whose textures are told


class Evidence(NamedTuple):
    """What a picture says of its noise.

    `variance` of every class of brightness, dark ones first, and `error` of the logarithm of a level; `blur` of the
    noise; `texture`: the logarithm of the variance that the picture itself has, low frequencies first.
    """

    variance: Array
    error: float
    blur: float
    texture: Array

    @property
    def level(self) -> Level:
        """Of the noise of all blocks, the root of its mean variance."""
        sigma = float(np.sqrt(self.variance.mean()))
        return Level(sigma, self.error * sigma)


def evidence_of(found: NDArray[np.float32], steps: Array, blurs: tuple[float, ...] = BLURS) -> Evidence:
    """Of the cosine transforms of blocks, rounded to multiples of the steps; with steps of 1, as they are."""
    picked = found[np.linspace(0, len(found) - 1, min(len(found), MOST)).astype(np.intp)]
    picked = picked[np.argsort(picked[:, 0, 0], kind="stable")]
    parts = np.array_split(np.arange(len(picked)), min(CLASSES, max(len(picked) // FEWEST, 1)))
    table = _tabulated(picked, np.asarray(steps, float))
    likely = np.empty((len(parts), len(blurs), len(LEVELS)))
    shown = np.empty((*likely.shape, len(SHOWN)))
    kinds = np.log(textures()[0][:, SHOWN])
    for number, blur in enumerate(blurs):
        for place in range(len(LEVELS)):
            of_kinds = table @ _variances_of_kinds(blur, place)
            for one, part in enumerate(parts):
                likely[one, number, place], share = _mixed(of_kinds[part])
                shown[one, number, place] = share @ kinds
    weights = _posterior(COUNTS * likely)
    levels = weights.sum(axis=1)
    mean = levels @ np.log(LEVELS)
    spread = np.sqrt(np.maximum(levels @ np.log(LEVELS) ** 2 - mean**2, 0.0))
    blur = float(weights.sum(axis=2).mean(axis=0) @ np.array(blurs))
    texture = np.einsum("cbl,cblg->g", weights, shown) / len(parts)
    return Evidence(np.exp(2 * mean), float(spread.mean()), blur, texture)


def _tabulated(found: NDArray[np.float32], steps: Array) -> NDArray[np.float32]:
    """(n, groups·variances): the log likelihood of each block's coefficients in each group."""
    from scipy.special import erf, log_ndtr

    table = np.empty((len(found), len(SIZES), len(VARIANCES)), np.float32)
    for group in range(len(SIZES)):
        step = steps[group == GROUPS]
        values = found[:, group == GROUPS]
        number = np.where(step > 1, np.rint(values / step), np.where(np.abs(values) < 0.5 * step, 0, 2))
        half = 0.5 * step[:, None] / np.sqrt(VARIANCES)
        zero = np.log(np.maximum(erf(half / np.sqrt(2)), 1e-30))
        near, far = log_ndtr(-half), log_ndtr(-3 * half)
        one = near + np.log1p(-np.exp(np.minimum(far - near, -1e-9)))
        # Where the step is short beside the deviation, a normal density with the variance of rounding in it will do.
        variance = VARIANCES + step[:, None] ** 2 / 12
        more = np.abs(number) > 1
        squares = more * np.where(step > 1, number * step, values) ** 2
        constant = np.log(step[:, None]) - 0.5 * np.log(2 * np.pi * variance)
        table[:, group] = (number == 0) @ zero + (np.abs(number) == 1) @ one + more @ constant
        table[:, group] -= 0.5 * squares @ (1 / variance)
    return table.reshape(len(found), -1)


@lru_cache(maxsize=len(BLURS) * len(LEVELS))
def _variances_of_kinds(blur: float, place: int) -> NDArray[np.float32]:
    """(groups·variances, kinds): by what the table is multiplied for a level of noise; linear between variances."""
    one = np.exp(-((blur * np.pi * np.arange(SIDE) / SIDE) ** 2))
    spectrum = np.array([np.outer(one, one)[group == GROUPS].mean() for group in range(len(SIZES))])
    total = np.log(LEVELS[place] ** 2 * spectrum / spectrum[0] + textures()[0])
    there = (total - np.log(VARIANCES[0])) / np.log(VARIANCES[1] / VARIANCES[0])
    there = there.clip(0, len(VARIANCES) - 1.001)
    low = there.astype(np.intp)
    found = np.zeros((len(SIZES), len(VARIANCES), len(total)), np.float32)
    groups, kinds = np.arange(len(SIZES)), np.arange(len(total))[:, None]
    found[groups, low, kinds] = 1 - (there - low)
    found[groups, low + 1, kinds] = there - low
    return found.reshape(-1, len(total))


def _mixed(of_kinds: NDArray[np.float32]) -> tuple[float, Array]:
    """The log likelihood of some blocks, with the likeliest share of every kind of texture, and that share."""
    usual = textures()[1]
    most = of_kinds.max(axis=1, keepdims=True)
    each = np.exp(of_kinds - most)
    share = usual
    for _ in range(ROUNDS):
        both = each * share
        counts = BEFOREHAND * usual + (both / both.sum(axis=1, keepdims=True)).sum(axis=0)
        share = counts / counts.sum()
    likely = float(np.sum(np.log(each @ share)) + most.sum(dtype=float))
    return likely + BEFOREHAND * float(usual @ np.log(share)), share


def _posterior(likely: Array) -> Array:
    """(classes, blurs, levels), each class of sum 1: how probable every level is, given all classes.

    Levels of neighbouring classes are alike, and the blur is that of all: a chain, summed forwards and backwards.
    """
    logs = np.log(LEVELS)
    next_to = np.exp(-0.5 * ((logs[:, None] - logs) / DRIFT) ** 2)
    next_to /= next_to.sum(axis=1, keepdims=True)
    most = likely.max(axis=2, keepdims=True)
    each, found, total = np.exp(likely - most), np.empty_like(likely), most.sum(axis=(0, 2))
    for blur in range(likely.shape[1]):
        before = np.full(len(logs), 1 / len(logs))
        for number, here in enumerate(each[:, blur]):
            now = here * (before @ next_to if number else before) + 1e-300
            total[blur] += np.log(now.sum())
            before = found[number, blur] = now / now.sum()
        after = np.ones(len(logs))
        for number in range(len(each) - 2, -1, -1):
            after = next_to @ (each[number + 1, blur] * after)
            after /= after.sum() + 1e-300
            both = found[number, blur] * after + 1e-300
            found[number, blur] = both / both.sum()
    blurs = np.exp(total - total.max())
    return np.asarray(found * (blurs / blurs.sum())[:, None])
