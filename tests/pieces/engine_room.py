"""Energies and how they are minimised; learning; groups of patches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import cosparse
from cosparse.kernels import reference
from cosparse.learning.goal import Learning, _posed, _start
from cosparse.learning.objective import coherence_barrier, rank_penalty
from cosparse.noise import Correlated, Map
from cosparse.operator import chosen_operator
from cosparse.optimize import Euclidean, Interpolation, LineSearch, Settings, Whitened, conjugate_gradient
from cosparse.reconstruction.engine import misfit_curvature, misfit_gradient, solve
from cosparse.reconstruction.measurement import blur, downsampling
from cosparse.reconstruction.planes import take_apart
from cosparse.reconstruction.problem import Problem
from cosparse.reconstruction.second_pass import filter_groups, parts_of
from cosparse.reconstruction.stages import GROUPING, Grouping, plan
from pieces import MINIMISED, NEAR, piece
from pieces.pictures import COLOUR, GREY, noise

OPERATOR, STEPS = cosparse.load_operator(), chosen_operator(None)
NOISY = np.ascontiguousarray(GREY[20:48, 20:46] + noise((28, 26), 20))
LEVELS = Map(np.add.outer(np.linspace(8, 40, 28), np.zeros(26)).astype(np.float32), typical=20.0)
RNG = np.random.default_rng(0)
TRUST = np.float32(RNG.random((28, 26)) < 0.7) * np.float32(1.3)
FREE = RNG.random((28, 26)) < 0.5


def problems() -> dict[str, Problem]:
    """One of each kind."""
    measure = blur(np.outer([1, 2, 1], [1, 3, 1]) / 20, NOISY.shape)
    blurred = measure.matvec(NOISY.ravel()) + noise((NOISY.size,), 4, 8)
    smaller = downsampling(2, NOISY.shape)
    few = plan("denoise", 20.0, "fast", None, OPERATOR)
    return {
        "plain": Problem(OPERATOR, few, NOISY, NOISY, bounds=(60.0, 190.0)),
        "trusted": Problem(OPERATOR, few, NOISY, NOISY, trust=TRUST),
        "held": Problem(OPERATOR, plan("inpaint", 0.0, "fast", None, OPERATOR), NOISY, free=FREE, bounds=(0.0, 255.0)),
        "mapped": Problem(OPERATOR, few, NOISY, NOISY, noise=LEVELS),
        "blurred": Problem(OPERATOR, plan("deblur", 5.0, "fast", None, OPERATOR), NOISY, blurred, measure),
        "blurred, mapped": Problem(
            OPERATOR, plan("deblur", 20.0, "fast", None, OPERATOR), NOISY, blurred, measure, TRUST.ravel(), noise=LEVELS
        ),
        "smaller": Problem(
            OPERATOR,
            plan("upscale", 5.0, "fast", None, OPERATOR, "bicubic"),
            NOISY,
            smaller.matvec(NOISY.ravel()),
            smaller,
        ),
        "stepped": Problem(
            STEPS,
            replace(few, stages=(), stride=2),
            NOISY,
            NOISY,
            steps=tuple(STEPS.steps["denoise"].at(20.0)),
            free=FREE,
        ),
    }


@piece()
def energies() -> Any:
    """Value, gradient and terms of every kind; of regions; what their descents take."""
    regions = [(slice(0, 12), slice(0, 26)), (slice(12, 28), slice(4, 16))]
    image = NOISY + np.float32(5)
    found = []
    for problem in problems().values():
        every = problem.energies()
        found.append(
            [
                [(one(image), one.terms(image), one.weight) for one in every],
                problem.settings(),
                problem.trust,
                problem.planes,
                [
                    one(image, region)
                    for one in every
                    for region in regions
                    if problem.data is None or problem.measure is None
                ],
                [vars(space) for space in problem.geometries()],
            ]
        )
    smaller = problems()["smaller"].energies()[0]
    return found, [smaller(image, region)[0] for region in regions]


@piece()
def misfits() -> Any:
    """Their gradients and curvatures."""
    direction = noise(NOISY.shape, 1.0, 7)
    with_data = [problem for problem in problems().values() if problem.data is not None]
    return [(misfit_gradient(one, NOISY + 3), misfit_curvature(one, direction)) for one in with_data]


@piece(MINIMISED)
def solved() -> Any:
    """Every kind, to the end."""
    found = [solve(problem) for problem in problems().values()]
    return [(one.image, one.energy, one.iterations, one.evaluations, one.weight, one.stop) for one in found]


@piece()
def solved_in_few_iterations() -> Any:
    """The same after three, all that is told of it."""
    few = Settings(iterations=3, step_tolerance=0.0)
    energies = [problem for problem in problems().values() if problem.plan.stages]
    short = [
        replace(one, plan=replace(one.plan, stages=tuple(replace(stage, iterations=2) for stage in one.plan.stages)))
        for one in energies
    ]
    found = [solve(problem, settings=few) for problem in short]
    return [(one.image, one.energies, one.gradient_norm, one.evaluations, one.terms(), one.stop) for one in found]


@piece()
def descents() -> Any:
    """Of a function with a curved valley, by every rule and way to search a line; in whitened coordinates."""

    def valley(point: Any) -> tuple[float, Any]:
        x, y = point
        return float((1 - x) ** 2 + 20 * (y - x * x) ** 2), np.array(
            [-2 * (1 - x) - 80 * x * (y - x * x), 40 * (y - x * x)]
        )

    def bowl(point: Any) -> tuple[float, Any]:
        scale = np.linspace(0.3, 4, point.size).reshape(point.shape).astype(point.dtype)
        off = point - np.float32(2)
        return float(0.5 * (scale * off**2 + 0.01 * off**4).sum()), scale * off + np.float32(0.02) * off**3

    settings = [
        Settings(iterations=12, rule=rule, line_search=way, first_step=first, **more)
        for rule in ("hybrid", "fr", "hs", "dy")
        for way in (Interpolation(), LineSearch())
        for first, more in (
            (None, {}),
            (0.02, {"decrease_tolerance": 0.05}),
            (1.0, {"gradient_tolerance": 2.0}),
            (0.3, {"step_tolerance": 0.3}),
        )
    ]
    down, across = np.array([0.8, 0.1, 0.02], np.float32), np.array([0.9, -0.1, 0.05], np.float32)
    white = Whitened(down, across, None, None)
    found = [conjugate_gradient(valley, Euclidean(), np.array([-1.0, 1.5]), one) for one in settings]
    whitened = conjugate_gradient(bowl, white, NOISY[:9, :8] / 50, Settings(iterations=6))
    told = [
        (one.point, one.values, one.stop, one.iterations, one.evaluations, one.gradient_norm)
        for one in (*found, whitened)
    ]
    return told, whitened.point


@piece(NEAR)
def learned() -> Any:
    """A few iterations from every start, with every penalty."""
    patches = cosparse.sample_patches([GREY / 255], size=4, count=300)
    given: list[dict[str, Any]] = [
        {},
        {"start": "dct"},
        {"penalty": "pnorm", "zero_mean": False, "rng": 3},
        {"kappa": 50.0, "mu": 0.0},
        {"start": "dct", "penalty": "pnorm", "rng": 1},
        {"start": noise((24, 16))},
    ]
    few = Settings(iterations=4)
    found = [cosparse.learn_operator(patches, 24, settings=few, **more) for more in given]
    posed = [_posed(patches, 24, Learning(**more)) for more in given]
    starts = [
        _start(more.get("start", "random"), 24, one, np.random.default_rng(0))
        for more, one in zip(given, posed, strict=True)
    ]
    values = [(one(x), one.kappa, one.mu) for one, x in zip(posed, starts, strict=True)]
    told = [(one.operator.matrix, one.objectives, one.stop, one.iterations, one.evaluations) for one in found]
    return told, starts, values, rank_penalty(starts[0]), coherence_barrier(starts[0])


@piece(NEAR)
def groups() -> Any:
    """The second pass: in noise, of missing pixels, in colour, with maps and shared noise; in how many parts."""
    rule = Grouping(4, 3, 7, 12, passes=2, alike=0.9, shift=1)
    grey, _ = take_apart(NOISY, None)
    colour, _ = take_apart(COLOUR[:24, :22] + noise((24, 22, 3), 20), None)
    soft = [one.plane * np.float32(0.6) + np.float32(0.4) * np.roll(one.plane, 1, 1) for one in colour]
    told: list[int] = []

    def report(number: int, now: list[Any]) -> bool:
        told.append(number)
        return False

    pilot = [np.roll(NOISY, 1, 0) * np.float32(0.5) + NOISY * np.float32(0.5)]
    shared = Correlated(20.0, kernel=np.ones((1, 4)))
    return [
        filter_groups(grey, pilot, 20.0, rule, report),
        filter_groups(colour, soft, 20.0, rule, report),
        filter_groups(grey, pilot, 0.0, replace(rule, alike=np.inf), report, FREE),
        filter_groups(grey, pilot, 20.0, replace(rule, alike=np.inf), report, FREE),
        filter_groups(grey, pilot, 20.0, rule, report, None, LEVELS),
        filter_groups(grey, pilot, 20.0, rule, report, None, shared),
        told,
        [
            parts_of(one, height, sigma)
            for one in (rule, *GROUPING["denoise"].values())
            for height in (28, 300)
            for sigma in (0.0, 9.0)
        ],
    ]


@piece()
def reference_kernels() -> Any:
    """The definitions themselves, on a small image."""
    image = np.ascontiguousarray(NOISY[:11, :9])
    patch, stride = (3, 4), (2, 3)
    levels = np.linspace(0, 1, 99).reshape(11, 9).astype(np.float32)
    return [
        [reference.positions(extent, step) for extent in (1, 5, 9) for step in (1, 2, 4)],
        reference.patch_means(levels, patch, stride),
        reference.patch_means(image, (15, 15), (1, 1)),
        reference.patch_sums(reference.patch_means(levels, patch, stride), image.shape, patch, stride),
        [
            reference.hessian(np.linspace(-2, 2, 9), penalty.code, penalty.nu, penalty.p)
            for penalty in (cosparse.Penalty.log(0.3), cosparse.Penalty.pnorm(nu=0.2, p=0.5))
        ],
        reference.fold_border(np.arange(80.0).reshape(8, 10), (5, 6), (1, 2)),
    ]
