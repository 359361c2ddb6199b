"""Of a page larger than memory: its noise, and its least and largest values, from which bounds are chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cosparse.cluster.connection import gathered
from cosparse.noise import Noise
from cosparse.reconstruction.bounds import BLOCK, Extremes, Pair
from cosparse.reconstruction.estimation import Model, blocks_noise, large_enough
from cosparse.reconstruction.flat_blocks import sampled

if TYPE_CHECKING:
    import dask.array as da
    from distributed import Client

SIDE = 128 * BLOCK  # pixels of the parts that extremes are found in, which must not cut a block in two


def find_noise(client: Client, array: da.Array, data_range: float, model: Model) -> Noise:
    """That of a Dask array (h, w[, channels]) in its own units: `cosparse.estimate_noise`, from the same blocks."""
    wanted = [sampled(side) if large_enough(array.shape) else np.arange(side) for side in array.shape[:2]]
    rows, columns = (np.unique(indices) for indices in wanted)
    seen = gathered(client, client.compute(array[rows][:, columns]))
    tiles = seen[np.searchsorted(rows, wanted[0])][:, np.searchsorted(columns, wanted[1])]
    return blocks_noise(tiles, model, data_range, None if array.ndim == 2 else -1)


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
