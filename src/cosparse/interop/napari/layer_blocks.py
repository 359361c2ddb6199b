"""Layers that are not in memory: a Dask array of the result, whose blocks are computed when they are shown or saved."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.cluster.layout import Layout
from cosparse.cluster.tiles import Assignment, assign, divided
from cosparse.interop.napari.layer_axes import LayerAxes
from cosparse.interop.napari.layer_repair import Repair

WHOLE = 1 << 24  # pixels: planes up to so many are one block, which takes about a gigabyte to repair
TILE = 1024
SEEN = 1 << 20  # values from which the white of floats is taken


def lazy(data: Any) -> Any | None:
    """A layer's data as a Dask array, if they are not in memory: Dask's own, or of a file, as zarr's and h5py's are."""
    import dask.array as da

    if isinstance(data, da.Array):
        return data
    if isinstance(data, np.ndarray) or getattr(data, "chunks", None) is None:
        return None
    return da.from_array(data, asarray=True)


def repaired_lazily(repair: Repair, array: Any, axes: LayerAxes, mask: Any | None = None) -> Any:
    """The result as a Dask array laid out as the layer's: each plane is a block, or tiles if it is too large for one.

    Each block is what the task gives for its plane. Tiles are so to 0.01 grey levels of 255; only denoising by trained
    steps, of noise that is told, is done by them, because all else has steps that depend on the whole plane. Floats
    are then not held between 0 and white.
    """
    arranged = axes.arranged(array)
    coloured = axes.colours is not None
    inner = arranged.shape[len(axes.pages) :]
    if inner[0] * inner[1] > WHOLE:
        return axes.restored(_by_tiles(repair, arranged, axes))
    pages, whole = (1,) * len(axes.pages), (-1,) * len(inner)
    blocks = arranged.rechunk((*pages, *whole))
    if mask is None:
        result = blocks.map_blocks(
            partial(_block, repair), dtype=array.dtype, meta=np.empty((0,) * array.ndim, array.dtype)
        )
        return axes.restored(result)
    import dask.array as da

    masks = da.broadcast_to(da.asarray(mask), arranged.shape[: arranged.ndim - coloured])
    masks = masks.rechunk((*pages, -1, -1))
    masks = masks[..., None] if coloured else masks
    result = da.map_blocks(
        partial(_masked_block, repair), blocks, masks, dtype=array.dtype, chunks=blocks.chunks,
        meta=np.empty((0,) * array.ndim, array.dtype),
    )  # fmt: skip
    return axes.restored(result)


def _block(repair: Repair, pixels: NDArray[Any]) -> NDArray[Any]:
    return repair.request(pixels).run()


def _masked_block(repair: Repair, pixels: NDArray[Any], mask: NDArray[np.bool_]) -> NDArray[Any]:
    missing = mask[..., 0] if repair.channel_axis is not None else mask
    return repair.request(pixels, missing).run()


def _by_tiles(repair: Repair, arranged: Any, axes: LayerAxes) -> Any:
    """Tiles with so much about them as a step looks at, all with the same noise and bounds."""
    height, width = axes.size
    large = f"a plane of {height} x {width} pixels is too large to be repaired whole"
    way = "save the layer as zarr and use cosparse.cluster.repair_picture, or the command line"
    if repair.task != "denoise":
        raise ValueError(f"layer: {large}, and {repair.task} needs that; {way}")
    if repair.options.get("sigma") is None:
        raise ValueError(f"noise: {large}, and so to have its noise estimated; say how strong it is, or {way}")
    channels = None if axes.colours is None else arranged.shape[-1]
    options = {**repair.options, "data_range": repair.data_range}
    work, request = assign(repair.task, options, False, Layout((), axes.size, channels, axes.alpha), arranged.dtype)
    if not all(problem.steps for problem in request.problems()):
        raise ValueError(f"operator: {large}, and one without trained steps needs that; take the shipped one, or {way}")
    if arranged.dtype.kind == "f":
        work = work.knowing(bounds=None)  # whether values keep to 0 and white, only the whole plane tells
    grid = divided(work, request, axes.size, TILE, None)
    pages, last = (1,) * len(axes.pages), (-1,) * (arranged.ndim - len(axes.pages) - 2)
    tiles = arranged.rechunk((*pages, *grid.chunks, *last))
    depth = {len(pages): grid.overlap, len(pages) + 1: grid.overlap}
    return tiles.map_overlap(
        partial(_tile, work), depth=depth, boundary="none", dtype=arranged.dtype, allow_rechunk=False,
        meta=np.empty((0,) * arranged.ndim, arranged.dtype),
    )  # fmt: skip


def _tile(work: Assignment, pixels: NDArray[Any]) -> NDArray[Any]:
    inner = pixels.shape[-3:] if work.colour else pixels.shape[-2:]
    return work.request(pixels.reshape(inner), None).run().reshape(pixels.shape)


def some_values(array: Any, axes: LayerAxes) -> NDArray[Any]:
    """Values from the first, the middle and the last plane of an array, at most about a million."""
    arranged = axes.arranged(array)
    arranged = arranged[..., :-1] if axes.alpha else arranged
    count = len(axes.pages)
    pages = {tuple(int(part * (side - 1)) for side in arranged.shape[:count]) for part in (0, 0.5, 1)}
    height, width = axes.size
    step = max(1, round((len(pages) * height * width / SEEN) ** 0.5))
    return np.concatenate([np.asarray(arranged[page][::step, ::step]).ravel() for page in sorted(pages)])
