"""Copied pieces joined to each other and to what is about them, by the operator's energy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cosparse.kernels.copying_reference import Image
from cosparse.operator import AnalysisOperator
from cosparse.reconstruction.bounds import Pair
from cosparse.reconstruction.engine import solve
from cosparse.reconstruction.holes import Box, grown
from cosparse.reconstruction.local_noise import channel_noise
from cosparse.reconstruction.planes import Plane, take_apart
from cosparse.reconstruction.problem import Problem
from cosparse.reconstruction.scales import Mask
from cosparse.reconstruction.stages import plan

MARGIN = 16  # pixels about a hole that its energy sees
FIRM = 2.0  # grey levels of noise that copied pixels are taken to have
LOOSE = 0.01  # what those at a seam count beside the others


def joined(
    image: Image, gap: Mask, origins: NDArray[np.int32], box: Box, prior: tuple[AnalysisOperator, str, Pair | None]
) -> Image:
    """The box of an image (h, w, channels) whose gap was filled from the origins: known pixels held, copied ones drawn
    to what they are, those at seams hardly."""
    operator, quality, bounds = prior
    around = grown(box, MARGIN, gap.shape)
    free, part = gap[around], np.ascontiguousarray(image[around])
    trust = np.where(seams(free, origins[around]), np.float32(LOOSE), np.float32(1))
    channels, join = take_apart(part if part.shape[2] > 1 else part[..., 0], bounds)
    planes: list[Plane] = []
    for channel in channels:
        sigma, _, _ = channel_noise(FIRM, None, channel)
        chosen = plan("inpaint", sigma, quality, None, operator)
        problem = Problem(operator, chosen, channel.plane, channel.plane, trust=trust, free=free, bounds=channel.bounds)
        planes.append(solve(problem).image)
    whole = join(planes).reshape(part.shape)
    rows, columns = (
        slice(own.start - outer.start, own.stop - outer.start) for own, outer in zip(box, around, strict=True)
    )
    return np.asarray(whole[rows, columns])


def seams(gap: Mask, origins: NDArray[np.int32]) -> Mask:
    """Where pixels side by side do not come from side by side: along the rim, and between pieces."""
    grid = np.moveaxis(np.indices(gap.shape), 0, -1)
    offsets = np.where(gap[..., None], origins - grid, 0)
    found = np.zeros_like(gap)
    for axis in (0, 1):
        apart = (np.diff(offsets, axis=axis) != 0).any(axis=-1)
        lower = [slice(None)] * 2
        upper = [slice(None)] * 2
        lower[axis], upper[axis] = slice(None, -1), slice(1, None)
        found[tuple(lower)] |= apart
        found[tuple(upper)] |= apart
    return found & gap
