"""What the tests of other libraries share."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest


def declared_torchvision() -> None:
    """Let torchvision from PyPI be imported beside a torch that was built without CUDA.

    Its compiled part wants CUDA's libraries, and without it torchvision stops at the first two of its operators. They
    are of boxes found in pictures; deepinv needs none, so it is enough that they have been declared.
    """
    import torch

    try:
        import torchvision  # noqa: F401
    except RuntimeError:
        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        declared_torchvision.library = library  # type: ignore[attr-defined]  # its operators go with it


@pytest.fixture(scope="session")
def deepinv() -> ModuleType:
    """The library, or a skip that says it is not there."""
    pytest.importorskip("torch", reason="torch is not installed; make test-torch brings it")
    pytest.importorskip("torchvision", reason="torchvision is not installed", exc_type=ModuleNotFoundError)
    declared_torchvision()
    return importlib.import_module("deepinv")
