"""The spaces in which tensors are moved: plain, or in whitened coordinates. Twins of :mod:`cosparse.optimize`'s."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from cosparse.operator import AnalysisOperator
from cosparse.reconstruction.prior import Prior
from cosparse.reconstruction.stages import Stage
from cosparse.reconstruction.whitening import filters


@dataclass(frozen=True, eq=False)
class TensorSpace:
    """Plain space of tensors, or the part of it where only some entries may move: the twin of `optimize.Euclidean`."""

    free: torch.Tensor | None = None

    def inner(self, a: torch.Tensor, b: torch.Tensor) -> float:
        """<a, b>."""
        return float(torch.dot(a.reshape(-1), b.reshape(-1)))

    def project(self, point: torch.Tensor, vector: torch.Tensor) -> torch.Tensor:
        """A gradient without what would move a fixed entry."""
        return self._held(vector)

    def step(self, point: torch.Tensor, direction: torch.Tensor, t: float) -> torch.Tensor:
        """The straight line point + t·direction."""
        return torch.add(point, direction, alpha=t)

    def transport(self, vector: torch.Tensor, point: torch.Tensor, direction: torch.Tensor, t: float) -> torch.Tensor:
        """A vector is the same everywhere."""
        return vector

    def _held(self, vector: torch.Tensor) -> torch.Tensor:
        return vector if self.free is None else vector * self.free


@dataclass(frozen=True, eq=False)
class WhitenedSpace(TensorSpace):
    """A plane s moved by a vector v to s + F·S·v, where F holds what may not move: the twin of `optimize.Whitened`.

    `down` and `across` are S: the middle taps and those to one side of two symmetric filters.
    """

    down: tuple[float, ...] = (1.0,)
    across: tuple[float, ...] = (1.0,)

    def project(self, point: torch.Tensor, vector: torch.Tensor) -> torch.Tensor:
        """A gradient in these coordinates, without what would move a fixed pixel."""
        return smooth(self._held(vector), self.down, self.across)

    def step(self, point: torch.Tensor, direction: torch.Tensor, t: float) -> torch.Tensor:
        """The straight line point + t·F·S·direction."""
        return torch.add(point, self._held(smooth(direction, self.down, self.across)), alpha=t)


def space_of(operator: AnalysisOperator, stage: Stage, data: bool, free: torch.Tensor | None) -> TensorSpace:
    """That in which a stage descends; `data` is whether it has a data term, or holds its data exactly."""
    if not stage.whitened:
        return TensorSpace(free)
    prior = Prior(operator.at(stage.sigma), stage.penalty)
    down, across = filters(prior, stage.weight, stage.whitened, 1.0 if data else None)
    return WhitenedSpace(free, tuple(down.tolist()), tuple(across.tolist()))


def smooth(plane: torch.Tensor, down: tuple[float, ...], across: tuple[float, ...]) -> torch.Tensor:
    """Symmetric filters along both axes, the plane mirrored at its borders: see `kernels.reference.smooth`."""
    for axis, taps in enumerate((down, across)):
        reach, extent = len(taps) - 1, plane.shape[axis]
        place = torch.arange(-reach, extent + reach, device=plane.device) % (2 * extent)
        wide = plane.index_select(axis, torch.minimum(place, 2 * extent - 1 - place))
        plane = taps[0] * plane
        for j in range(1, reach + 1):
            both = wide.narrow(axis, reach - j, extent) + wide.narrow(axis, reach + j, extent)
            plane = torch.add(plane, both, alpha=taps[j])
    return plane
