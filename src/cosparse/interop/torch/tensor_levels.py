"""Levels that differ from pixel to pixel, and what they mean for patches: `reconstruction.local_noise` on tensors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from cosparse.interop.torch.tensor_patches import Sides, replicate, together
from cosparse.reconstruction.local_noise import MOST_TAKEN, STEP


@dataclass(frozen=True, eq=False)
class LocalLevels:
    """Levels of patches and pixels, as places in a small grid of them.

    Attributes
    ----------
    grid : (levels,) tensor
        From the least to the largest.
    less : (levels,) tensor
        The typical level over each: what a patch says counts so much.
    patches : (n, rows, columns) tensor of whole numbers
    pixels : (n, h, w) tensor of whole numbers
    taken : (n, h, w) tensor
        How much of what its patches say each pixel takes.
    """

    grid: torch.Tensor
    less: torch.Tensor
    patches: torch.Tensor
    pixels: torch.Tensor
    taken: torch.Tensor

    @classmethod
    def of(cls, sigma: torch.Tensor, typical: float, patch: Sides, stride: Sides) -> LocalLevels:
        """Those of planes (n, h, w) of levels, for patches of such a shape and distance."""
        low, high = sigma.min(), sigma.max()
        first, last = (int(_number(end, typical)) for end in (low, high))
        grid = typical * STEP ** torch.arange(first, last + 1, device=sigma.device, dtype=sigma.dtype)
        means = patch_totals(sigma * sigma, patch, stride) / (patch[0] * patch[1])
        patches = _number(means.sqrt().clamp(low, high), typical) - first
        less = typical / grid
        shape = sigma.shape[1], sigma.shape[2]

        def sums(values: torch.Tensor) -> torch.Tensor:
            pieces = values.flatten(1)[..., None].expand(-1, -1, patch[0] * patch[1])
            return together(pieces, shape, patch, stride)

        mean = sums(less[patches]) / sums(torch.ones_like(means))
        taken = torch.minimum(sigma / typical, MOST_TAKEN / mean)
        return cls(grid, less, patches, _number(sigma, typical) - first, taken)


def patch_totals(planes: torch.Tensor, patch: Sides, stride: Sides) -> torch.Tensor:
    """The sum of planes (n, h, w) over every patch, repeated border values included: (n, rows, columns)."""
    return F.avg_pool2d(replicate(planes, patch, stride)[:, None], patch, stride, divisor_override=1)[:, 0]


def _number(sigma: torch.Tensor, typical: float) -> torch.Tensor:
    """Of the nearest levels of an endless grid."""
    return (torch.log(sigma / typical) / math.log(STEP)).round().to(torch.int64)
