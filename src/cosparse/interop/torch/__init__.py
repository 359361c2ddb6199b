"""PyTorch: the prior and the trained steps as modules, and the tasks on tensors, which stay on their device.

Tensors that a task is given find their way here: `cosparse.denoise(tensor, sigma)` gives a tensor of the same device,
type and shape. docs/interop-torch.md says how tensors are read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    import torch  # noqa: F401
except ImportError as problem:
    raise ImportError("torch is not installed: pip install 'cosparse[torch]' brings it") from problem

from cosparse.interop.torch import tensor_denoising, tensor_tasks
from cosparse.interop.torch.tensor_prior import AnalysisPrior
from cosparse.interop.torch.tensor_reconstruction import reconstruct
from cosparse.interop.torch.tensor_steps import StagedDenoiser, StagedSteps

__all__ = ["AnalysisPrior", "StagedDenoiser", "StagedSteps", "run"]

TASKS: dict[str, Callable[..., Any]] = {
    "denoise": tensor_denoising.denoise,
    "inpaint": tensor_tasks.inpaint,
    "upscale": tensor_tasks.upscale,
    "deblur": tensor_tasks.deblur,
    "reconstruct": reconstruct,
}


def run(task: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """A task of cosparse with tensors among its arguments."""
    name = task.__name__
    if name not in TASKS:
        raise TypeError(f"{name}: takes arrays, not tensors; pass image.cpu().numpy()")
    return TASKS[name](*arguments, **keywords)
