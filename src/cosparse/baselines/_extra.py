"""Packages that only the `bench` extra brings."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def needed(package: str) -> Any:
    """The package, or an error that says how to get it."""
    try:
        return import_module(package)
    except ImportError as problem:
        raise ImportError(f"{package} is not installed: pip install 'cosparse[bench]' brings it") from problem
