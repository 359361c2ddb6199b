"""Blur kernels by name: gaussian:2, box:9, disk:3, motion:15:30, or an image of a smeared point."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from cosparse.cli.console import UsageProblem
from cosparse.images import read_grey
from cosparse.reconstruction.blurs import Kernel, box_kernel, disk_kernel, motion_kernel
from cosparse.reconstruction.measurement import gaussian_kernel

KINDS = {"gaussian": 1, "box": 1, "disk": 1, "motion": 2}  # and how many numbers each takes
LARGEST = 255


def point_spread(spec: str) -> Kernel:
    """The kernel that `spec` names.

    >>> point_spread("box:3").shape
    (3, 3)
    """
    kind, *texts = spec.split(":")
    if kind not in KINDS or (not texts and Path(spec).exists()):
        return _from_file(spec)
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        numbers = []
    sizes = numbers[:1]
    if len(numbers) != KINDS[kind] or not all(map(math.isfinite, numbers)):
        raise UsageProblem(f"--kernel {spec}: not understood; {_forms()}")
    if not 0 < sizes[0] <= LARGEST / (8 if kind == "gaussian" else 2):
        raise UsageProblem(f"--kernel {spec}: its size must be positive and below {LARGEST // 2}")
    if kind == "gaussian":
        return gaussian_kernel(numbers[0])
    if kind == "box":
        side = int(numbers[0])
        if side != numbers[0] or side % 2 == 0:
            raise UsageProblem(f"--kernel {spec}: the side of a box is an odd number of pixels")
        return box_kernel(side)
    return disk_kernel(numbers[0]) if kind == "disk" else motion_kernel(*numbers)


def _forms() -> str:
    return "use gaussian:SIGMA, box:SIDE, disk:RADIUS, motion:LENGTH:ANGLE, or an image file"


def _from_file(spec: str) -> Kernel:
    if not Path(spec).exists():
        raise UsageProblem(f"--kernel {spec}: no such kernel or file; {_forms()}")
    try:
        kernel = read_grey(spec)
    except (OSError, ValueError) as error:
        raise UsageProblem(f"--kernel: {error}") from error
    if not (np.isfinite(kernel).all() and kernel.sum() > 0):
        raise UsageProblem(f"--kernel {spec}: is black; it must show what a point was smeared into")
    # An odd size has a middle pixel, which says where the point was.
    kernel = np.pad(kernel, [(0, 1 - side % 2) for side in kernel.shape])
    return np.asarray(kernel / kernel.sum())
