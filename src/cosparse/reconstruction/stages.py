"""How weight, sharpness, stride and iterations follow from the task, the noise and the wanted quality.

Every constant here was chosen on photographs of `data/train` by `benchmarks/tune.py`; none has seen a test image.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cosparse.operator import AnalysisOperator
from cosparse.optimize import Settings
from cosparse.penalty import Penalty

_Constants = tuple[float, float, int]  # weight, nu, iterations of a stage
_Factors = tuple[float, float, float, int]  # noise level, factor on the weights, on nu, iterations

Quality = Literal["fast", "balanced", "best"]
QUALITIES = ("fast", "balanced", "best")

# Patches a quarter of their size apart cost 0.02-0.04 dB; "fast" goes one pixel further, "best" one pixel nearer.
STRIDE_CHANGE = (1, 0, -1)
# Iterations of the stages that are the same for all operators.
UPSCALING = ((20, 16), (30, 24), (45, 30))
DEBLURRING = (40, 60, 80)
RECONSTRUCTING = ((14, 20, 100), (16, 40, 400), (20, 60, 1000))  # of the last stage at most
# A reconstruction's last stage ends when iterations lower its energy by less than such a part of it. How soon that is
# depends on the measurement: for some Fourier coefficients after 70, for a few angles of a tomograph after 400. Without
# noise the prior hardly weighs, and photographs become a little worse again on the last steps to its minimum.
SETTLED = {"noisy": (5e-5, 1e-5, 3e-6), "noiseless": (3e-4, 3e-4, 3e-4)}
LEAST_NOISE = 0.1  # below it a refined operator is used as it is here


@dataclass(frozen=True)
class Stage:
    """One energy of a continuation, and how many iterations it gets.

    The number does not depend on the image: an iteration more or less moves it by a tenth of a grey level, and tiles of
    a large picture must end where the whole would.

    Parameters
    ----------
    weight : float
        lambda on the scale of 0..255. A refined operator takes its own weights and scales at noise `sigma`, and lambda
        is a factor on them.
    penalty : Penalty
        phi.
    iterations : int
    sigma : float
        The noise on 0..255 that a refined operator is taken at.
    """

    weight: float
    penalty: Penalty
    iterations: int
    sigma: float


@dataclass(frozen=True)
class Plan:
    """What a task will do.

    Parameters
    ----------
    stages : tuple of Stage
        A continuation: each starts from the last one's result.
    stride : int
        Pixels between patches.
    """

    stages: tuple[Stage, ...]
    stride: int


@dataclass(frozen=True)
class Grouping:
    """The second pass: patches of size x size, `step` apart, each with the `count` patches within `radius` pixels that
    are most like it; `passes` times over."""

    size: int
    step: int
    radius: int
    count: int
    passes: int = 1


# One for all noise levels: patches of 5x5 or 8x8 and groups of 12 or 48 are at best 0.02 dB better at some, and in
# denoising going over it again is worth nothing that a smaller step is not (benchmarks/grouping.py).
GROUPING = {
    "denoise": {
        "fast": Grouping(6, 5, 12, 24), "balanced": Grouping(6, 4, 16, 24), "best": Grouping(6, 2, 16, 24),
    },
    "inpaint": {
        "fast": Grouping(6, 6, 12, 24), "balanced": Grouping(6, 4, 16, 32), "best": Grouping(6, 4, 16, 32, passes=2),
    },
}  # fmt: skip


def mass(operator: AnalysisOperator) -> float:
    """The sum of all atoms' weighted squared norms: the prior's curvature on a pixel is in proportion to it."""
    return float((operator.weights[:, None] * operator.atoms**2).sum())


def default_weight(task: str, sigma: float, operator: AnalysisOperator, quality: str = "balanced") -> float:
    """lambda for a task at noise sigma, both on the scale of 0..255."""
    return plan(task, sigma, quality, None, operator).stages[-1].weight


def checked_quality(quality: object) -> None:
    """Refuse what is no quality."""
    if quality not in QUALITIES:
        raise ValueError(f"quality: expected one of {', '.join(QUALITIES)}, got {quality!r}")


def plan(task: str, sigma: float, quality: str, weight: float | None, operator: AnalysisOperator) -> Plan:
    """The plan for a task; `weight` overrides the last stage's lambda, the earlier ones keep their ratio to it.

    The constants are for 128 atoms of unit norm; more atoms make the same prior heavier, so lambda is divided by their
    number. A refined operator has its weights from training, and lambda is 1 where it is used as it was trained.
    """
    checked_quality(quality)
    if weight is not None and not (np.isfinite(weight) and weight > 0):
        raise ValueError(f"weight: must be positive and finite, got {weight!r}")
    level = QUALITIES.index(quality)
    if operator.refined:
        return _refined_plan(task, sigma, level, weight, operator)
    stages = _STAGES[task](sigma, level)
    factor = 128 / mass(operator) if weight is None else weight / stages[-1][0]
    return Plan(
        tuple(Stage(lam * factor, Penalty.log(nu), count, sigma) for lam, nu, count in stages),
        max(1, max(operator.patch_shape) // 4 + STRIDE_CHANGE[level]),
    )


def _refined_plan(task: str, sigma: float, level: int, weight: float | None, operator: AnalysisOperator) -> Plan:
    """The same for operators that were trained: each stage is the prior as it is at some noise level."""
    stages = _REFINED_STAGES[task](sigma, level)
    factor = 1.0 if weight is None else weight / stages[-1][1]
    return Plan(
        tuple(
            Stage(lam * factor, Penalty.log(operator.penalty.nu * sharper), count, max(noise, LEAST_NOISE))
            for noise, lam, sharper, count in stages
        ),
        min((operator.stride or 1) + (1, 0, 0)[level], *operator.patch_shape),  # nearer than trained is worse
    )


def last_settings(sigma: float, quality: str) -> Settings:
    """When a reconstruction from any measurement ends."""
    level = QUALITIES.index(quality)
    settled = SETTLED["noisy" if sigma > 0 else "noiseless"][level]
    return Settings(iterations=RECONSTRUCTING[level][-1], step_tolerance=0.0, decrease_tolerance=settled)


def _denoising_weight(sigma: float) -> float:
    return float(0.14 * (max(sigma, 0.1) / 5) ** 1.385)


def _denoising_nu(sigma: float) -> float:
    return float(np.interp(sigma, [5, 10, 15, 25], [0.2, 0.17, 0.13, 0.1]))


def _denoising(sigma: float, level: int) -> list[_Constants]:
    # At low noise the answer is near; at high noise the smooth start is refined for longer.
    count = float(np.interp(sigma, [5, 15, 25, 50], [8, 14, 18, 32])) * (0.7, 1.0, 1.1)[level]
    return [(_denoising_weight(sigma), _denoising_nu(sigma), round(count))]


def _inpainting(sigma: float, level: int) -> list[_Constants]:
    if sigma > 0:
        return [(_denoising_weight(sigma), _denoising_nu(sigma), (25, 40, 60)[level])]
    # Known pixels are held exactly and the weight has no effect; the penalty grows sharper.
    count = (12, 20, 30)[level]
    return [(1.0, 0.01, count), (1.0, 0.1, count), (1.0, 1.0, count)]


def _upscaling(sigma: float, level: int) -> list[_Constants]:
    noise = 0.33 * _denoising_weight(sigma) if sigma > 0 else 0.0
    first, second = UPSCALING[level]
    return [(0.05 + noise, 0.1, first), (0.005 + noise, 0.1, second)]


def _deblurring(sigma: float, level: int) -> list[_Constants]:
    return [(0.0005 + 0.17 * _denoising_weight(sigma), 0.1, DEBLURRING[level])]


def _reconstructing(sigma: float, level: int) -> list[_Constants]:
    noise = 0.5 * _denoising_weight(sigma) if sigma > 0 else 0.0
    first, second, third = RECONSTRUCTING[level]
    # The first penalty is nearly quadratic: from a poor start, a sharp one would be trapped at once.
    return [(1.0, 0.001, first), (0.03 + noise, 0.1, second), (0.001 + noise, 2.0 if sigma == 0 else 0.2, third)]


_STAGES = {
    "denoise": _denoising,
    "inpaint": _inpainting,
    "upscale": _upscaling,
    "deblur": _deblurring,
    "reconstruct": _reconstructing,
}


# For refined operators: the noise level that the prior is taken at, factors on its weights and on its nu, iterations.


def _denoising_refined(sigma: float, level: int) -> list[_Factors]:
    count = float(np.interp(sigma, [5, 15, 25, 50], [10, 16, 22, 48])) * (0.75, 1.0, 1.4)[level]
    return [(sigma, 1.0, 1.0, round(count))]


def _inpainting_refined(sigma: float, level: int) -> list[_Factors]:
    # The penalty grows sharper: gaps are soon filled by a soft one.
    if sigma > 0:
        return [(sigma, 2.0, 0.1, 8), (sigma, 1.0, 1.0, (20, 40, 60)[level])]
    # Known pixels are held exactly and the weight has no effect.
    first, second = ((12, 24), (25, 45), (40, 50))[level]
    return [(25.0, 1.0, 0.1, first), (25.0, 1.0, 1.0, second)]


def _upscaling_refined(sigma: float, level: int) -> list[_Factors]:
    first, second = UPSCALING[level]
    noise, at = 0.0, 25.0
    if sigma > 0:
        factor = float(np.interp(sigma, [8, 20], [0.7, 0.85]))
        noise, at = factor * _denoising_weight(sigma) / _denoising_weight(25.0), 15.0
    return [(at, 0.04 + noise, 0.5, first), (at, 0.004 + noise, 0.5, second)]


def _deblurring_refined(sigma: float, level: int) -> list[_Factors]:
    noise = 0.17 * _denoising_weight(sigma) / _denoising_weight(25.0)
    return [(25.0, 0.0005 + noise, 1.0, DEBLURRING[level])]


def _reconstructing_refined(sigma: float, level: int) -> list[_Factors]:
    noise = 0.5 * _denoising_weight(sigma) / _denoising_weight(25.0) if sigma > 0 else 0.0
    first, second, third = RECONSTRUCTING[level]
    return [
        (25.0, 1.0, 0.01, first),
        (25.0, 0.03 + noise, 1.0, second),
        (25.0, 0.001 + noise, 10.0 if sigma == 0 else 1.0, third),
    ]


_REFINED_STAGES = {
    "denoise": _denoising_refined,
    "inpaint": _inpainting_refined,
    "upscale": _upscaling_refined,
    "deblur": _deblurring_refined,
    "reconstruct": _reconstructing_refined,
}


def trust(known: NDArray[np.bool_]) -> NDArray[np.float32]:
    """How much the noisy data of each pixel count: the more, the fewer are known about it.

    lambda suits data on every pixel; where many are missing, the same prior would smooth too much. What counts is the
    part p of the known pixels in the square of 17 x 17 about a pixel, so that tiles of a picture agree: p to the -0.4,
    and 0 where a pixel is missing.
    """
    from scipy.ndimage import uniform_filter

    part = uniform_filter(known.astype(np.float32), 17, mode="nearest")
    return np.where(known, np.maximum(part, np.float32(1 / 17**2)) ** np.float32(-0.4), np.float32(0))


def first_step(stage: Stage, operator: AnalysisOperator) -> float:
    """Where the first line search of a stage begins: the inverse of a typical curvature of the energy.

    One step of this length neither crawls nor overshoots. In flat parts the prior's curvature is weight·phi''(0)·mass,
    a quarter of it is typical.
    """
    hessian = 2 * stage.penalty.nu if stage.penalty.form == "log" else 1.0
    return 1 / (1 + 0.25 * stage.weight * hessian * mass(operator))
