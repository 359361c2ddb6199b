"""The second pass on tensors: groups of similar patches, each filtered as samples of one Gaussian.

The twin of :func:`cosparse.kernels.reference.group_filter`, many groups at a time; noise is white.
Of patches that are equally near, which ones are taken may differ from there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from cosparse.kernels.reference import CHESSBOARD, EVEN, group_corners
from cosparse.reconstruction.second_pass import FILLING
from cosparse.reconstruction.stages import Grouping

ON_CPU, ELSEWHERE = 2**21, 2**26  # numbers at a time


@dataclass(frozen=True, eq=False)
class Page:
    """The planes (c, h, w) of one picture, on 0..255: as measured, its noise, the gain of each, and what is known."""

    noisy: torch.Tensor
    sigma: float
    gains: tuple[float, ...] = (1.0,)
    known: torch.Tensor | None = None  # (h, w), 1 or 0
    relative: torch.Tensor | None = None  # (h, w), the variance of every pixel over that of `sigma`


def filter_groups(page: Page, pilots: torch.Tensor, rule: Grouping) -> torch.Tensor:
    """The planes estimated again, see :func:`cosparse.reconstruction.second_pass.filter_groups`."""
    noisy, result = page.sigma > 0, pilots
    for turn in range(rule.passes if not noisy or rule.alike < math.inf else 1):
        found = _turn(page, result, rule, rule.alike if turn and noisy else math.inf, rule.shifted(turn))
        result = found if page.known is None or noisy else torch.where(page.known > 0, result, found)
    return result


def _turn(page: Page, pilots: torch.Tensor, rule: Grouping, alike: float, shift: int) -> torch.Tensor:
    """One turn over all groups."""
    height, width = pilots.shape[1:]
    patch = min(rule.size, height), min(rule.size, width)
    tops, lefts = (
        torch.as_tensor(group_corners(extent, side, rule.step, shift), device=pilots.device)
        for extent, side in zip((height, width), patch, strict=True)
    )
    corners = torch.cartesian_prod(tops, lefts)
    if page.known is not None and page.sigma == 0:  # only where pixels are missing
        seen = page.known.unfold(0, patch[0], 1).unfold(1, patch[1], 1)[corners[:, 0], corners[:, 1]]
        corners = corners[seen.flatten(1).amin(1) == 0]
    inside = torch.arange(patch[0], device=pilots.device)[:, None] * width
    inside = (inside + torch.arange(patch[1], device=pilots.device)).reshape(-1)
    total, weight = torch.zeros_like(pilots).flatten(1), torch.zeros_like(pilots[0]).flatten()
    each = (2 * rule.radius + 1) * patch[0] * patch[1] * 2 + rule.count * patch[0] * patch[1] * len(pilots) * 3
    uneven = page.relative is not None and float(page.relative.max()) > EVEN * float(page.relative.min())
    if page.known is not None or uneven:
        each *= max(1, rule.count // 2)
    pace = max(1, (ON_CPU if pilots.device.type == "cpu" else ELSEWHERE) // each)
    for first in range(0, len(corners), pace):
        some = corners[first : first + pace]
        nearest, valid, close = _similar(pilots[0], some, patch, rule, alike)
        places = nearest[..., None] + inside  # (groups, count, pixels)
        shares = valid.to(pilots.dtype)
        known = None if page.known is None else page.known.flatten()[places]
        if known is not None:
            shares = shares * known.mean(2)
        levels = None if page.relative is None else page.relative.flatten()[places]
        if levels is not None:
            shares = shares / levels.mean(2)
        weight.index_add_(0, places.flatten(), shares[..., None].expand(places.shape).flatten())
        for plane, pilot in enumerate(pilots.flatten(1)):
            variance = ((page.sigma or FILLING) * page.gains[plane]) ** 2
            group, found = pilot[places], page.noisy[plane].flatten()[places]
            found = _of_levels(group, found, valid, known, levels, variance)
            found = torch.where(close[:, None, None], found, group)
            total[plane].index_add_(0, places.flatten(), (found * shares[..., None]).flatten())
    shown = torch.where(weight > 0, total / weight.clamp(min=1e-30), pilots.flatten(1))
    return shown.reshape(pilots.shape)


def _similar(
    guide: torch.Tensor, corners: torch.Tensor, patch: tuple[int, int], rule: Grouping, alike: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Of each patch at `corners` (g, 2) the nearest ones, itself among them: their places (g, n), which of them there
    are, and whether the middle one is within `alike` times the contrast of the first (g,)."""
    flat, (height, width), radius = guide.flatten(), guide.shape, rule.radius
    low, high = (torch.arange(side, device=guide.device) for side in patch)
    inside = low[:, None] * width + high
    compared = inside if min(patch) < CHESSBOARD else inside[(low[:, None] + high) % 2 == 0]
    own = flat[(corners[:, :1] * width + corners[:, 1:]) + compared.flatten()]  # (g, pixels)
    offsets = torch.arange(-radius, radius + 1, device=guide.device)
    columns = corners[:, 1:] + offsets
    across = (columns >= 0) & (columns <= width - patch[1])
    beside = columns.clamp(0, width - patch[1])[..., None] + compared.flatten()
    distances = guide.new_full((len(corners), len(offsets), len(offsets)), math.inf)
    for number, offset in enumerate(range(-radius, radius + 1)):
        rows = corners[:, 0] + offset
        there = across & ((rows >= 0) & (rows <= height - patch[0]))[:, None]
        others = flat[rows.clamp(0, height - patch[0])[:, None, None] * width + beside]
        square = (others - own[:, None]).square_().sum(2)
        distances[:, number] = torch.where(there, square, math.inf)
    distances[:, radius, radius] = -1  # itself first
    count = min(rule.count, distances[0].numel())
    nearest, chosen = distances.flatten(1).topk(count, largest=False)
    valid = nearest < math.inf
    rows = corners[:, :1] + offsets[torch.div(chosen, len(offsets), rounding_mode="floor")]
    columns = corners[:, 1:] + offsets[chosen % len(offsets)]
    places = rows.clamp(0, height - patch[0]) * width + columns.clamp(0, width - patch[1])
    if alike == math.inf:
        return places, valid, torch.ones_like(valid[:, 0])
    whole = flat[(corners[:, :1] * width + corners[:, 1:]) + inside.flatten()].mean(1, keepdim=True)
    contrast = (own - whole).square().sum(1)
    middle = nearest.gather(1, (valid.sum(1) // 2)[:, None])[:, 0]
    return places, valid, middle <= alike * contrast


def _of_levels(
    pilot: torch.Tensor,
    noisy: torch.Tensor,
    valid: torch.Tensor,
    known: torch.Tensor | None,
    levels: torch.Tensor | None,
    variance: float,
) -> torch.Tensor:
    """The estimates of groups whose pixels have such relative variances (g, n, pixels), or all the same.

    If those of a group differ by no more than `EVEN`, their mean is taken for all of it, else each pixel has its own.
    """
    if levels is None:
        return _estimate(pilot, noisy, valid, known, variance)
    there = valid[..., None].expand(levels.shape)
    high = torch.where(there, levels, 0).flatten(1).amax(1)
    low = torch.where(there, levels, math.inf).flatten(1).amin(1)
    mean = (levels * there).flatten(1).sum(1) / there.flatten(1).sum(1)
    even, result = high <= EVEN * low, torch.empty_like(pilot)
    for chosen, flat in ((even, True), (~even, False)):
        if bool(chosen.any()):
            sure = None if known is None else known[chosen]
            if not flat:
                sure = 1 / levels[chosen] if sure is None else sure / levels[chosen]
            own = variance * mean[chosen][:, None, None] if flat else variance
            result[chosen] = _estimate(pilot[chosen], noisy[chosen], valid[chosen], sure, own)
    return result


def _estimate(
    pilot: torch.Tensor,
    noisy: torch.Tensor,
    valid: torch.Tensor,
    known: torch.Tensor | None,
    variance: float | torch.Tensor,
) -> torch.Tensor:
    """z = m + Xᵀ(X K Xᵀ + n·v·I)⁻¹ X K(y - m) of every patch of groups (g, n, pixels).

    K is diagonal: 1 where a pixel is known and 0 where not, or how much less noisy it is than v says.
    """
    present = valid[..., None].to(pilot.dtype)
    number = present.sum(1, keepdim=True)
    mean = (pilot * present).sum(1, keepdim=True) / number
    X, off = (pilot - mean) * present, noisy - mean
    ridge = (number * variance) * torch.eye(X.shape[1], dtype=X.dtype, device=X.device)
    if known is None:
        factor = torch.linalg.cholesky(X @ X.mT + ridge)
        return mean + torch.cholesky_solve(X @ off.mT, factor).mT @ X
    seen = X[:, None] * known[:, :, None]  # (g, patch, n, pixels): each patch knows its own pixels
    factor = torch.linalg.cholesky(seen @ X.mT[:, None] + ridge[:, None])
    answer = torch.cholesky_solve(seen @ off[..., None], factor)
    return mean + (answer.mT @ X[:, None])[:, :, 0]
