"""Copied pieces brought to one light: the steps where they meet are spread over what lies about them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.kernels.copying_reference import Image
from cosparse.reconstruction.holes import Box
from cosparse.reconstruction.scales import Mask

SPREAD = 16.0  # pixels over which a step is spread; from far on it would tint the hole
ENOUGH = 0.01  # of what is to be spread may be left
MOST = 200  # iterations; about 30 are needed


def blended(image: Image, gap: Mask, origins: NDArray[np.int32]) -> Image:
    """The image (h, w, channels) with its gap, which was filled from the origins, changed so that its pieces meet.

    Pieces keep their gradients as well as they can, as do Pérez, Gangnet and Blake (2003): where two meet, that of both
    continued, half each; at the rim, where known pixels are held, that of what was copied. So the change u solves
    (Laplacian + 1 / SPREAD²) u = the divergence of what is amiss there, and nothing changes inside a piece that fits.
    """
    rows, columns = (slice(max(int(at.min()) - 1, 0), int(at.max()) + 2) for at in np.nonzero(gap))
    box = rows, columns
    amiss = _amiss(image, gap, origins, box)
    free = gap[box][..., None].astype(np.float32)
    beside = np.full(gap.shape, 4, np.float32)
    for edge in (beside[0], beside[-1], beside[:, 0], beside[:, -1]):
        edge -= 1
    middle = beside[box][..., None] + np.float32(SPREAD**-2)
    found = image.copy()
    found[box] += _solved(amiss * free, free, middle)
    return found


def _amiss(image: Image, gap: Mask, origins: NDArray[np.int32], box: Box) -> Image:
    """The divergence of how far differences of neighbours are from those that the pieces had where they come from."""
    last, corner = np.subtract(gap.shape, 1), [side.start for side in box]
    gap, origins = gap[box], origins[box]
    found = np.zeros((*gap.shape, image.shape[2]), np.float32)

    def value(places: NDArray[np.integer[Any]]) -> Image:
        at = places.clip(0, last)
        return np.asarray(image[at[:, 0], at[:, 1]])

    for step in ((0, 1), (1, 0)):
        height, width = np.subtract(gap.shape, step)
        here, there = np.s_[:height, :width], np.s_[step[0] :, step[1] :]
        continued = (origins[there] - origins[here] == step).all(axis=-1) & gap[here] & gap[there]
        first = np.argwhere((gap[here] | gap[there]) & ~continued)
        second = first + step
        copied = [gap[at[:, 0], at[:, 1]].astype(np.float32)[:, None] for at in (first, second)]
        own, other = (origins[at[:, 0], at[:, 1]] for at in (first, second))
        wanted = copied[0] * (value(own) - value(own + step)) + copied[1] * (value(other - step) - value(other))
        wanted /= copied[0] + copied[1]
        off = wanted - (value(first + corner) - value(second + corner))
        found[first[:, 0], first[:, 1]] += off
        found[second[:, 0], second[:, 1]] -= off
    return found


def _solved(right: Image, free: Image, middle: Image) -> Image:
    """The change of the free pixels, by conjugate gradients; it is none of the others."""

    def product(one: Image, two: Image) -> float:
        return float((one * two).sum(dtype=np.float64))  # in one order, whatever the number of threads

    found = np.zeros_like(right)
    left, near = right.copy(), right / middle
    direction = near
    size = begun = product(left, near)
    for _ in range(MOST):
        if size <= ENOUGH**2 * begun:
            break
        moved = middle * direction
        moved[1:] -= direction[:-1]
        moved[:-1] -= direction[1:]
        moved[:, 1:] -= direction[:, :-1]
        moved[:, :-1] -= direction[:, 1:]
        moved *= free
        length = np.float32(size / product(direction, moved))
        found += length * direction
        left -= length * moved
        near = left / middle
        before, size = size, product(left, near)
        direction = near + np.float32(size / before) * direction
    return found
