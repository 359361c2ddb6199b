"""The second derivatives of `fused.image_sparsity`, as training by reconstruction needs them.

Same names as in `reference`, same bands and tiles as in `fused`.
"""

from __future__ import annotations

import numpy as np

from cosparse.kernels.compiling import compiled, inlined
from cosparse.kernels.elementary import exp2, gather, log2, scatter
from cosparse.kernels.fused import BAND, TILE, Double, Single
from cosparse.kernels.reference import fold_border, positions, replicate
from cosparse.kernels.threads import one_blas_thread, spread
from cosparse.penalty import LOG

_ONE, _TWO = np.float32(1), np.float32(2)


@inlined
def _slope_and_hessian(v, code, nu, p):  # type: ignore[no-untyped-def]
    """phi'(v) and phi''(v)."""
    if code == LOG:
        inverse = _ONE / (_ONE + nu * v * v)
        rate = _TWO * nu * inverse
        return rate * v, rate * (_TWO * inverse - _ONE)
    inside = v * v + nu
    power = exp2((np.float32(0.5) * p - _ONE) * log2(inside))
    return power * v, power / inside * ((p - _ONE) * v * v + nu)


@compiled
def _curvature_band(  # type: ignore[no-untyped-def]
    atoms, transposed, weights, pixels, moved, rows, columns, height, width, down, across, code, nu, p, product
):
    """The Hessian's product from `rows` rows of patches, added to the band's own `product`."""
    k, n = atoms.shape
    patch_buffer = np.empty((TILE, n), np.float32)
    v_buffer, u_buffer = np.empty((TILE, k), np.float32), np.empty((TILE, k), np.float32)
    for first in range(0, rows * columns, TILE):
        count = min(TILE, rows * columns - first)
        patches, v, u = patch_buffer[:count], v_buffer[:count], u_buffer[:count]
        gather(pixels, first, 0, columns, height, width, down, across, patches)
        np.dot(patches, transposed, v)
        gather(moved, first, 0, columns, height, width, down, across, patches)
        np.dot(patches, transposed, u)
        for c in range(count):
            for i in range(k):
                u[c, i] *= weights[i] * _slope_and_hessian(v[c, i], code, nu, p)[1]
        np.dot(u, atoms, patches)
        scatter(patches, first, 0, columns, height, width, down, across, product)


@compiled
def _sensitivity_band(  # type: ignore[no-untyped-def]
    transposed, pixels, moved, rows, columns, height, width, down, across, code, nu, p, by_atom, by_weight
):
    """The (unweighted) derivatives from `rows` rows of patches, added to `by_atom` and `by_weight`."""
    n, k = transposed.shape
    here_buffer, there_buffer = np.empty((TILE, n), np.float32), np.empty((TILE, n), np.float32)
    v_buffer, u_buffer = np.empty((TILE, k), np.float32), np.empty((TILE, k), np.float32)
    piece, sums = np.empty((k, n), np.float32), np.empty(k, np.float32)
    for first in range(0, rows * columns, TILE):
        count = min(TILE, rows * columns - first)
        here, there = here_buffer[:count], there_buffer[:count]
        v, u = v_buffer[:count], u_buffer[:count]
        gather(pixels, first, 0, columns, height, width, down, across, here)
        gather(moved, first, 0, columns, height, width, down, across, there)
        np.dot(here, transposed, v)
        np.dot(there, transposed, u)
        sums[:] = 0
        for c in range(count):
            for i in range(k):
                slope, hessian = _slope_and_hessian(v[c, i], code, nu, p)
                sums[i] += slope * u[c, i]
                v[c, i] = slope
                u[c, i] *= hessian
        by_weight += sums
        np.dot(u.T, here, piece)
        by_atom += piece
        np.dot(v.T, there, piece)
        by_atom += piece


def image_curvature(
    atoms: Single,
    weights: Single,
    image: Single,
    direction: Single,
    patch: tuple[int, int],
    stride: tuple[int, int],
    code: int,
    nu: float,
    p: float,
) -> Single:
    """As `reference.image_curvature`, band by band."""
    padded, moved = replicate(image, patch, stride), replicate(direction, patch, stride)
    rows, columns = positions(image.shape[0], stride[0]), positions(image.shape[1], stride[1])
    transposed = np.ascontiguousarray(atoms.T)
    scalars = np.float32(nu), np.float32(p)

    def band(first: int) -> Single:
        count = min(BAND, rows - first)
        own = np.zeros(((count - 1) * stride[0] + patch[0], padded.shape[1]), np.float32)
        top = first * stride[0]
        _curvature_band(
            atoms, transposed, weights, padded[top:], moved[top:], count, columns, *patch, *stride,
            code, *scalars, own,
        )  # fmt: skip
        return own

    bands = range(0, rows, BAND)
    with one_blas_thread():
        parts = spread(band, bands)
    product = np.zeros_like(padded)
    for first, part in zip(bands, parts, strict=True):
        product[first * stride[0] : first * stride[0] + len(part)] += part
    return fold_border(product, image.shape, (patch[0] // 2, patch[1] // 2))


def image_sensitivity(
    atoms: Single,
    weights: Single,
    image: Single,
    direction: Single,
    patch: tuple[int, int],
    stride: tuple[int, int],
    code: int,
    nu: float,
    p: float,
) -> tuple[Double, Double]:
    """As `reference.image_sensitivity`, band by band."""
    padded, moved = replicate(image, patch, stride), replicate(direction, patch, stride)
    rows, columns = positions(image.shape[0], stride[0]), positions(image.shape[1], stride[1])
    transposed = np.ascontiguousarray(atoms.T)
    scalars = np.float32(nu), np.float32(p)

    def band(first: int) -> tuple[Single, Single]:
        own = np.zeros(atoms.shape, np.float32), np.zeros(len(atoms), np.float32)
        top = first * stride[0]
        _sensitivity_band(
            transposed, padded[top:], moved[top:], min(BAND, rows - first), columns, *patch, *stride,
            code, *scalars, *own,
        )  # fmt: skip
        return own

    with one_blas_thread():
        parts = spread(band, range(0, rows, BAND))
    by_atom = np.sum([part[0] for part in parts], axis=0, dtype=float)
    by_weight = np.sum([part[1] for part in parts], axis=0, dtype=float)
    return weights[:, None] * by_atom, by_weight
