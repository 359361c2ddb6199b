"""Corrections by trained steps of what was made without noise: :mod:`cosparse.reconstruction.correction` on tensors."""

from __future__ import annotations

import torch

from cosparse.interop.torch.tensor_levels import LocalLevels, patch_totals
from cosparse.interop.torch.tensor_measures import TensorMeasure
from cosparse.interop.torch.tensor_steps import StagedSteps
from cosparse.operator import AnalysisOperator
from cosparse.reconstruction.correction import LEAST, NEAR, TYPICAL, WINDOW, enlarged_level
from cosparse.trained_steps import REFERENCE_SIGMA, TrainedSteps


def corrected_filling(
    operator: AnalysisOperator, steps: TrainedSteps, planes: torch.Tensor, gaps: torch.Tensor
) -> torch.Tensor:
    """Planes (n, h, w) of one image whose gaps (h, w) were filled, those then corrected: known pixels stay.

    All that follows from the mask is found on its own device.
    """
    model = StagedSteps(steps, operator.patch_shape).to(planes.device)
    levels = LocalLevels.of(missing_levels(gaps, planes.dtype), TYPICAL, model.patch_shape, model.strides)
    found: torch.Tensor = model(planes, levels, near_known(gaps))
    return found


def corrected_enlargement(
    operator: AnalysisOperator,
    steps: TrainedSteps,
    planes: torch.Tensor,
    small: torch.Tensor,
    measure: TensorMeasure,
    factor: float,
) -> torch.Tensor:
    """Planes (n, h, w) that were made `factor` times as large as `small`, corrected; their outermost pixels stay."""
    model = StagedSteps(steps, operator.patch_shape).to(planes.device)
    within = torch.zeros_like(planes[0])
    within[1:-1, 1:-1] = 1

    def pull(images: torch.Tensor) -> torch.Tensor:
        return measure.adjoint(measure.forward(images) - small)

    found: torch.Tensor = model(planes, planes.new_full((len(planes),), enlarged_level(factor)), within, pull)
    return found


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
