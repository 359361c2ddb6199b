"""What photographs show in blocks of 8x8 pixels, and how much more of it there is in a noisy one.

Where no block of a brightness is flat, its noise cannot be read off, but what photographs show is not arbitrary: fine
detail comes with coarser detail. The cosine coefficients of a block are normal with the variances of one of 160 kinds
of texture, which training photographs have (block_textures.toml; `benchmarks/noise/block_textures.py` found them), and
noise adds v to all of them,

    c_j ~ N(0, v(m) + s_kj),    v(m) = gain·m + intercept    for a block of mean brightness m and kind k.

How frequent each kind is in a picture is not known and found with the line, by expectation and maximisation: a line is
the most likely one with all kinds that a block may be.
"""

from __future__ import annotations

import tomllib
from functools import lru_cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.reconstruction.flat_blocks import ORDER, SIDE

Array = NDArray[Any]

MOST = 8000  # blocks that are looked at
CLASSES = 24  # of brightness, in each of which the noise is the same
PARTS = 6  # of brightness, in each of which the frequencies of textures are the same: skies are bright, woods dark
BEFOREHAND = 20.0  # blocks that those of all photographs count for
ROUNDS = 60
SETTLED = 1e-3  # of the mean variance: a line that changes by less is found
CONTRAST = 100.0  # grey levels between bright and dark blocks: pictures with less are taken as if they had as much
SURE = 0.05  # of the log likelihood of a block: what an intercept below zero must explain to be believed
LEAST = 0.02  # of the largest variance is the least that a class of brightness has


def groups_of_frequencies() -> NDArray[np.intp]:
    """(8, 8): the number of the group of every coefficient; -1 of the mean.

    Five rings of frequencies, each in three: waves that stand upright, lie, or are oblique.
    """
    rows, columns = np.indices((SIDE, SIDE))
    ring = np.digitize(ORDER, [1, 3, 5, 7, 9]) - 1
    direction = np.where(rows > 2 * columns, 0, np.where(columns > 2 * rows, 1, 2))
    return np.where(ORDER == 0, -1, 3 * ring + direction)


GROUPS = groups_of_frequencies()
SIZES = np.array([np.count_nonzero(one == GROUPS) for one in range(GROUPS.max() + 1)], float)


def group_energies(found: NDArray[np.float32]) -> Array:
    """(n, groups): the sum of squares of every block's coefficients in each."""
    return np.stack([np.sum(found[:, one == GROUPS] ** 2, axis=1, dtype=float) for one in range(len(SIZES))], axis=1)


@lru_cache
def textures() -> tuple[Array, Array]:
    """(kinds, groups), the variances of each kind of texture, and (kinds,) how frequent each is."""
    text = resources.files(__package__).joinpath("block_textures.toml").read_text("utf-8")
    numbers = tomllib.loads(text)
    share = np.array(numbers["share"], float)
    return 2.0 ** (np.array(numbers["log_variance"]) / numbers["unit"]), share / share.sum()


def most_likely_line(found: NDArray[np.float32], start: tuple[float, float]) -> tuple[float, float]:
    """Gain and intercept of v(m), from a first guess; of cosine transforms of blocks without values that were cut off.

    An intercept is below zero, as of a sensor with an offset, only if the first guess is and it explains much more.
    Counts in a file that has room for many more have little contrast, and their textures too.
    """
    dark, bright = np.quantile(found[:, 0, 0] / SIDE, (0.1, 0.9))
    times = max(1.0, CONTRAST / max(float(bright - dark), 1e-6))
    guess = np.array([times * start[0], times**2 * start[1]])
    line, likely = _line(np.float32(times) * found, guess.clip(0), bound=True)
    if start[1] < 0:
        free, likelier = _line(np.float32(times) * found, guess, bound=False)
        line = free if likelier - likely > SURE else line
    return float(line[0] / times), float(line[1] / times**2)


def _line(found: NDArray[np.float32], line: Array, bound: bool) -> tuple[Array, float]:
    """The line, its intercept not below zero if so bound, and the mean log likelihood of a block."""
    picked = found[np.linspace(0, len(found) - 1, min(len(found), MOST)).astype(np.intp)]
    picked = picked[np.argsort(picked[:, 0, 0], kind="stable")]
    parts = [part for part in np.array_split(np.arange(len(picked)), CLASSES) if part.size]
    bright, energies = picked[:, 0, 0].astype(float) / SIDE, group_energies(picked)
    means = np.array([bright[part].mean() for part in parts])
    design = np.stack([means, np.ones(len(parts))], axis=1)
    share, likely = np.tile(textures()[1], (PARTS, 1)), 0.0
    for _ in range(ROUNDS):
        variances = design @ line
        variances = np.maximum(variances, max(LEAST * variances.max(), 1e-3))
        slopes, curvatures, share, likely = _expected(energies, parts, variances, share)
        weights = design.T * curvatures
        change = np.linalg.solve(weights @ design, design.T @ slopes)
        if bound and line[1] + change[1] < 0:  # the best of those that are 0
            change = np.array([means @ (slopes + curvatures * line[1]) / (weights[0] @ means), -line[1]])
        line = line + change
        if abs(change[0]) * np.ptp(means) + abs(change[1]) < SETTLED * variances.mean():
            break
    return line, likely / len(picked)


def _expected(
    energies: Array, parts: list[NDArray[np.intp]], variances: Array, share: Array
) -> tuple[Array, Array, Array, float]:
    """Of every class the slope of the log likelihood by its variance, and Fisher's information; the new shares, and
    the log likelihood, up to a constant.

    Expected over the kinds of texture that each block may be of.
    """
    kinds, usual = textures()
    likelihood = 0.0
    slopes, curvatures, counts = np.zeros(len(parts)), np.zeros(len(parts)), BEFOREHAND * np.tile(usual, (PARTS, 1))
    for number, (part, variance) in enumerate(zip(parts, variances, strict=True)):
        here = number * PARTS // len(parts)
        precision = 1 / (variance + kinds)
        logs = np.log(share[here]) + 0.5 * (np.log(precision) @ SIZES - energies[part] @ precision.T)
        most = logs.max(axis=1, keepdims=True)
        likely = np.exp(logs - most)
        sums = likely.sum(axis=1, keepdims=True)
        likelihood += float(np.sum(most + np.log(sums)))
        likely /= sums
        total = likely.sum(axis=0)
        counts[here] += total
        slopes[number] = 0.5 * (np.sum(likely * (energies[part] @ (precision**2).T)) - total @ (precision @ SIZES))
        curvatures[number] = 0.5 * total @ (precision**2 @ SIZES)
    return slopes, curvatures, counts / counts.sum(axis=1, keepdims=True), likelihood
