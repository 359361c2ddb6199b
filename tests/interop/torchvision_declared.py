"""Let torchvision from PyPI be imported beside a torch that was built without CUDA, as deepinv imports it.

    python tests/interop/torchvision_declared.py docs/examples/deepinv_deblurring.py

runs a script so. Torchvision's compiled part wants CUDA's libraries; without it, it stops at the first two of its
operators. They are of boxes found in pictures: deepinv needs neither, so it is enough that they have been declared.
Where torch and torchvision fit together, nothing is done.
"""

from __future__ import annotations

import runpy
import sys
from typing import Any

KEPT: list[Any] = []  # operators go with the library that declared them


def declare() -> None:
    """Make `import torchvision` work."""
    import torch

    try:
        import torchvision  # noqa: F401
    except RuntimeError:
        KEPT.append(torch.library.Library("torchvision", "DEF"))
        for name in ("nms", "qnms"):
            KEPT[-1].define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


if __name__ == "__main__":
    declare()
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
