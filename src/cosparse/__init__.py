"""Learn an analysis operator from example images and repair images with it.

Names load when they are first used: `import cosparse` costs next to nothing, and a command that only reads a file never
waits for the compiler.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cosparse._version import __version__

if TYPE_CHECKING:
    from cosparse.kernels.threads import limit_threads
    from cosparse.learning import LearnProgress, LearnResult, learn_operator
    from cosparse.metrics import psnr, ssim
    from cosparse.noise import Correlated, Gaussian, Map, Noise, PoissonGaussian
    from cosparse.operator import AnalysisOperator, load_operator
    from cosparse.optimize import Settings, Stop
    from cosparse.patches import sample_patches
    from cosparse.penalty import Penalty
    from cosparse.reconstruction import (
        Plan,
        Prior,
        Problem,
        Progress,
        Reconstruction,
        Solution,
        Stage,
        deblur,
        denoise,
        estimate_noise,
        estimate_sigma,
        inpaint,
        reconstruct,
        solve,
        upscale,
    )
    from cosparse.refinement import RefineProgress, RefineResult, refine_operator

# Where each public name is at home.
_HOMES = {
    "kernels.threads": "limit_threads",
    "learning": "LearnProgress LearnResult learn_operator",
    "metrics": "psnr ssim",
    "noise": "Correlated Gaussian Map Noise PoissonGaussian",
    "operator": "AnalysisOperator load_operator",
    "optimize": "Settings Stop",
    "patches": "sample_patches",
    "penalty": "Penalty",
    "reconstruction": "Plan Prior Problem Progress Reconstruction Solution Stage "
    "deblur denoise estimate_noise estimate_sigma inpaint reconstruct solve upscale",
    "refinement": "RefineProgress RefineResult refine_operator",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}
_MODULES = ("images", "testing", "baselines", "cluster")

__all__ = [
    "AnalysisOperator", "Correlated", "Gaussian", "LearnProgress", "LearnResult", "Map", "Noise", "Penalty", "Plan",
    "PoissonGaussian", "Prior", "Problem", "Progress", "Reconstruction", "RefineProgress", "RefineResult", "Settings",
    "Solution", "Stage", "Stop", "__version__", "deblur", "denoise", "estimate_noise", "estimate_sigma", "inpaint",
    "learn_operator", "limit_threads", "load_operator", "psnr", "reconstruct", "refine_operator", "sample_patches",
    "solve", "ssim", "upscale",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(f"cosparse.{_HOME[name]}"), name)
    elif name in _MODULES:
        value = import_module(f"cosparse.{name}")
    else:
        raise AttributeError(f"module 'cosparse' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_MODULES})
