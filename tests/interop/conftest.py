"""What the tests of other libraries share."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def deepinv() -> ModuleType:
    """The library, or a skip that says it is not there."""
    for name in ("torch", "torchvision", "deepinv"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed; make test-torch brings it")
    from torchvision_declared import declare

    declare()
    return importlib.import_module("deepinv")
