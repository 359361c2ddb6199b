"""The engine: minimise the energies of a problem, stage by stage."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.kernels.reference import LocalGains
from cosparse.kernels.threads import one_blas_thread
from cosparse.optimize import Euclidean, Result, Settings, State, Stop, conjugate_gradient
from cosparse.reconstruction.energy import Energy, Image, Terms
from cosparse.reconstruction.local_noise import grid, patch_levels, pixel_levels, relative_variance, taken_of
from cosparse.reconstruction.noise_level import typical_level
from cosparse.reconstruction.problem import Problem, Space
from cosparse.reconstruction.stages import TABLE
from cosparse.reconstruction.watch import Watch
from cosparse.trained_steps import Step

Descend = Callable[..., Result]
Revise = Callable[[Energy, Image], Energy]


@dataclass(frozen=True, eq=False)
class Solution:
    """The image that a problem asks for, on 0..255, and how it was reached.

    Attributes
    ----------
    image : (h, w) array
    energy : float
        Of the last stage, at the image.
    stop : Stop
        Why the last stage ended.
    iterations, evaluations : int
        Of all stages together.
    weight : float
        lambda of the last stage.
    gradient_norm : float
        Of the last stage's energy at the image, in the coordinates of its descent.
    energies : tuple of tuples of float
        Of every stage: at its start and after every iteration.
    minimised : Energy or None
        That of the last stage. None if trained steps were taken: they minimise none, and `energy`, `weight` and
        `gradient_norm` are NaN.
    """

    image: Image
    energy: float
    stop: Stop
    iterations: int
    evaluations: int
    weight: float
    gradient_norm: float
    energies: tuple[tuple[float, ...], ...]
    minimised: Energy | None = field(repr=False)

    def terms(self) -> Terms:
        """What the energy is the sum of."""
        if self.minimised is None:
            raise ValueError("terms: trained steps minimise no energy; solve with an operator that has none")
        return self.minimised.terms(self.image)


def solve(
    problem: Problem,
    *,
    settings: Settings | None = None,
    revise: Revise | None = None,
    watch: Watch | None = None,
    descend: Descend = conjugate_gradient,
) -> Solution:
    """Run through the stages of a problem, each from the last one's result.

    Conjugate gradient only ever accepts a lower value, so no stage ends above its start.

    Parameters
    ----------
    problem : Problem
    settings : Settings, optional
        Of the last stage, if it is not simply to take its iterations.
    revise : callable, optional
        May change the energy of every stage but the first, given what the first one ended with.
    watch : Watch, optional
        Told after every iteration; it may stop the work, and if it has, the start is what is returned.
    descend : callable
        What minimises one energy. Tiles of one large picture take given steps instead: see :mod:`cosparse.cluster`.

    Returns
    -------
    Solution
        The image on 0..255, the energy and its terms, and why the last stage ended.

    References
    ----------
    S. Hawe, M. Kleinsteuber, K. Diepold: Analysis Operator Learning and Its Application to Image Reconstruction. IEEE
    Transactions on Image Processing 22(6), 2013, Eq. (49).

    Examples
    --------
    >>> import numpy as np, cosparse
    >>> noisy = (128 + 20 * np.random.default_rng(0).standard_normal((24, 24))).astype(np.float32)
    >>> operator = cosparse.load_operator()
    >>> stage = cosparse.Stage(weight=1.0, penalty=operator.penalty, iterations=30, sigma=20.0)
    >>> found = cosparse.solve(cosparse.Problem(operator, cosparse.Plan((stage,), stride=2), noisy, noisy))
    >>> bool(found.image.std() < 5), found.iterations
    (True, 30)
    """
    watch = watch or Watch()
    if problem.steps:
        return take_trained_steps(problem, watch)
    energies, stages = problem.energies(), problem.settings()
    if watch.stopped:
        weight = energies[-1].weight
        return Solution(problem.start, math.nan, Stop.CALLBACK, 0, 0, weight, math.nan, (), energies[-1])
    if settings is not None:
        stages[-1] = replace(settings, first_step=settings.first_step or stages[-1].first_step)
    start = np.ascontiguousarray(problem.start, np.float32)
    spaces = problem.geometries()
    results = minimise(energies, stages, start, spaces=spaces, revise=revise, watch=watch, descend=descend)
    last, energy = results[-1], energies[len(results) - 1]
    image = last.point if problem.within is None else problem.within.nearest(last.point)
    if revise is not None and len(results) > 1:
        energy = revise(energy, results[0].point)
    return Solution(
        image,
        last.value,
        last.stop,
        sum(result.iterations for result in results),
        sum(result.evaluations for result in results),
        energy.weight,
        last.gradient_norm,
        tuple(result.values for result in results),
        energy,
    )


def minimise(
    energies: Sequence[Energy],
    stages: Sequence[Settings],
    start: Image,
    *,
    free: NDArray[np.bool_] | None = None,
    spaces: Sequence[Space] | None = None,
    revise: Revise | None = None,
    watch: Watch | None = None,
    descend: Descend = conjugate_gradient,
) -> list[Result]:
    """Minimise energies in turn (a continuation in weight or sharpness), each from the last one's result.

    Each in a space of its own, or all in plain space, where some pixels may be `free` only.
    """
    watch, spaces = watch or Watch(), spaces or [Euclidean(free)] * len(energies)
    done, limit, image = 0, sum(settings.iterations for settings in stages), start
    results: list[Result] = []
    with one_blas_thread():
        for stage, (energy, settings, space) in enumerate(zip(energies, stages, spaces, strict=True)):
            if revise is not None and stage > 0:
                energy = revise(energy, results[0].point)

            def report(state: State, done: int = done, stage: int = stage, energy: Energy = energy) -> bool:
                return watch.iteration(done + state.iteration, limit, state.value, state.point, stage, energy.weight)

            result = descend(energy, space, image, settings, callback=report)
            image = result.point
            check_finite(float(image.sum(dtype=float)))
            done += result.iterations
            results.append(result)
            if watch.stopped:
                break
    return results


def check_finite(total: float) -> None:
    """Refuse an operator that leads out of the range of numbers; `total` is the sum of the image it led to."""
    if not math.isfinite(total):
        raise ValueError(
            "operator: with it the image leaves the range of numbers; its file may be damaged, take another operator"
        )


def take_trained_steps(problem: Problem, watch: Watch) -> Solution:
    """Take the steps of a staged operator: s ← s - Σ_p Ωᵀphi(Ω p) - pull·Aᵀ W²(A s - y), each with its own numbers.

    If the noise is not the same everywhere, every patch has the numbers of its own level σ_p, every pixel the pull of
    its own, and of what a patch says a pixel takes σ(x)/σ_p: across the border of two levels, more where there is more
    noise. On training photographs with stripes of noise 10 and 40 that is worth 0.4 dB over taking it as it is, and
    over (σ(x)/σ_p)², which a descent would have.

    Pixels that are not free stay as they are.
    """
    from cosparse.kernels.pooled import pooled_step  # not before its use: the compiler comes with it

    image, stride = np.array(problem.start, np.float32), (problem.plan.stride, problem.plan.stride)
    count, taken = len(problem.steps), 0
    at_levels = _local_numbers(problem)
    noisier = None if problem.noise is None else taken_of(problem.noise, problem.operator.patch_shape, stride)
    # The atoms are blind to it but for rounding, which steps would enlarge.
    level = image.mean(axis=None if image.ndim == 2 else (0, 1), dtype=float).astype(np.float32)
    with one_blas_thread():
        for step in problem.steps:
            if watch.stopped:
                break
            gains, pull = at_levels(step)
            pulled = pull * misfit_gradient(problem, image)
            change = pooled_step(*step[:5], image - level, problem.patch_shape, stride, gains)
            change = (change if noisier is None else change * noisier) + pulled
            image -= change if problem.free is None else change * problem.free
            if problem.within is not None:
                image = problem.within.nearest(image, TABLE["deblock"]["middle"])
            taken += 1
            watch.iteration(taken, count, math.nan, image, 0, math.nan)
    check_finite(float(image.sum(dtype=float)))
    stop = Stop.CALLBACK if watch.stopped else Stop.ITERATIONS
    return Solution(image, math.nan, stop, taken, taken, math.nan, math.nan, (), None)


def _local_numbers(problem: Problem) -> Callable[[Step], tuple[LocalGains | None, Any]]:
    """What a step has for every patch, and its pull for every pixel, where the noise is not the same everywhere."""
    noise = problem.noise
    if noise is None:
        return lambda step: (None, np.float32(step.pull))
    stride = problem.plan.stride, problem.plan.stride
    patches, pixels = patch_levels(noise, problem.operator.patch_shape, stride), pixel_levels(noise)
    less = (typical_level(noise) / grid(noise))[:, None]
    variance = relative_variance(noise)

    def found(step: Step) -> tuple[LocalGains | None, Any]:
        assert step.local is not None
        responses, gains, pools, floors, shares, pulls = step.local
        local = LocalGains(patches, responses, gains * less, pools, floors, shares)
        return local, variance * pulls[pixels]

    return found


def misfit_gradient(problem: Problem, image: Image) -> Image:
    """Aᵀ W²(A s - y)."""
    assert problem.data is not None
    if problem.measure is None:
        off = image - problem.data
        return np.asarray(off if problem.trust is None else off * problem.trust)
    residual = problem.measure.matvec(image.ravel()) - problem.data
    return _carried_back(problem, residual, image.shape)


def misfit_curvature(problem: Problem, change: Image) -> Image:
    """Aᵀ W² A d: by how much that gradient changes with the image."""
    if problem.measure is None:
        return np.asarray(change if problem.trust is None else change * problem.trust)
    return _carried_back(problem, problem.measure.matvec(change.ravel()), change.shape)


def _carried_back(problem: Problem, residual: NDArray[Any], shape: tuple[int, ...]) -> Image:
    residual = residual if problem.trust is None else residual * problem.trust
    return np.asarray(problem.measure.rmatvec(residual).real.reshape(shape), np.float32)
