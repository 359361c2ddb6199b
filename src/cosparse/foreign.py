"""Arrays and operators of other libraries: which adapter takes them.

A task that is given a tensor, a labelled or a lazy array hands it to the adapter of its library, which gives the same
kind back. An adapter is looked up by the package that a value's type comes from, and loaded only then: who has such a
value has loaded its library.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

# By package, the module with `run(task, *arguments, **keywords)`. Of several in one call the first here counts.
ADAPTERS: dict[str, str] = {
    "deepinv": "cosparse.interop.deepinv",
    "torch": "cosparse.interop.torch",
    "xarray": "cosparse.interop.xarray",
    "dask": "cosparse.interop.dask",
    "cupy": "cosparse.interop.cupy",
    **dict.fromkeys(("astropy", "pint", "unyt"), "cosparse.interop.units"),
}


def adopting(task: Function) -> Function:
    """Decorate a task: called with values of a library that has an adapter, it is run by that."""

    first = next(iter(inspect.signature(task).parameters))

    @wraps(task)
    def opened(*arguments: Any, **keywords: Any) -> Any:
        if not arguments and first in keywords:
            arguments = (keywords.pop(first),)
        adapter = adapter_of(*arguments)
        if adapter is None:
            return task(*arguments, **keywords)
        return import_module(adapter).run(task, *arguments, **keywords)

    return cast(Function, opened)


def adapter_of(*values: Any) -> str | None:
    """The adapter that knows one of these values, or None."""
    packages = {kind.__module__.partition(".")[0] for value in values for kind in type(value).__mro__}
    return next((adapter for package, adapter in ADAPTERS.items() if package in packages), None)
