"""The kernels of `reference`, each in one pass: gather a tile, multiply, penalise, multiply, scatter.

The 128 x N responses never exist as a whole: a tile of them stays in the cache between the two matrix
products, which are nearly all of the time. A tile of an image has one patch a row, the order in which OpenBLAS
multiplies fastest. Everything is float32; sums are carried in float64.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cosparse.kernels.compiling import compiled, inlined
from cosparse.kernels.elementary import exp2, gather, log2, scatter
from cosparse.kernels.reference import LocalWeights, fold_border, positions, replicate_rows
from cosparse.kernels.threads import one_blas_thread, spread
from cosparse.penalty import LOG

Single = NDArray[np.float32]
Double = NDArray[np.float64]

TILE = 512  # patches of an image a tile: 128 responses of each fit the second-level cache
CHUNK_TILE = 256  # training patches a tile
CHUNK = 16 * CHUNK_TILE  # training patches one task takes
BAND = 16  # rows of patches one task takes
SHARING = 4  # responses to one atom that share a logarithm: that of their product

_ONE = np.float32(1)
_LN2 = np.float32(0.6931471805599453)


@inlined
def _log_penalty(x, nu):  # type: ignore[no-untyped-def]
    """log(1 + nu x²) in base 2, and half its derivative over nu."""
    inside = _ONE + nu * x * x
    return log2(inside), x / inside


@inlined
def _power_penalty(x, nu, half):  # type: ignore[no-untyped-def]
    """(x² + nu)^(p/2) and x (x² + nu)^(p/2 - 1), with half = p/2."""
    inside = x * x + nu
    power = exp2(half * log2(inside))
    return power, x * power / inside


@compiled
def _penalise(v, weights, code, nu, p, sharing):  # type: ignore[no-untyped-def]
    """Turn the T x k responses `v` into weighted slopes in place; return the sum of their penalties.

    The logarithms of `sharing` rows are taken at once, as that of their product.
    """
    count, k = v.shape
    total = 0.0
    if code == LOG:
        rates = np.float32(2) * nu * weights
        products = np.empty(k, np.float32)
        for first in range(0, count, sharing):
            products[:] = _ONE
            for c in range(first, min(first + sharing, count)):
                row = v[c]
                for i in range(k):
                    inside = _ONE + nu * row[i] * row[i]
                    row[i] = rates[i] * (row[i] / inside)
                    products[i] *= inside
            part = np.float32(0)
            for i in range(k):
                part += weights[i] * log2(products[i])
            total += float(part)
        return total * _LN2
    half = np.float32(0.5) * p
    for c in range(count):
        row = v[c]
        part = np.float32(0)
        for i in range(k):
            phi, slope = _power_penalty(row[i], nu, half)
            row[i] = weights[i] * slope
            part += weights[i] * phi
        total += float(part)
    return total / p


@compiled
def _penalise_patches(v, weights, sums, code, nu, p, square):  # type: ignore[no-untyped-def]
    """The same for training patches, a column of `v` each; with `square` half the square of each one's penalty."""
    k, count = v.shape
    for j in range(count):
        sums[j] = 0
    for i in range(k):
        if code == LOG:
            rate, scale = np.float32(2) * nu * weights[i], weights[i] * _LN2
            for j in range(count):
                phi, slope = _log_penalty(v[i, j], nu)
                v[i, j] = rate * slope
                sums[j] += scale * phi
        else:
            half, scale = np.float32(0.5) * p, weights[i] / p
            for j in range(count):
                phi, slope = _power_penalty(v[i, j], nu, half)
                v[i, j] = weights[i] * slope
                sums[j] += scale * phi
    total = 0.0
    if not square:
        for j in range(count):
            total += sums[j]
        return total
    for i in range(k):
        for j in range(count):
            v[i, j] *= sums[j]
    for j in range(count):
        total += np.float32(0.5) * sums[j] * sums[j]
    return total


@compiled
def _patch_chunk(atoms, weights, patches, code, nu, p, square, gradient):  # type: ignore[no-untyped-def]
    """Sum of the penalty over a chunk of patches; its gradient is added to `gradient`."""
    k, n = atoms.shape
    buffer = np.empty(k * CHUNK_TILE, np.float32)
    piece = np.empty((k, n), np.float32)
    sums = np.empty(CHUNK_TILE, np.float32)
    total = 0.0
    for start in range(0, patches.shape[0], CHUNK_TILE):
        tile = patches[start : start + CHUNK_TILE]
        count = tile.shape[0]
        v = buffer[: k * count].reshape(k, count)
        np.dot(atoms, tile.T, v)
        total += _penalise_patches(v, weights, sums, code, nu, p, square)
        np.dot(v, tile, piece)
        gradient += piece
    return total


def _seen(value: float, gradient: NDArray[np.floating]) -> float:
    """The value, or NaN if something on the way was not finite: the line search relies on seeing it.

    The logarithm that reads bits takes NaN and infinity for numbers; the slopes do not.
    """
    return value if np.isfinite(gradient.sum()) else float("nan")


