"""The tasks on tensors: the same plans, steps and second pass as on arrays, on the tensor's own device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from cosparse.interop.torch.tensor_door import (
    Opened,
    TensorOptions,
    at_work_of,
    blended,
    channel_axis,
    checked_tensor,
    noise_levels,
    open_tensor,
    page_bounds,
    refuse_far,
    strengths,
)
from cosparse.interop.torch.tensor_energy import TensorEnergy, minimise, prior_of, single, stage_settings
from cosparse.interop.torch.tensor_groups import Page, filter_groups
from cosparse.interop.torch.tensor_measures import TensorMeasure, blur, enlarge, interpolate, reduction, smoothed, trust
from cosparse.interop.torch.tensor_prior import opponents
from cosparse.interop.torch.tensor_steps import StagedDenoiser, StagedSteps, join
from cosparse.keywords import settled
from cosparse.operator import AnalysisOperator, chosen_operator
from cosparse.reconstruction import measurement
from cosparse.reconstruction.bounds import Pair
from cosparse.reconstruction.psf import checked_kernel, named_kernel
from cosparse.reconstruction.stages import GROUPING, Grouping, Plan, as_refined, plan
from cosparse.reconstruction.watch import Watch


@dataclass(frozen=True, eq=False)
class PlaneProblem:
    """What a task asks for one plane (h, w): the twin of :class:`cosparse.Problem`."""

    plan: Plan
    start: torch.Tensor
    data: torch.Tensor | None = None
    measure: TensorMeasure | None = None
    trust: torch.Tensor | None = None
    free: torch.Tensor | None = None
    bounds: Pair | None = None

    def solve(self, operator: AnalysisOperator, watch: Watch) -> torch.Tensor:
        """The minimiser of its last stage."""
        stages, seen = self.plan.stages, None if self.measure is None else self.measure.of_one()
        energies = [
            TensorEnergy(
                single(prior_of(operator, stage, self.plan.stride, self.start)), self.data,
                seen.forward if seen else None, seen.adjoint if seen else None, self.bounds, self.trust,
            )
            for stage in stages
        ]  # fmt: skip
        settings, weights = stage_settings(stages, operator), [stage.weight for stage in stages]
        results, _ = minimise(energies, settings, self.start, free=self.free, watch=watch, weights=weights)
        return results[-1].point


# Of a plane, its noise, its bounds, and which image it is of; None leaves it as it came.
Pose = Callable[[torch.Tensor, float, Pair | None, int], PlaneProblem | None]


def by_energy(
    opened: Opened,
    levels: list[float],
    bounds: list[Pair | None],
    options: TensorOptions,
    pose: Pose,
    least: float = 0.0,
) -> list[list[torch.Tensor]]:
    """For every image its planes as the energy's minimisers, one after the other.

    Noise is taken for as strong as the options say, but at least for `least` of what it is.
    """
    operator, watch = as_refined(chosen_operator(options.operator)), Watch(options.callback)
    pages = []
    for number, level in enumerate(levels):
        seen = opponents(opened.batch[number : number + 1])
        limits, planes = at_work_of(bounds[number], opened), []
        for index, ((plane, gain), strength) in enumerate(zip(seen, strengths(options, len(seen)), strict=True)):
            watch.page, watch.pages, watch.plane, watch.planes = number, len(levels), index, len(seen)
            own = level * gain * max(strength, least)
            problem = pose(plane[0], own, None if len(seen) == 3 and index else limits, number)
            if problem is None:
                planes.append(plane[0])
            else:
                planes.append(problem.start if watch.stopped else problem.solve(operator, watch))
        pages.append(planes)
    return pages


def closed(opened: Opened, pages: list[list[torch.Tensor]], bounds: list[Pair | None]) -> torch.Tensor:
    """The planes of all images as the caller's tensor."""
    stacked = [torch.stack(planes) for planes in zip(*pages, strict=True)]
    return opened.close(join(stacked), bounds)


