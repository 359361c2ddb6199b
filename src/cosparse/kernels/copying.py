"""Holes filled by patches from elsewhere: the fast twins of `copying_reference`, which says what each computes."""

from __future__ import annotations

import numpy as np

from cosparse.kernels.compiling import compiled, inlined
from cosparse.kernels.copying_reference import Flags, Image, Places
from cosparse.kernels.threads import one_blas_thread, spread

BAND = 512  # patches, or pixels, one task takes
BLOCK = 1024  # known patches that are compared at once with those of a band


@inlined
def _difference(image, means, slack, pull, y, x, row, column, reach, limit):  # type: ignore[no-untyped-def]
    """The difference of two patches, given up once it is over the limit.

    What shifts save is taken away first: Σ(p-q-s)² = Σ(p-q)² - N(2d-s)s for a shift s where the means differ by d.
    """
    side, channels = 2 * reach + 1, image.shape[2]
    total = np.float32(0)
    for k in range(channels):
        off = means[y, x, k] - means[row, column, k]
        shift = min(max(off, -slack[k]), slack[k])
        total -= (2 * off - shift - pull * shift) * shift
    total *= side * side
    for u in range(side):
        one, other = image[y - reach + u], image[row - reach + u]
        for v in range(side):
            for k in range(channels):
                step = one[x - reach + v, k] - other[column - reach + v, k]
                total += step * step
        if total > limit:
            break
    return total


@compiled
def _differences_band(image, means, slack, pull, centres, origins, bias, reach, first, last, costs):  # type: ignore[no-untyped-def]
    for t in range(first, last):
        row, column = origins[t, 0], origins[t, 1]
        costs[t] = bias[row, column] + _difference(
            image, means, slack, pull, centres[t, 0], centres[t, 1], row, column, reach, np.float32(np.inf)
        )


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
    """As `copying_reference.differences`."""
    costs = np.empty(len(centres), np.float32)

    def work(first: int) -> None:
        last = min(first + BAND, len(centres))
        _differences_band(image, means, slack, pull, centres, origins, bias, reach, first, last, costs)

    spread(work, range(0, len(centres), BAND))
    return costs


@compiled
def _improve_band(  # type: ignore[no-untyped-def]
    image, means, slack, pull, centres, index, usable, bias, reach, moves, origins, costs, first, last, found, least
):
    height, width = usable.shape
    for t in range(first, last):
        y, x = centres[t, 0], centres[t, 1]
        row, column, best = origins[t, 0], origins[t, 1], costs[t]
        for m in range(moves.shape[0]):
            down, across = y + moves[m, 0], x + moves[m, 1]
            if down < 0 or across < 0 or down >= height or across >= width or index[down, across] < 0:
                continue
            n = index[down, across]
            r, c = origins[n, 0] - moves[m, 0] + moves[m, 2], origins[n, 1] - moves[m, 1] + moves[m, 3]
            if r < 0 or c < 0 or r >= height or c >= width or not usable[r, c] or (r == row and c == column):
                continue
            limit = best - bias[r, c]
            cost = bias[r, c] + _difference(image, means, slack, pull, y, x, r, c, reach, limit)
            if cost < best:
                row, column, best = r, c, cost
        found[t, 0], found[t, 1], least[t] = row, column, best


def improve(
    image: Image, means: Image, slack: Image, pull: np.float32, centres: Places, index: Places, usable: Flags,
    bias: Image, reach: int, moves: Places, origins: Places, costs: Image,
) -> tuple[Places, Image]:  # fmt: skip
    """As `copying_reference.improve`."""
    found, least = np.empty_like(origins), np.empty_like(costs)

    def work(first: int) -> None:
        last = min(first + BAND, len(centres))
        _improve_band(
            image, means, slack, pull, centres, index, usable, bias, reach, moves, origins, costs,
            first, last, found, least,
        )  # fmt: skip

    spread(work, range(0, len(centres), BAND))
    return found, least


@compiled
def _vote_band(image, pixels, index, origins, shifts, weights, reach, first, last, out):  # type: ignore[no-untyped-def]
    height, width, channels = image.shape
    for i in range(first, last):
        y, x = pixels[i, 0], pixels[i, 1]
        total = np.float32(0)
        out[i] = 0
        for down in range(max(0, y - reach), min(height, y + reach + 1)):
            for across in range(max(0, x - reach), min(width, x + reach + 1)):
                n = index[down, across]
                if n < 0:
                    continue
                row, column = origins[n, 0] + y - down, origins[n, 1] + x - across
                total += weights[n]
                for k in range(channels):
                    out[i, k] += weights[n] * (image[row, column, k] + shifts[n, k])
        if total > 0:
            out[i] /= total
        else:
            out[i] = image[y, x]


