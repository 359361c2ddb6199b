"""CuPy arrays are on a GPU, where cosparse works on PyTorch's tensors: says how one becomes the other, uncopied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


def run(task: Callable[..., Any], *arguments: Any, **keywords: Any) -> NoReturn:
    """Refused, with the way."""
    name = task.__name__
    raise TypeError(
        f"{name}: takes no CuPy arrays; pass torch.from_dlpack(array), which stays on the GPU (see "
        f"cosparse.interop.torch), and take cupy.from_dlpack(result); or array.get() to have it done on the CPU"
    )
