"""What the repaired image minimises, Eq. (49), and its minimisation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.kernels.threads import one_blas_thread
from cosparse.optimize import Euclidean, Landing, Result, Settings, flat_conjugate_gradient
from cosparse.reconstruction.prior import Prior, Region

Image = NDArray[np.float32]

# How a stage is minimised. The tiles of one large picture all take the same steps instead: see cosparse.cluster.
descend: ContextVar[Callable[..., Result]] = ContextVar("descend", default=flat_conjugate_gradient)


@dataclass(frozen=True)
class Terms:
    """What an energy is the sum of: ½‖A s - y‖², b(s) and weight·g(s)."""

    data: float
    bound: float
    prior: float


@dataclass(frozen=True)
class Energy:
    """½‖A s - y‖² + b(s) + weight·g(s) and its gradient, on images of 0..255.

    Parameters
    ----------
    prior, weight
        g and lambda.
    data : array or None
        y. None leaves the first term out, where the data are held exactly instead (see :func:`minimise`).
    measure : LinearOperator or None
        A; None is the identity.
    trust : (h, w) array or None
        Without `measure`: a factor on the squared misfit of each pixel, 0 where it is missing. None is 1 everywhere.
    bounds : (low, high) or None
        The range of the pixels; leaving it costs its squared excess, Eq. (48).
    """

    prior: Prior
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
            gradient += self.measure.rmatvec(residual).real.reshape(image.shape)
            return _square(residual if region is None else self._of(residual, region, image.shape))
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
        factor = shape[0] // data_shape[0]
        rows, columns = (slice(part.start // factor, part.stop // factor) for part in region)
        return residual.reshape(data_shape)[rows, columns]


def _bands(image: Image) -> list[slice]:
    """Rows of an image, some at a time: nothing else as large as the image is needed then."""
    count = max(1, 2**16 // image.shape[1])
    return [slice(first, first + count) for first in range(0, image.shape[0], count)]


def _square(values: NDArray[Any]) -> float:
    return float(np.vdot(values, values).real)


def _alone(point: Image) -> Image:
    return point


@dataclass(frozen=True, eq=False)
class Progress:
    """What a callback sees after every iteration.

    The pages of a stack are repaired one after the other, and so are the planes of each: one if it is grey, luma and
    two opponent colours if it is RGB. `iteration` counts over the stages of a plane, `iterations` at most.

    Attributes
    ----------
    iteration, iterations : int
    energy : float
        Of this plane.
    point : (h, w) array
        The plane at work. On 0..255, except that opponent colours lie about 0.
    plane, planes, page, pages : int
        Which one it is, from 0, and how many there are.
    stage : int
        Which stage of the continuation, from 0; energies of different stages are not comparable.
    weight : float
        lambda of the stage.
    second_pass : bool
        Whether this is the pass over groups of similar patches: then `iteration` counts its parts, which are no
        iterations of the energy.
    """

    iteration: int
    iterations: int
    energy: float
    point: Image
    plane: int = 0
    planes: int = 1
    page: int = 0
    pages: int = 1
    stage: int = 0
    weight: float = math.nan
    second_pass: bool = False
    view: Callable[[Image], Image] = field(default=_alone, repr=False, compare=False)

    @property
    def image(self) -> Image:
        """The page as it stands, on 0..255: (h, w), or (h, w, channels) without transparency.

        Planes whose turn has not come are as they will start. Put together each time it is asked for.
        """
        return self.view(self.point)


def until_stopped(
    callback: Callable[[Progress], object] | None,
) -> Callable[[Progress], object] | None:
    """The callback, or once it has returned True, one that always does: the planes that follow stop at once."""
    if callback is None:
        return None
    stopped = False

    def follow(progress: Progress) -> bool:
        nonlocal stopped
        stopped = stopped or callback(progress) is True
        return stopped

    return follow


def minimise(
    stages: Sequence[tuple[Energy, int]],
    start: Image,
    *,
    first_step: float,
    free: NDArray[np.bool_] | None = None,
    last: Settings | None = None,
    revise: Callable[[Energy, Image], Energy] | None = None,
    callback: Callable[[Progress], object] | None = None,
) -> list[Result]:
    """Run through energies (a continuation in weight or sharpness), each from the last one's result.

    Conjugate gradient only ever accepts a lower value, so no stage ends above its start. Pixels where `free` is
    False stay exactly as they are: the limit of Eq. (49) for noiseless pixels as the weight goes to zero.
    `last` are the settings of the last stage, if it is not simply to take its iterations; `revise` may change the
    energy of every stage but the first, given what the first one ended with.
    """
    numbers = [iterations for _, iterations in stages]
    if last is not None:
        numbers[-1] = last.iterations
    limit = sum(numbers)
    done = 0
    results: list[Result] = []
    stopped = False

    def report(landing: Landing) -> bool:
        nonlocal stopped
        if callback is not None:
            progress = Progress(
                done + landing.iteration, limit, landing.value, landing.point,
                stage=len(results), weight=stages[len(results)][0].weight,
            )  # fmt: skip
            stopped = callback(progress) is True
        return stopped

    image = start
    with one_blas_thread():
        for number, (energy, _) in enumerate(stages):
            settings = Settings(iterations=numbers[number], step_tolerance=0.0, first_step=first_step)
            if last is not None and number == len(stages) - 1:
                settings = replace(last, first_step=last.first_step or first_step)
            if revise is not None and number > 0:
                energy = revise(energy, results[0].point)
            result = descend.get()(energy, Euclidean(free), image, settings, callback=report)
            image = result.point
            if not math.isfinite(float(image.sum(dtype=float))):
                raise FloatingPointError("the reconstruction left the range of numbers")
            done += result.iterations
            results.append(result)
            if stopped:
                break
    return results
