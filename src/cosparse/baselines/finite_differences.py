"""Anisotropic total variation by our own engine: the operator of horizontal and vertical differences.

Every constant here is the best on training photographs (`benchmarks/paper/rivals.py`, `other_tasks.py
--tune`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.operator import AnalysisOperator
from cosparse.optimize import Settings
from cosparse.penalty import Penalty
from cosparse.reconstruction.energy import Energy
from cosparse.reconstruction.engine import minimise
from cosparse.reconstruction.prior import Prior
from cosparse.reconstruction.start import interpolate, smoothed

TITLE = "TV (our engine)"
WEIGHTS = ((5.0, 0.5), (10.0, 0.63), (25.0, 0.87), (50.0, 1.07))
"""(sigma, weight / sigma) for denoising."""
SHARPNESS = 1.0
"""nu of sqrt(v² + nu) on 0..255, near enough to |v|."""
INPAINTING_SHARPNESS = 300.0
"""Rounder corners fill holes better."""


def denoise(noisy: NDArray[np.float32], sigma: float) -> NDArray[np.float32]:
    """The image of least total variation near the noisy one."""
    levels, factors = zip(*WEIGHTS, strict=True)
    weight = sigma * float(np.interp(sigma, levels, factors))
    return minimised(smoothed(noisy, sigma), noisy, None, weight, SHARPNESS)


def inpaint(image: NDArray[np.float32], mask: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Least total variation, the known pixels held as they are."""
    start = interpolate(np.where(mask, 0, image).astype(np.float32), mask)
    return minimised(start, None, None, 1.0, INPAINTING_SHARPNESS, free=mask)


def minimised(
    start: NDArray[np.float32],
    data: NDArray[Any] | None,
    measure: Any,
    weight: float,
    nu: float,
    *,
    free: NDArray[np.bool_] | None = None,
) -> NDArray[np.float32]:
    """½‖A s - y‖² + weight·TV(s), minimised from `start`; A is `measure`, y is `data`, None as in Energy.

    Runs until the energy falls by less than a millionth in an iteration.
    """
    prior = Prior(AnalysisOperator.finite_differences(), Penalty.pnorm(1.0, nu, square=False))
    energy = Energy(prior, weight, data, measure)
    first_step = 1 / (1 + weight / nu**0.5)
    settings = Settings(iterations=500, step_tolerance=0.0, decrease_tolerance=1e-6, first_step=first_step)
    results = minimise([energy], [settings], np.ascontiguousarray(start, np.float32), free=free)
    return np.asarray(results[-1].point, np.float32)
