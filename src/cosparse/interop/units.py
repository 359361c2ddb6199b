"""Quantities with units (astropy, Pint, unyt): refused, since a task would drop their units without a word."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

PLAIN = ("", "dimensionless", "(dimensionless)")


def run(task: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """Refuse what has a unit; other objects of such a library, as a kernel of astropy's, are arrays like any."""
    for name, value in inspect.signature(task).bind(*arguments, **keywords).arguments.items():
        unit = getattr(value, "unit", getattr(value, "units", None))
        if unit is not None and str(unit) not in PLAIN:
            raise TypeError(
                f"{name}: is in {unit}, and {task.__name__} knows no units; pass plain values (its .value, .magnitude "
                "or .data), with sigma and data_range in the same unit"
            )
    return task(*arguments, **keywords)
