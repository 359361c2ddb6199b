"""Where a repair starts: cheap first images, near enough to the answer to save iterations."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.noise import Map
from cosparse.reconstruction.stages import TABLE, by_noise

Plane = NDArray[np.float32]


def smoothed(plane: Plane, sigma: float, noise: Map | None = None) -> Plane:
    """A first guess nearer to the answer than the noisy image; saves a third of the iterations.

    With a map of the noise, whose typical level is sigma: less where there is less, and less of what is noisier.
    """
    from scipy.ndimage import gaussian_filter

    width = by_noise(TABLE["smoothed"]["width"], sigma)
    if width == 0:
        return plane
    if noise is None:
        return np.asarray(gaussian_filter(plane, width, mode="nearest"), np.float32)
    weight = 1 / np.square(noise.sigma)
    sums = gaussian_filter(plane * weight, width, mode="nearest")
    mean = sums / gaussian_filter(weight, width, mode="nearest")
    rule = TABLE["smoothed"]["width"]
    part = np.interp(noise.sigma, rule["noise"], rule["value"]) / width
    return np.asarray(plane + part.clip(0, 1) * (mean - plane), np.float32)


def enlarged_side(side: int, factor: float) -> int:
    """So many pixels become of one side: all that they cover, so that a half is rounded up.

    >>> enlarged_side(5, 3), enlarged_side(5, 1.5)
    (15, 8)
    """
    return math.ceil(side * factor)


def enlarge(plane: Plane, factor: float) -> Plane:
    """Bicubic interpolation (a = -0.5) onto a grid whose pixel centres fit: the start of upscaling."""
    height, width = plane.shape
    rows, columns = bicubic(height, factor), bicubic(width, factor)
    return np.ascontiguousarray(rows @ plane @ columns.T)


def bicubic(size: int, factor: float) -> Any:
    """The (size·factor, size) sparse matrix of interpolation along one axis, borders replicated: four pixels a row."""
    from scipy.sparse import csr_array

    centre = (np.arange(enlarged_side(size, factor)) + 0.5) / factor - 0.5
    taps = np.floor(centre).astype(int)[:, None] + np.arange(-1, 3)
    distance = np.abs(centre[:, None] - taps)
    near = 1.5 * distance**3 - 2.5 * distance**2 + 1
    far = -0.5 * distance**3 + 2.5 * distance**2 - 4 * distance + 2
    factors = np.where(distance <= 1, near, np.where(distance < 2, far, 0)).astype(np.float32)
    places = np.repeat(np.arange(len(centre)), 4), np.clip(taps, 0, size - 1).ravel()
    return csr_array((factors.ravel(), places), shape=(len(centre), size))


def interpolate(plane: Plane, gaps: NDArray[np.bool_]) -> Plane:
    """A smooth first filling of the gaps: averages of ever larger blocks of known pixels, coarse to fine.

    What it costs is in proportion to the pixels, whatever the pattern; a triangulation of the known pixels gives the
    same end result but can take minutes.
    """
    known = (~gaps).astype(np.float32)
    filled = _pull_push(plane * known, known)
    return np.where(gaps, filled, plane)


def fill_levels(noise: Map, gaps: NDArray[np.bool_]) -> Map:
    """A map of noise levels, with those about a gap in it: what it says of pixels that are missing does not count."""
    if noise.sigma.ndim == 2:
        return replace(noise, sigma=interpolate(noise.sigma, gaps))
    return replace(noise, sigma=np.stack([interpolate(one, gaps) for one in np.moveaxis(noise.sigma, -1, 0)], axis=-1))


def _pull_push(values: Plane, weights: Plane) -> Plane:
    """Values where there is weight, and a smooth filling elsewhere, by halving the image until none is missing."""
    if weights.min() > 0:
        return values / weights
    coarse = _pull_push(_halve(values), _halve(weights))
    rows, columns = (_linear(size) for size in weights.shape)
    smooth = rows @ coarse @ columns.T
    share = np.minimum(weights, 1)
    return np.asarray(share * values / np.maximum(weights, 1e-6) + (1 - share) * smooth, np.float32)


def _halve(plane: Plane) -> Plane:
    """Sums of 2 x 2 blocks; an odd last row or column stands alone."""
    height, width = plane.shape
    padded = np.pad(plane, ((0, height % 2), (0, width % 2)))
    blocks = padded.reshape(padded.shape[0] // 2, 2, padded.shape[1] // 2, 2)
    return np.asarray(blocks.sum(axis=(1, 3)))


def _linear(size: int) -> Any:
    """The (size, ceil(size/2)) sparse matrix of linear interpolation from blocks of two back to pixels."""
    from scipy.sparse import csr_array

    half = -(-size // 2)
    pixel = np.arange(size)
    block = pixel // 2
    other = np.clip(block + np.where(pixel % 2, 1, -1), 0, half - 1)
    shares = np.repeat(np.array([0.75, 0.25], np.float32), size)
    return csr_array((shares, (np.tile(pixel, 2), np.concatenate([block, other]))), shape=(size, half))


def first_image(A: Any, data: NDArray[Any], shape: tuple[int, ...]) -> NDArray[np.float32]:
    """The constant whose measurements are nearest to y, and Aᴴ of what is left, times the factor that suits best.

    So a constant that is added to the image is added to its start as well; of (h, w, channels) each has one of its own.
    """
    flat, left = _constants(A, data, shape)
    image = np.asarray(A.rmatvec(left)).real.astype(np.float32).reshape(-1)
    factor, _ = nearest(A, image, left)
    return np.asarray(flat + factor * image, np.float32).reshape(shape)


def _constants(A: Any, data: NDArray[Any], shape: tuple[int, ...]) -> tuple[Plane, NDArray[Any]]:
    """The flattened image of constant channels that fits the data best, and what of these is left."""
    if len(shape) == 2:
        flat = np.ones(shape[0] * shape[1], np.float32)
        level, left = nearest(A, flat, data)
        return level * flat, left
    channels = np.eye(shape[-1], dtype=np.float32)
    seen = [np.asarray(A.matvec(np.tile(one, shape[0] * shape[1]))).reshape(-1) for one in channels]
    products = np.array([[np.vdot(a, b).real for b in seen] for a in seen], float)
    levels = np.linalg.lstsq(products, np.array([np.vdot(a, data).real for a in seen], float))[0].astype(np.float32)
    left = data - sum(level * one for level, one in zip(levels, seen, strict=True))
    return np.tile(levels, shape[0] * shape[1]), np.asarray(left, data.dtype)


def nearest(A: Any, image: NDArray[np.float32], data: NDArray[Any]) -> tuple[np.float32, NDArray[Any]]:
    """The factor on an image for which its measurements are nearest to the data, and what of these is left."""
    seen = np.asarray(A.matvec(image)).reshape(-1)
    energy = float(np.vdot(seen, seen).real)
    factor = np.float32(float(np.vdot(seen, data).real) / energy if energy > 0 else 0.0)
    return factor, (data - factor * seen).astype(data.dtype)