@torch.no_grad()
def denoise(image: torch.Tensor, sigma: Any = None, *, grouping: bool = True, **given: Any) -> torch.Tensor:
    """:func:`cosparse.denoise` of a tensor."""
    options = settled(None, TensorOptions, given).checked()
    opened = open_tensor(image, options)
    levels = noise_levels(sigma, options, opened, "denoise")
    refuse_far(opened, levels)
    bounds, noisy = page_bounds(opened, options, levels), [level > 0 for level in levels]
    if not any(noisy):
        return image.detach().clone()
    operator = as_refined(chosen_operator(options.operator))
    staged = options.weight is None and bool({"denoise", f"denoise {options.quality}"} & operator.steps.keys())
    if staged:
        pages = _by_steps(opened, levels, options, operator)
    else:

        def pose(plane: torch.Tensor, level: float, limits: Pair | None, number: int) -> PlaneProblem | None:
            if not noisy[number]:
                return None
            chosen = plan("denoise", level, options.quality, options.weight, operator)
            return PlaneProblem(chosen, smoothed(plane, level), plane, bounds=limits)

        pages = by_energy(opened, levels, bounds, options, pose, least=1.0)
    rule = GROUPING["steps" if staged else "denoise"].get(options.quality) if grouping else None
    seen, strong = opponents(opened.batch), _strong(options, len(opened.batch[0]))
    for number, planes in enumerate(pages):
        measured = [plane[number] for plane, _ in seen]
        if not noisy[number]:
            pages[number] = measured
            continue
        if rule is not None:
            gains = tuple(gain * times for (_, gain), times in zip(seen, strong, strict=True))
            planes = list(filter_groups(Page(torch.stack(measured), levels[number], gains), torch.stack(planes), rule))
        each = zip(measured, planes, strengths(options, len(planes)), strict=True)
        pages[number] = [blended(before, after, strength) for before, after, strength in each]
    result = closed(opened, pages, bounds)
    return result if all(noisy) or options.bounds not in ("auto", None) else _as_it_came(opened, result, noisy)


def _strong(options: TensorOptions, channels: int) -> list[float]:
    """What noise is taken for: more than it is where that is asked for; less is a matter of mixing."""
    return [max(strength, 1.0) for strength in strengths(options, channels)]


def _by_steps(
    opened: Opened, levels: list[float], options: TensorOptions, operator: AnalysisOperator
) -> list[list[torch.Tensor]]:
    """The planes after trained steps, the whole batch at once; without noise as they came."""
    model = StagedDenoiser(operator, quality=options.quality, data_range=255.0).to(opened.batch.device)
    level = torch.tensor(levels, dtype=opened.batch.dtype, device=opened.batch.device)
    seen = opponents(opened.batch)
    strong = _strong(options, len(seen))
    each = [(plane, level * (gain * times)) for (plane, gain), times in zip(seen, strong, strict=True)]
    planes = model.planes(each, level)
    return [[plane[number] for plane in planes] for number in range(len(levels))]


def _as_it_came(opened: Opened, result: torch.Tensor, noisy: list[bool]) -> torch.Tensor:
    """With images that had nothing to repair as they came, to the last bit."""
    front = [one if opened.axis is None else one.movedim(opened.axis, -3) for one in (result, opened.came)]
    inner = 2 if opened.axis is None else 3
    chosen = torch.tensor(noisy, device=result.device).reshape(*front[0].shape[:-inner], *[1] * inner)
    mixed = torch.where(chosen, front[0], front[1])
    return (mixed if opened.axis is None else mixed.movedim(-3, opened.axis)).contiguous()


@torch.no_grad()
def inpaint(
    image: torch.Tensor, mask: Any = None, *, sigma: Any = 0.0, grouping: bool = True, **given: Any
) -> torch.Tensor:
    """:func:`cosparse.inpaint` of a tensor; the mask is (h, w), (n, h, w), or of the image's shape."""
    options = settled(None, TensorOptions, given).checked()
    image = checked_tensor(image)
    gaps, hidden = _gaps(image, mask, options)
    opened = open_tensor(image, options, ~gaps)
    levels = noise_levels(sigma, options, opened, "inpaint")
    refuse_far(opened, levels, ~gaps)
    bounds = page_bounds(opened, options, levels, ~gaps)
    operator = as_refined(chosen_operator(options.operator))

    def pose(plane: torch.Tensor, level: float, limits: Pair | None, number: int) -> PlaneProblem:
        chosen = plan("inpaint", level, options.quality, options.weight, operator)
        start = smoothed(interpolate(plane, gaps[number]), level)
        if levels[number] == 0:
            return PlaneProblem(chosen, start, free=gaps[number], bounds=limits)
        known = (~gaps[number]).to(plane.dtype)
        return PlaneProblem(chosen, start, plane, trust=trust(known), bounds=limits)

    pages = by_energy(opened, levels, bounds, options, pose)
    rule: Grouping | None = GROUPING["inpaint"][options.quality] if grouping else None
    steps = operator.steps.get("inpaint")
    seen = opponents(opened.batch)
    for number, planes in enumerate(pages):
        if rule is None or (levels[number] == 0 and not bool(gaps[number].any())):
            continue
        known = (~gaps[number]).to(opened.batch.dtype)
        strong = strengths(options, len(seen))
        gains = tuple(gain * times for (_, gain), times in zip(seen, strong, strict=True))
        page = Page(torch.stack([plane[number] for plane, _ in seen]), levels[number], gains, known)
        planes = list(filter_groups(page, torch.stack(planes), rule))
        if steps is not None and levels[number] == 0:
            model = StagedSteps(steps, operator.patch_shape).to(opened.batch.device)
            least, free = opened.batch.new_tensor([steps.sigma[0]]), gaps[number].to(opened.batch.dtype)
            planes = [model(plane[None], least, free)[0] for plane in planes]
        pages[number] = planes
    result = closed(opened, pages, bounds)
    return result if any(levels) else torch.where(hidden, result, image)


