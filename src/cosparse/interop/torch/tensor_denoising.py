"""Denoising of tensors: by trained steps, the whole batch at once, or by the energy; then the second pass."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from cosparse.interop.torch.tensor_door import (
    Opened,
    TensorOptions,
    at_work_of,
    blended,
    open_tensor,
    page_bounds,
    refuse_far,
    strengths,
)
from cosparse.interop.torch.tensor_groups import Page, filter_groups
from cosparse.interop.torch.tensor_levels import LocalLevels
from cosparse.interop.torch.tensor_measures import smoothed
from cosparse.interop.torch.tensor_noise import TensorStabilisation, noises_of, on_device, plain_levels, through_arrays
from cosparse.interop.torch.tensor_prior import opponents
from cosparse.interop.torch.tensor_problem import PlaneProblem, by_energy, closed
from cosparse.interop.torch.tensor_steps import StagedDenoiser, join
from cosparse.keywords import settled
from cosparse.noise import Gaussian, Map, Noise, PoissonGaussian
from cosparse.operator import AnalysisOperator, chosen_operator
from cosparse.reconstruction import tasks
from cosparse.reconstruction.bounds import Pair
from cosparse.reconstruction.local_noise import of_channel
from cosparse.reconstruction.noise_level import largest_level, typical_level
from cosparse.reconstruction.planes import OPPONENT, Channel
from cosparse.reconstruction.stabilisation import Stabilisation
from cosparse.reconstruction.stages import GROUPING, as_refined, plan
from cosparse.reconstruction.watch import Watch

Planes = list[torch.Tensor]


@torch.no_grad()
def denoise(image: torch.Tensor, sigma: Any = None, *, grouping: bool = True, **given: Any) -> torch.Tensor:
    """:func:`cosparse.denoise` of a tensor."""
    options = settled(None, TensorOptions, given).checked()
    opened = open_tensor(image, options)
    noises = noises_of(sigma, options, opened, "auto")
    if not repaired_here(noises, options):
        return through_arrays(tasks.denoise, opened.came, (sigma,), options, grouping=grouping)
    most = [largest_level(noise) for noise in noises]
    refuse_far(opened, most)
    bounds, noisy = page_bounds(opened, options, most), [level > 0 for level in most]
    if not any(noisy):
        return image.detach().clone()
    pages = without_noise(opened, noises, bounds, options, Watch(options.callback), grouping)
    result = closed(opened, pages, bounds)
    return result if all(noisy) or options.bounds not in ("auto", None) else _as_it_came(opened, result, noisy)


def repaired_here(noises: list[Noise], options: TensorOptions) -> bool:
    """Whether tensors know such noise: maps only by trained steps, what neighbours share not at all."""
    mapped = any(isinstance(noise, Map) for noise in noises)
    return on_device(noises) and (not mapped or trained_to_denoise(chosen_operator(options.operator), options))


def without_noise(
    opened: Opened,
    noises: list[Noise],
    bounds: list[Pair | None],
    options: TensorOptions,
    watch: Watch,
    grouping: bool = True,
) -> list[Planes]:
    """The planes of every image, denoised; those of an image without noise as they are."""
    levels = plain_levels(noises)
    if levels is not None:
        return _without_white_noise(opened, levels, bounds, options, watch, grouping)
    pages = []
    for number, (noise, limits) in enumerate(zip(noises, bounds, strict=True)):
        one = replace(opened, batch=opened.batch[number : number + 1])
        if isinstance(noise, PoissonGaussian):
            pages.append(_without_photon_noise(one, noise, at_work_of(limits, opened), options, watch, grouping))
        elif isinstance(noise, Map):
            pages.append(_by_a_map(one, noise, options, grouping))
        else:
            assert isinstance(noise, Gaussian)
            pages += _without_white_noise(one, [noise.sigma], [limits], options, watch, grouping)
    return pages


def _without_photon_noise(
    one: Opened, noise: PoissonGaussian, limits: Pair | None, options: TensorOptions, watch: Watch, grouping: bool
) -> Planes:
    """An image of which roots are denoised."""
    way = TensorStabilisation(Stabilisation(noise))
    roots = replace(one, batch=way.forward(one.batch))
    (planes,) = _without_white_noise(roots, [way.way.sigma], [None], options, watch, grouping)
    found = way.back(join([plane[None] for plane in planes]))
    return [plane[0] for plane, _ in opponents(found if limits is None else found.clamp(*limits))]


def _by_a_map(one: Opened, noise: Map, options: TensorOptions, grouping: bool) -> Planes:
    """An image by the trained steps, whose numbers follow the level of every patch."""
    model = model_of(one, options, as_refined(chosen_operator(options.operator)))
    seen, strong = opponents(one.batch), _strong(options, one.batch.shape[1])
    shares = OPPONENT if len(seen) == 3 else np.eye(len(seen))
    planes = []
    for number, ((plane, gain), times, mixed) in enumerate(zip(seen, strong, shares, strict=True)):
        steps = model.chroma if number and len(seen) == 3 else model.luma
        own = of_channel(noise, Channel(np.empty(0, np.float32), gain * times, mixed=tuple(map(float, mixed))))
        assert own is not None
        sigma = torch.tensor(own.sigma, dtype=plane.dtype, device=plane.device)[None]
        levels = LocalLevels.of(sigma, typical_level(own), steps.patch_shape, steps.strides)
        planes.append(steps(plane, levels)[0])
    level = typical_level(noise)
    relative = (noise.sigma.astype(float) / level) ** 2
    relative = relative if relative.ndim == 2 else relative.mean(axis=-1)
    return _finished(one, 0, level, planes, options, grouping, torch.tensor(relative).to(one.batch))


def _without_white_noise(
    opened: Opened, levels: list[float], bounds: list[Pair | None], options: TensorOptions, watch: Watch, grouping: bool
) -> list[Planes]:
    operator = as_refined(chosen_operator(options.operator))
    if trained_to_denoise(operator, options):
        pages = _by_steps(opened, levels, options, operator)
    else:

        def pose(plane: torch.Tensor, level: float, limits: Pair | None, number: int) -> PlaneProblem | None:
            if not levels[number]:
                return None
            chosen = plan("denoise", level, options.quality, options.weight, operator)
            return PlaneProblem(chosen, smoothed(plane, level), plane, bounds=limits)

        pages = by_energy(opened, levels, bounds, options, pose, watch, least=1.0)
    grouped = grouping and not watch.stopped
    return [
        _finished(opened, number, level, planes, options, grouped)
        for number, (level, planes) in enumerate(zip(levels, pages, strict=True))
    ]


def _finished(
    opened: Opened,
    number: int,
    level: float,
    planes: Planes,
    options: TensorOptions,
    grouping: bool,
    relative: torch.Tensor | None = None,
) -> Planes:
    """The planes of an image after the second pass, with as much of its noise put back as is asked for."""
    seen = opponents(opened.batch)
    measured = [plane[number] for plane, _ in seen]
    if not level:
        return measured
    staged = trained_to_denoise(chosen_operator(options.operator), options)
    rule = GROUPING["steps" if staged else "denoise"].get(options.quality) if grouping else None
    if rule is not None:
        gains = tuple(gain * times for (_, gain), times in zip(seen, _strong(options, len(seen)), strict=True))
        page = Page(torch.stack(measured), level, gains, relative=relative)
        planes = list(filter_groups(page, torch.stack(planes), rule))
    each = zip(measured, planes, strengths(options, len(planes)), strict=True)
    return [blended(before, after, strength) for before, after, strength in each]


def trained_to_denoise(operator: AnalysisOperator, options: TensorOptions) -> bool:
    """Whether the operator has steps for the quality, and the energy is not asked for by its weight."""
    return options.weight is None and bool({"denoise", f"denoise {options.quality}"} & operator.steps.keys())


def _strong(options: TensorOptions, channels: int) -> list[float]:
    """What noise is taken for: more than it is where that is asked for; less is a matter of mixing."""
    return [max(strength, 1.0) for strength in strengths(options, channels)]


def _by_steps(
    opened: Opened, levels: list[float], options: TensorOptions, operator: AnalysisOperator
) -> list[list[torch.Tensor]]:
    """The planes after trained steps, the whole batch at once; without noise as they came."""
    model = model_of(opened, options, operator)
    level = torch.tensor(levels, dtype=opened.batch.dtype, device=opened.batch.device)
    seen = opponents(opened.batch)
    strong = _strong(options, len(seen))
    each = [(plane, level * (gain * times)) for (plane, gain), times in zip(seen, strong, strict=True)]
    planes = model.planes(each)
    return [[plane[number] for plane in planes] for number in range(len(levels))]


def model_of(opened: Opened, options: TensorOptions, operator: AnalysisOperator) -> StagedDenoiser:
    model = StagedDenoiser(operator, quality=options.quality, data_range=255.0)
    model.to(opened.batch.device)
    return model


def _as_it_came(opened: Opened, result: torch.Tensor, noisy: list[bool]) -> torch.Tensor:
    """With images that had nothing to repair as they came, to the last bit."""
    front = [one if opened.axis is None else one.movedim(opened.axis, -3) for one in (result, opened.came)]
    inner = 2 if opened.axis is None else 3
    chosen = torch.tensor(noisy, device=result.device).reshape(*front[0].shape[:-inner], *[1] * inner)
    mixed = torch.where(chosen, front[0], front[1])
    return (mixed if opened.axis is None else mixed.movedim(-3, opened.axis)).contiguous()
