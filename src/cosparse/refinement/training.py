"""What a training is asked for, what it tells on its way, and what it ends with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypedDict

import numpy as np
from numpy.typing import NDArray

from cosparse.operator import AnalysisOperator
from cosparse.refinement.bilevel import BORDER, Crop, Image
from cosparse.refinement.damage import CORRECTED, STEPS, TASKS
from cosparse.refinement.training_state import Arrays

STEPS_ONLY = tuple(task for task in STEPS if task not in TASKS)  # what no energy is refined for
LEAST = {"steps": 1, "batch": 1, "crop": 2 * BORDER + 2, "validations": 1, "stages": 1, "pools": 1}


class Model(Protocol):
    """What is trained: an energy (:class:`cosparse.refinement.bilevel.Bilevel`) or steps (`staged.Staged`).

    `rates` are the lengths of Adam's steps by the parameters' names, reached after `warm_up` of them.
    """

    @property
    def rates(self) -> dict[str, float]: ...
    @property
    def moments(self) -> tuple[float, float]: ...
    @property
    def warm_up(self) -> int: ...
    def begin(self) -> Arrays: ...
    def operator(self, parameters: Arrays) -> AnalysisOperator: ...
    def finished(self, parameters: Arrays, provenance: dict[str, str]) -> AnalysisOperator: ...
    def repaired(self, operator: AnalysisOperator, crop: Crop) -> Image: ...
    def gradient(self, parameters: Arrays, operator: AnalysisOperator, crop: Crop) -> tuple[float, Arrays] | None: ...


class RefineKeywords(TypedDict, total=False):
    """The keywords of refine_operator as type checkers and editors see them: the fields of Training."""

    task: str | Sequence[str]
    sigma: float | Sequence[float] | NDArray[Any]
    stride: int
    steps: int
    batch: int
    crop: int
    rate: float
    validations: int
    rng: int
    data_range: float | None
    stages: int | None
    pools: int
    rough: bool


@dataclass(frozen=True)
class Training:
    """What to train for, and for how long; :func:`refine_operator` says what each means."""

    task: str | Sequence[str] = "denoise"
    sigma: float | Sequence[float] | NDArray[Any] = 25.0
    stride: int = 2
    steps: int = 1000
    batch: int = 16
    crop: int = 72
    rate: float = 1.0
    validations: int = 10
    rng: int = 0
    data_range: float | None = None
    stages: int | None = None
    pools: int = 64
    rough: bool = False

    @property
    def tasks(self) -> tuple[str, ...]:
        """One or several."""
        return (self.task,) if isinstance(self.task, str) else tuple(self.task)

    @property
    def levels(self) -> tuple[float, float]:
        """The least and the largest noise, from one number of any kind or two."""
        levels = np.asarray(self.sigma)
        if levels.dtype.kind not in "iuf" or levels.shape not in ((), (2,)):
            raise ValueError(f"sigma: expected a positive number, or two of them in order, got {self.sigma!r}")
        return float(levels.flat[0]), float(levels.flat[-1])

    def check(self, patch_shape: tuple[int, int]) -> None:
        """Refuse what cannot be trained."""
        for task in self.tasks or ("",):
            if task not in (known := (*TASKS, *STEPS_ONLY)):
                raise ValueError(f"task: expected one of {', '.join(known)}, got {task!r}")
        low, high = self.levels
        correction = self.stages is not None and self.tasks[0] in CORRECTED
        if correction and (low, high) != (0, 0):
            task = self.tasks[0]
            raise ValueError(f"sigma: steps to {task} are for pixels without noise, pass 0; got {self.sigma!r}")
        if not (correction or 0 < low <= high < np.inf):
            raise ValueError(f"sigma: expected a positive number, or two of them in order, got {(low, high)!r}")
        if not 1 <= self.stride <= min(patch_shape):
            raise ValueError(f"stride: must lie between 1 and the patch size {patch_shape}, got {self.stride!r}")
        if self.stages is not None and (len(self.tasks) > 1 or self.tasks[0] not in STEPS):
            raise ValueError(
                f"stages: steps are trained for one of the tasks {', '.join(STEPS)}; got task={self.task!r}"
            )
        if self.stages is None and (alone := set(STEPS_ONLY) & set(self.tasks)):
            words = {"deblock": "deblocking", "colours": "colours"}[min(alone)]
            raise ValueError(f"task: the energy is not refined for {words}; give stages, to train steps")
        if not 0 < self.rate < np.inf:
            raise ValueError(f"rate: must be a positive number, got {self.rate!r}")
        for name, least in LEAST.items():
            if getattr(self, name) is not None and getattr(self, name) < least:
                raise ValueError(f"{name}: must be at least {least}, got {getattr(self, name)!r}")


@dataclass(frozen=True)
class RefineResult:
    """A refined operator and how the training went.

    Attributes
    ----------
    operator : AnalysisOperator
        The one with the best validation.
    psnr : float
        That validation's.
    steps : int
        How many were taken.
    dropped : int
        Crops that had no derivative.
    losses : tuple of float
        The mean loss of every step.
    validations : tuple of (int, float)
        Steps, and the mean PSNR of the held-out images after each.
    """

    operator: AnalysisOperator
    psnr: float
    steps: int
    dropped: int
    losses: tuple[float, ...]
    validations: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class RefineProgress:
    """What a callback sees after every step.

    Attributes
    ----------
    step, steps : int
        Which one it was, and how many there will be.
    loss : float
        The step's mean loss.
    psnr : float
        The latest validation's.
    """

    step: int
    steps: int
    loss: float
    psnr: float
    _operator: Callable[[], AnalysisOperator]

    @property
    def operator(self) -> AnalysisOperator:
        """The operator as it is now."""
        return self._operator()
