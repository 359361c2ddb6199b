"""One step of a staged operator, and its exact reverse: the fast twins of `reference.pooled_step` and its derivative.

The same bands as in `fused`. Between the two products with the atoms stand two smaller ones with the pools, and all of
it is done for a tile of patches at a time, which stays in the cache.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.kernels.compiling import compiled
from cosparse.kernels.elementary import gather, scatter
from cosparse.kernels.fused import BAND, Single
from cosparse.kernels.reference import LocalGains, fold_border, positions, replicate_rows
from cosparse.kernels.threads import one_blas_thread, spread

TILE = 512  # patches a tile: their responses, gains and pools fit the second-level cache
_ONE, _TWO = np.float32(1), np.float32(2)


@compiled
def _step_band(  # type: ignore[no-untyped-def]
    atoms, transposed, pooling, sharing, levels, responses, gaining, own, energies, least, given, pixels, rows, columns,
    height, width, down, across, change,
):  # fmt: skip
    """Ωᵀφ(Ωp) of `rows` rows of patches, the first at the top of `pixels`, added to `change` of the same shape.

    `pooling` is Mᵀ (k, m) and `sharing` Bᵀ (m, k). Of each patch's level, a row of each table: factors on responses
    and on gains, and what each atom has of its own; factors on pools, floors, and factors on shares.
    """
    n, k = transposed.shape
    m = len(sharing)
    patch_buffer, z_buffer = np.empty((TILE, n), np.float32), np.empty((TILE, k), np.float32)
    gain_buffer, pool_buffer = np.empty((TILE, k), np.float32), np.empty((TILE, m), np.float32)
    number = rows * columns
    for first in range(0, number, TILE):
        count = min(TILE, number - first)
        patches, z, gains, pools = patch_buffer[:count], z_buffer[:count], gain_buffer[:count], pool_buffer[:count]
        gather(pixels, first, 0, columns, height, width, down, across, patches)
        np.dot(patches, transposed, z)
        for c in range(count):
            level = levels[first + c]
            for i in range(k):
                z[c, i] *= responses[level, i]
                gains[c, i] = z[c, i] * z[c, i]
        np.dot(gains, pooling, pools)
        for c in range(count):
            level = levels[first + c]
            for j in range(m):
                pools[c, j] = given[level, j] / (_ONE + max(energies[level, j] * pools[c, j], least[level, j]))
        np.dot(pools, sharing, gains)
        for c in range(count):
            level = levels[first + c]
            for i in range(k):
                z[c, i] *= gaining[level, i] * gains[c, i] + own[level, i] / (_ONE + z[c, i] * z[c, i])
        np.dot(z, atoms, patches)
        scatter(patches, first, 0, columns, height, width, down, across, change)


@compiled
def _reverse_band(  # type: ignore[no-untyped-def]
    atoms, transposed, own, pools, pooling, shares, sharing, floors, pixels, adjoint, rows, columns, height, width,
    down, across, change, by_atom, by_own, by_pool, by_share,
):  # fmt: skip
    """The adjoint of :func:`_step_band` at `pixels`, applied to `adjoint`: by the pixels and by each parameter."""
    n, k = transposed.shape
    m = len(sharing)
    here_buffer, there_buffer = np.empty((TILE, n), np.float32), np.empty((TILE, n), np.float32)
    z_buffer, w_buffer = np.empty((TILE, k), np.float32), np.empty((TILE, k), np.float32)
    squares_buffer, gain_buffer = np.empty((TILE, k), np.float32), np.empty((TILE, k), np.float32)
    h_buffer, back_buffer = np.empty((TILE, m), np.float32), np.empty((TILE, m), np.float32)
    by_pixels, sums = np.empty((k, n), np.float32), np.empty(k, np.float32)
    into_pools, out_of_pools = np.empty((m, k), np.float32), np.empty((k, m), np.float32)
    number = rows * columns
    for first in range(0, number, TILE):
        count = min(TILE, number - first)
        here, there, z, w = here_buffer[:count], there_buffer[:count], z_buffer[:count], w_buffer[:count]
        squares, gains, h, back = squares_buffer[:count], gain_buffer[:count], h_buffer[:count], back_buffer[:count]
        gather(pixels, first, 0, columns, height, width, down, across, here)
        gather(adjoint, first, 0, columns, height, width, down, across, there)
        np.dot(here, transposed, z)
        np.dot(there, transposed, w)
        for c in range(count):
            for i in range(k):
                squares[c, i] = z[c, i] * z[c, i]
        np.dot(squares, pooling, h)
        for c in range(count):
            for j in range(m):
                h[c, j] = _ONE / (_ONE + max(h[c, j], floors[j]))
        np.dot(h, sharing, gains)
        sums[:] = 0
        for c in range(count):
            for i in range(k):  # w becomes w·z, the adjoint of the gain; gains those of w and z
                inverse = _ONE / (_ONE + squares[c, i])
                product = w[c, i] * z[c, i]
                sums[i] += product * inverse
                gain = gains[c, i] + own[i] * inverse
                gains[c, i] = w[c, i] * (gain - _TWO * own[i] * squares[c, i] * inverse * inverse)
                w[c, i] = product
                squares[c, i] = gain * z[c, i]  # phi, for the atoms; z² is made again below
        by_own += sums
        np.dot(squares.T, there, by_pixels)
        by_atom += by_pixels
        np.dot(w.T, h, out_of_pools)
        by_share += out_of_pools
        np.dot(w, shares, back)
        for c in range(count):
            for j in range(m):  # on its floor a pool does not change
                back[c, j] *= -h[c, j] * h[c, j] if h[c, j] * (_ONE + floors[j]) < _ONE else np.float32(0)
            for i in range(k):
                squares[c, i] = z[c, i] * z[c, i]
        np.dot(back.T, squares, into_pools)
        by_pool += into_pools
        np.dot(back, pools, squares)
        for c in range(count):
            for i in range(k):
                z[c, i] = gains[c, i] + _TWO * z[c, i] * squares[c, i]
        np.dot(z.T, here, by_pixels)
        by_atom += by_pixels
        np.dot(z, atoms, here)
        scatter(here, first, 0, columns, height, width, down, across, change)


def pooled_step(
    atoms: Single, own: Single, pools: Single, shares: Single, floors: Single, image: Single, patch: tuple[int, int],
    stride: tuple[int, int], local: LocalGains | None = None,
) -> Single:  # fmt: skip
    """As `reference.pooled_step`, band by band; no two threads write to the same memory.

    An image of several planes is to the kernels one plane whose rows have all planes of a pixel beside each other.
    """
    down, planes = stride[0], image.shape[2:]
    laid = _laid(patch, stride, planes)
    rows, columns = positions(image.shape[0], down), positions(image.shape[1], stride[1])
    bands = [range(first, min(first + BAND, rows)) for first in range(0, rows, BAND)]
    transposed, pooling, sharing = (np.ascontiguousarray(array.T) for array in (atoms, pools, shares))
    levels, *tables = _tables(own, floors, (rows, columns), local)
    extents = [(a - 1) * s + b for a, s, b in zip((rows, columns), stride, patch, strict=True)]
    change = np.zeros((*extents, *planes), np.float32)

    def work(band: range) -> Single:
        pixels = replicate_rows(image, band, patch, stride)
        flat = pixels.reshape(len(pixels), -1)
        part = np.zeros_like(pixels)
        here = levels[band.start : band.stop].reshape(-1)
        _step_band(
            atoms,
            transposed,
            pooling,
            sharing,
            here,
            *tables,
            flat,
            len(band),
            columns,
            *laid,
            part.reshape(flat.shape),
        )
        # Rows below the last patch row's top belong to the next band too: they are handed on.
        mine = len(band) * down if band.stop < rows else len(part)
        change[band.start * down : band.start * down + mine] = part[:mine]
        return part[mine:].copy()

    with one_blas_thread():
        rests = spread(work, bands)
    for band, rest in zip(bands, rests, strict=True):
        below = band.stop * down
        change[below : below + len(rest)] += rest
    return fold_border(change, image.shape, (patch[0] // 2, patch[1] // 2))


def _laid(patch: tuple[int, int], stride: tuple[int, int], planes: tuple[int, ...]) -> tuple[int, int, int, int]:
    """Height, width and distances of patches where all planes of a pixel lie beside each other."""
    beside = math.prod(planes)
    return patch[0], patch[1] * beside, stride[0], stride[1] * beside


def _tables(own: Single, floors: Single, shape: tuple[int, int], local: LocalGains | None) -> tuple[NDArray[Any], ...]:
    """The levels of all patches and the tables of :func:`_step_band`; of one level where it is the same everywhere."""
    if local is None:
        atoms, pools = np.ones((1, len(own)), np.float32), np.ones((1, len(floors)), np.float32)
        return np.zeros(shape, np.int16), atoms, atoms, own[None], pools, floors[None], pools
    gains = local.responses * local.gains
    found = local.responses, gains, gains * own, local.pools, local.floors * floors, local.shares
    return local.levels.astype(np.int16), *(np.ascontiguousarray(table, np.float32) for table in found)


def pooled_reverse(
    atoms: Single, own: Single, pools: Single, shares: Single, floors: Single, image: Single, adjoint: Single,
    patch: tuple[int, int], stride: tuple[int, int],
) -> tuple[Single, tuple[Single, ...]]:  # fmt: skip
    """As `reference.pooled_reverse`, for an image small enough to be one band: training cuts crops."""
    rows, columns = positions(image.shape[0], stride[0]), positions(image.shape[1], stride[1])
    pixels, moved = (replicate_rows(plane, range(rows), patch, stride) for plane in (image, adjoint))
    change = np.zeros_like(pixels)
    flat = len(pixels), -1
    parts = tuple(np.zeros_like(array) for array in (atoms, own, pools, shares))
    with one_blas_thread():
        _reverse_band(
            atoms, np.ascontiguousarray(atoms.T), own, pools, np.ascontiguousarray(pools.T), shares,
            np.ascontiguousarray(shares.T), floors, pixels.reshape(flat), moved.reshape(flat), rows, columns,
            *_laid(patch, stride, image.shape[2:]), change.reshape(flat), *parts,
        )  # fmt: skip
    return fold_border(change, image.shape, (patch[0] // 2, patch[1] // 2)), parts