def vote(
    image: Image, pixels: Places, index: Places, origins: Places, shifts: Image, weights: Image, reach: int
) -> Image:  # fmt: skip
    """As `copying_reference.vote`."""
    out = np.empty((len(pixels), image.shape[2]), np.float32)

    def work(first: int) -> None:
        last = min(first + BAND, len(pixels))
        _vote_band(image, pixels, index, origins, shifts, weights, reach, first, last, out)

    spread(work, range(0, len(pixels), BAND))
    return out


@compiled
def _elect_band(image, pixels, index, origins, shifts, weights, reach, first, last, out, chosen):  # type: ignore[no-untyped-def]
    height, width, channels = image.shape
    most = (2 * reach + 1) * (2 * reach + 1)
    rows, columns = np.empty(most, np.int32), np.empty(most, np.int32)
    support, moved = np.empty(most, np.float32), np.empty((most, channels), np.float32)
    for i in range(first, last):
        y, x = pixels[i, 0], pixels[i, 1]
        count = 0
        for down in range(max(0, y - reach), min(height, y + reach + 1)):
            for across in range(max(0, x - reach), min(width, x + reach + 1)):
                n = index[down, across]
                if n < 0:
                    continue
                row, column = origins[n, 0] + y - down, origins[n, 1] + x - across
                j = 0
                while j < count and (rows[j] != row or columns[j] != column):
                    j += 1
                if j == count:
                    rows[j], columns[j], support[j] = row, column, 0
                    moved[j] = 0
                    count += 1
                support[j] += weights[n]
                for k in range(channels):
                    moved[j, k] += weights[n] * shifts[n, k]
        if count == 0:
            out[i] = image[y, x]
            chosen[i] = pixels[i]
            continue
        best = 0
        for j in range(1, count):
            if support[j] > support[best]:
                best = j
        chosen[i, 0], chosen[i, 1] = rows[best], columns[best]
        for k in range(channels):
            out[i, k] = image[rows[best], columns[best], k] + moved[best, k] / support[best]


def elect(
    image: Image, pixels: Places, index: Places, origins: Places, shifts: Image, weights: Image, reach: int
) -> tuple[Image, Places]:  # fmt: skip
    """As `copying_reference.elect`."""
    out, chosen = np.empty((len(pixels), image.shape[2]), np.float32), np.empty((len(pixels), 2), np.int32)

    def work(first: int) -> None:
        last = min(first + BAND, len(pixels))
        _elect_band(image, pixels, index, origins, shifts, weights, reach, first, last, out, chosen)

    spread(work, range(0, len(pixels), BAND))
    return out, chosen


@compiled
def _nearest_band(targets, sources, biased, first, last, places, least):  # type: ignore[no-untyped-def]
    count = places.shape[1]
    for start in range(0, len(sources), BLOCK):
        stop = min(start + BLOCK, len(sources))
        products = np.dot(targets[first:last], sources[start:stop].T)
        for t in range(first, last):
            row, own = products[t - first], least[t]
            for j in range(stop - start):
                value = biased[start + j] - 2 * row[j]
                if value < own[count - 1]:
                    k = count - 1
                    while k > 0 and own[k - 1] > value:
                        own[k] = own[k - 1]
                        places[t, k] = places[t, k - 1]
                        k -= 1
                    own[k] = value
                    places[t, k] = start + j


def nearest(targets: Image, sources: Image, bias: Image, count: int) -> Places:
    """As `copying_reference.nearest`."""
    count = min(count, len(sources))
    places = np.zeros((len(targets), count), np.int32)
    least = np.full((len(targets), count), np.inf, np.float32)
    biased = (np.square(sources).sum(axis=1) + bias).astype(np.float32)

    def work(first: int) -> None:
        _nearest_band(targets, sources, biased, first, min(first + BAND, len(targets)), places, least)

    with one_blas_thread():
        spread(work, range(0, len(targets), BAND))
    return places


@compiled
def _project_band(image, centres, basis, reach, first, last, out):  # type: ignore[no-untyped-def]
    side, channels = 2 * reach + 1, image.shape[2]
    patches = np.empty((last - first, side * side * channels), np.float32)
    for t in range(first, last):
        y, x, place = centres[t, 0] - reach, centres[t, 1] - reach, 0
        for u in range(side):
            for v in range(side):
                for k in range(channels):
                    patches[t - first, place] = image[y + u, x + v, k]
                    place += 1
    out[first:last] = np.dot(patches, basis)


def project(image: Image, centres: Places, basis: Image, reach: int) -> Image:
    """As `copying_reference.project`."""
    out = np.empty((len(centres), basis.shape[1]), np.float32)

    def work(first: int) -> None:
        _project_band(image, centres, basis, reach, first, min(first + BAND, len(centres)), out)

    with one_blas_thread():
        spread(work, range(0, len(centres), BAND))
    return out
