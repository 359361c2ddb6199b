"""Copied pieces joined to each other and to what is about them, by the operator's energy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cosparse.kernels.copying_reference import Image
from cosparse.operator import AnalysisOperator
from cosparse.reconstruction.blending import blended
from cosparse.reconstruction.bounds import Pair
from cosparse.reconstruction.engine import solve
from cosparse.reconstruction.holes import Box, grown
from cosparse.reconstruction.local_noise import channel_noise
from cosparse.reconstruction.planes import Plane, take_apart
from cosparse.reconstruction.problem import Problem
from cosparse.reconstruction.scales import Mask
from cosparse.reconstruction.stages import plan

MARGIN = 16  # pixels about a hole that its energy sees
FIRM = 0.5  # grey levels of noise that copied pixels are taken to have
SEAM = 0.3  # of how far the sides of a seam disagree: as much more noise its pixels are taken to have


def joined(
    image: Image, gap: Mask, origins: NDArray[np.int32], box: Box, prior: tuple[AnalysisOperator, str, Pair | None]
) -> Image:
    """The box of an image (h, w, channels) whose gap was filled from the origins: known pixels held, copied ones drawn
    to what they are, the less at seams the more these show."""
    operator, quality, bounds = prior
    image = blended(image, gap, origins)
    around = grown(box, MARGIN, gap.shape)
    free, part = gap[around], np.ascontiguousarray(image[around])
    variance = FIRM**2 + np.square(SEAM * disagreement(image, gap, origins)[around])
    trust = np.asarray(FIRM**2 / variance, np.float32)
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


def disagreement(image: Image, gap: Mask, origins: NDArray[np.int32]) -> NDArray[np.float32]:
    """How far, in grey levels, a pixel of the gap is from what its neighbours' pieces, continued, would have there.

    Also how far what is known beside it is from its own piece, continued. Nothing inside a piece; what is seen of a
    seam otherwise, for where two pieces agree there is none.
    """
    found = np.zeros(gap.shape, np.float32)
    pixels = np.argwhere(gap)
    own = origins[pixels[:, 0], pixels[:, 1]]
    shifts = image[pixels[:, 0], pixels[:, 1]] - image[own[:, 0], own[:, 1]]
    last = np.subtract(gap.shape, 1)
    for step in ((0, 1), (1, 0), (0, -1), (-1, 0)):
        beside, continued = (pixels + step).clip(0, last), (own + step).clip(0, last)
        values = image[continued[:, 0], continued[:, 1]] + shifts
        apart = np.abs(values - image[beside[:, 0], beside[:, 1]]).mean(axis=1)
        for ends in (pixels, beside):
            rows, columns = ends.T
            found[rows, columns] = np.maximum(found[rows, columns], apart)
    return np.where(gap, found, np.float32(0))
