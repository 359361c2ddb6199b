"""The other tasks on tensors: the same plans, steps and second pass as on arrays, on the tensor's own device."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from cosparse.interop.torch.tensor_correction import corrected_enlargement, corrected_filling, steps_to_enlarge
from cosparse.interop.torch.tensor_denoising import model_of, trained_to_denoise, without_noise
from cosparse.interop.torch.tensor_door import (
    Opened,
    TensorOptions,
    channel_axis,
    checked_tensor,
    open_tensor,
    page_bounds,
    refuse_far,
    strengths,
)
from cosparse.interop.torch.tensor_groups import Page, filter_groups
from cosparse.interop.torch.tensor_measures import blur, enlarge, interpolate, reduction, smoothed, trust
from cosparse.interop.torch.tensor_noise import as_array, noises_of, on_device, plain_levels, through_arrays
from cosparse.interop.torch.tensor_prior import opponents
from cosparse.interop.torch.tensor_problem import PlaneProblem, by_energy, closed
from cosparse.interop.torch.tensor_steps import join
from cosparse.keywords import settled
from cosparse.operator import AnalysisOperator, chosen_operator
from cosparse.reconstruction import measurement, tasks
from cosparse.reconstruction.bounds import Pair
from cosparse.reconstruction.holes import Fill, Wish
from cosparse.reconstruction.noise_level import largest_level, typical_level
from cosparse.reconstruction.psf import checked_kernel, named_kernel
from cosparse.reconstruction.stages import GROUPING, Grouping, as_refined, plan
from cosparse.reconstruction.start import enlarged_side
from cosparse.reconstruction.tasks.inpainting import NOISY
from cosparse.reconstruction.tasks.upscaling import checked_reduction
from cosparse.reconstruction.watch import Watch


@torch.no_grad()
def inpaint(
    image: torch.Tensor,
    mask: Any = None,
    *,
    sigma: Any = 0.0,
    grouping: bool = True,
    fill: Fill = "auto",
    source: Any = None,
    seed: int = 0,
    **given: Any,
) -> torch.Tensor:
    """:func:`cosparse.inpaint` of a tensor; the mask is (h, w), (n, h, w), or of the image's shape.

    Wide holes are filled on the processor.
    """
    options = settled(None, TensorOptions, given).checked()
    image = checked_tensor(image)
    gaps, hidden = _gaps(image, mask, options)
    opened = open_tensor(image, options, ~gaps)
    levels = None if sigma is None else plain_levels(noises_of(sigma, options, opened))
    operator, missing = as_refined(chosen_operator(options.operator)), as_array(gaps)
    pixels = tuple(hidden.shape if opened.axis is None else hidden.select(opened.axis, 0).shape)
    wish = Wish.checked(fill, as_array(source), seed, pixels)
    wide = (wish.of_page(number, own, operator, options.quality) for number, own in enumerate(missing))
    if levels is None or any(one is not None for one in wide):
        asked = {"sigma": sigma, "grouping": grouping, "fill": fill, "source": source, "seed": seed}
        return through_arrays(tasks.inpaint, image, (missing.reshape(pixels),), options, **asked)
    refuse_far(opened, levels, ~gaps)
    bounds = page_bounds(opened, options, levels, ~gaps)

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
    if rule is not None and max(levels) >= NOISY and trained_to_denoise(operator, options):
        pages = _filled_denoised(opened, gaps, pages, levels, options, operator)
        rule = GROUPING["steps"].get(options.quality, rule)
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
            found = corrected_filling(operator, steps, found, gaps[number], options.quality)
        pages[number] = list(found)
    result = closed(opened, pages, bounds)
    return result if any(levels) else torch.where(hidden, result, image)


def _filled_denoised(
    opened: Opened,
    gaps: torch.Tensor,
    pages: list[list[torch.Tensor]],
    levels: list[float],
    options: TensorOptions,
    operator: AnalysisOperator,
) -> list[list[torch.Tensor]]:
    """Noisy images after trained steps from what is known, and from the pages where it is missing."""
    noisy = [number for number, level in enumerate(levels) if level > 0]
    seen = [
        torch.stack([torch.where(gaps[n], pages[n][c], plane[n]) for n in noisy])
        for c, (plane, _) in enumerate(opponents(opened.batch))
    ]
    gains = [
        gain * times for (_, gain), times in zip(opponents(opened.batch), strengths(options, len(seen)), strict=True)
    ]
    model = model_of(opened, options, operator)
    level = torch.tensor([levels[n] for n in noisy], dtype=opened.batch.dtype, device=opened.batch.device)
    planes = model.planes([(plane, level * gain) for plane, gain in zip(seen, gains, strict=True)])
    found = list(pages)
    for place, number in enumerate(noisy):
        found[number] = [plane[place] for plane in planes]
    return found


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
    operator, watch = as_refined(chosen_operator(options.operator)), Watch(options.callback)
    noises = noises_of(sigma, options, opened)
    plain, first = plain_levels(noises), trained_to_denoise(operator, options)
    if plain is None and not (first and on_device(noises)):
        return through_arrays(tasks.upscale, opened.came, (factor,), options, kernel=kernel, sigma=sigma)
    levels = [typical_level(noise) for noise in noises]
    refuse_far(opened, levels)
    bounds = page_bounds(opened, options, [largest_level(noise) for noise in noises])
    shape = enlarged_side(opened.batch.shape[2], times), enlarged_side(opened.batch.shape[3], times)
    made_by = checked_reduction(as_array(kernel), times, shape)
    named = made_by if isinstance(made_by, str) else "array"
    measure = reduction(times, shape, made_by, opened.batch)
    if any(levels) and first:  # the noise first, by its own steps
        pages = without_noise(opened, noises, bounds, options, watch)
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
                found = corrected_enlargement(
                    operator, steps, torch.stack(planes), small[number], measure, times, options.quality
                )
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
    levels = plain_levels(noises_of(sigma, options, opened))
    if levels is None:
        return through_arrays(tasks.deblur, opened.came, (kernel,), options, sigma=sigma, border=border)
    refuse_far(opened, levels)
    bounds = page_bounds(opened, options, levels)
    shape = opened.batch.shape[2], opened.batch.shape[3]
    spread = checked_kernel(named_kernel(kernel) if isinstance(kernel, str) else as_array(kernel), shape)
    measure = blur(spread, shape, opened.batch, border)
    operator = as_refined(chosen_operator(options.operator))

    def pose(plane: torch.Tensor, level: float, limits: Pair | None, number: int) -> PlaneProblem:
        chosen = plan("deblur", level, options.quality, options.weight, operator)
        return PlaneProblem(chosen, plane, plane, measure)

    return closed(opened, by_energy(opened, levels, bounds, options, pose, Watch(options.callback)), bounds)
