"""How the error of one repaired crop changes with the operator.

The repair is s* = argmin E(s), with E of Eq. (49), and its error L(s*) is measured against the truth. By the
implicit function theorem, with H the Hessian of E at s*,

    dL/dp = -<d(grad E)/dp, q>,      H q = grad L(s*),

for every parameter p of the operator. Nothing is unrolled: what it takes is a repair run to convergence and a few
products with H.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.operator import AnalysisOperator
from cosparse.optimize import Euclidean, Settings, conjugate_gradient
from cosparse.reconstruction.energy import Energy
from cosparse.reconstruction.prior import Prior
from cosparse.reconstruction.rules import curvature_step

Image = NDArray[np.float32]
Gradient = NDArray[np.float64]

BORDER = 5  # pixels left out of the loss: what lies beyond a crop is not known to the repair


@dataclass(frozen=True)
class Problem:
    """A crop to be repaired, and what it should become.

    `data`, `measure` and `free` are as in :class:`cosparse.reconstruction.energy.Energy` and `minimise`; `sigma` is the
    noise at which the operator is used.
    """

    truth: Image
    start: Image
    sigma: float
    data: NDArray[Any] | None
    measure: Any = None
    free: NDArray[np.bool_] | None = None


def repair(
    problem: Problem, operator: AnalysisOperator, stride: int, *, tolerance: float, iterations: int
) -> tuple[Image, Prior]:
    """s*, where the root mean square of the gradient is below `tolerance`·sigma/25; and the prior it was found with."""
    here = operator.at(problem.sigma)
    prior = Prior(here, operator.penalty, stride)
    settings = Settings(
        iterations=iterations,
        step_tolerance=0.0,
        gradient_tolerance=tolerance * problem.sigma / 25 * math.sqrt(problem.truth.size),
        first_step=curvature_step(1.0, operator.penalty, here),
    )
    energy = Energy(prior, 1.0, problem.data, problem.measure, bounds=None)
    return conjugate_gradient(energy, Euclidean(problem.free), problem.start, settings).point, prior


def loss(repaired: Image, truth: Image, sigma: float) -> tuple[float, Image]:
    """ln(mean square error + a typical one) and its gradient.

    Nearly the PSNR, on which results are judged, but a smooth crop with hardly any error does not outweigh all others.
    """
    error = np.zeros_like(repaired)
    inside = (slice(BORDER, -BORDER), slice(BORDER, -BORDER))
    error[inside] = repaired[inside] - truth[inside]
    count = error[inside].size
    reached = float(np.vdot(error, error)) / count + typical_error(sigma)
    return math.log(reached), error * np.float32(2 / (count * reached))


def typical_error(sigma: float) -> float:
    """About the mean square error of a good denoiser on photographs; 81 at sigma 25."""
    return float(1.6 * max(sigma, 1.0) ** 1.22)


def hypergradient(
    problem: Problem,
    operator: AnalysisOperator,
    stride: int,
    *,
    tolerance: float = 0.05,
    iterations: int = 150,
) -> tuple[float, Gradient, Gradient] | None:
    """The loss, and its derivatives by the atoms (times scale) and the weights that the operator has at the noise.

    None where E is not convex at s*: there the repair may jump under a small change, and the derivative says nothing.
    """
    repaired, prior = repair(problem, operator, stride, tolerance=tolerance, iterations=iterations)
    value, slope = loss(repaired, problem.truth, problem.sigma)

    def hessian(direction: Image) -> Image:
        product = prior.curvature(repaired, direction)
        if problem.data is not None:
            if problem.measure is None:
                product += direction
            else:
                seen = problem.measure.rmatvec(problem.measure.matvec(direction.ravel()))
                product += seen.real.reshape(direction.shape)
        return product if problem.free is None else np.where(problem.free, product, np.float32(0))

    if problem.free is not None:
        slope = np.where(problem.free, slope, np.float32(0))
    answer = solve_positive(hessian, slope)
    if answer is None:
        return None
    by_atom, by_weight = prior.sensitivity(repaired, answer)
    return value, -by_atom, -by_weight


def solve_positive(
    product: Callable[[Image], Image], right: Image, *, tolerance: float = 0.03, iterations: int = 100
) -> Image | None:
    """q with product(q) = right to a relative tolerance, by conjugate gradient; None if product is not positive.

    >>> import numpy as np
    >>> q = solve_positive(lambda v: 2 * v, np.array([2.0, 4.0], np.float32))
    >>> q.tolist()
    [1.0, 2.0]
    """
    answer, residual = np.zeros_like(right), right
    direction, size = right, float(np.vdot(right, right))
    limit = tolerance**2 * size
    for _ in range(iterations):
        if size <= limit:
            break
        image = product(direction)
        bend = float(np.vdot(direction, image))
        if not bend > 0:
            return None
        answer = answer + np.float32(size / bend) * direction
        residual = residual - np.float32(size / bend) * image
        size, before = float(np.vdot(residual, residual)), size
        direction = residual + np.float32(size / before) * direction
    return answer
