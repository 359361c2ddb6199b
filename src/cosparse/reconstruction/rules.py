"""How weight, sharpness, stride and iterations follow from the task, the noise and the wanted quality.

Every constant here was chosen on photographs of `data/train` by `benchmarks/tune.py`; none has seen a test image.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cosparse.operator import AnalysisOperator
from cosparse.penalty import Penalty

QUALITIES = ("fast", "balanced", "best")
OPERATORS = {"fast": "default", "balanced": "default", "best": "default"}


@dataclass(frozen=True)
class Stage:
    """One energy of a continuation, and how many iterations it gets at most."""

    weight: float
    penalty: Penalty
    iterations: int


@dataclass(frozen=True)
class Plan:
    """What a task will do."""

    stages: tuple[Stage, ...]
    stride: int
    tolerance: float


def mass(operator: AnalysisOperator) -> float:
    """The sum of all atoms' weighted squared norms: the prior's curvature on a pixel is in proportion to it."""
    return float((operator.weights[:, None] * operator.matrix**2).sum())


def default_weight(task: str, sigma: float, operator: AnalysisOperator, quality: str = "balanced") -> float:
    """lambda for a task at noise sigma, both on the scale of 0..255."""
    return plan(task, sigma, quality, None, operator).stages[-1].weight


def plan(
    task: str, sigma: float, quality: str, weight: float | None, operator: AnalysisOperator
) -> Plan:
    """The plan for a task; `weight` overrides the last stage's lambda, the earlier ones keep their ratio to it.

    The constants are for 128 atoms of unit norm; more atoms make the same prior heavier, so lambda is divided by their
    number.
    """
    if quality not in QUALITIES:
        raise ValueError(f"quality: expected one of {', '.join(QUALITIES)}, got {quality!r}")
    if weight is not None and not (np.isfinite(weight) and weight > 0):
        raise ValueError(f"weight: must be positive and finite, got {weight!r}")
    level = QUALITIES.index(quality)
    stride = (3, 2, 1)[level]
    if task == "denoise":
        stages = [(_denoising_weight(sigma), _denoising_nu(sigma), _denoising_iterations(sigma, level))]
    else:
        stages = _inverse_stages(task, sigma, level)
    factor = 128 / mass(operator) if weight is None else weight / stages[-1][0]
    return Plan(
        tuple(Stage(lam * factor, Penalty.log(nu), count) for lam, nu, count in stages),
        stride,
        (1e-4, 3e-5, 1e-5)[level],
    )


def _denoising_weight(sigma: float) -> float:
    return max(sigma, 0.1) * float(np.interp(sigma, [5, 25], [0.04, 0.06]))


def _denoising_nu(sigma: float) -> float:
    return 0.1


def _denoising_iterations(sigma: float, level: int) -> int:
    return round(float(np.interp(sigma, [5, 25], [6, 20])))


def _inverse_stages(task: str, sigma: float, level: int) -> list[tuple[float, float, int]]:
    count = (20, 40, 80)[level]
    floor = _denoising_weight(sigma) if sigma > 0 else 0.0
    return [(max(lam, floor), 0.1, count) for lam in (0.15, 0.015)]


def first_step(stage: Stage, operator: AnalysisOperator) -> float:
    """The inverse of a typical curvature of the energy: one step of this length neither crawls nor overshoots.

    In flat parts the prior's curvature is weight·phi''(0)·mass, a quarter of it is typical.
    """
    curvature = 2 * stage.penalty.nu if stage.penalty.form == "log" else 1.0
    return 1 / (1 + 0.25 * stage.weight * curvature * mass(operator))
