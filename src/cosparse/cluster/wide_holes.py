"""Wide holes of a picture that is repaired by tiles: filled one by one when all tiles are there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cosparse.cluster.connection import gathered, on_worker
from cosparse.cluster.layout import Index
from cosparse.cluster.page import Page
from cosparse.cluster.tiles import Assignment
from cosparse.reconstruction.holes import AROUND, FAR, Box, find_holes, grown, wide_parts
from cosparse.reconstruction.tasks import TASKS

if TYPE_CHECKING:
    from distributed import Client

Mask = NDArray[np.bool_]
PASSED = ("fill", "seed", "operator", "quality", "data_range", "bounds", "alpha")  # options that holes depend on
CONTEXT = int(8 * FAR)  # pixels about a part of a mask that say what of it is wide


def fill_holes(client: Client, page: Page, store: str, index: Index, found: dict[str, Any]) -> int:
    """Fill the wide holes of a page whose tiles are done; how many there are. `found` are its options.

    One after the other: two may lie in one chunk of the array. Done again after an interruption, all comes out the
    same, as a hole is never filled from another, nor from what was in it.
    """
    work = page.work.knowing(**found)
    if page.mask is None or work.options.get("fill", "auto") == "smooth":
        return 0
    boxes = list(_boxes(client, page, work.options.get("fill", "auto") == "copy"))
    for box in boxes:
        window = grown(box, _window(box), page.mask.shape)
        gathered(client, [client.compute(_delayed(fill_one)(work, page.mask[window], store, index, (box, window)))])
    return len(boxes)


def _delayed(function: Any) -> Any:
    from dask.delayed import delayed

    return delayed(function, pure=False)


def _window(box: Box) -> int:
    """How much of the page about a hole it is filled from, as in the whole picture."""
    return int(max(AROUND, *(side.stop - side.start for side in box)))


def _boxes(client: Client, page: Page, everything: bool) -> Iterator[Box]:
    """The holes of a page, found by the tile that each begins in."""
    assert page.mask is not None
    size, tasks = page.mask.shape, []
    for cell in page.grid.cells:
        own = page.grid.target(cell)
        around = grown(own, max(side.stop - side.start for side in own) + CONTEXT, size)
        tasks.append(_delayed(holes_of)(page.mask[around], own, around, size, everything))
    for boxes in gathered(client, client.compute(tasks)):
        yield from boxes


def holes_of(missing: Mask, own: Box, around: Box, size: tuple[int, int], everything: bool) -> list[Box]:
    """The holes that begin in the tile `own`, in a mask of what is `around`; refuses those larger than a tile.

    >>> mask = np.zeros((90, 120), bool)
    >>> mask[30:60, 50:80] = True
    >>> tile, whole = (slice(0, 64), slice(0, 64)), (slice(0, 90), slice(0, 120))
    >>> holes_of(mask, tile, whole, (90, 120), False)
    [(slice(30, 60, None), slice(50, 80, None))]
    """
    found = []
    for hole in find_holes(missing if everything else wide_parts(missing)):
        box = _placed(hole.box, around)
        begins = all(tile.start <= side.start < tile.stop for side, tile in zip(box, own, strict=True))
        touches = all(side.start < tile.stop and tile.start < side.stop for side, tile in zip(box, own, strict=True))
        cut = any(
            (side.start == seen.start > 0) or (side.stop == seen.stop < extent)
            for side, seen, extent in zip(box, around, size, strict=True)
        )
        if touches and cut:
            rows, columns = box
            raise ValueError(
                f"mask: the hole about rows {rows.start} to {rows.stop}, columns {columns.start} to {columns.stop} is "
                "larger than a tile; use larger tiles, or fill='smooth'"
            )
        if begins:
            found.append(box)
    return found


def _placed(box: Box, around: Box) -> Box:
    rows, columns = (
        slice(side.start + outer.start, side.stop + outer.start) for side, outer in zip(box, around, strict=True)
    )
    return rows, columns


def fill_one(work: Assignment, missing: Mask, store: str, index: Index, where: tuple[Box, Box]) -> None:
    """One hole, in the array of finished tiles; a task. `missing` is of its window."""
    import zarr

    box, window = where
    array: Any = zarr.open_array(store, mode="r+")
    pixels = np.asarray(array[(*index, *window)])
    inside = tuple(slice(s.start - o.start, s.stop - o.start) for s, o in zip(box, window, strict=True))

    def filled() -> NDArray[Any]:
        given = {name: value for name, value in work.options.items() if name in PASSED}
        axis = -1 if work.colour else None
        request = TASKS["inpaint"].request(pixels, missing, **given, channel_axis=axis, part=True)
        copies = request.copies[0]
        if copies is None:  # too little is known there to copy from: it stays as the tiles have it
            return pixels
        own = [hole for hole in copies.holes if hole.box == inside]
        mine = np.zeros_like(missing)
        for hole in own:
            mine[hole.box] = hole.pixels
        result = replace(request, asked=[None], copies=[replace(copies, holes=own)]).run()
        return np.where(mine if result.ndim == 2 else mine[..., None], result, pixels)

    array[(*index, *box)] = on_worker(work.version, filled)[inside]
