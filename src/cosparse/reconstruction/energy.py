"""What the repaired image minimises, Eq. (49)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cosparse.reconstruction.prior import Region

Image = NDArray[np.float32]


class Sparsity(Protocol):
    """g: of one plane a :class:`cosparse.Prior`, of several measured together the sum of theirs."""

    def __call__(self, image: Image, region: Region | None = None, /) -> tuple[float, Image]:
        """Value and gradient."""


@dataclass(frozen=True)
class Terms:
    """What an energy is the sum of: ½‖A s - y‖², b(s) and weight·g(s)."""

    data: float
    bound: float
    prior: float


@dataclass(frozen=True)
class Energy:
    """½‖W(A s - y)‖² + b(s) + weight·g(s) and its gradient, on images of 0..255.

    Parameters
    ----------
    prior, weight
        g and lambda.
    data : array or None
        y. None leaves the first term out, where the data are held exactly instead.
    measure : LinearOperator or None
        A; None is the identity.
    trust : array or None
        W², of the shape of the data: a factor on the squared misfit of each, 0 where it is missing. None is 1.
    bounds : (low, high) or None
        The range of the pixels; leaving it costs its squared excess, Eq. (48).
    """

    prior: Sparsity
    weight: float
    data: NDArray[Any] | None = None
    measure: Any = None
    bounds: tuple[float, float] | None = (0.0, 255.0)
    trust: Image | None = None

    def __call__(self, image: Image, region: Region | None = None) -> tuple[float, Image]:
        """Value and gradient at an image; with a region the part of the value that is due to it, the whole gradient."""
        value, gradient = self.prior(image) if region is None else self.prior(image, region)
        value *= self.weight
        gradient *= np.float32(self.weight)
        if self.data is not None:
            value += 0.5 * self._misfit(image, region, gradient)
        if self.bounds is not None and (image.min() < self.bounds[0] or image.max() > self.bounds[1]):
            value += self._excess(image, region, gradient)
        return value, gradient

    def terms(self, image: Image) -> Terms:
        """The three terms at an image."""
        scratch = np.zeros_like(image)
        return Terms(
            0.0 if self.data is None else 0.5 * self._misfit(image, None, scratch),
            0.0 if self.bounds is None else self._excess(image, None, scratch),
            self.weight * self.prior(image)[0],
        )

    def _misfit(self, image: Image, region: Region | None, gradient: Image) -> float:
        """‖A s - y‖²; half its gradient is added to `gradient`."""
        if self.measure is not None:
            residual = self.measure.matvec(image.ravel()) - self.data
            pull = residual if self.trust is None else residual * self.trust
            gradient += self.measure.rmatvec(pull).real.reshape(image.shape)
            if region is not None:
                residual, pull = (self._of(one, region, image.shape) for one in (residual, pull))
            return float(np.vdot(residual, pull).real)
        total = 0.0
        for rows in _bands(image):
            off, pull = self._pull(image, rows)
            gradient[rows] += pull
            total += float(np.vdot(off, pull)) if region is None else 0.0
        return total if region is None else float(np.vdot(*self._pull(image, region)))

    def _pull(self, image: Image, place: Any) -> tuple[Image, Image]:
        """How far some pixels are from their data, and with what force they are drawn there."""
        assert self.data is not None
        off = image[place] - self.data[place]
        return off, off if self.trust is None else off * self.trust[place]

    def _excess(self, image: Image, region: Region | None, gradient: Image) -> float:
        """b(s); its gradient is added to `gradient`."""
        assert self.bounds is not None
        total = 0.0
        for rows in _bands(image):
            part = image[rows] - image[rows].clip(*self.bounds)
            gradient[rows] += 2 * part
            total += _square(part) if region is None else 0.0
        return total if region is None else _square(image[region] - image[region].clip(*self.bounds))

    def _of(self, residual: NDArray[Any], region: Region, shape: tuple[int, ...]) -> NDArray[Any]:
        """The residual of a region's data."""
        data_shape = self.measure.data_shape  # an image too, perhaps a smaller one
        factor = round(2 * shape[0] / data_shape[0]) / 2  # 1.5, or whole; a half pixel at the end may be too much
        rows, columns = (slice(int(part.start / factor), int(part.stop / factor)) for part in region)
        return residual.reshape(data_shape)[rows, columns]


def _bands(image: Image) -> list[slice]:
    """Rows of an image, some at a time: nothing else as large as the image is needed then."""
    count = max(1, 2**16 // image.shape[1])
    return [slice(first, first + count) for first in range(0, image.shape[0], count)]


def _square(values: NDArray[Any]) -> float:
    return float(np.vdot(values, values).real)
