"""How weight, sharpness, stride and iterations follow from the task, the noise and the wanted quality.

The numbers are in stages.toml, each with the command that chose it on photographs of `data/train` and the dB it gave;
none has seen a test image.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from cosparse.operator import AnalysisOperator
from cosparse.optimize import Settings
from cosparse.penalty import Penalty
from cosparse.trained_steps import REFERENCE_SIGMA

Quality = Literal["fast", "balanced", "best"]
QUALITIES: tuple[str, ...] = get_args(Quality)
WHITE_STEP = 0.7  # in whitened coordinates, where the first line search begins
TABLE: dict[str, Any] = tomllib.loads(resources.files(__package__).joinpath("stages.toml").read_text("utf-8"))


@dataclass(frozen=True)
class Stage:
    """One energy of a continuation, and how many iterations it gets.

    The number does not depend on the image: an iteration more or less moves it by a tenth of a grey level, and tiles of
    a large picture must end where the whole would.

    Parameters
    ----------
    weight : float
        lambda: a factor on the weights that the operator has at noise `sigma`.
    penalty : Penalty
        phi, on the scale of images on 0..255.
    iterations : int
    sigma : float
        The noise on 0..255 that the operator is taken at, see :meth:`AnalysisOperator.at`.
    whitened : float
        For its descent, the part of the penalty's curvature at zero that is taken for typical: pixels are then moved in
        coordinates in which all frequencies are as stiff, see :mod:`cosparse.reconstruction.whitening`. 0: as they are.
    local : tuple of Stage
        Where the noise differs from pixel to pixel: what it is at each level, see
        :mod:`cosparse.reconstruction.local_noise`. Without them, what :meth:`at` says.
    """

    weight: float
    penalty: Penalty
    iterations: int
    sigma: float
    whitened: float = 0.0
    local: tuple[Stage, ...] = field(default=(), repr=False)

    def at(self, ratio: float) -> Stage:
        """The same for noise of so many times the level, where no table says what it is there."""
        return replace(self, sigma=self.sigma * ratio, local=())


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

    def weighed(self, factor: float) -> Plan:
        """With so many times the weight in every stage."""
        return replace(self, stages=tuple(replace(one, weight=one.weight * factor) for one in self.stages))


@dataclass(frozen=True)
class Grouping:
    """The second pass: patches of size x size, `step` apart, each with the `count` patches within `radius` pixels that
    are most like it; `passes` times over, after the first only where patches differ by less than `alike` of their
    contrast. In noise, there is no other without such a limit. Every other pass has its patches `shift` pixels off."""

    size: int
    step: int
    radius: int
    count: int
    passes: int = 1
    alike: float = float("inf")
    shift: int = 0

    def shifted(self, turn: int) -> int:
        """By how much the patches of a pass lie off."""
        return self.shift * (turn % 2)


GROUPING = {
    name: {quality: Grouping(**row[quality]) for quality in QUALITIES if quality in row}
    for name, row in TABLE["grouping"].items()
}


def plan(
    task: str,
    sigma: float,
    quality: str,
    weight: float | None,
    operator: AnalysisOperator,
    kernel: str = "",
    levels: Iterable[float] = (),
) -> Plan:
    """The plan for a task with an operator, taken as refined; `weight` overrides the last stage's lambda, the earlier
    ones keep their ratio to it. `kernel` names the reduction that upscaling undoes; `levels` are those of noise that is
    not the same everywhere."""
    checked_quality(quality)
    if weight is not None and not (np.isfinite(weight) and weight > 0):
        raise ValueError(f"weight: must be positive and finite, got {weight!r}")
    level, operator = QUALITIES.index(quality), as_refined(operator)
    found = row(task, sigma, operator.stride is not None, kernel)
    stages = [_stage(numbers, sigma, level, operator.penalty.nu) for numbers in found["stages"]]
    factor = 1.0 if weight is None else weight / stages[-1].weight
    stages = [replace(stage, weight=stage.weight * factor) for stage in stages]
    each = [plan(task, one, quality, weight, operator, kernel).stages for one in levels]
    if each:
        stages = [replace(stage, local=local) for stage, local in zip(stages, zip(*each, strict=True), strict=True)]
    return Plan(tuple(stages), _stride(operator, level))


def checked_quality(quality: object) -> None:
    """Refuse what is no quality."""
    if quality not in QUALITIES:
        raise ValueError(f"quality: expected one of {', '.join(QUALITIES)}, got {quality!r}")


def row(task: str, sigma: float, trained: bool, kernel: str = "") -> dict[str, Any]:
    """The row of the table for a task with such noise, an operator trained for repairs or not, and such a kernel."""
    asked = {"task": task, "noisy": sigma > 0, "trained": trained, "kernel": kernel}
    found: dict[str, Any] = next(
        row for row in TABLE["plan"] if all(row.get(key, value) == value for key, value in asked.items())
    )
    return found


def _stage(numbers: dict[str, Any], sigma: float, level: int, nu: float) -> Stage:
    grown = 0.0
    if "grow" in numbers:
        grown = by_noise(numbers["grow"], sigma) * _growth(sigma) / _growth(REFERENCE_SIGMA)
    return Stage(
        numbers["weight"] + grown,
        Penalty.log(nu * numbers["nu"]),
        round(by_noise(numbers.get("longer", 1.0), sigma) * numbers["iterations"][level]),
        max(float(numbers.get("at", sigma)), TABLE["noise"]["least"]),
        numbers.get("whitened", 0.0),
    )


def _stride(operator: AnalysisOperator, level: int) -> int:
    rule = TABLE["stride"]
    if operator.stride is not None:
        return int(min(operator.stride + rule["trained"][level], *operator.patch_shape))
    return int(max(1, max(operator.patch_shape) // rule["part"] + rule["untrained"][level]))


def by_noise(given: float | dict[str, list[float]], sigma: float) -> float:
    """A number of the table at noise sigma."""
    return float(np.interp(sigma, given["noise"], given["value"])) if isinstance(given, dict) else given


def as_refined(operator: AnalysisOperator) -> AnalysisOperator:
    """An operator that was never refined, with the weights and the penalty that denoising asks for at every noise.

    More or longer atoms make the same prior heavier: what is given is the mass of all together. A refined operator has
    its weights from training, and is returned as it is.
    """
    if operator.refined:
        return operator
    rule = TABLE["unrefined"]
    weights = operator.weights * np.float32(rule["mass"] / mass(operator))
    exponents = np.repeat([[rule["exponent"]], [rule["nu_exponent"] / 2]], len(weights), axis=1)
    return replace(operator, penalty=Penalty.log(rule["nu"]), weights=weights, exponents=exponents)


def mass(operator: AnalysisOperator) -> float:
    """The sum of all atoms' weighted squared norms: the prior's curvature on a pixel is in proportion to it."""
    return float((operator.weights[:, None] * operator.atoms**2).sum())


def _growth(sigma: float) -> float:
    rule = TABLE["growth"]
    return float(rule["weight"] * (max(sigma, TABLE["noise"]["least"]) / rule["noise"]) ** rule["exponent"])


def last_settings(sigma: float, quality: str) -> Settings:
    """When a reconstruction from any measurement ends."""
    level, found = QUALITIES.index(quality), row("reconstruct", sigma, True)
    count, settled = found["stages"][-1]["iterations"][level], found["settled"][level]
    return Settings(iterations=count, step_tolerance=0.0, decrease_tolerance=settled)


def trust(known: NDArray[np.bool_]) -> NDArray[np.float32]:
    """How much the noisy data of each pixel count: the more, the fewer are known about it.

    lambda suits data on every pixel; where many are missing, the same prior would smooth too much. What counts is the
    part p of the known pixels in the square of 17 x 17 about a pixel, so that tiles of a picture agree: p to the -0.4,
    and 0 where a pixel is missing.
    """
    from scipy.ndimage import uniform_filter

    side, power = TABLE["trust"]["side"], np.float32(TABLE["trust"]["power"])
    part = uniform_filter(known.astype(np.float32), side, mode="nearest")
    return np.where(known, np.maximum(part, np.float32(1 / side**2)) ** power, np.float32(0))


def first_step(stage: Stage, operator: AnalysisOperator) -> float:
    """Where the first line search of a stage begins: the inverse of a typical curvature of the energy.

    One step of this length neither crawls nor overshoots. In flat parts the prior's curvature is weight·phi''(0)·mass,
    a quarter of it is typical. In whitened coordinates curvatures are about 1.
    """
    if stage.whitened:
        return WHITE_STEP
    hessian = 2 * stage.penalty.nu if stage.penalty.form == "log" else 1.0
    return 1 / (1 + 0.25 * stage.weight * hessian * mass(operator))
