"""xarray's DataArray: a task given one returns one, with its dimensions, coordinates, attributes and name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.foreign import adopting
from cosparse.reconstruction.tasks import TASKS


def run(task: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """A task on labelled arrays; what is in them may be lazy.

    The last two dimensions that are no channels are rows and columns, as of any array; `channel_axis` may be the name
    of a dimension. A mask or a map of noise levels may be labelled too: it is then laid out by its dimensions, and its
    coordinates must be the image's.
    """
    import xarray

    given = dict(inspect.signature(task).bind(*arguments, **keywords).arguments)
    for name, value in given.items():
        if isinstance(value, xarray.Dataset):
            raise TypeError(
                f"{name}: is a Dataset; pass one of its variables, dataset[{next(iter(value.data_vars), 'name')!r}], "
                f"or have all of them done: dataset.map(cosparse.{task.__name__}, ...)"
            )
        if type(value).__module__.startswith("xarray.") and not isinstance(value, xarray.DataArray):
            raise TypeError(f"{name}: is xarray's {type(value).__name__}; pass a DataArray, or its values")
    first = next(iter(given))
    image = given[first]
    if not isinstance(image, xarray.DataArray) or task.__name__ not in TASKS:
        plain = {name: value.data if isinstance(value, xarray.DataArray) else value for name, value in given.items()}
        return adopting(task)(plain.pop(first), **plain)
    axis = given.get("channel_axis")
    if isinstance(axis, str):
        given["channel_axis"] = axis = _axis_of(axis, image)
    laid_out = {
        name: _laid_out(name, value, image, axis) if isinstance(value, xarray.DataArray) else value
        for name, value in given.items()
        if name != first
    }
    result = adopting(task)(image.data, **laid_out)
    if result.shape == image.shape:
        return image.copy(data=result)
    return _enlarged(image, result, axis, int(given["factor"]))


def _axis_of(name: str, image: Any) -> int:
    if name not in image.dims:
        raise ValueError(f"channel_axis: {name!r} is no dimension of the image, which has {_listed(image.dims)}")
    return int(image.get_axis_num(name))


def _listed(names: Any) -> str:
    return ", ".join(map(repr, names))


def _laid_out(name: str, value: Any, image: Any, axis: int | None) -> Any:
    """The values of another array, its dimensions in the order of the image's."""
    import xarray

    strange = [dim for dim in value.dims if dim not in image.dims]
    if strange:
        raise ValueError(
            f"{name}: has dimensions that the image has not: {_listed(strange)}; it has {_listed(image.dims)}"
        )
    try:
        xarray.align(image, value, join="exact", copy=False)
    except ValueError as problem:
        raise ValueError(f"{name}: its coordinates are not the image's; select or reindex it first") from problem
    pages = [dim for number, dim in enumerate(image.dims) if axis is None or number != axis % image.ndim]
    if value.ndim and set(value.dims) not in (set(image.dims), set(pages), set(pages[-2:])):
        wanted = f"expected {_listed(pages[-2:])}, or all of {_listed(pages)}"
        raise ValueError(f"{name}: has the dimensions {_listed(value.dims)}; {wanted}")
    return value.transpose(*(dim for dim in image.dims if dim in value.dims)).data


def _enlarged(image: Any, result: Any, axis: int | None, factor: int) -> Any:
    """A larger result, with coordinates of the finer pixels; what are no numbers along rows or columns is left out."""
    import xarray

    sides = [dim for number, dim in enumerate(image.dims) if axis is None or number != axis % image.ndim][-2:]
    coordinates: dict[Hashable, Any] = {}
    for name, one in image.coords.items():
        along = [number for number, dim in enumerate(one.dims) if dim in sides]
        if not along:
            coordinates[name] = one
        elif one.dtype.kind in "iuf" and min(one.shape[number] for number in along) > 1:
            values = np.asarray(one.values, float)
            for number in along:
                values = finer(values, number, factor)
            coordinates[name] = xarray.Variable(one.dims, values, one.attrs)
    return xarray.DataArray(result, coordinates, image.dims, image.name, image.attrs)


def finer(values: NDArray[np.float64], axis: int, factor: int) -> NDArray[np.float64]:
    """Coordinates of pixels' middles along an axis, where each pixel is divided into `factor`; linear between them.

    >>> finer(np.array([0.0, 1.0, 2.0]), 0, 2)
    array([-0.25,  0.25,  0.75,  1.25,  1.75,  2.25])
    """
    count = values.shape[axis]
    place = (np.arange(count * factor) + 0.5) / factor - 0.5
    left = np.clip(np.floor(place).astype(int), 0, count - 2)
    shape = [1] * values.ndim
    shape[axis] = len(place)
    part = (place - left).reshape(shape)
    low, high = np.take(values, left, axis), np.take(values, left + 1, axis)
    return np.asarray(low + part * (high - low))