def patch_sparsity(
    atoms: Single, weights: Single, patches: Single, code: int, nu: float, p: float, square: bool
) -> tuple[float, Double]:
    """As `reference.patch_sparsity`, in one pass over the patches."""

    def chunk(start: int) -> tuple[float, Single]:
        gradient = np.zeros(atoms.shape, np.float32)
        total = _patch_chunk(atoms, weights, patches[start : start + CHUNK], code, *scalars, square, gradient)
        return total, gradient

    scalars = np.float32(nu), np.float32(p)
    with one_blas_thread():
        parts = spread(chunk, range(0, len(patches), CHUNK))
    value = sum(total for total, _ in parts)
    gradient = np.zeros(atoms.shape)
    for _, part in parts:
        gradient += part
    return _seen(value, gradient) / len(patches), gradient / len(patches)


@compiled
def _penalise_locally(v, levels, weights, scale, code, nu, p, sharing):  # type: ignore[no-untyped-def]
    """As :func:`_penalise`, with weights and scales of every patch's level: one run of equal levels after the other."""
    count, k = v.shape
    total = 0.0
    first = 0
    while first < count:
        level, last = levels[first], first
        while last < count and levels[last] == level:
            for i in range(k):
                v[last, i] *= scale[level, i]
            last += 1
        total += _penalise(v[first:last], weights[level], code, nu, p, sharing)
        for c in range(first, last):
            for i in range(k):
                v[c, i] *= scale[level, i]
        first = last
    return total


@compiled
def _image_band(  # type: ignore[no-untyped-def]
    atoms, transposed, levels, weights, scale, pixels, rows, left, right, height, width, down, across, code, nu, p,
    sharing, gradient,
):  # fmt: skip
    """Penalty of `rows` rows of patches, the first at the top of `pixels`, from column `left` to before `right`.

    Its gradient is added to `gradient`, which has the shape of `pixels`. `weights` and `scale` have a row for each
    level; without `levels` the first row of weights is that of all patches, and nothing is scaled.
    """
    k, n = atoms.shape
    patch_buffer = np.empty((TILE, n), np.float32)
    response_buffer = np.empty((TILE, k), np.float32)
    total = 0.0
    number = rows * (right - left)
    for first in range(0, number, TILE):
        count = min(TILE, number - first)
        patches, v = patch_buffer[:count], response_buffer[:count]
        gather(pixels, first, left, right, height, width, down, across, patches)
        np.dot(patches, transposed, v)
        if len(levels) == 0:
            total += _penalise(v, weights[0], code, nu, p, sharing)
        else:
            here = levels[first : first + count]
            total += _penalise_locally(v, here, weights, scale, code, nu, p, sharing)
        np.dot(v, atoms, patches)
        scatter(patches, first, left, right, height, width, down, across, gradient)
    return total


def image_sparsity(
    atoms: Single,
    weights: Single,
    image: Single,
    patch: tuple[int, int],
    stride: tuple[int, int],
    code: int,
    nu: float,
    p: float,
    counted: tuple[range, range] | None = None,
    local: LocalWeights | None = None,
) -> tuple[float, Single]:
    """As `reference.image_sparsity`, band by band; no two threads write to the same memory."""
    down = stride[0]
    rows, columns = positions(image.shape[0], down), positions(image.shape[1], stride[1])
    tall, wide = counted or (range(rows), range(columns))
    # Patches that count and those that do not are never in the same band, nor in the same part of one.
    bands = [
        range(first, min(first + BAND, high))
        for low, high in pairwise((0, tall.start, tall.stop, rows))
        for first in range(low, high, BAND)
    ]
    parts = [(left, right) for left, right in pairwise((0, wide.start, wide.stop, columns)) if left < right]
    transposed = np.ascontiguousarray(atoms.T)
    levels, *tables = local or LocalWeights(np.zeros((rows, 0), np.intp), weights[None], np.ones((1, 1), np.float32))
    scalars = np.float32(nu), np.float32(p)
    # The product of so many must be a number: one + nu v² of each below 2^(127 / SHARING).
    largest = float(np.abs(atoms).sum(axis=1).max()) * max(float(image.max()), -float(image.min()))
    sharing = SHARING if 1 + nu * (largest * float(tables[1].max())) ** 2 < 2.0 ** (127 // SHARING) else 1
    gradient = np.zeros([(a - 1) * s + b for a, s, b in zip((rows, columns), stride, patch, strict=True)], np.float32)

    def work(band: range) -> tuple[float, Single]:
        # Its own pixels with the repeated ones about them: a padded copy of the whole image would cost memory.
        pixels = replicate_rows(image, band, patch, stride)
        own = np.zeros_like(pixels)
        total = 0.0
        for left, right in parts:
            here = levels[band.start : band.stop, left:right].astype(np.int16).reshape(-1)
            value = _image_band(
                atoms, transposed, here, *tables, pixels, len(band), left, right, *patch, *stride,
                code, *scalars, sharing, own,
            )  # fmt: skip
            total += value if band.start in tall and left in wide else 0.0
        # Rows below the last patch row's top belong to the next band too: they are handed on.
        mine = len(band) * down if band.stop < rows else len(own)
        gradient[band.start * down : band.start * down + mine] = own[:mine]
        return total, own[mine:].copy()

    with one_blas_thread():
        results = spread(work, bands)
    for band, (_, rest) in zip(bands, results, strict=True):
        below = band.stop * down
        gradient[below : below + len(rest)] += rest
    folded = fold_border(gradient, image.shape, (patch[0] // 2, patch[1] // 2))
    return _seen(sum(total for total, _ in results), folded), folded
