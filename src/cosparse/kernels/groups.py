"""Groups of similar patches, each filtered as samples of one Gaussian; the fast twin of `reference.group_filter`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cosparse.kernels.compiling import compiled, inlined
from cosparse.kernels.reference import CHESSBOARD, EVEN, group_corners
from cosparse.kernels.threads import available_cores, one_blas_thread, spread

Planes = NDArray[np.float32]

BAND = 8  # rows of groups one task takes


@inlined
def _distances(guide, size, corner, row, first, found):  # type: ignore[no-untyped-def]
    """`found` becomes the squared distances from the patch at `corner` to those of a row, from column `first` on."""
    top, left = corner
    pace = 1 if min(size) < CHESSBOARD else 2
    found[:] = 0
    for u in range(size[0]):
        for v in range(u % pace, size[1], pace):
            centre = guide[top + u, left + v]
            others = guide[row + u, first + v : first + v + len(found)]
            for j in range(len(found)):
                found[j] += (others[j] - centre) * (others[j] - centre)


@inlined
def _find_similar(guide, size, corner, radius, nearest, found, bits):  # type: ignore[no-untyped-def]
    """The patches nearest to that at `corner`, itself first, into `nearest`; how many there are.

    Each is one number: the bits of its distance, which for what is not negative are in the order of the values, and
    below them its place, row x width + column. So of equals the first in reading order is nearer, whichever is seen
    first, and rows can be gone through from the middle outwards: the near ones are mostly there, and few of the others
    have to be put in. `bits` are the distances of `found`, seen as integers.
    """
    top, left = corner
    wanted, across = len(nearest), guide.shape[1]
    low, high = max(0, top - radius), min(guide.shape[0] - size[0], top + radius)
    first, last = max(0, left - radius), min(guide.shape[1] - size[1], left + radius)
    width = last - first + 1
    nearest[:] = np.iinfo(np.int64).max
    for turn in range(2 * (max(top - low, high - top)) + 1):
        row = top + (turn + 1) // 2 if turn % 2 else top - turn // 2
        if row < low or row > high:
            continue
        _distances(guide, size, corner, row, first, found[:width])
        if row == top:
            bits[left - first] = -1
        least = bits[0]
        for j in range(width):
            least = min(least, bits[j])
        if least > nearest[wanted - 1] >> 32:
            continue
        for j in range(width):
            key = (np.int64(bits[j]) << 32) | (row * across + first + j)
            if key < nearest[wanted - 1]:
                place = wanted - 1
                while place > 0 and nearest[place - 1] > key:
                    nearest[place] = nearest[place - 1]
                    place -= 1
                nearest[place] = key
    return min(wanted, width * (high - low + 1))


@inlined
def _close(guide, size, corner, alike, middle, found, bits):  # type: ignore[no-untyped-def]
    """Whether the `middle` one of a group (as in `_find_similar`) is within `alike` times the contrast of its first."""
    patch = guide[corner[0] : corner[0] + size[0], corner[1] : corner[1] + size[1]]
    pace = 1 if min(size) < CHESSBOARD else 2
    mean, contrast = np.float32(0), np.float32(0)
    for u in range(size[0]):
        for v in range(size[1]):
            mean += patch[u, v] / np.float32(size[0] * size[1])
    for u in range(size[0]):
        for v in range(u % pace, size[1], pace):
            contrast += (patch[u, v] - mean) * (patch[u, v] - mean)
    found[0] = np.float32(alike) * contrast
    return alike == np.inf or middle >> 32 <= bits[0]


@inlined
def _gather(plane, size, rows, columns, patches):  # type: ignore[no-untyped-def]
    """Patches at these corners, as rows of `patches`."""
    for k in range(len(rows)):
        for u in range(size[0]):
            for v in range(size[1]):
                patches[k, u * size[1] + v] = plane[rows[k] + u, columns[k] + v]


@inlined
def _solve(system):  # type: ignore[no-untyped-def]
    """`system` is [T | B], T positive definite: B becomes T⁻¹B. Needs no pivots; long rows, as the processor likes."""
    n = len(system)
    for j in range(n):
        pivot = system[j, j:]
        for i in range(j + 1, n):
            factor, row = system[i, j] / pivot[0], system[i, j:]
            for q in range(len(pivot)):
                row[q] -= factor * pivot[q]
    for j in range(n - 1, -1, -1):
        pivot, inverse = system[j, n:], np.float32(1) / system[j, j]
        for q in range(len(pivot)):
            pivot[q] *= inverse
        for i in range(j):
            factor, row = system[i, j], system[i, n:]
            for q in range(len(pivot)):
                row[q] -= factor * pivot[q]


@inlined
def _centre(pilot, noisy):  # type: ignore[no-untyped-def]
    """The mean of the pilot's patches; both groups lose it."""
    n, pixels = pilot.shape
    mean = np.zeros(pixels, np.float32)
    for k in range(n):
        for q in range(pixels):
            mean[q] += pilot[k, q]
    for q in range(pixels):
        mean[q] /= np.float32(n)
    for k in range(n):
        for q in range(pixels):
            pilot[k, q] -= mean[q]
            noisy[k, q] -= mean[q]
    return mean


