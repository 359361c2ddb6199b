"""Images of several planes that are measured together: colours, or the two parts of complex numbers.

The energy is one, as one datum may be of many planes. Its variable is the image as it is measured, float32 of shape
(h, w, channels); which grey planes the prior sees of it is a change of channels inside the prior alone. Complex numbers
are two channels each, as NumPy lays them out.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.operator import AnalysisOperator
from cosparse.reconstruction.energy import Energy, Image
from cosparse.reconstruction.planes import OPPONENT
from cosparse.reconstruction.prior import Prior, Region
from cosparse.reconstruction.problem import Problem
from cosparse.reconstruction.stages import TABLE, Plan, Stage, plan

Complex = NDArray[np.complex64]


@dataclass(frozen=True, eq=False)
class Mixing:
    """The grey planes of an image of several channels.

    Parameters
    ----------
    matrix : (planes, channels) array
        How much of each channel is in each plane. Rows are orthogonal: white noise stays white and independent, with
        the standard deviation of a channel times the norm of the plane's row.
    turn : complex array, optional
        Of a complex image: factors of magnitude 1 on its pixels, e^{-iφ}, before their two parts are planes. Where φ is
        the phase, the first plane has the magnitude and the second next to nothing.

    Examples
    --------
    >>> import numpy as np
    >>> colours = Mixing.of_channels(3)
    >>> [round(gain, 3) for gain in colours.gains]
    [0.577, 0.707, 0.612]
    >>> grey = np.full((4, 5, 3), 100, np.float32)
    >>> [round(float(plane.mean())) for plane in colours.apart(grey)]
    [100, 0, 0]
    """

    matrix: NDArray[np.float32]
    turn: Complex | None = None

    @classmethod
    def of_channels(cls, count: int) -> Mixing:
        """Luma and two opponent colours of three channels; of any other number, each alone."""
        return cls(OPPONENT if count == 3 else np.eye(count, dtype=np.float32))

    @classmethod
    def of_parts(cls, count: int) -> Mixing:
        """Real and imaginary parts of so many complex channels, each alone."""
        return cls(np.eye(2 * count, dtype=np.float32))

    @property
    def gains(self) -> tuple[float, ...]:
        """By which the noise of a channel is multiplied in each plane."""
        return tuple(float(np.linalg.norm(row)) for row in self.matrix)

    def apart(self, image: Image) -> list[Image]:
        """The planes of an image."""
        if self.turn is not None:
            image = parts_of(complex_of(image) * self.turn)
        return [np.ascontiguousarray(plane) for plane in np.moveaxis(image @ self.matrix.T, -1, 0)]

    def adjoint(self, planes: list[Image]) -> Image:
        """What belongs to the channels of what belongs to the planes: a gradient."""
        image = np.asarray(np.stack(planes, axis=-1) @ self.matrix)
        return image if self.turn is None else parts_of(complex_of(image) * self.turn.conj())


@dataclass(frozen=True, eq=False)
class JointPrior:
    """The sum of priors of the planes of an image, each times a factor; called, value and gradient."""

    priors: tuple[Prior, ...]
    factors: tuple[float, ...]
    mixing: Mixing

    def __call__(self, image: Image, region: Region | None = None) -> tuple[float, Image]:
        """Value and gradient at an image (h, w, channels)."""
        value, gradients = 0.0, []
        for plane, prior, factor in zip(self.mixing.apart(image), self.priors, self.factors, strict=True):
            one, gradient = prior(plane, region)
            gradient *= np.float32(factor)
            value += factor * one
            gradients.append(gradient)
        return value, self.mixing.adjoint(gradients)


def plans_of(
    mixing: Mixing | None,
    level: float,
    quality: str,
    weight: float | None,
    operator: AnalysisOperator,
    size: float = 1.0,
) -> tuple[Plan, ...]:
    """A reconstruction's plan for every plane, by the noise it has; without a mixing for one plane.

    The weights of plans are for measurements of size one, see `measured.size_of`. With one of another `size` all is
    as if it and its data were divided by that: the noise too, and the squared misfit by the square, so that the prior
    has that many times more weight. A weight that was given stays. Without noise the weights are only a way to the
    limit of none, and as they are: with others, complex images from several coils lose 1 dB.

    Colours that are measured apart are hard to tell from luma: the first stage takes longer to get near.
    """
    gains = (1.0,) if mixing is None else mixing.gains
    plans = [plan("reconstruct", level / size * gain, quality, weight, operator) for gain in gains]
    if weight is None and level > 0:
        plans = [own.weighed(size * size) for own in plans]
    if mixing is None or mixing.matrix is not OPPONENT:
        return tuple(plans)
    rule = TABLE["colours"]
    for number, own in enumerate(plans):
        first, *rest = own.weighed(rule["chroma"] if number else 1).stages
        first = replace(first, iterations=rule["longer"] * first.iterations)
        plans[number] = replace(own, stages=(first, *rest))
    return tuple(plans)


def turned(prior: JointPrior, image: Image) -> JointPrior:
    """The prior of a complex image of whose phase an image is known that shows it roughly.

    Its two planes are then, nearly, the magnitude and what the phase is off by. They follow edges where real and
    imaginary parts would each have some of them, by how the phase happens to lie.
    """
    from scipy.ndimage import gaussian_filter

    rule = TABLE["phase"]
    width = (rule["width"], rule["width"], 0)
    shown = complex_of(image)
    smooth = gaussian_filter(shown.real, width) + 1j * gaussian_filter(shown.imag, width)
    size = np.abs(smooth)
    turn = np.divide(smooth.conj(), size, out=np.ones_like(smooth), where=size > 0)
    factors = tuple(rule["imaginary"] if number % 2 else 1.0 for number in range(len(prior.priors)))
    return replace(prior, factors=factors, mixing=replace(prior.mixing, turn=turn.astype(np.complex64)))


@dataclass(frozen=True, eq=False)
class JointProblem(Problem):
    """Eq. (49) for an image (h, w, channels) under one measurement.

    A plane that has the channels' noise times its gain has the prior for such noise. As the squared misfit of a plane
    counts 1/gain² in that of the channels, the plane's weight in the sum is lambda/gain². So of data that measure every
    channel alone the energy is the sum of those of the planes, each as the tasks of grey planes have it.

    Parameters
    ----------
    mixing : Mixing
    plans : tuple of Plan
        One for each plane; `plan` is that of the first.
    """

    mixing: Mixing = field(kw_only=True)
    plans: tuple[Plan, ...] = field(kw_only=True)

    def energies(self) -> list[Energy]:
        """The energy of every stage."""
        return [self._energy(stages) for stages in zip(*(plan.stages for plan in self.plans), strict=True)]

    def _energy(self, stages: tuple[Stage, ...]) -> Energy:
        stride = min(self.plan.stride, *self.operator.patch_shape)
        priors = tuple(Prior(self.operator.at(stage.sigma), stage.penalty, stride) for stage in stages)
        weight = stages[0].weight
        factors = tuple(stage.weight / weight / gain**2 for stage, gain in zip(stages, self.mixing.gains, strict=True))
        prior = JointPrior(priors, factors, self.mixing)
        return Energy(prior, weight, self.data, self.measure, self.bounds, self.trust)


@dataclass(frozen=True, eq=False)
class OfParts:
    """A measurement of complex images as one of their two parts, with its adjoint."""

    A: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Of data and of parts."""
        return self.A.shape[0], 2 * self.A.shape[1]

    def matvec(self, parts: Image) -> NDArray[Any]:
        """A of the complex image."""
        return np.asarray(self.A.matvec(complex_of(parts))).reshape(-1)

    def rmatvec(self, data: NDArray[Any]) -> Image:
        """The parts of Aᴴ."""
        return parts_of(np.asarray(self.A.rmatvec(data), np.complex64).reshape(-1))


def parts_of(image: NDArray[Any]) -> Image:
    """Real and imaginary parts as neighbours along the last axis."""
    return np.ascontiguousarray(image, np.complex64).view(np.float32)


def complex_of(parts: Image) -> Complex:
    """The complex numbers of such neighbours."""
    return np.ascontiguousarray(parts, np.float32).view(np.complex64)
