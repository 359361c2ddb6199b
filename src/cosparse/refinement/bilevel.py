"""How the error of one repaired crop changes with the operator.

The repair is s* = argmin E(s), and its error L(s*) is measured against the truth. E is what the task itself minimises
in the end, Eq. (49) in the last stage of its plan for the quality "balanced",

    E(s) = ½‖A s - y‖² + weight·g(s),

with g the prior at the stage's noise level and sharpness; s* is found as the task finds it, through the same stages by
the same loop, but run to convergence. By the implicit function theorem, with H the Hessian of E at s*,

    dL/dp = -<d(grad E)/dp, q>,      H q = grad L(s*),

for every parameter p of the operator. Nothing is unrolled: what it takes is a converged repair and a few products with
H. One term of the tasks is left out, the cost of pixels out of range: repaired photographs hardly leave it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, cg

from cosparse.operator import AnalysisOperator
from cosparse.optimize import Settings
from cosparse.reconstruction.correction import enlarged_level, missing_level
from cosparse.reconstruction.engine import solve
from cosparse.reconstruction.intervals import Intervals
from cosparse.reconstruction.planes import Channel
from cosparse.reconstruction.prior import Prior
from cosparse.reconstruction.problem import Problem
from cosparse.reconstruction.reductions import USUAL
from cosparse.reconstruction.request import Asked
from cosparse.reconstruction.stages import trust
from cosparse.reconstruction.tasks import TASKS
from cosparse.refinement.parameters import RATES, Parameters

Image = NDArray[np.float32]
Gradient = NDArray[np.float64]

BORDER = 5  # pixels left out of the loss: what lies beyond a crop is not known to the repair
# Root mean square of the gradient at which a repair has converged, at noise 25 and in proportion to it. Where the data
# say little of a pixel, a small gradient is still far from the minimum. With these the mean gradient of eight crops is
# within 0.006 of its limit (1 - cosine); with 0.05 for all, inpainting's would be off by 0.27 and upscaling's by 0.05.
CONVERGED = {"denoise": 0.05, "inpaint": 0.01, "upscale": 0.005}
ROUNDING = 1e-8  # a decrease, as a fraction of the energy, below which single precision finds nothing lower
ITERATIONS = 400
LOOSER = 6.0  # so much larger gradients end the repairs of validation: dB are settled long before hyper-gradients


@dataclass(frozen=True, eq=False)
class Crop:
    """A crop to be repaired, and what it should become.

    Attributes
    ----------
    task : str
    truth : (h, w) array
    measured : array
        What the task is given: noisy, with gaps, or smaller.
    sigma : float
        Its noise.
    gaps : (h, w) bool array or None
        Of inpainting: what is missing.
    factor, kernel : int, str
        Of upscaling: how the small image was made.
    within : Intervals or None
        Of deblocking: where the coefficients lie.
    """

    task: str
    truth: Image
    measured: Image
    sigma: float
    gaps: NDArray[np.bool_] | None = None
    factor: int = 1
    kernel: str = USUAL
    within: Intervals | None = None

    @property
    def level(self) -> float:
        """What the numbers of steps go by: the noise, or how little of the truth is known."""
        if self.gaps is not None and not self.sigma:
            return missing_level(self.gaps)
        return self.sigma or enlarged_level(self.factor)

    def problem(self, operator: AnalysisOperator) -> Problem:
        """What the task poses with this operator, without bounds."""
        trusted = None if self.gaps is None or not self.sigma else trust(~self.gaps)
        asked = Asked(operator, "balanced", None, self.sigma, self.gaps, trusted, self.factor, self.kernel)
        return TASKS[self.task].pose(Channel(self.measured, within=self.within), asked)


def converged(crop: Crop, operator: AnalysisOperator, *, looser: float = 1.0) -> Image:
    """s*, to the gradient at which it has converged, or `looser` times that.

    The earlier stages of the plan run as in the task, so that the last one ends in the same valley.
    """
    problem = crop.problem(operator)
    plain = tuple(
        replace(stage, whitened=0.0) for stage in problem.plan.stages
    )  # the limit is one on pixels' gradients
    problem = replace(problem, plan=replace(problem.plan, stages=plain))
    limit = looser * CONVERGED[crop.task] * crop.sigma / 25 * math.sqrt(problem.start.size)
    settings = Settings(
        iterations=ITERATIONS, step_tolerance=0.0, gradient_tolerance=limit, decrease_tolerance=ROUNDING
    )
    return solve(problem, settings=settings).image


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


def hypergradient(crop: Crop, operator: AnalysisOperator) -> tuple[float, float, Gradient, Gradient] | None:
    """The loss; the noise level that the task takes the operator at; and the loss's derivatives by the atoms (times
    scale) and the weights that the operator has there.

    None where E is not convex at s*: there the repair may jump under a small change, and the derivative says nothing.
    """
    problem = crop.problem(operator)
    energy = problem.energies()[-1]
    prior, weight = energy.prior, np.float32(energy.weight)
    assert isinstance(prior, Prior)  # tasks pose one plane at a time
    repaired = converged(crop, operator)
    value, slope = loss(repaired, crop.truth, crop.sigma)
    answer = solve_positive(
        lambda direction: weight * prior.curvature(repaired, direction) + _seen(problem, direction), slope
    )
    if answer is None:
        return None
    by_atom, by_weight = prior.sensitivity(repaired, answer)
    level = problem.plan.stages[-1].sigma
    return value, level, -energy.weight * by_atom, -energy.weight * by_weight


@dataclass(frozen=True)
class Bilevel:
    """Training of atoms, weights and scales, as :func:`cosparse.refinement.train.refine_operator` runs it."""

    start: AnalysisOperator
    stride: int

    rates = RATES
    moments = (0.9, 0.99)
    warm_up = 20

    def begin(self) -> dict[str, Gradient]:
        """The numbers that training starts with."""
        return dict(vars(Parameters.of(self.start)))

    def operator(self, parameters: dict[str, Gradient]) -> AnalysisOperator:
        """The operator as tasks will use it: they take the stride it was trained at."""
        return self.finished(parameters, {"stride": str(self.stride)})

    def finished(self, parameters: dict[str, Gradient], provenance: dict[str, str]) -> AnalysisOperator:
        """What training ends with."""
        return Parameters(**parameters).operator(self.start.patch_shape, provenance)

    def repaired(self, operator: AnalysisOperator, crop: Crop) -> Image:
        """As the task repairs it, nearly to convergence."""
        return converged(crop, operator, looser=LOOSER)

    def gradient(
        self, parameters: dict[str, Gradient], operator: AnalysisOperator, crop: Crop
    ) -> tuple[float, dict[str, Gradient]] | None:
        """The loss of a crop, and its derivatives by all parameters; None where there are none."""
        answer = hypergradient(crop, operator)
        if answer is None or not all(np.isfinite(part).all() for part in answer):
            return None
        return answer[0], Parameters(**parameters).gradient(self.start.patch_shape, *answer[1:])


def _seen(problem: Problem, direction: Image) -> Image:
    """The Hessian of the data term, times a direction."""
    if problem.measure is not None:
        back = problem.measure.rmatvec(problem.measure.matvec(direction.ravel()))
        return np.asarray(back.real.reshape(direction.shape))
    return direction if problem.trust is None else problem.trust * direction


def solve_positive(
    product: Callable[[Image], Image], right: Image, *, tolerance: float = 0.03, iterations: int = ITERATIONS
) -> Image | None:
    """q with product(q) = right to a relative tolerance, by conjugate gradient; None if product is not positive.

    >>> import numpy as np
    >>> q = solve_positive(lambda v: 2 * v, np.array([2.0, 4.0], np.float32))
    >>> q.tolist()
    [1.0, 2.0]
    """

    def positive(flat: Image) -> Image:
        image = product(flat.reshape(right.shape)).ravel()
        if not flat @ image > 0:
            raise np.linalg.LinAlgError("not positive definite")
        return image

    hessian = LinearOperator((right.size, right.size), positive, dtype=right.dtype)
    try:
        return np.asarray(cg(hessian, right.ravel(), rtol=tolerance, maxiter=iterations)[0].reshape(right.shape))
    except np.linalg.LinAlgError:
        return None
