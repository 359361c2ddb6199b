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
    from dask.delayed import Delayed
    from distributed import Client

SIDE = 128 * BLOCK  # pixels of the parts that extremes are found in, which must not cut a block in two


def find_noise(client: Client, array: da.Array, data_range: float, model: Model) -> Noise:
    """That of a Dask array (h, w[, channels]) in its own units: `cosparse.estimate_noise`, from the same blocks."""
    return noise_of(gathered(client, client.compute(noise_blocks(array))), array.shape, data_range, model)


def noise_blocks(array: da.Array) -> da.Array:
    """The pixels of an array that its noise is estimated from."""
    rows, columns = map(np.unique, _blocks(array.shape))
    seen: da.Array = array[rows][:, columns]
    return seen


def noise_of(seen: NDArray[Any], shape: tuple[int, ...], data_range: float, model: Model) -> Noise:
    """The noise of an array of this shape, from its :func:`noise_blocks`."""
    rows, columns = (np.searchsorted(np.unique(wanted), wanted) for wanted in _blocks(shape))
    return blocks_noise(seen[rows][:, columns], model, data_range, None if len(shape) == 2 else -1)


def _blocks(shape: tuple[int, ...]) -> list[NDArray[Any]]:
    """The rows and columns of the blocks; some may be in several."""
    return [sampled(side) if large_enough(shape) else np.arange(side) for side in shape[:2]]


def find_extremes(client: Client, array: da.Array, missing: da.Array | None = None) -> Extremes:
    """Those of a Dask array (h, w[, channels]), as :meth:`Extremes.of` finds them; `missing` pixels do not count."""
    return joined_extremes(gathered(client, client.compute(extremes_of_parts(array, missing))))


def extremes_of_parts(array: da.Array, missing: da.Array | None = None) -> list[Delayed]:
    """The extremes of all parts of an array, to be joined."""
    from dask.delayed import delayed

    sides = {0: SIDE, 1: SIDE}
    pieces = array.rechunk({**sides, **dict.fromkeys(range(2, array.ndim), -1)}).to_delayed().reshape(-1)
    masks = [None] * len(pieces) if missing is None else missing.rechunk(sides).to_delayed().reshape(-1)
    task = delayed(_extremes, pure=False)
    return [task(*both) for both in zip(pieces, masks, strict=True)]


def joined_extremes(found: list[Extremes | None]) -> Extremes:
    """Those of an array, from those of its parts."""
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
