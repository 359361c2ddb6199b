"""The shapes that common blurs smear a point into, each of sum 1 with its point in the middle."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Kernel = NDArray[Any]

KINDS = {"gaussian": 1, "box": 1, "disk": 1, "motion": 2}  # and how many numbers each takes
FORMS = "gaussian:SIGMA, box:SIDE, disk:RADIUS, motion:LENGTH:ANGLE"
LARGEST = 255


def named_kernel(name: str) -> Kernel:
    """The kernel that a text names: "gaussian:2", "box:9", "disk:3", "motion:15:30".

    >>> named_kernel("box:3").shape
    (3, 3)
    """
    kind, *texts = name.split(":")
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        numbers = []
    if kind not in KINDS or len(numbers) != KINDS[kind] or not all(map(math.isfinite, numbers)):
        raise ValueError(f"kernel: {name!r} is not understood; use {FORMS}")
    if not 0 < numbers[0] <= LARGEST / (8 if kind == "gaussian" else 2):
        raise ValueError(f"kernel: the size in {name!r} must be positive and below {LARGEST // 2}")
    if kind == "gaussian":
        return gaussian_kernel(numbers[0])
    if kind == "box":
        side = int(numbers[0])
        if side != numbers[0] or side % 2 == 0:
            raise ValueError(f"kernel: the side of a box is an odd number of pixels, not that of {name!r}")
        return box_kernel(side)
    return disk_kernel(numbers[0]) if kind == "disk" else motion_kernel(*numbers)


def checked_kernel(kernel: ArrayLike, shape: tuple[int, ...]) -> Kernel:
    """A kernel given as an array, of sum 1; refuses one that does not fit into an image of that shape.

    >>> float(checked_kernel(np.full((2, 2), 7), (9, 9)).sum())
    1.0
    """
    try:
        spread = np.asarray(kernel, float)
    except (TypeError, ValueError) as problem:
        raise ValueError(f"kernel: {problem}") from None
    if spread.ndim != 2 or not np.isfinite(spread).all() or not spread.sum() > 0:
        raise ValueError("kernel: expected a finite 2-D array with a positive sum")
    if any(k > s for k, s in zip(spread.shape, shape, strict=True)):
        raise ValueError(f"kernel: {spread.shape} is larger than the image {tuple(shape)}; crop it")
    return np.asarray(spread / spread.sum())


def gaussian_kernel(sigma: float, *, size: int | None = None) -> NDArray[np.float32]:
    """A square Gaussian kernel that sums to one; out to 3 standard deviations unless its `size` is given."""
    size = 2 * max(1, int(np.ceil(3 * sigma))) + 1 if size is None else size
    line = np.exp(-0.5 * ((np.arange(size) - (size - 1) / 2) / sigma) ** 2)
    kernel = np.outer(line, line)
    return np.asarray(kernel / kernel.sum(), np.float32)


def box_kernel(side: int) -> Kernel:
    """The mean over a square; its side is an odd number of pixels.

    >>> box_kernel(3).shape
    (3, 3)
    """
    return np.full((side, side), 1 / side**2)


def disk_kernel(radius: float) -> Kernel:
    """A lens out of focus; the rim covers its pixels in part."""
    fine, reach = 8, math.ceil(radius - 0.5)
    places = (np.arange((2 * reach + 1) * fine) + 0.5) / fine - reach - 0.5
    inside = np.hypot(*np.meshgrid(places, places)) <= radius
    disk = inside.reshape(2 * reach + 1, fine, 2 * reach + 1, fine).mean(axis=(1, 3))
    return np.asarray(disk / disk.sum())


def motion_kernel(length: float, angle: float) -> Kernel:
    """A straight line through the middle, `angle` degrees anticlockwise from the horizontal."""
    reach = math.ceil(length / 2)
    kernel = np.zeros((2 * reach + 3, 2 * reach + 3))
    along = (np.arange(math.ceil(8 * length)) + 0.5) / math.ceil(8 * length) * length - length / 2
    rows = reach + 1 - along * math.sin(math.radians(angle))
    columns = reach + 1 + along * math.cos(math.radians(angle))
    top, left = np.floor(rows).astype(int), np.floor(columns).astype(int)
    for i in (0, 1):  # each point shares itself out among the four pixels around it
        for j in (0, 1):
            part = np.abs(1 - i - (rows - top)) * np.abs(1 - j - (columns - left))
            np.add.at(kernel, (top + i, left + j), part)
    return np.asarray(kernel / kernel.sum())
