"""The least and the largest values of a picture larger than memory, in one pass: what its bounds are told from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.cluster.connection import gathered
from cosparse.reconstruction.bounds import BLOCK, Extremes, block_means

SIDE = 128 * BLOCK  # pixels of the parts, which must not cut a block in two


def find_extremes(client: Any, array: Any, missing: Any = None) -> Extremes:
    """Those of a Dask array (h, w[, channels]), as :meth:`Extremes.of` finds them; `missing` pixels do not count."""
    from dask.delayed import delayed

    sides = {0: SIDE, 1: SIDE}
    parts = array.rechunk({**sides, **dict.fromkeys(range(2, array.ndim), -1)}).to_delayed().reshape(-1)
    masks = [None] * len(parts) if missing is None else missing.rechunk(sides).to_delayed().reshape(-1)
    task = delayed(_extremes, pure=False)
    found = gathered(client, client.compute([task(*both) for both in zip(parts, masks, strict=True)]))
    count = sum(number for number, _, _ in found)
    pixels, blocks = (
        (float(np.min([part[which][0] for part in found])), float(np.max([part[which][1] for part in found])))
        for which in (1, 2)
    )
    if count == 0:
        raise ValueError("mask: all pixels are missing; nothing is known to start from")
    return Extremes(count, pixels, None if blocks[0] > blocks[1] else blocks)


def _extremes(page: NDArray[Any], missing: NDArray[np.bool_] | None) -> tuple[int, Any, Any]:
    """Of a part: how many values count, and the ends of them and of the means of blocks."""
    known = None if missing is None else ~missing
    seen = page if known is None else page[known]
    return seen.size, _ends(seen), _ends(block_means(page, known))


def _ends(values: NDArray[Any]) -> tuple[float, float]:
    """Of nothing, the wrong way round. NaN of anything stays NaN."""
    return (float(values.min()), float(values.max())) if values.size else (np.inf, -np.inf)
