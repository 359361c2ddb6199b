"""Noise in pictures that were JPEGs: seen in their pixels, with the level that removes it best.

A JPEG rounds the cosine coefficients of blocks of 8x8 pixels, and most fine ones become zero. The steps that it rounded
to are found in the coefficients, which are multiples of them. With them :mod:`.textured_noise` tells how strong the
noise was before, in dark and in bright parts, how blurred, and what the picture itself shows. What level of white noise
a JPEG is denoised best by follows from these: about

    log σ = ½·log(n² + Δ²) + a·x,

where n² is the variance of the noise, Δ the mean step of low frequencies, and x has what :func:`inputs_of` says. The
twelve numbers a, in compressed.toml, make what is lost in dB against the best level as small as can be, over training
photographs with many kinds of noise and with none, saved at qualities of 60 to 98: where much is uncertain, that is the
level that is forgiven most easily. `benchmarks/noise/compressed.py` chose them.
"""

from __future__ import annotations

import tomllib
from functools import lru_cache
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosparse.jpeg import LUMA, YCC
from cosparse.reconstruction.flat_blocks import ORDER, SIDE, Level, coefficients
from cosparse.reconstruction.textured_noise import evidence_of

Array = NDArray[Any]

FINE = ORDER >= 6  # the coefficients that are counted
LOW = (ORDER > 0) & (ORDER < 4)  # those whose steps say how coarse a JPEG is
ZERO = 1.2  # of 255: what rounding to whole grey levels makes of a coefficient that was zero
ACROSS = 4  # pixels by which blocks are shifted to lie across those of the JPEG
MOST = 1500  # blocks that are looked at
FEWEST = 16  # of which something can be said
SEEN = 0.06  # more zeros in its blocks than across them, of all fine coefficients: of no JPEG in 95 of 100
CUT = 0.3  # of a block's pixels: where more are black or white, its noise was cut off with them
LONGEST = 120  # the longest step that is looked for
KNOWN = 16  # steps longer than 1 that are found, at least, else values were changed since
NEAR, NEARLY, OFF = 1.2, 0.93, 0.48  # of 255: so near to multiples are so many coefficients; their deviation from them
ERROR = 0.3  # of the level: twice the median of what it is off by on pictures not fitted to, noise_compressed.csv


class Zeros(NamedTuple):
    """What part of a plane's fine coefficients is zero: in the blocks of a JPEG, and in blocks across them."""

    within: float
    across: float

    @property
    def jpeg(self) -> bool:
        """Whether the plane was one."""
        return self.within - self.across > SEEN


def zeros_of(plane: Array) -> Zeros:
    """Of a plane whose first pixel is the first of a block, as in all JPEGs that were not cropped since."""
    rows, columns = ((side - ACROSS) // SIDE for side in plane.shape)
    if min(rows, columns) < 1 or rows * columns < FEWEST:
        return Zeros(0.0, 0.0)
    return Zeros(*(_zeros(_blocks(part)) for part in (plane, plane[ACROSS:, ACROSS:])))


def _blocks(plane: Array) -> Array:
    """(n, 8, 8): the whole ones of a plane, row by row."""
    rows, columns = (side // SIDE for side in plane.shape)
    apart = plane[: rows * SIDE, : columns * SIDE].reshape(rows, SIDE, columns, SIDE).swapaxes(1, 2)
    return np.asarray(apart.reshape(-1, SIDE, SIDE))


def _zeros(blocks: Array) -> float:
    found = coefficients(blocks[:: len(blocks) // MOST + 1])
    return float(np.mean(np.abs(found[:, FINE]) < ZERO))


def steps_of(found: Array) -> Array:
    """(8, 8): the steps of a JPEG, each the longest whose multiples nearly all coefficients of its frequency are.

    Of frequencies that are zero everywhere, those of the standard's table, times what the others are of it.
    """
    steps, usual = np.zeros((SIDE, SIDE)), np.reshape(LUMA, (SIDE, SIDE))
    candidates = np.arange(LONGEST, 1, -1)
    for place in np.ndindex(SIDE, SIDE):
        values = np.abs(found[:, *place])
        values = values[values > ZERO + 0.2]
        if len(values) >= 3:
            ratios = values[:: len(values) // 300 + 1, None] / candidates
            off = np.abs(ratios - np.rint(ratios)) * candidates
            fits = ((off < NEAR).mean(axis=0) > NEARLY) & (np.mean(off**2, axis=0) < OFF**2)
            fits[-1] &= np.mean(off[:, -1] ** 2) < 0.17  # chance alone makes 1/3 of multiples of 2
            steps[place] = candidates[fits.argmax()] if fits.any() else 1
    steps[0, 0] = 0
    known, coarse = steps > 0, steps > 1
    factor = np.median(steps[coarse] / usual[coarse]) if coarse.sum() >= 3 else 0.0
    return np.where(known, steps, np.maximum(np.rint(factor * usual), 1))


def inputs_of(page: Array) -> tuple[float, Array] | None:
    """½·log(n² + Δ²) of a JPEG's page (h, w[, 3]) on 0..255, and what else its level depends on.

    None if the steps are not found: values were changed since, and what was rounded how is not known.
    """
    colours = [page] if page.ndim == 2 else list(np.moveaxis(page, -1, 0))
    cut = np.max([np.mean((part < 0.5) | (part > 254.5), axis=(1, 2)) for part in map(_blocks, colours)], axis=0)
    found = coefficients(_blocks(page if page.ndim == 2 else page @ YCC[0].astype(page.dtype)))
    steps = steps_of(found[np.argsort(cut, kind="stable")[: max(np.count_nonzero(cut == 0), FEWEST)]])
    if np.count_nonzero(steps > 1) < KNOWN:
        return None
    seen = found[cut < CUT] if np.count_nonzero(cut < CUT) >= FEWEST else found
    evidence = evidence_of(seen, steps)
    variance, coarse = float(evidence.variance.mean()), float(steps[LOW].mean())
    base = 0.5 * np.log(variance + coarse**2)
    return base, np.array([
        base, evidence.blur, evidence.blur * base, evidence.error,
        *(0.5 * evidence.texture - base),  # how much stronger than noise the picture is, at low and high frequencies
        0.5 * np.log(evidence.variance[0] / evidence.variance[-1]),  # how much noisier dark parts are than bright ones
        np.log(coarse), variance / (variance + coarse**2), page.ndim == 3, np.mean(cut >= CUT), 1.0,
    ])  # fmt: skip


def was_compressed(page: Array) -> bool:
    """Whether a page (h, w[, 3]) was a JPEG."""
    return zeros_of(page if page.ndim == 2 else page @ YCC[0].astype(page.dtype)).jpeg


def compressed_level(page: Array) -> Level | None:
    """The level of white noise that a JPEG is denoised best by; None if it was changed since."""
    seen = inputs_of(page)
    if seen is None:
        return None
    sigma = float(np.exp(seen[0] + seen[1] @ _numbers()))
    return Level(sigma, ERROR * sigma)


@lru_cache
def _numbers() -> Array:
    text = resources.files(__package__).joinpath("compressed.toml").read_text("utf-8")
    return np.array(tomllib.loads(text)["a"])
