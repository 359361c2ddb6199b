"""The repairs, one file each: the function that users call, how it poses its problem, and the record of the task."""

from cosparse.reconstruction.request import Task
from cosparse.reconstruction.tasks import deblur as _deblur
from cosparse.reconstruction.tasks import denoise as _denoise
from cosparse.reconstruction.tasks import inpaint as _inpaint
from cosparse.reconstruction.tasks import upscale as _upscale

TASKS: dict[str, Task] = {module.TASK.name: module.TASK for module in (_denoise, _inpaint, _upscale, _deblur)}

denoise, inpaint, upscale, deblur = _denoise.denoise, _inpaint.inpaint, _upscale.upscale, _deblur.deblur

__all__ = ["TASKS", "deblur", "denoise", "inpaint", "upscale"]
