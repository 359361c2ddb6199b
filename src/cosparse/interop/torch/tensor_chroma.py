"""Chroma at half its size, and back along the edges of luma: :mod:`cosparse.reconstruction.chroma` on tensors."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from cosparse.reconstruction.stages import TABLE


def halved(planes: torch.Tensor) -> torch.Tensor:
    """The means of 2 x 2 pixels; odd sides are continued."""
    height, width = planes.shape[1:]
    even = F.pad(planes[:, None], (0, width % 2, 0, height % 2), mode="replicate")
    return F.avg_pool2d(even, 2)[:, 0]


def brought_up(small: torch.Tensor, luma: torch.Tensor, measured: torch.Tensor, levels: torch.Tensor) -> torch.Tensor:
    """Planes of half size that were repaired, in the size of luma, along its edges; `levels` (n,) are their noise."""
    rule, shape = TABLE["chroma"], (luma.shape[1], luma.shape[2])
    seen = halved(luma)
    mean = _mean(seen, rule["window"])
    inverse = 1 / ((_mean(seen * seen, rule["window"]) - mean * mean).clamp(min=0) + rule["ridge"])
    covariance = _mean(seen * small, rule["window"]) - mean * _mean(small, rule["window"])
    slope = _mean(covariance * inverse, rule["window"])
    guided = _up(small, shape) + _up(slope, shape) * (luma - _up(seen, shape))
    return guided + _own_detail(measured - guided, levels**2)


def _own_detail(rest: torch.Tensor, variance: torch.Tensor) -> torch.Tensor:
    """What of the rest is more than noise, block by block."""
    rule, shape = TABLE["chroma"], (rest.shape[1], rest.shape[2])
    mean = halved(rest)
    energy = _mean(halved(rest * rest) - mean * mean, rule["detail"])
    noise = (0.75 * rule["excess"] * variance)[:, None, None]
    part = 1 - noise / torch.maximum(energy, noise)
    return _blocks(part, shape) * (rest - _blocks(mean, shape))


def _mean(planes: torch.Tensor, side: int) -> torch.Tensor:
    """Over squares about every pixel."""
    return F.avg_pool2d(F.pad(planes[:, None], (side // 2,) * 4, mode="replicate"), side, stride=1)[:, 0]


def _blocks(small: torch.Tensor, shape: tuple[int, int]) -> torch.Tensor:
    """Every pixel as 2 x 2 equal ones."""
    return small.repeat_interleave(2, 1).repeat_interleave(2, 2)[:, : shape[0], : shape[1]]


def _up(small: torch.Tensor, shape: tuple[int, int]) -> torch.Tensor:
    """Twice as large, bilinear, pixels a quarter off the middle of their means."""
    large = F.interpolate(small[:, None], scale_factor=2, mode="bilinear", align_corners=False)
    return large[:, 0, : shape[0], : shape[1]]
