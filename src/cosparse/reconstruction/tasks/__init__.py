"""The repairs, one file each: the function that users call, how it poses its problem, and the record of the task."""

from cosparse.reconstruction.request import Task
from cosparse.reconstruction.tasks import deblocking, deblurring, denoising, inpainting, upscaling
from cosparse.reconstruction.tasks.deblocking import deblock
from cosparse.reconstruction.tasks.deblurring import deblur
from cosparse.reconstruction.tasks.denoising import denoise
from cosparse.reconstruction.tasks.inpainting import inpaint
from cosparse.reconstruction.tasks.upscaling import upscale

__all__ = ["TASKS", "deblock", "deblur", "denoise", "inpaint", "upscale"]

TASKS: dict[str, Task] = {
    module.TASK.name: module.TASK for module in (denoising, inpainting, upscaling, deblurring, deblocking)
}
