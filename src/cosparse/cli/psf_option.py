"""Kernels by name: of blurs gaussian:2, box:9, disk:3, motion:15:30, of reductions bicubic; or an image of a point."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cosparse.cli.console import UsageProblem
from cosparse.io.picture import read_grey
from cosparse.reconstruction.psf import FORMS, KINDS, Kernel, named_kernel
from cosparse.reconstruction.reductions import REDUCTIONS


def point_spread(spec: str) -> Kernel:
    """The kernel that `spec` names.

    >>> point_spread("box:3").shape
    (3, 3)
    """
    kind, *numbers = spec.split(":")
    if kind not in KINDS or (not numbers and Path(spec).exists()):
        return _from_file(spec, FORMS)
    try:
        return named_kernel(spec)
    except ValueError as error:
        raise UsageProblem(f"--kernel {spec}{str(error).removeprefix('kernel')}") from error


def made_by(spec: str) -> Kernel | str:
    """What made a small picture: the name of a reduction, or a kernel from a file.

    >>> made_by("bicubic")
    'bicubic'
    """
    return spec if spec in REDUCTIONS else _from_file(spec, ", ".join(REDUCTIONS))


def _from_file(spec: str, others: str) -> Kernel:
    if not Path(spec).exists():
        raise UsageProblem(f"--kernel {spec}: no such kernel or file; use {others}, or an image file")
    try:
        kernel = read_grey(spec)
    except (OSError, ValueError) as error:
        raise UsageProblem(f"--kernel: {error}") from error
    if not (np.isfinite(kernel).all() and kernel.sum() > 0):
        raise UsageProblem(f"--kernel {spec}: is black; it must show what a point was smeared into")
    # An odd size has a middle pixel, which says where the point was.
    kernel = np.pad(kernel, [(0, 1 - side % 2) for side in kernel.shape])
    return np.asarray(kernel / kernel.sum())
