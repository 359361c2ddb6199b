"""The kernels of `reference`, each in one pass: gather a tile, multiply, penalise, multiply, scatter.

The 128 x N responses never exist as a whole: a tile of them stays in the cache between the two matrix
products, which are nearly all of the time. Everything is float32; sums are carried in float64.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cosparse.kernels.reference import fold_border, positions, replicate
from cosparse.kernels.threads import one_blas_thread, spread
from cosparse.penalty import LOG

Single = NDArray[np.float32]
Double = NDArray[np.float64]

TILE = 256  # patches a tile: 128 responses of each fit the second-level cache
CHUNK = 16 * TILE  # training patches one task takes
BAND = 16  # rows of patches one task takes

# NaN and infinity keep their meaning, for `_seen`.
_MATHS = {"reassoc", "nsz", "contract", "arcp"}
# The division check of Python would keep the elementwise loop from being vectorised.
_compiled = njit(nogil=True, cache=True, fastmath=_MATHS, error_model="numpy")

_ONE = np.float32(1)
_LN2 = np.float32(0.6931471805599453)


@njit(inline="always")
def _log2(t):  # type: ignore[no-untyped-def]
    """Base-2 logarithm of a positive normal float32, error below 3e-7.

    The exponent is read off the bits; log2(1+y)/y of the mantissa 1+y is a polynomial of degree 7
    (Chebyshev fit on [0, 1]). Unlike libm's it vectorises.
    """
    bits = np.float32(t).view(np.int32)
    exponent = np.float32((bits >> 23) - 127)
    y = np.int32((bits & 0x007FFFFF) | 0x3F800000).view(np.float32) - np.float32(1)
    q = np.float32(-0.01237064)
    q = q * y + np.float32(0.06378759)
    q = q * y + np.float32(-0.15559997)
    q = q * y + np.float32(0.2561797)
    q = q * y + np.float32(-0.35345468)
    q = q * y + np.float32(0.48007375)
    q = q * y + np.float32(-0.72131072)
    q = q * y + np.float32(1.44269477)
    return exponent + y * q


@njit(inline="always")
def _exp2(x):  # type: ignore[no-untyped-def]
    """2 to the power x for |x| < 126, relative error below 3e-7: exponent by bits, the rest by polynomial."""
    whole = np.int32(np.floor(x))
    y = np.float32(x) - np.float32(whole)
    q = np.float32(2.082919028e-04)
    q = q * y + np.float32(1.268935283e-03)
    q = q * y + np.float32(9.652440586e-03)
    q = q * y + np.float32(5.549593618e-02)
    q = q * y + np.float32(2.402272151e-01)
    q = q * y + np.float32(6.931471706e-01)
    q = q * y + np.float32(1.0)
    return q * np.int32((whole + 127) << 23).view(np.float32)


@_compiled
def _penalise(v, weights, sums, code, nu, p):  # type: ignore[no-untyped-def]
    """Turn the k x T responses `v` into weighted slopes in place; write each column's penalty to `sums`."""
    k, count = v.shape
    for j in range(count):
        sums[j] = 0
    if code == LOG:
        for i in range(k):
            scale = weights[i] * _LN2
            rate = np.float32(2) * nu * weights[i]
            for j in range(count):
                x = v[i, j]
                inside = _ONE + nu * x * x
                v[i, j] = rate * x / inside
                sums[j] += scale * _log2(inside)
    else:
        half = np.float32(0.5) * p
        for i in range(k):
            scale = weights[i] / p
            for j in range(count):
                x = v[i, j]
                inside = x * x + nu
                power = _exp2(half * _log2(inside))
                v[i, j] = weights[i] * x * power / inside
                sums[j] += scale * power


@_compiled
def _patch_chunk(atoms, weights, patches, code, nu, p, square, gradient):  # type: ignore[no-untyped-def]
    """Sum of the penalty over a chunk of patches; its gradient is added to `gradient`."""
    k, n = atoms.shape
    buffer = np.empty(k * TILE, np.float32)
    piece = np.empty((k, n), np.float32)
    sums = np.empty(TILE, np.float32)
    total = 0.0
    for start in range(0, patches.shape[0], TILE):
        tile = patches[start : start + TILE]
        count = tile.shape[0]
        v = buffer[: k * count].reshape(k, count)
        np.dot(atoms, tile.T, v)
        _penalise(v, weights, sums, code, nu, p)
        if square:
            for i in range(k):
                for j in range(count):
                    v[i, j] *= sums[j]
            for j in range(count):
                sums[j] *= np.float32(0.5) * sums[j]
        for j in range(count):
            total += sums[j]
        np.dot(v, tile, piece)
        gradient += piece
    return total


