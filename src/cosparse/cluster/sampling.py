"""Which parts of a picture stand for all of it, when the steps of its repair are found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.reconstruction.prior import Region

Array = NDArray[Any]
Cell = tuple[int, int]  # of a grid: row and column


@dataclass(frozen=True)
class Sampling:
    """Which parts the steps of a page are found on, by its size; all in pixels of the result."""

    whole: int = 2**23  # of so many or fewer, all of it
    held: int = 10**7  # for every worker: up to so many, parts that cover it; 100 bytes of each stay on the workers
    cover: int = 1024  # side of those
    samples: int = 1024  # that stand for what is larger still
    side: int = 64  # of each, about, without its rim
    rim: float = 0.5  # of a tile's overlap, about each
    share: int = 128  # of them in one task: the fewer tasks, the less Dask has to do between them


@dataclass(frozen=True)
class Sample:
    """A square of the picture with a rim: where it is, what of it counts, and how many such squares it stands for."""

    region: Region
    inside: Region
    weight: float = 1.0


def sampled(cell: Cell, shape: tuple[int, ...], side: int, rim: int, weight: float = 1.0) -> Sample:
    """The sample at a cell of a grid of squares; at the picture's border it has no rim."""
    region, inside = [], []
    for i, size in zip(cell, shape[:2], strict=True):
        first, last = i * side, min((i + 1) * side, size)
        low, high = max(first - rim, 0), min(last + rim, size)
        region.append(slice(low, high))
        inside.append(slice(first - low, last - low))
    return Sample((region[0], region[1]), (inside[0], inside[1]), weight)


def representative(interest: Array, count: int) -> list[tuple[Cell, float]]:
    """About `count` cells of a grid, more where there is more of interest, and how many each stands for.

    Those at the picture's corners and along its sides are chosen apart: pixels there lie in few patches and are the
    last to settle.
    """
    sides = np.zeros(interest.shape, int)
    sides[[0, -1], :] += 1
    sides[:, [0, -1]] += 1
    if not interest.any():
        interest = np.ones(interest.shape)
    inside, along, corners = (_along_a_curve(np.argwhere((sides == n) & (interest > 0)), interest) for n in range(3))
    chosen = _drawn(*inside, 3 * count // 4)
    return chosen + _drawn(*along, max(count - len(chosen) - 4, 1)) + _drawn(*corners, 4)


def _along_a_curve(cells: Array, interest: Array) -> tuple[Array, Array]:
    """Cells along a curve that keeps near, and the interest of each."""
    curve = sum(((cells[:, axis] >> bit) & 1) << (2 * bit + axis) for bit in range(24) for axis in (0, 1))
    cells = cells[np.argsort(curve)]
    return cells, interest[tuple(cells.T)]


def _drawn(cells: Array, interest: Array, count: int) -> list[tuple[Cell, float]]:
    """`count` of the cells, evenly along their interest, and how many each stands for: one over how likely it was."""
    count = min(count, len(cells))
    if count == 0:
        return []
    # What is of so much interest that it is drawn for sure counts once; the rest shares what then remains.
    high = np.sort(interest)[::-1]
    shares = np.cumsum(high[::-1])[::-1][:count] / np.arange(count, 0, -1)
    share = shares[np.argmax(high[:count] <= shares)]
    size = np.minimum(interest, share)
    picked, times = np.unique(np.searchsorted(np.cumsum(size), share * (np.arange(count) + 0.5)), return_counts=True)
    weights = times * share / size[picked]
    return [((i, j), weight) for (i, j), weight in zip(cells[picked].tolist(), weights.tolist(), strict=True)]
