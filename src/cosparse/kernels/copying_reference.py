"""Holes filled by patches from elsewhere: the definition of each kernel in plain NumPy; `copying` has the fast twins.

An image here is (h, w, channels). A patch is named by its centre and reaches so far from it to all sides; patches of
the hole are the *centres*, those that may be copied the *origins*, one for each.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.float32]
Places = NDArray[np.int32]  # (n, 2): rows and columns
Flags = NDArray[np.uint8]


def patches(image: Image, centres: Places, reach: int) -> Image:
    """(n, side, side, channels): the patches about the centres."""
    side = 2 * reach + 1
    windows = np.lib.stride_tricks.sliding_window_view(image, (side, side), axis=(0, 1))
    return np.moveaxis(windows[centres[:, 0] - reach, centres[:, 1] - reach], 1, -1)


def shifts_of(means: Image, slack: Image, centres: Places, origins: Places) -> Image:
    """What is added to each copied patch so that it has the mean of the one it replaces, as far as `slack` allows."""
    off = means[centres[:, 0], centres[:, 1]] - means[origins[:, 0], origins[:, 1]]
    return np.asarray(off.clip(-slack, slack), np.float32)


def differences(
    image: Image,
    means: Image,
    slack: Image,
    pull: np.float32,
    centres: Places,
    origins: Places,
    bias: Image,
    reach: int,
) -> Image:
    """Squared differences of the patches and the shifted ones at their origins, and what it costs to copy from there.

    `means` are those of the patches about all pixels. A shift costs `pull` times its square at each pixel; `bias`
    (h, w) is what an origin costs.
    """
    shifts = shifts_of(means, slack, centres, origins)
    steps = patches(image, centres, reach) - patches(image, origins, reach) - shifts[:, None, None]
    moved = pull * (2 * reach + 1) ** 2 * np.square(shifts).sum(axis=1)
    return np.asarray(np.square(steps).sum(axis=(1, 2, 3)) + moved + bias[origins[:, 0], origins[:, 1]])


def improve(
    image: Image, means: Image, slack: Image, pull: np.float32, centres: Places, index: Places, usable: Flags,
    bias: Image, reach: int, moves: Places, origins: Places, costs: Image,
) -> tuple[Places, Image]:  # fmt: skip
    """For each patch the best of its origin and those that continue its neighbours', and the costs of these.

    `index` (h, w) numbers the centres, -1 elsewhere. A move is where the neighbour is, and what is added to the place
    that its origin proposes. Only `usable` ones count, and of equals the first.
    """
    found, least = origins.copy(), costs.copy()
    for move in moves:
        at = centres + move[:2]
        inside = ((at >= 0) & (at < index.shape)).all(axis=1)
        numbers = np.where(inside, index[tuple(np.where(inside[:, None], at, 0).T)], -1)
        places = (origins[numbers] - move[:2] + move[2:]).astype(np.int32)
        inside = (numbers >= 0) & ((places >= 0) & (places < usable.shape)).all(axis=1)
        places = np.where(inside[:, None], places, 0).astype(np.int32)
        good = inside & (usable[places[:, 0], places[:, 1]] > 0)
        costed = np.full(len(centres), np.inf, costs.dtype)
        costed[good] = differences(image, means, slack, pull, centres[good], places[good], bias, reach)
        better = costed < least
        found[better], least[better] = places[better], costed[better]
    return found, least


def vote(
    image: Image, pixels: Places, index: Places, origins: Places, shifts: Image, weights: Image, reach: int
) -> Image:  # fmt: skip
    """(n, channels): what the patches over each pixel say that it is, on weighted average; under none it stays."""
    out = np.empty((len(pixels), image.shape[2]), image.dtype)
    for i, (y, x) in enumerate(pixels):
        own, places = _voters(y, x, index, origins, reach)
        votes = image[places[:, 0], places[:, 1]] + shifts[own]
        out[i] = np.average(votes, axis=0, weights=weights[own]) if len(own) else image[y, x]
    return out


def elect(
    image: Image, pixels: Places, index: Places, origins: Places, shifts: Image, weights: Image, reach: int
) -> tuple[Image, Places]:  # fmt: skip
    """(n, channels) and (n, 2): what each pixel is if it is copied from one place alone, and that place.

    It is the one that most of the patches over the pixel, by weight, would copy it from, and of equals the first; it is
    shifted as these are on average. A pixel under no patch stays, and its place is its own.
    """
    out, chosen = image[pixels[:, 0], pixels[:, 1]], pixels.copy()
    for i, (y, x) in enumerate(pixels):
        own, places = _voters(y, x, index, origins, reach)
        if len(own) == 0:
            continue
        agree = (places[:, None] == places).all(axis=2)
        best = int((agree @ weights[own]).argmax())
        shift = np.average(shifts[own[agree[best]]], axis=0, weights=weights[own[agree[best]]])
        chosen[i] = places[best]
        out[i] = image[places[best, 0], places[best, 1]] + shift
    return out, chosen


def _voters(y: int, x: int, index: Places, origins: Places, reach: int) -> tuple[Places, Places]:
    """The numbers of the patches over a pixel, and the places that they would copy it from."""
    top, left = max(0, y - reach), max(0, x - reach)
    over = np.argwhere(index[top : y + reach + 1, left : x + reach + 1] >= 0) + np.array([top, left])
    own = index[over[:, 0], over[:, 1]]
    return own, origins[own] + np.array([y, x]) - over


def nearest(targets: Image, sources: Image, bias: Image, count: int) -> Places:
    """(n, count): which rows of `sources` are nearest to each of the targets, with `bias` added to the distances."""
    distances = np.square(sources).sum(axis=1) + bias - 2 * targets @ sources.T
    return np.argsort(distances, axis=1, kind="stable")[:, :count].astype(np.int32)


def project(image: Image, centres: Places, basis: Image, reach: int) -> Image:
    """(n, d): the patches about the centres in the coordinates that the columns of `basis` are."""
    return np.asarray(patches(image, centres, reach).reshape(len(centres), -1) @ basis)
