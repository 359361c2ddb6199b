"""Groups of similar patches, each filtered as samples of one Gaussian; the fast twin of `reference.group_filter`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cosparse.kernels.compiling import compiled, inlined
from cosparse.kernels.reference import group_corners
from cosparse.kernels.threads import available_cores, one_blas_thread, spread

Planes = NDArray[np.float32]

BAND = 8  # rows of groups one task takes


@inlined
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
def _filter(pilot, noisy, variance):  # type: ignore[no-untyped-def]
    """`noisy` becomes the estimates of all its patches, none of which has gaps: one system for them all."""
    n = len(pilot)
    system = np.empty((n, 2 * n), np.float32)
    system[:, :n] = np.dot(pilot, pilot.T)
    system[:, n:] = np.dot(pilot, noisy.T)
    for k in range(n):
        system[k, k] += np.float32(n * variance)
    _solve(system)
    np.dot(np.ascontiguousarray(system[:, n:].T), pilot, noisy)


@inlined
def _fill(pilot, noisy, known, variance):  # type: ignore[no-untyped-def]
    """`noisy`, one patch, becomes its estimate from those of its pixels that are known."""
    n, pixels = pilot.shape
    seen, system = np.empty((n, pixels), np.float32), np.empty((n, n + 1), np.float32)
    for k in range(n):
        product = np.float32(0)
        for q in range(pixels):
            seen[k, q] = pilot[k, q] * known[q]
            product += seen[k, q] * noisy[q]
        system[k, n] = product
    system[:, :n] = np.dot(seen, seen.T)
    for k in range(n):
        system[k, k] += np.float32(n * variance)
    _solve(system)
    for q in range(pixels):
        noisy[q] = 0
    for k in range(n):
        for q in range(pixels):
            noisy[q] += system[k, n] * pilot[k, q]


@compiled
def _band(  # type: ignore[no-untyped-def]
    pilots, noisies, known, everywhere, variances, size, tops, lefts, radius, count, start, sums, weights
):
    """Some rows of groups: weighted estimates are added to `sums`, weights to `weights`; both begin at row `start`."""
    height, width = size
    pixels = height * width
    rows, columns = np.empty(count, np.int64), np.empty(count, np.int64)
    distances, row = np.empty(count, np.float32), np.empty(2 * radius + 1, np.float32)
    pilot, noisy = np.empty((count, pixels), np.float32), np.empty((count, pixels), np.float32)
    sure, shares = np.empty((count, pixels), np.float32), np.empty(count, np.float32)
    for top in tops:
        for left in lefts:
            if not everywhere and known[top : top + height, left : left + width].all():
                continue
            n = _find_similar(pilots[0], size, (top, left), radius, rows, columns, distances, row)
            for k in range(n):
                i, j = rows[k], columns[k]
                total = np.float32(0)
                for u in range(height):
                    for v in range(width):
                        sure[k, u * width + v] = known[i + u, j + v]
                        total += np.float32(known[i + u, j + v])
                shares[k] = total / np.float32(pixels)
            for plane in range(len(pilots)):
                for k in range(n):
                    i, j = rows[k], columns[k]
                    for u in range(height):
                        for v in range(width):
                            pilot[k, u * width + v] = pilots[plane, i + u, j + v]
                            noisy[k, u * width + v] = noisies[plane, i + u, j + v]
                mean = _centre(pilot[:n], noisy[:n])
                if shares[:n].min() == 1:
                    _filter(pilot[:n], noisy[:n], variances[plane])
                else:
                    for k in range(n):
                        if shares[k] > 0:
                            _fill(pilot[:n], noisy[k], sure[k], variances[plane])
                for k in range(n):
                    i, j = rows[k] - start, columns[k]
                    for u in range(height):
                        for v in range(width):
                            q = u * width + v
                            sums[plane, i + u, j + v] += shares[k] * (noisy[k, q] + mean[q])
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
    size: int, step: int, radius: int, count: int, proceed: Callable[[int], bool] = lambda done: True,
) -> Planes | None:  # fmt: skip
    """See `reference.group_filter`. Bands are added in order: the same bytes whatever the number of threads.

    `proceed` is told how many parts are done before the next is begun; if it says no, None is returned.
    """
    height, width = pilots.shape[1:]
    patch = (min(size, height), min(size, width))
    lefts = group_corners(width, patch[1], step)

    def work(band: NDArray[np.int64]) -> tuple[slice, Planes, Planes]:
        rows = slice(max(0, int(band[0]) - radius), min(height, int(band[-1]) + radius + patch[0]))
        sums = np.zeros((len(pilots), rows.stop - rows.start, width), np.float32)
        weights = np.zeros(sums.shape[1:], np.float32)
        _band(
            pilots, noisies, known, everywhere, variances, patch, band, lefts, radius, count, rows.start, sums, weights
        )
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
