"""From measurements to an image: the operator as the prior of a whole picture (section IV)."""

from cosparse.reconstruction.general import Reconstruction, reconstruct
from cosparse.reconstruction.noise import estimate_sigma
from cosparse.reconstruction.tasks import deblur, denoise, inpaint, upscale
from cosparse.reconstruction.watch import Progress

__all__ = [
    "Progress",
    "Reconstruction",
    "deblur",
    "denoise",
    "estimate_sigma",
    "inpaint",
    "reconstruct",
    "upscale",
]
