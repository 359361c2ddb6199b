"""Learn an analysis operator from example images and repair images with it."""

from cosparse._version import __version__
from cosparse.learning import LearnProgress, LearnResult, learn_operator
from cosparse.metrics import psnr, ssim
from cosparse.operator import AnalysisOperator, load_operator
from cosparse.optimize import Settings, Stop
from cosparse.patches import sample_patches
from cosparse.penalty import Penalty
from cosparse.reconstruction import (
    Progress,
    Reconstruction,
    deblur,
    denoise,
    estimate_sigma,
    inpaint,
    reconstruct,
    upscale,
)

__all__ = [
    "AnalysisOperator",
    "LearnProgress",
    "LearnResult",
    "Penalty",
    "Progress",
    "Reconstruction",
    "Settings",
    "Stop",
    "__version__",
    "deblur",
    "denoise",
    "estimate_sigma",
    "inpaint",
    "learn_operator",
    "load_operator",
    "psnr",
    "reconstruct",
    "sample_patches",
    "ssim",
    "upscale",
]