@inlined
def _filter(pilot, noisy, variance, precision):  # type: ignore[no-untyped-def]
    """`noisy` becomes the estimates of all its patches, none of which has gaps: one system for them all."""
    n = len(pilot)
    system = np.empty((n, 2 * n), np.float32)
    seen = pilot if len(precision) == 0 else np.dot(pilot, precision)
    system[:, :n] = np.dot(seen, pilot.T)
    system[:, n:] = np.dot(seen, noisy.T)
    for k in range(n):
        system[k, k] += np.float32(n * variance)
    _solve(system)
    np.dot(np.ascontiguousarray(system[:, n:].T), pilot, noisy)


@inlined
def _fill(pilot, noisy, known, variance):  # type: ignore[no-untyped-def]
    """`noisy`, one patch, becomes its estimate from those of its pixels that are known, each as well as it is."""
    n, pixels = pilot.shape
    seen, system = np.empty((n, pixels), np.float32), np.empty((n, n + 1), np.float32)
    for k in range(n):
        product = np.float32(0)
        for q in range(pixels):
            seen[k, q] = pilot[k, q] * known[q]
            product += seen[k, q] * noisy[q]
        system[k, n] = product
    system[:, :n] = np.dot(seen, pilot.T)
    for k in range(n):
        system[k, k] += np.float32(n * variance)
    _solve(system)
    for q in range(pixels):
        noisy[q] = 0
    for k in range(n):
        for q in range(pixels):
            noisy[q] += system[k, n] * pilot[k, q]


@inlined
def _estimate(pilot, noisy, known, whole, shares, variance, precision):  # type: ignore[no-untyped-def]
    """`noisy` becomes the estimates of a group's patches."""
    mean = _centre(pilot, noisy)
    if whole:
        _filter(pilot, noisy, variance, precision)
    else:
        for k in range(len(pilot)):
            if shares[k] > 0:
                _fill(pilot, noisy[k], known[k], variance)
    for k in range(len(pilot)):
        for q in range(len(mean)):
            noisy[k, q] += mean[q]


@inlined
def _level(relative, known, shares):  # type: ignore[no-untyped-def]
    """The level of a group's noise, given each pixel's: one for all, or 0 and `known` is divided by them.

    The less noise there is in a patch, the more it counts: `shares` are divided by the mean of its variances.
    """
    low, high, total = np.inf, 0.0, 0.0
    n, pixels = len(shares), known.shape[1]
    for k in range(n):
        own = 0.0
        for q in range(pixels):
            own += relative[k, q]
            low, high = min(low, relative[k, q]), max(high, relative[k, q])
        shares[k] /= np.float32(own / pixels)
        total += own
    if high <= EVEN * low:
        return total / (n * pixels)
    for k in range(n):
        for q in range(pixels):
            known[k, q] /= relative[k, q]
    return 0.0