def _gaps(image: torch.Tensor, mask: Any, options: TensorOptions) -> tuple[torch.Tensor, torch.Tensor]:
    """Which pixels are missing, (n, h, w), and which values of the image."""
    if mask is None:
        raise ValueError("mask: say which pixels are missing")
    missing = torch.as_tensor(mask, device=image.device)
    if missing.dtype != torch.bool:
        if not bool(((missing == 0) | (missing == 1)).all()):
            raise ValueError("mask: expected booleans (True = missing), got other values than 0 and 1")
        missing = missing.to(torch.bool)
    axis = channel_axis(image, options.channel_axis)
    pixels = tuple(image.shape) if axis is None else tuple(image.shape[:axis] + image.shape[axis + 1 :])
    if axis is not None and missing.ndim == image.ndim and missing.shape[axis] in (1, image.shape[axis]):
        missing = missing.any(axis)
    if tuple(missing.shape) not in (pixels, pixels[-2:]):
        raise ValueError(f"mask: has shape {tuple(missing.shape)}, the image's pixels {pixels}; they must agree")
    missing = missing.expand(pixels)
    flat = missing.reshape(-1, *pixels[-2:])
    if bool(flat.flatten(1).all(1).any()):
        raise ValueError("mask: all pixels are missing; nothing is known to start from")
    hidden = missing if axis is None else missing.unsqueeze(axis).expand(image.shape)
    return flat, hidden


@torch.no_grad()
def upscale(
    image: torch.Tensor, factor: int, *, kernel: Any = measurement.USUAL, sigma: Any = 0.0, **given: Any
) -> torch.Tensor:
    """:func:`cosparse.upscale` of a tensor."""
    options = settled(None, TensorOptions, given).checked()
    if isinstance(factor, bool) or factor not in (2, 3, 4):
        raise ValueError(f"factor: expected 2, 3 or 4, got {factor!r}")
    opened = open_tensor(image, options)
    levels = noise_levels(sigma, options, opened, "upscale")
    refuse_far(opened, levels)
    bounds = page_bounds(opened, options, levels)
    shape = factor * opened.batch.shape[2], factor * opened.batch.shape[3]
    if isinstance(kernel, str) and kernel not in measurement.REDUCTIONS:
        raise ValueError(f"kernel: expected {', '.join(measurement.REDUCTIONS)} or an array, got {kernel!r}")
    made_by = kernel if isinstance(kernel, str) else checked_kernel(_array(kernel), shape)
    named = made_by if isinstance(made_by, str) else "array"
    measure = reduction(factor, shape, made_by, opened.batch)
    operator = as_refined(chosen_operator(options.operator))

    def pose(plane: torch.Tensor, level: float, limits: Pair | None, number: int) -> PlaneProblem:
        chosen = plan("upscale", level, options.quality, options.weight, operator, named)
        start = enlarge(plane[None], factor)[0]
        return PlaneProblem(chosen, start, plane, measure, bounds=limits if levels[number] > 0 else None)

    return closed(opened, by_energy(opened, levels, bounds, options, pose), bounds)


@torch.no_grad()
def deblur(
    image: torch.Tensor, kernel: Any, *, sigma: Any = None, border: str = "replicate", **given: Any
) -> torch.Tensor:
    """:func:`cosparse.deblur` of a tensor."""
    options = settled(None, TensorOptions, given).checked()
    if border not in ("replicate", "periodic"):
        raise ValueError(f"border: expected 'replicate' or 'periodic', got {border!r}")
    opened = open_tensor(image, options)
    levels = noise_levels(sigma, options, opened, "deblur")
    refuse_far(opened, levels)
    bounds = page_bounds(opened, options, levels)
    shape = opened.batch.shape[2], opened.batch.shape[3]
    spread = checked_kernel(named_kernel(kernel) if isinstance(kernel, str) else _array(kernel), shape)
    measure = blur(spread, shape, opened.batch, border)
    operator = as_refined(chosen_operator(options.operator))

    def pose(plane: torch.Tensor, level: float, limits: Pair | None, number: int) -> PlaneProblem:
        chosen = plan("deblur", level, options.quality, options.weight, operator)
        return PlaneProblem(chosen, plane, plane, measure)

    return closed(opened, by_energy(opened, levels, bounds, options, pose), bounds)


def _array(kernel: Any) -> Any:
    """A kernel, which is small and asked about in Python."""
    return kernel.detach().cpu().numpy() if isinstance(kernel, torch.Tensor) else kernel
