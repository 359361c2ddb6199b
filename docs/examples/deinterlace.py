"""
A task in one file
==================

Fill in the lines that one field of an interlaced video lacks, as a task like those that are there: checked at the
door, posed for one plane, and known to all that repairs pictures. In the package it would be
`src/cosparse/reconstruction/tasks/deinterlacing.py`, and its name in `tasks/__init__.py`.
"""

from dataclasses import replace
from typing import Unpack

import matplotlib.pyplot as plt
import numpy as np
from skimage.data import camera

import cosparse
from cosparse.io.picture import Picture
from cosparse.keywords import keywords_of
from cosparse.reconstruction.planes import Channel
from cosparse.reconstruction.problem import Problem
from cosparse.reconstruction.request import Asked, Common, Options, Request, Task
from cosparse.reconstruction.stages import plan
from cosparse.reconstruction.start import interpolate
from cosparse.reconstruction.tasks import TASKS
from cosparse.repair import repair


def deinterlace(image, *, sigma=0.0, first=0, **given: Unpack[Common]):
    """Keep every second line of the image, from the `first` on, and restore the others."""
    return request(image, sigma=sigma, first=first, **given).run()


@keywords_of(Options)
def request(image, *, sigma=0.0, first=0, **given: Unpack[Common]) -> Request:
    """What is asked, checked: all that tasks have in common by `Request.of`, and what is this task's own."""
    if first not in (0, 1):
        raise ValueError(f"first: expected 0 or 1, got {first!r}")
    request = Request.of(pose, image, sigma, given)
    gaps = np.ones(request.pages.shape[1:3], bool)
    gaps[first::2] = False
    return replace(request, asked=[replace(asked, gaps=gaps) for asked in request.asked])


def pose(channel: Channel, asked: Asked) -> Problem:
    """One plane: known lines are held as they are, or if there is noise, drawn to; the others start as a filling."""
    sigma = asked.sigma * channel.gain
    stages = plan("inpaint", sigma, asked.quality, asked.weight, asked.operator)
    start = interpolate(channel.plane, asked.gaps)
    if sigma == 0:
        return Problem(asked.operator, stages, start, free=asked.gaps, bounds=channel.bounds)
    known = (~asked.gaps).astype(np.float32)
    return Problem(asked.operator, stages, start, channel.plane, trust=known, bounds=channel.bounds)


TASK = Task("deinterlace", "deinterlaced", pose, request, takes=("first",), reach=8, unit=16)

# %%
# From now on the door for pictures has it, and with it all that uses that door.
if __name__ == "__main__":
    TASKS[TASK.name] = TASK
    image = camera()[100:228, 150:278]
    doubled = np.repeat(image[::2], 2, axis=0)
    repaired = repair(Picture(doubled), "deinterlace").picture.pixels
    print(*(f"{cosparse.psnr(image, each):.2f} dB" for each in (doubled, deinterlace(doubled), repaired)))

    figure, axes = plt.subplots(1, 3, figsize=(10, 3.7), layout="constrained")
    panels = {"doubled": doubled, "deinterlaced": repaired, "truth": image}
    for axis, (name, picture) in zip(axes, panels.items(), strict=True):
        axis.imshow(picture, cmap="gray", vmin=0, vmax=255)
        axis.set_title(name)
        axis.axis("off")
    plt.show()