@compiled
def _band(  # type: ignore[no-untyped-def]
    pilots,
    noisies,
    known,
    everywhere,
    variances,
    precisions,
    relative,
    size,
    tops,
    lefts,
    radius,
    count,
    alike,
    start,
    sums,
    weights,
):
    """Some rows of groups: weighted estimates are added to `sums`, weights to `weights`; both begin at row `start`."""
    height, width = size
    pixels = height * width
    nearest, all_rows, all_columns = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    distances = np.empty(2 * radius + 1, np.float32)
    bits = distances.view(np.int32)
    pilot, noisy = np.empty((count, pixels), np.float32), np.empty((count, pixels), np.float32)
    sure, shares = np.empty((count, pixels), np.float32), np.empty(count, np.float32)
    levels = np.empty((count, pixels), np.float32)
    for top in tops:
        for left in lefts:
            if not everywhere and known[top : top + height, left : left + width].all():
                continue
            n = _find_similar(pilots[0], size, (top, left), radius, nearest, distances, bits)
            close = _close(pilots[0], size, (top, left), alike, nearest[n // 2], distances, bits)
            rows, columns = all_rows[:n], all_columns[:n]
            for k in range(n):
                place = nearest[k] & 0xFFFFFFFF
                rows[k], columns[k] = place // pilots.shape[2], place % pilots.shape[2]
            _gather(known, size, rows, columns, sure)
            for k in range(n):
                shares[k] = sure[k].sum() / np.float32(pixels)
            whole, level = shares[:n].min() == 1, 1.0
            if len(relative):
                _gather(relative, size, rows, columns, levels)
                level = _level(levels, sure, shares[:n])
                whole, level = whole and level > 0, level if level > 0 else 1.0
            for plane in range(len(pilots)):
                if close:
                    _gather(pilots[plane], size, rows, columns, pilot)
                    _gather(noisies[plane], size, rows, columns, noisy)
                    _estimate(
                        pilot[:n], noisy[:n], sure, whole, shares[:n], level * variances[plane], precisions[plane]
                    )
                else:
                    _gather(pilots[plane], size, rows, columns, noisy)
                for k in range(n):
                    i, j = rows[k] - start, columns[k]
                    for u in range(height):
                        for v in range(width):
                            sums[plane, i + u, j + v] += shares[k] * noisy[k, u * width + v]
            for k in range(n):
                i, j = rows[k] - start, columns[k]
                for u in range(height):
                    for v in range(width):
                        weights[i + u, j + v] += shares[k]


def group_parts(height: int, size: int, step: int) -> list[list[NDArray[np.int64]]]:
    """The work on a picture of this height in about ten parts, each of some bands of rows of groups."""
    tops = group_corners(height, min(size, height), step)
    bands = [tops[i : i + BAND] for i in range(0, len(tops), BAND)]
    together = max(2 * available_cores(), -(-len(bands) // 10))
    return [bands[i : i + together] for i in range(0, len(bands), together)]


def group_filter(
    pilots: Planes, noisies: Planes, known: NDArray[np.uint8], variances: NDArray[np.float64], everywhere: bool,
    size: int, step: int, radius: int, count: int, alike: float = np.inf,
    proceed: Callable[[int], bool] = lambda done: True,
    covariances: NDArray[np.float64] | None = None, relative: Planes | None = None,
) -> Planes | None:  # fmt: skip
    """See `reference.group_filter`. Bands are added in order: the same bytes whatever the number of threads.

    `proceed` is told how many parts are done before the next is begun; if it says no, None is returned.
    """
    height, width = pilots.shape[1:]
    patch = (min(size, height), min(size, width))
    lefts = group_corners(width, patch[1], step)
    precisions = _precisions(variances, covariances)
    even = np.empty((0, 0), np.float32) if relative is None else relative

    def work(band: NDArray[np.int64]) -> tuple[slice, Planes, Planes]:
        rows = slice(max(0, int(band[0]) - radius), min(height, int(band[-1]) + radius + patch[0]))
        sums = np.zeros((len(pilots), rows.stop - rows.start, width), np.float32)
        weights = np.zeros(sums.shape[1:], np.float32)
        _band(
            pilots, noisies, known, everywhere, variances, precisions, even, patch, band, lefts, radius, count, alike,
            rows.start, sums, weights,
        )  # fmt: skip
        return rows, sums, weights

    total, weight = np.zeros_like(pilots), np.zeros((height, width), np.float32)
    with one_blas_thread():
        for done, bands in enumerate(group_parts(height, size, step)):
            if done and not proceed(done):
                return None
            for rows, sums, weights in spread(work, bands):
                total[:, rows] += sums
                weight[rows] += weights
    for plane, pilot in zip(total, pilots, strict=True):
        np.divide(plane, weight, out=plane, where=weight > 0)
        np.copyto(plane, pilot, where=weight == 0)
    return total


def _precisions(variances: NDArray[np.float64], covariances: NDArray[np.float64] | None) -> Planes:
    """The inverse of each plane's covariance, times its variance: all of them empty where the noise is white."""
    if covariances is None:
        return np.empty((len(variances), 0, 0), np.float32)
    return np.ascontiguousarray(variances[:, None, None] * np.linalg.inv(covariances), np.float32)
