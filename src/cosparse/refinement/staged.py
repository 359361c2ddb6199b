"""Training the steps of a staged operator: what they give is compared with the truth, and that carried back.

    s_0 = y,   s_t = s_(t-1) - Σ_p Ω_tᵀphi_t(Ω_t p) - pull_t·(s_(t-1) - y),   minimise mean ln(‖s_T - x‖² + c).

To denoise, y is the noisy image. To inpaint, it is what the energy and the second pass made of one with gaps, and
pixels that are known stay as they are; to upscale, s_0 is what the energy made of a small image y, and s - y stands for
Aᵀ(A s - y): there the steps are a correction.

Exact reverse mode by hand: with r_T the slope of the loss by s_T, each step in turn, from the last, has its own
gradient and hands on r_(t-1) = r_t - J_tᵀ r_t - pull_t·r_t. What it needs of a step is `pooled_reverse`; the images on
the way are kept, the responses computed again. To deblock, every step ends with the projection onto the middle of the
intervals, through which a slope passes where it held nothing back.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cosparse.jpeg import coefficients, plane_of
from cosparse.kernels import reference
from cosparse.kernels.pooled import pooled_reverse, pooled_step
from cosparse.operator import AnalysisOperator
from cosparse.reconstruction.correction import LEAST as LEAST_MISSING
from cosparse.reconstruction.correction import corrected, enlarged_level
from cosparse.reconstruction.engine import misfit_curvature, misfit_gradient, solve
from cosparse.reconstruction.planes import Channel
from cosparse.reconstruction.problem import Problem
from cosparse.reconstruction.second_pass import filter_groups
from cosparse.reconstruction.stages import GROUPING, TABLE, as_refined
from cosparse.refinement.bilevel import Crop, Image, loss
from cosparse.refinement.damage import CORRECTED
from cosparse.refinement.parameters import zero_mean_basis
from cosparse.trained_steps import REFERENCE_SIGMA, Step, TrainedSteps

Array = NDArray[np.float64]

# Steps of Adam. At twice these rates training diverges now and then, at half of them it is slower.
RATES = {
    "coordinates": 0.005, "own": 0.01, "roots": 0.01, "shares": 0.0075, "pull": 0.0025,
    "scale_exponents": 0.01, "gain_exponents": 0.01, "pool_exponents": 0.01, "share_exponents": 0.01,
    "pull_exponents": 0.01,
}  # fmt: skip

# A new sequence takes the noise away bit by bit: how much is left before each step, as a part of it, where the atoms'
# responses count as large, in units of what is left, and which part of the small ones is taken away.
LEFT = (1.0, 0.5, 0.35, 0.3, 0.25)
LARGE = 4.0
GAIN = (0.7, 0.5, 0.4, 0.35, 0.3)
# The same of a correction, for all its steps: it begins with hardly any gains, and so with what it is to correct. What
# was measured of an enlarged picture pulls by the square of the factor, as each of its pixels has so small a part.
REMAINDER, HARDLY, PULL = 0.4, 0.001, 4.0
LEVELS = {
    "inpaint": (REFERENCE_SIGMA * LEAST_MISSING, REFERENCE_SIGMA),
    "upscale": (enlarged_level(2), enlarged_level(4)),
}
LEAST = 0.01  # the part of flat patches in noise whose pooled energies lie under the floors


@dataclass(frozen=True)
class StagedParameters:
    """What training changes of the steps: see :class:`cosparse.trained_steps.TrainedSteps`.

    Atoms are coordinates·basis, of which the scale is the norm times `unit`, which stays; pools are the squares of
    `roots`. Everything is of the order of one or a tenth, as Adam likes it.
    """

    coordinates: Array
    own: Array
    roots: Array
    shares: Array
    pull: Array
    scale_exponents: Array
    gain_exponents: Array
    pool_exponents: Array
    share_exponents: Array
    pull_exponents: Array
    unit: Array

    @classmethod
    def of(cls, operator: AnalysisOperator, stages: int, pools: int, task: str = "denoise") -> StagedParameters:
        """Where training starts: steps of this size that the operator has, or new ones with its atoms in each."""
        # To deblock, whatever there is; what denoises, and what corrects, starts from its like.
        names = (task, *operator.steps) if task == "deblock" else (task,)
        there = (operator.steps[name] for name in names if name in operator.steps)
        steps = next((one for one in there if (len(one), one.pools.shape[1]) == (stages, pools)), None)
        if steps is not None:
            return cls.of_steps(steps, operator.patch_shape)
        return cls.begun(operator.matrix.astype(float) @ zero_mean_basis(operator.patch_shape).T, stages, pools, task)

    @classmethod
    def of_steps(cls, steps: TrainedSteps, patch_shape: tuple[int, int]) -> StagedParameters:
        """Where training goes on from."""
        basis = zero_mean_basis(patch_shape, steps.planes)
        unit = np.exp(np.log(steps.scale.astype(float)).mean(axis=1))
        norms = steps.scale / unit[:, None]
        rest = {name: array.astype(float) for name, array in steps.arrays().items() if name in cls.__annotations__}
        return cls(
            coordinates=norms[:, :, None] * (steps.atoms.astype(float) @ basis.T),
            roots=np.sqrt(steps.pools.astype(float)), unit=unit,
            **rest | {"own": rest["own"] / norms**2, "shares": rest["shares"] / norms[:, :, None] ** 2},
        )  # fmt: skip

    @classmethod
    def begun(cls, atoms: Array, stages: int, pools: int, task: str) -> StagedParameters:
        """New steps: equal gains for all atoms; pools of a few atoms each, drawn at random, that give nothing yet."""
        k, rng = len(atoms), np.random.default_rng(0)
        atoms = atoms / np.linalg.norm(atoms, axis=1, keepdims=True)
        correction = (REMAINDER,), (HARDLY,), (PULL if task == "upscale" else 0.0,)
        begin = (LEFT, GAIN, (0.05,)) if task in ("denoise", "colours") else correction
        left, gain, pull = (np.array([row[min(t, len(row) - 1)] for t in range(stages)]) for row in begin)
        roots = np.where(rng.random((pools, k)) < 0.08, 0.35, 0.05) * rng.uniform(0.5, 1.5, (pools, k))
        zeros: dict[str, tuple[int, ...]] = {
            "scale_exponents": (2, k),
            "gain_exponents": (2, k),
            "pool_exponents": (2, pools),
        }
        zeros |= {"share_exponents": (2, pools), "pull_exponents": (2,), "shares": (k, pools)}
        begun = {name: np.zeros((stages, *shape)) for name, shape in zeros.items()}
        begun["scale_exponents"][:, 0] = -1.0  # what counts as large goes with the noise
        begun["pull_exponents"][:, 0] = 2.0 if task == "upscale" else 0.0
        return cls(
            coordinates=np.repeat(atoms[None], stages, axis=0), own=np.repeat(gain[:, None], k, axis=1),
            roots=np.repeat(roots[None], stages, axis=0), pull=pull,
            unit=1 / (LARGE * REFERENCE_SIGMA * left), **begun,
        )  # fmt: skip

    def steps(
        self, patch_shape: tuple[int, int], stride: int, sigma: tuple[float, float], planes: int = 1
    ) -> TrainedSteps:
        """The steps these numbers stand for."""
        atoms = self.coordinates @ zero_mean_basis(patch_shape, planes)
        norms = np.linalg.norm(atoms, axis=2)
        rest = {name: value for name, value in vars(self).items() if name.endswith("exponents")}
        return TrainedSteps(
            atoms / norms[:, :, None], norms * self.unit[:, None], self.own * norms**2, self.roots**2,
            self.shares * norms[:, :, None] ** 2, self.pull, **rest, stride=stride, sigma=sigma, planes=planes,
            floors=np.zeros(self.roots.shape[:2]), floor_exponents=np.zeros_like(self.pool_exponents),
        )  # fmt: skip

    def gradient(
        self, t: int, step: Step, sigma: float, by_step: tuple[Array, Array, Array, Array, float], stride: int
    ) -> dict[str, Array]:
        """The chain rule: derivatives by step t as it is at noise sigma, carried over to these numbers.

        Those by the atoms are given by their coordinates.
        """
        x = np.log(sigma / REFERENCE_SIGMA)
        powers = np.array([x, x * x])

        def factor(name: str) -> Array:
            return np.asarray(np.exp(np.tensordot(powers, getattr(self, name)[t], (0, 0))))

        by_coordinate, by_own, by_pool, by_share, by_pull = by_step
        scale = self.unit[t] * factor("scale_exponents")
        weighted = by_share * step.shares
        by_scale = scale * np.einsum("ij,ij->i", by_coordinate, self.coordinates[t])
        by_gain = by_own * step.own + weighted.sum(axis=1)
        part = stride**2 / len(scale) * factor("gain_exponents") / scale**2  # what own and shares are times in a step
        return {
            "coordinates": scale[:, None] * by_coordinate,
            "own": part * by_own,
            "roots": 2 * self.roots[t] * factor("pool_exponents")[:, None] * by_pool,
            "shares": part[:, None] * factor("share_exponents") * by_share,
            "pull": np.asarray(factor("pull_exponents") * by_pull),
            "scale_exponents": np.outer(powers, by_scale - 2 * by_gain),
            "gain_exponents": np.outer(powers, by_gain),
            "pool_exponents": np.outer(powers, np.einsum("ij,ij->i", by_pool, step.pools)),
            "share_exponents": np.outer(powers, weighted.sum(axis=0)),
            "pull_exponents": powers * by_pull * step.pull,
        }


def with_floors(steps: TrainedSteps, patch_shape: tuple[int, int]) -> TrainedSteps:
    """The steps with floors under their pools: what these have of flat noise, but for the least hundredth.

    Measured at some noise levels of the range, and laid through by least squares of the logarithms. The first of
    several planes is held, and as flat as can be.
    """
    levels, place = np.geomspace(*steps.sigma, 7), (patch_shape, (steps.stride, steps.stride))
    free = np.ones((64, 64)) if steps.planes == 1 else np.ones((64, 64, steps.planes)) * (np.arange(steps.planes) > 0)
    found = np.zeros((len(levels), len(steps), steps.pools.shape[1]))
    for level, least in zip(levels, found, strict=True):
        noisy = image = level * free * np.random.default_rng(0).standard_normal(free.shape)
        for t, step in enumerate(steps.at(float(level))):
            energies = reference.analyse(step.atoms, image, *place) ** 2 @ step.pools.T
            least[t] = np.quantile(energies.reshape(-1, energies.shape[-1]), LEAST, axis=0)
            image = image - free * reference.pooled_step(*step[:5], image, *place) - step.pull * (image - noisy)
    x = np.log(levels / REFERENCE_SIGMA)
    laid = np.linalg.lstsq(np.stack([x**0, x, x**2], axis=1), np.log(found + 1e-12).reshape(7, -1), rcond=None)[0]
    floor, first, second = laid.reshape(3, *found.shape[1:])
    return dataclasses.replace(steps, floors=np.exp(floor), floor_exponents=np.stack([first, second], axis=1))


@dataclass(frozen=True)
class Staged:
    """Training of steps, as :func:`cosparse.refinement.train.refine_operator` runs it."""

    start: AnalysisOperator
    stages: int
    pools: int
    stride: int
    sigma: tuple[float, float]
    task: str = "denoise"

    rates = RATES
    moments = (0.9, 0.997)
    warm_up = 100

    def begin(self) -> dict[str, Array]:
        """The numbers that training starts with."""
        return dict(vars(StagedParameters.of(self.start, self.stages, self.pools, self.task)))

    def operator(self, parameters: dict[str, Array]) -> AnalysisOperator:
        """The operator as tasks will use it: that of the start, with these steps."""
        levels = self.sigma if self.task not in CORRECTED else LEVELS[self.task]
        steps = StagedParameters(**parameters).steps(self.start.patch_shape, self.stride, levels)
        if self.task != "denoise":
            return dataclasses.replace(self.start, steps={**self.start.steps, self.task: steps})
        return dataclasses.replace(self.start, steps={"denoise": steps})  # of no quality others that were not trained

    def finished(self, parameters: dict[str, Array], provenance: dict[str, str]) -> AnalysisOperator:
        """What training ends with; the provenance of the operator stays, that of its steps is beside it."""
        operator = self.operator(parameters)
        title = "steps: " if self.task == "denoise" else f"steps to {self.task}: "
        kept = {name: word for name, word in self.start.provenance.items() if not name.startswith(title)}
        told = {f"{title}{name}": word for name, word in provenance.items()}
        steps = operator.steps[self.task].rounded()
        if self.task == "denoise":  # the others see patches without noise in training
            steps = with_floors(steps, operator.patch_shape)
        return dataclasses.replace(operator, steps={**operator.steps, self.task: steps}, provenance=kept | told)

    def repaired(self, operator: AnalysisOperator, crop: Crop) -> Image:
        """As the task repairs it."""
        return solve(self.begun(operator, crop)).image

    def judged(self, crop: Crop, problem: Problem) -> tuple[float, Image, float]:
        """The level that the steps are taken at, what they should give, and the noise by which errors are judged."""
        return crop.level, crop.truth, crop.sigma

    def begun(self, operator: AnalysisOperator, crop: Crop) -> Problem:
        """What the steps are taken for: the task's problem, or that of a correction of what "balanced" gives."""
        problem = crop.problem(operator)
        if self.task not in CORRECTED:
            return problem
        energy = crop.problem(dataclasses.replace(as_refined(operator), steps={}))
        image, steps = solve(energy).image, operator.steps[self.task]
        if crop.gaps is not None:
            rule = GROUPING["inpaint"]["balanced"]
            image = filter_groups([Channel(crop.measured)], [image], 0.0, rule, lambda *_: False, ~crop.gaps)[0]
        # In training all is missing alike.
        return dataclasses.replace(
            corrected(energy, image, steps, crop.factor), steps=tuple(steps.at(crop.level)), noise=None, trust=None
        )

    def gradient(
        self, parameters: dict[str, Array], operator: AnalysisOperator, crop: Crop
    ) -> tuple[float, dict[str, Array]]:
        """The loss of a crop, and its derivatives by all parameters."""
        problem = self.begun(operator, crop)
        level, truth, noise = self.judged(crop, problem)
        place = problem.patch_shape, (self.stride, self.stride)
        gaps = np.float32(1) if problem.free is None else problem.free.astype(np.float32)
        images, misfits, free = [problem.start], [], []
        for step in problem.steps:
            before = images[-1]
            misfits.append(misfit_gradient(problem, before))
            after = before - gaps * (pooled_step(*step[:5], before, *place) + np.float32(step.pull) * misfits[-1])
            if crop.within is not None:
                free.append(crop.within.free(after, TABLE["deblock"]["middle"]))
                after = crop.within.nearest(after, TABLE["deblock"]["middle"])
            images.append(after)
        value, slope = loss(images.pop(), truth, noise)
        numbers, basis = StagedParameters(**parameters), zero_mean_basis(place[0], problem.planes)
        found = []
        for t in range(self.stages - 1, -1, -1):
            step, image = problem.steps[t], images[t]
            if crop.within is not None:
                slope = plane_of(coefficients(slope) * free[t])
            moved = gaps * slope
            back, parts = pooled_reverse(*step[:5], image, moved, *place)
            by_atom, by_own, by_pool, by_share = (-part.astype(float) for part in parts)
            by_pull = -float(np.vdot(moved, misfits[t]))
            by_step = by_atom @ basis.T, by_own, by_pool, by_share, by_pull
            found.append(numbers.gradient(t, step, level, by_step, self.stride))
            slope = slope - np.float32(step.pull) * misfit_curvature(problem, moved) - back
        return value, {name: np.stack([one[name] for one in reversed(found)]) for name in RATES}
