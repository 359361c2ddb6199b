"""From measurements to an image: the operator as the prior of a whole picture (section IV)."""

from cosparse.reconstruction.engine import Solution, solve
from cosparse.reconstruction.estimation import estimate_noise
from cosparse.reconstruction.general import Reconstruction, reconstruct
from cosparse.reconstruction.noise_level import estimate_sigma
from cosparse.reconstruction.prior import Prior
from cosparse.reconstruction.problem import Problem
from cosparse.reconstruction.stages import Plan, Stage
from cosparse.reconstruction.tasks import deblur, denoise, inpaint, upscale
from cosparse.reconstruction.watch import Progress

__all__ = [
    "Plan", "Prior", "Problem", "Progress", "Reconstruction", "Solution", "Stage", "deblur", "denoise",
    "estimate_noise", "estimate_sigma", "inpaint", "reconstruct", "solve", "upscale",
]  # fmt: skip
