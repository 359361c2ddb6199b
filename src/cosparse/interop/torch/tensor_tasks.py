"""The tasks on tensors: the same plans, steps and second pass as on arrays, on the tensor's own device."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from cosparse.interop.torch.tensor_correction import corrected_enlargement, corrected_filling, steps_to_enlarge
from cosparse.interop.torch.tensor_door import (
    Opened,
    TensorOptions,
    blended,
    channel_axis,
    checked_tensor,
    noise_levels,
    open_tensor,
    page_bounds,
    refuse_far,
    strengths,
)
from cosparse.interop.torch.tensor_groups import Page, filter_groups
from cosparse.interop.torch.tensor_measures import blur, enlarge, interpolate, reduction, smoothed, trust
from cosparse.interop.torch.tensor_prior import opponents
from cosparse.interop.torch.tensor_problem import PlaneProblem, by_energy, closed
from cosparse.interop.torch.tensor_steps import StagedDenoiser, join
from cosparse.keywords import settled
from cosparse.operator import AnalysisOperator, chosen_operator
from cosparse.reconstruction import measurement
from cosparse.reconstruction.bounds import Pair
from cosparse.reconstruction.psf import checked_kernel, named_kernel
from cosparse.reconstruction.stages import GROUPING, Grouping, as_refined, plan
from cosparse.reconstruction.start import enlarged_side
from cosparse.reconstruction.tasks.upscaling import checked_reduction
from cosparse.reconstruction.watch import Watch


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
    pages = _without_noise(opened, levels, bounds, options, Watch(options.callback), grouping)
    result = closed(opened, pages, bounds)
    return result if all(noisy) or options.bounds not in ("auto", None) else _as_it_came(opened, result, noisy)


def _without_noise(
    opened: Opened,
    levels: list[float],
    bounds: list[Pair | None],
    options: TensorOptions,
    watch: Watch,
    grouping: bool = True,
) -> list[list[torch.Tensor]]:
    """The planes of every image, denoised; those of an image without noise as they are."""
    operator = as_refined(chosen_operator(options.operator))
    staged = _trained_to_denoise(operator, options)
    if staged:
        pages = _by_steps(opened, levels, options, operator)
    else:

        def pose(plane: torch.Tensor, level: float, limits: Pair | None, number: int) -> PlaneProblem | None:
            if not levels[number]:
                return None
            chosen = plan("denoise", level, options.quality, options.weight, operator)
            return PlaneProblem(chosen, smoothed(plane, level), plane, bounds=limits)

        pages = by_energy(opened, levels, bounds, options, pose, watch, least=1.0)
    rule = GROUPING["steps" if staged else "denoise"].get(options.quality) if grouping else None
    seen, strong = opponents(opened.batch), _strong(options, len(opened.batch[0]))
    for number, planes in enumerate(pages):
        measured = [plane[number] for plane, _ in seen]
        if not levels[number]:
            pages[number] = measured
            continue
        if rule is not None and not watch.stopped:
            gains = tuple(gain * times for (_, gain), times in zip(seen, strong, strict=True))
            planes = list(filter_groups(Page(torch.stack(measured), levels[number], gains), torch.stack(planes), rule))
        each = zip(measured, planes, strengths(options, len(planes)), strict=True)
        pages[number] = [blended(before, after, strength) for before, after, strength in each]
    return pages


def _trained_to_denoise(operator: AnalysisOperator, options: TensorOptions) -> bool:
    """Whether the operator has steps for the quality, and the energy is not asked for by its weight."""
    return options.weight is None and bool({"denoise", f"denoise {options.quality}"} & operator.steps.keys())


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

    watch = Watch(options.callback)
    pages = by_energy(opened, levels, bounds, options, pose, watch)
    rule: Grouping | None = GROUPING["inpaint"][options.quality] if grouping and not watch.stopped else None
    steps = operator.steps.get("inpaint")
    seen = opponents(opened.batch)
    for number, planes in enumerate(pages):
        if rule is None or (levels[number] == 0 and not bool(gaps[number].any())):
            continue
        known = (~gaps[number]).to(opened.batch.dtype)
        strong = strengths(options, len(seen))
        gains = tuple(gain * times for (_, gain), times in zip(seen, strong, strict=True))
        page = Page(torch.stack([plane[number] for plane, _ in seen]), levels[number], gains, known)
        found = filter_groups(page, torch.stack(planes), rule)
        if steps is not None and levels[number] == 0:
            found = corrected_filling(operator, steps, found, gaps[number])
        pages[number] = list(found)
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
    image: torch.Tensor, factor: float, *, kernel: Any = measurement.USUAL, sigma: Any = 0.0, **given: Any
) -> torch.Tensor:
    """:func:`cosparse.upscale` of a tensor."""
    options = settled(None, TensorOptions, given).checked()
    if isinstance(factor, bool) or factor not in measurement.FACTORS:
        raise ValueError(f"factor: expected 1.5, 2, 3, 4 or 8, got {factor!r}")
    times = float(factor) if factor % 1 else int(factor)
    opened = open_tensor(image, options)
    levels = noise_levels(sigma, options, opened, "upscale")
    refuse_far(opened, levels)
    bounds = page_bounds(opened, options, levels)
    shape = enlarged_side(opened.batch.shape[2], times), enlarged_side(opened.batch.shape[3], times)
    made_by = checked_reduction(_array(kernel), times, shape)
    named = made_by if isinstance(made_by, str) else "array"
    measure = reduction(times, shape, made_by, opened.batch)
    operator, watch = as_refined(chosen_operator(options.operator)), Watch(options.callback)
    if any(levels) and _trained_to_denoise(operator, options):  # the noise first, by its own steps
        pages = _without_noise(opened, levels, bounds, options, watch)
        batch = join([torch.stack(planes) for planes in zip(*pages, strict=True)])
        opened, levels, options = replace(opened, batch=batch), [0.0] * len(levels), replace(options, luma=1, chroma=1)

    def pose(plane: torch.Tensor, level: float, limits: Pair | None, number: int) -> PlaneProblem:
        chosen = plan("upscale", level, options.quality, options.weight, operator, named)
        start = enlarge(plane[None], times)[0]
        return PlaneProblem(chosen, start, plane, measure, bounds=limits if levels[number] > 0 else None)

    pages = by_energy(opened, levels, bounds, options, pose, watch)
    steps = steps_to_enlarge(operator, options.weight, times)
    if steps is not None and not watch.stopped:
        small = torch.stack([plane for plane, _ in opponents(opened.batch)], 1)
        for number, planes in enumerate(pages):
            if not levels[number]:
                found = corrected_enlargement(operator, steps, torch.stack(planes), small[number], measure, times)
                pages[number] = list(found)
    return closed(opened, pages, bounds)


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

    return closed(opened, by_energy(opened, levels, bounds, options, pose, Watch(options.callback)), bounds)


def _array(kernel: Any) -> Any:
    """A kernel, which is small and asked about in Python."""
    return kernel.detach().cpu().numpy() if isinstance(kernel, torch.Tensor) else kernel
