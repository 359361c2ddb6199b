"""Groups of similar patches, each filtered as samples of one Gaussian; the fast twin of `reference.group_filter`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cosparse.kernels.reference import group_corners
from cosparse.kernels.threads import available_cores, one_blas_thread, spread

Planes = NDArray[np.float32]

BAND = 8  # rows of groups one task takes

_compiled = njit(nogil=True, cache=True, fastmath={"reassoc", "nsz", "contract", "arcp"}, error_model="numpy")


@_compiled
def _find_similar(guide, size, corner, radius, rows, columns, distances, row):  # type: ignore[no-untyped-def]
    """Corners of the patches nearest to the one at `corner`, itself first; how many there are."""
    top, left = corner
    wanted = len(rows)
    low, high = max(0, top - radius), min(guide.shape[0] - size[0], top + radius)
    first, last = max(0, left - radius), min(guide.shape[1] - size[1], left + radius)
    width = last - first + 1
    found = 0
    for i in range(low, high + 1):
        row[:width] = 0
        for u in range(size[0]):
            for v in range(size[1]):
                centre = guide[top + u, left + v]
                others = guide[i + u, first + v : first + v + width]
                for j in range(width):
                    row[j] += (others[j] - centre) * (others[j] - centre)
        if i == top:
            row[left - first] = np.float32(-1)
        for j in range(width):
            distance = row[j]
            if found < wanted or distance < distances[wanted - 1]:
                place = min(found, wanted - 1)
                while place > 0 and distances[place - 1] > distance:
                    distances[place], rows[place] = distances[place - 1], rows[place - 1]
                    columns[place] = columns[place - 1]
                    place -= 1
                distances[place], rows[place], columns[place] = distance, i, first + j
                found = min(found + 1, wanted)
    return found


@_compiled
def _solve(matrix, right):  # type: ignore[no-untyped-def]
    """`right` becomes the solution of matrix · x = right, `matrix` its Cholesky factor."""
    n = len(matrix)
    for i in range(n):
        for j in range(i + 1):
            rest = matrix[i, j]
            for k in range(j):
                rest -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = np.sqrt(rest) if i == j else rest / matrix[j, j]
    for i in range(n):
        for k in range(i):
            factor = np.float32(matrix[i, k])
            for q in range(right.shape[1]):
                right[i, q] -= factor * right[k, q]
        right[i] /= np.float32(matrix[i, i])
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            factor = np.float32(matrix[k, i])
            for q in range(right.shape[1]):
                right[i, q] -= factor * right[k, q]
        right[i] /= np.float32(matrix[i, i])


@_compiled
def _filter(pilot, noisy, variance, inverse):  # type: ignore[no-untyped-def]
    """`noisy` becomes the filtered group; `pilot` loses its mean. How little noise passed is the group's weight."""
    n, pixels = pilot.shape
    mean = np.zeros(pixels, np.float32)
    for k in range(n):
        mean += pilot[k]
    mean /= np.float32(n)
    for k in range(n):
        pilot[k] -= mean
        noisy[k] -= mean
    gram = np.dot(pilot, pilot.T).astype(np.float64)
    for k in range(n):
        gram[k, k] += n * variance
    inverse[:] = pilot
    _solve(gram, inverse)
    noisy[:] = np.dot(np.dot(noisy, pilot.T), inverse)
    passed = np.float32(0)
    for k in range(n):
        noisy[k] += mean
        for q in range(pixels):
            passed += pilot[k, q] * inverse[k, q]
    return np.float32(1) / (np.float32(0.05) + passed / np.float32(pixels))


@_compiled
def _band(pilots, noisies, variances, size, tops, lefts, radius, count, start, sums, weights):  # type: ignore[no-untyped-def]
    """The groups of some rows of patches, added to `sums` and `weights`, whose first row is the picture's row `start`."""
    pixels = size[0] * size[1]
    rows, columns = np.empty(count, np.int64), np.empty(count, np.int64)
    distances, row = np.empty(count, np.float32), np.empty(2 * radius + 1, np.float32)
    pilot, noisy = np.empty((count, pixels), np.float32), np.empty((count, pixels), np.float32)
    inverse = np.empty((count, pixels), np.float32)
    for top in tops:
        for left in lefts:
            n = _find_similar(pilots[0], size, (top, left), radius, rows, columns, distances, row)
            for plane in range(len(pilots)):
                for k in range(n):
                    for u in range(size[0]):
                        for v in range(size[1]):
                            pilot[k, u * size[1] + v] = pilots[plane, rows[k] + u, columns[k] + v]
                            noisy[k, u * size[1] + v] = noisies[plane, rows[k] + u, columns[k] + v]
                weight = _filter(pilot[:n], noisy[:n], variances[plane], inverse[:n])
                for k in range(n):
                    for u in range(size[0]):
                        i = rows[k] + u - start
                        for v in range(size[1]):
                            sums[plane, i, columns[k] + v] += weight * noisy[k, u * size[1] + v]
                            weights[plane, i, columns[k] + v] += weight


def group_filter(
    pilots: Planes, noisies: Planes, variances: NDArray[np.float64], size: int, step: int, radius: int, count: int,
    proceed: Callable[[float], bool] = lambda done: True,
) -> Planes | None:  # fmt: skip
    """See `reference.group_filter`. Bands are added in order: the same bytes whatever the number of threads.

    `proceed` is told now and then which share is done; None is returned once it says no.
    """
    height, width = pilots.shape[1:]
    patch = (min(size, height), min(size, width))
    tops, lefts = group_corners(height, patch[0], step), group_corners(width, patch[1], step)
    bands = [tops[i : i + BAND] for i in range(0, len(tops), BAND)]

    def work(band: NDArray[np.int64]) -> tuple[int, Planes, Planes]:
        start = max(0, int(band[0]) - radius)
        shape = (len(pilots), min(height, int(band[-1]) + radius + patch[0]) - start, width)
        sums, weights = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        _band(pilots, noisies, variances, patch, band, lefts, radius, count, start, sums, weights)
        return start, sums, weights

    total, weight = np.zeros_like(pilots), np.zeros_like(pilots)
    together = max(2 * available_cores(), -(-len(bands) // 10))
    with one_blas_thread():
        for first in range(0, len(bands), together):
            for start, part, share in spread(work, bands[first : first + together]):
                total[:, start : start + part.shape[1]] += part
                weight[:, start : start + part.shape[1]] += share
            done = min(1.0, (first + together) / len(bands))
            if done < 1 and not proceed(done):
                return None
    total /= weight
    return total
