"""Dask arrays: a task given one returns one, and repairs it tile by tile when it is computed.

Noise that is estimated, bounds that depend on the values and the steps that all tiles take are found by tasks of the
same graph. So it is computed wherever Dask computes: by threads, by processes, on a cluster. docs/interop-arrays.md.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from cosparse.cluster.layout import Layout
from cosparse.cluster.lazy import lazy_pages, lazy_tiles
from cosparse.foreign import adapter_of, adopting
from cosparse.noise import Correlated, Map
from cosparse.reconstruction.planes import checked_axis
from cosparse.reconstruction.tasks import TASKS


def run(task: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """A task on Dask arrays."""
    import dask.array as da

    given = inspect.signature(task).bind(*arguments, **keywords).arguments
    first, image = next(iter(given.items()))
    for name, value in given.items():
        if hasattr(value, "__dask_graph__") and not isinstance(value, da.Array):
            raise TypeError(f"{name}: is a Dask {type(value).__name__}; pass a Dask array, or what it computes to")
    if task.__name__ not in TASKS:
        raise TypeError(f"{first}: {task.__name__} needs all of it at once; pass {first}.compute()")
    if not isinstance(image, da.Array):  # only others are: they are wanted now
        return task(
            **{name: np.asarray(value) if isinstance(value, da.Array) else value for name, value in given.items()}
        )
    if adapter_of(image._meta):  # chunks of yet another library
        return adopting(task)(image._meta, *arguments[1:], **keywords)
    return _lazily(task.__name__, image, {name: value for name, value in given.items() if name != first})


def _lazily(task: str, image: Any, given: dict[str, Any]) -> Any:
    """The task on a Dask array, by tiles, or where these cannot do it page by page."""
    import dask.array as da

    if np.isnan(image.shape).any():
        raise ValueError("image: has chunks of unknown sizes; call image.compute_chunk_sizes() first")
    if 0 in image.shape:
        raise ValueError(f"image: is empty (shape {image.shape}); pass at least one pixel")
    if given.pop("callback", None) is not None:
        raise ValueError("callback: a lazy array has no iterations yet to tell of; see dask.diagnostics.ProgressBar")
    image, given = _unmasked(task, image, given)
    axis = checked_axis(image.shape, given.pop("channel_axis", None))
    last = image if axis is None else da.moveaxis(image, axis, -1)
    alpha = bool(given.pop("alpha", False))
    if alpha and (axis is None or last.shape[-1] < 2):
        raise ValueError("alpha: the image has no channel beside a first; pass channel_axis, or alpha=False")
    end = last.ndim - (axis is not None)
    layout = Layout(last.shape[: end - 2], last.shape[end - 2 : end], None if axis is None else last.shape[-1], alpha)
    mask, levels, options = _apart(task, given, image.shape, axis)
    if levels is None and mask is None and _needs_whole_pages(task, options):
        result = lazy_pages(task, last, layout, options)
    else:
        result = lazy_tiles(task, last, layout, options, mask=mask, levels=levels)
    return result if axis is None else da.moveaxis(result, -1, axis)


def _needs_whole_pages(task: str, options: dict[str, Any]) -> bool:
    """Whether every part of the result depends on a whole page."""
    correlated = isinstance(options.get("noise"), Correlated)
    return TASKS[task].compressed or options.get("border") == "periodic" or correlated


def _unmasked(task: str, image: Any, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Of masked chunks the values, and to inpaint, what is masked with what the mask says."""
    import dask.array as da

    if not isinstance(image._meta, np.ma.MaskedArray):
        return image, given
    if not TASKS[task].masks:
        raise ValueError("image: has masked chunks; fill them (dask.array.ma.filled), or use inpaint, which takes them")
    hidden = da.ma.getmaskarray(image)
    if given.get("channel_axis") is not None:
        hidden = hidden.any(axis=given["channel_axis"])
    if given.get("mask") is not None:
        hidden = hidden | given["mask"]
    return da.ma.getdata(image), {**given, "mask": hidden}


def _apart(
    task: str, given: dict[str, Any], shape: tuple[int, ...], axis: int | None
) -> tuple[Any, Any, dict[str, Any]]:
    """The mask and the map of noise levels as Dask arrays, channels last, and the other options as they are."""
    import dask.array as da

    options = {
        name: np.asarray(value) if isinstance(value, da.Array) and name == "kernel" else value
        for name, value in given.items()
    }
    mask, sigma, noise = options.pop("mask", None), options.get("sigma"), options.get("noise")
    if mask is not None:
        mask = da.asarray(mask)
        if mask.dtype != bool:
            raise ValueError(f"mask: expected booleans (True = missing), got {mask.dtype}; pass mask != 0, say")
    elif TASKS[task].masks:
        raise ValueError("mask: say which pixels are missing, or pass an array with masked chunks")
    levels = noise.sigma if isinstance(noise, Map) and sigma is None else sigma
    if levels is None or (np.ndim(levels) == 0 and not isinstance(levels, da.Array)):
        return mask, None, options
    if noise is not None and not isinstance(noise, Map):
        raise ValueError("sigma, noise: say how noisy the image is by one of them")
    levels = da.asarray(levels)
    if levels.ndim == 0:
        raise ValueError("sigma: is lazy itself, and the tiles depend on it; pass sigma.compute()")
    if axis is not None and levels.shape == shape:
        levels = da.moveaxis(levels, axis, -1)
    return mask, levels, {name: value for name, value in options.items() if name not in ("sigma", "noise")}
