"""Corrections by trained steps of what was made without noise: :mod:`cosparse.reconstruction.correction` on tensors."""

from __future__ import annotations

import torch

from cosparse.interop.torch.tensor_levels import LocalLevels, patch_totals
from cosparse.interop.torch.tensor_measures import TensorMeasure
from cosparse.interop.torch.tensor_steps import StagedSteps
from cosparse.operator import AnalysisOperator
from cosparse.reconstruction.correction import LEAST, NEAR, TYPICAL, WINDOW, enlarged_level, turns_of
from cosparse.trained_steps import REFERENCE_SIGMA, TrainedSteps


def corrected_filling(
    operator: AnalysisOperator, steps: TrainedSteps, planes: torch.Tensor, gaps: torch.Tensor, quality: str
) -> torch.Tensor:
    """Planes (n, h, w) of one image whose gaps (h, w) were filled, those then corrected: known pixels stay.

    All that follows from the mask is found on its own device.
    """
    models = _models(operator, steps, quality, planes)
    levels = LocalLevels.of(missing_levels(gaps, planes.dtype), TYPICAL, models[0].patch_shape, models[0].strides)
    near = near_known(gaps)
    return torch.stack([model(planes, levels, near) for model in models]).mean(0)


def corrected_enlargement(
    operator: AnalysisOperator,
    steps: TrainedSteps,
    planes: torch.Tensor,
    small: torch.Tensor,
    measure: TensorMeasure,
    factor: float,
    quality: str,
) -> torch.Tensor:
    """Planes (n, h, w) that were made `factor` times as large as `small`, corrected; their outermost pixels stay."""
    within = torch.zeros_like(planes[0])
    within[1:-1, 1:-1] = 1

    def pull(images: torch.Tensor) -> torch.Tensor:
        return measure.adjoint(measure.forward(images) - small)

    levels = planes.new_full((len(planes),), enlarged_level(factor))
    models = _models(operator, steps, quality, planes)
    return torch.stack([model(planes, levels, within, pull) for model in models]).mean(0)


def _models(operator: AnalysisOperator, steps: TrainedSteps, quality: str, like: torch.Tensor) -> list[StagedSteps]:
    """The steps as they are taken at a quality, all of which are averaged."""
    return [StagedSteps(one, operator.patch_shape).to(like.device) for one in turns_of(steps, quality)]


def steps_to_enlarge(operator: AnalysisOperator, weight: float | None, factor: float) -> TrainedSteps | None:
    """Those that the operator has for such a factor, unless the energy is asked for by its weight."""
    steps = operator.steps.get("upscale") if weight is None else None
    return steps if steps and steps.sigma[0] <= enlarged_level(factor) <= steps.sigma[1] else None


def missing_levels(gaps: torch.Tensor, kind: torch.dtype = torch.float32) -> torch.Tensor:
    """About every pixel of gaps (h, w): (1, h, w)."""
    share = patch_totals(gaps.to(kind)[None], (WINDOW, WINDOW), (1, 1)) / WINDOW**2
    return REFERENCE_SIGMA * share.clamp(min=LEAST)


def near_known(gaps: torch.Tensor) -> torch.Tensor:
    """The missing pixels that have a known one nearby."""
    side = 2 * NEAR + 1
    return gaps & (patch_totals(gaps.float()[None], (side, side), (1, 1))[0] < side**2)
