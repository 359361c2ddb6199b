"""Of a page larger than memory: its noise level, and its least and largest values, from which bounds are chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cosparse.cluster.connection import gathered
from cosparse.io.values import to_working
from cosparse.reconstruction.bounds import BLOCK, Extremes, Pair
from cosparse.reconstruction.planes import offset_of

if TYPE_CHECKING:
    import dask.array as da
    from distributed import Client

# Relative resolution 0.05 %: far finer than the estimate itself.
BINS = np.geomspace(1e-4, 1e3, 32769)
REACH = 2  # pixels that a coefficient looks back
SIDE = 128 * BLOCK  # pixels of the parts that extremes are found in, which must not cut a block in two


def _histogram(
    block: NDArray[Any], data_range: float, blocks: tuple[int, int], block_info: Any = None
) -> NDArray[np.int64]:
    """Of the finest diagonal details of a block; (1, 1, colours, bins). Details of the overlap are left out."""
    import pywt

    (row, column), (rows, columns) = block_info[0]["chunk-location"][:2], blocks
    planes = block if block.ndim == 3 else block[..., None]
    counts = np.zeros((1, 1, planes.shape[2], len(BINS) - 1), np.int64)
    for channel in range(planes.shape[2]):
        values = planes[..., channel]
        # Details do not see a constant; float32 does.
        offset = offset_of(values, data_range)
        plane = to_working(values, data_range=data_range, offset=offset)
        if min(plane.shape) < 2:
            continue
        details = np.abs(pywt.dwtn(plane, "db2")["dd"])
        # Detail k looks at pixels 2k-2 to 2k+1; the last block keeps those that look past the picture's end.
        top, left = (REACH // 2 if place > 0 else 0 for place in (row, column))
        bottom = details.shape[0] if row == rows - 1 else (plane.shape[0] - REACH) // 2
        right = details.shape[1] if column == columns - 1 else (plane.shape[1] - REACH) // 2
        kept = details[top:bottom, left:right]
        counts[0, 0, channel] = np.histogram(np.clip(kept[kept > 0], BINS[0], BINS[-1]), BINS)[0]
    return counts


def estimate_level(client: Client, array: da.Array, data_range: float) -> float:
    """The noise of a Dask array (h, w[, channels]) in its own units: `cosparse.estimate_sigma`, by histogram."""
    import dask.array as da

    even = array.rechunk(tuple(_even(sides) for sides in array.chunks[:2]) + array.chunks[2:])
    channels = even.shape[2] if even.ndim == 3 else 1
    ones = tuple((1,) * count for count in even.numblocks[:2])
    counts = da.map_overlap(
        _histogram, even, depth={0: REACH, 1: REACH}, boundary="none", trim=False, allow_rechunk=False,
        data_range=data_range, blocks=even.numblocks[:2], dtype=np.int64, meta=np.empty((0,) * 4, np.int64),
        chunks=(*ones, (channels,), (len(BINS) - 1,)), **({"new_axis": 3} if even.ndim == 3 else {"new_axis": [2, 3]}),
    )  # fmt: skip
    wanted = [counts.sum(axis=(0, 1)), even.min(axis=(0, 1)), even.max(axis=(0, 1))]
    total, low, high = gathered(client, client.compute(wanted))
    levels = [
        _median(histogram) / 0.6744897501960817
        for histogram, varies in zip(total, np.atleast_1d(low < high), strict=True)
        if varies
    ]
    return float(np.mean(levels)) * data_range / 255.0 if levels else 0.0


def _even(sides: tuple[int, ...]) -> tuple[int, ...]:
    """Chunks that begin at even pixels and are not too small for the overlap."""
    edges = sorted({(edge + 1) // 2 * 2 for edge in np.cumsum(sides)[:-1]})
    size = sum(sides)
    edges = [0, *(edge for edge in edges if size - edge >= 2 * REACH), size]
    return tuple(int(side) for side in np.diff(edges))


def _median(histogram: NDArray[np.int64]) -> float:
    """By interpolation within the bin that holds it; zero if nothing was counted."""
    below = np.cumsum(histogram)
    if below[-1] == 0:
        return 0.0
    return float(np.interp(below[-1] / 2, np.concatenate([[0], below]), BINS))


def find_extremes(client: Client, array: da.Array, missing: da.Array | None = None) -> Extremes:
    """Those of a Dask array (h, w[, channels]), as :meth:`Extremes.of` finds them; `missing` pixels do not count."""
    from dask.delayed import delayed

    sides = {0: SIDE, 1: SIDE}
    pieces = array.rechunk({**sides, **dict.fromkeys(range(2, array.ndim), -1)}).to_delayed().reshape(-1)
    masks = [None] * len(pieces) if missing is None else missing.rechunk(sides).to_delayed().reshape(-1)
    task = delayed(_extremes, pure=False)
    found = gathered(client, client.compute([task(*both) for both in zip(pieces, masks, strict=True)]))
    parts = [part for part in found if part is not None]
    if not parts:
        raise ValueError("mask: all pixels are missing; nothing is known to start from")
    blocks = [part.blocks for part in parts if part.blocks is not None]
    return Extremes(
        sum(part.count for part in parts), _ends([part.pixels for part in parts]), _ends(blocks) if blocks else None
    )


def _extremes(page: NDArray[Any], missing: NDArray[np.bool_] | None) -> Extremes | None:
    """Of a part; None if nothing of it is known."""
    known = None if missing is None else ~missing
    return None if known is not None and not known.any() else Extremes.of(page, known)


def _ends(pairs: list[Pair]) -> Pair:
    """The least and the largest of all; NaN of anything stays NaN."""
    return float(np.min(pairs)), float(np.max(pairs))
