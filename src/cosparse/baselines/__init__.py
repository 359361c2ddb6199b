"""Other people's methods, to measure ours against.

One rival a file. A file that defines `denoise(noisy, sigma)` is found as a denoiser, one that defines
`inpaint(image, mask)` as an inpainter, one that defines `upscale(small, factor)` as an upscaler, which may
also take `sigma`, the noise of the small image. All take and return float images on 0..255, and `mask` is True
where a pixel is missing. One that defines `learn(patches, rows)` is a learner: it gives an AnalysisOperator.
`NEEDS` names a package that only the `bench` extra brings, `TITLE` what tables call the method, and `LIMIT`
how many missing pixels an inpainter can cope with in reasonable time.

Examples
--------
>>> import numpy as np
>>> from cosparse.baselines import denoisers, inpainters, learners, upscalers
>>> sorted(denoisers)
['bm3d', 'fields_of_experts', 'finite_differences', 'ksvd', 'nlm', 'tv_skimage', 'wavelet']
>>> sorted(inpainters)
['beta_process', 'biharmonic', 'fields_of_experts', 'finite_differences', 'navier_stokes', 'telea']
>>> sorted(learners)
['analysis_ksvd', 'aol', 'minimal_eigenvalues', 'noise_aware_aol']
>>> sorted(upscalers)
['coupled_dictionaries', 'fields_of_experts']
>>> flat = np.full((16, 16), 100, np.float32)
>>> bool(np.allclose(denoisers["nlm"](flat, 10.0), 100))
True
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module, util
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.operator import AnalysisOperator

__all__ = ["Image", "Mask", "available", "denoisers", "inpainters", "learners", "limit", "title", "upscalers"]

Image = NDArray[np.float32]
Mask = NDArray[np.bool_]

_modules: dict[str, ModuleType] = {
    entry.name: import_module(f"{__name__}.{entry.name}")
    for entry in pkgutil.iter_modules(__path__)
    if not entry.name.startswith("_")
}


def _found(task: str) -> dict[str, Callable[..., Any]]:
    return {name: getattr(module, task) for name, module in _modules.items() if hasattr(module, task)}


denoisers: dict[str, Callable[[Image, float], Image]] = _found("denoise")
inpainters: dict[str, Callable[[Image, Mask], Image]] = _found("inpaint")
upscalers: dict[str, Callable[..., Image]] = _found("upscale")
learners: dict[str, Callable[..., AnalysisOperator]] = _found("learn")


def available(name: str) -> bool:
    """Whether what the rival needs is installed."""
    needs: str | None = getattr(_modules[name], "NEEDS", None)
    return needs is None or util.find_spec(needs) is not None


def title(name: str) -> str:
    """What to call the rival in a table."""
    return str(getattr(_modules[name], "TITLE", name))


def limit(name: str) -> float:
    """How many missing pixels an inpainter can cope with."""
    return float(getattr(_modules[name], "LIMIT", float("inf")))