def _seen(value: float, gradient: NDArray[np.floating]) -> float:
    """The value, or NaN if something on the way was not finite: the line search relies on seeing it.

    The logarithm that reads bits takes NaN and infinity for numbers; the slopes do not.
    """
    return value if np.isfinite(gradient).all() else float("nan")


def patch_sparsity(
    atoms: Single, weights: Single, patches: Single, code: int, nu: float, p: float, square: bool
) -> tuple[float, Double]:
    """As `reference.patch_sparsity`, in one pass over the patches."""

    def chunk(start: int) -> tuple[float, Single]:
        gradient = np.zeros(atoms.shape, np.float32)
        total = _patch_chunk(  # type: ignore[call-arg]
            atoms, weights, patches[start : start + CHUNK], code, *scalars, square, gradient
        )
        return total, gradient

    scalars = np.float32(nu), np.float32(p)
    with one_blas_thread():
        parts = spread(chunk, range(0, len(patches), CHUNK))
    value = sum(total for total, _ in parts)
    gradient = np.zeros(atoms.shape)
    for _, part in parts:
        gradient += part
    return _seen(value, gradient) / len(patches), gradient / len(patches)


@_compiled
def _image_band(  # type: ignore[no-untyped-def]
    atoms, transposed, weights, padded, height, width, down, across, first, count, columns,
    code, nu, p, gradient,
):
    """Penalty of `count` rows of patches from row `first` on; its gradient is added to `gradient`.

    `gradient` is the band's own, and starts at the padded image's row first·down.
    """
    k, n = atoms.shape
    patch_buffer = np.empty(n * TILE, np.float32)
    response_buffer = np.empty(k * TILE, np.float32)
    sums = np.empty(TILE, np.float32)
    total = 0.0
    for row in range(count):
        top = (first + row) * down
        for start in range(0, columns, TILE):
            tile = min(TILE, columns - start)
            left = start * across
            patches = patch_buffer[: n * tile].reshape(n, tile)
            v = response_buffer[: k * tile].reshape(k, tile)
            for i in range(height):
                for j in range(width):
                    for c in range(tile):
                        patches[i * width + j, c] = padded[top + i, left + j + c * across]
            np.dot(atoms, patches, v)
            _penalise(v, weights, sums, code, nu, p)
            for c in range(tile):
                total += sums[c]
            np.dot(transposed, v, patches)
            for i in range(height):
                for j in range(width):
                    for c in range(tile):
                        gradient[row * down + i, left + j + c * across] += patches[i * width + j, c]
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
) -> tuple[float, Single]:
    """As `reference.image_sparsity`, band by band; no two threads write to the same memory."""
    padded = replicate(image, patch, stride)
    rows, columns = positions(image.shape[0], stride[0]), positions(image.shape[1], stride[1])
    transposed = np.ascontiguousarray(atoms.T)
    gradient = np.zeros_like(padded)
    scalars = np.float32(nu), np.float32(p)

    def band(first: int) -> tuple[float, Single]:
        count = min(BAND, rows - first)
        own = np.zeros(((count - 1) * stride[0] + patch[0], padded.shape[1]), np.float32)
        total = _image_band(
            atoms, transposed, weights, padded, *patch, *stride, first, count, columns,
            code, *scalars, own,
        )  # fmt: skip
        # Rows below the last patch row's top belong to the next band too: they are handed on.
        mine = count * stride[0] if first + count < rows else len(own)
        gradient[first * stride[0] : first * stride[0] + mine] = own[:mine]
        return total, own[mine:].copy()

    with one_blas_thread():
        bands = range(0, rows, BAND)
        parts = spread(band, bands)
    for first, (_, rest) in zip(bands, parts, strict=True):
        below = (first + BAND) * stride[0]
        gradient[below : below + len(rest)] += rest
    folded = fold_border(gradient, image.shape, patch)
    return _seen(sum(total for total, _ in parts), folded), folded
