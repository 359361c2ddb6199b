"""Fields of Experts (Roth, Black 2009): a Markov random field of Student-t experts, learned by contrastive divergence.

An image x has the probability

    p(x) = 1/Z(Θ) · exp(-E(x)),      E(x) = Σ_k Σ_i α_i log(1 + ½ (J_i·x_k)²),

over all its patches x_k of 5x5 pixels. Θ are the N = 24 filters J_i, none of which sees a patch's mean, and the
exponents α_i > 0 of the experts (1 + ½ (J_i·x_k)²)^-α_i. Up to names this is the prior of this package: J are the
atoms, α their weights, and the penalty is log(1 + nu v²) with nu = ½.

Learning raises the likelihood of training patches of 15x15. Its gradient needs the mean under the model, in whose place
contrastive divergence (Hinton 2002) takes one transition of a Markov chain that begins at the data,

    dΘ ∝ <∂E/∂Θ> after the transition - <∂E/∂Θ> at the data,

    ∂E/∂J_i = α_i Σ_k ψ(J_i·x_k) x_k,      ∂E/∂log α_i = α_i Σ_k log(1 + ½ (J_i·x_k)²),      ψ(v) = v / (1 + ½ v²).

The transition is hybrid Monte Carlo: a momentum is drawn, the image moves along H = E + ½‖momentum‖² by leapfrog steps,

    ∂E/∂x = Σ_i α_i J_i⁻ * ψ(J_i * x)      (J_i⁻ mirrored, * convolution),

and the move is accepted with probability min(1, exp(H before - H after)). The filters are learned in coordinates in
which patches are white, J = J̃ Λ^-½ Uᵀ with U Λ Uᵀ the patches' covariance; else the smooth ones alone would be heard.

Repairs minimise the negative logarithm of the posterior,

    ½‖A x - y‖² + λ E(x),

and for holes E alone, the known pixels held. λ is chosen for each noise on training photographs
(`benchmarks/paper/rivals.py`). The filters, in fields_of_experts.safetensors, were learned from photographs of BSD by
`benchmarks/foe.py`. What differs from the article: updates are normalised by Adam (Kingma, Ba 2015) and so are fewer,
repairs go by conjugate gradient instead of plain gradient steps, holes are filled with wider experts first, and beyond
the border the outermost pixels are repeated.

S. Roth, M. J. Black: Fields of Experts. International Journal of Computer Vision 82(2), 2009.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from cosparse.operator import AnalysisOperator
from cosparse.optimize import Settings
from cosparse.patches import Rng
from cosparse.penalty import Penalty
from cosparse.reconstruction import measurement
from cosparse.reconstruction.energy import Energy
from cosparse.reconstruction.engine import minimise
from cosparse.reconstruction.prior import Prior
from cosparse.reconstruction.start import enlarge, interpolate, smoothed

TITLE = "FoE (our code)"
WEIGHTS = ((5.0, 0.36), (10.0, 0.24), (25.0, 0.14), (50.0, 0.085))
"""(sigma, λ / sigma²) for denoising."""
UPSCALING = ((0.0, 0.3), (8.0, 5.0))
"""(sigma, λ)."""
STUDENT_T = Penalty.log(0.5)
WIDER = (0.005, 0.05)
"""nu of log(1 + nu v²) by which holes are filled first: the energy has fewer minima then (graduated non-convexity)."""
SIDE = 5
"""Of a filter, in pixels."""
BATCH = 200
"""Training patches of an update."""
LEAPS = 30
"""Leapfrog steps of a transition."""
ACCEPTED = 0.9
"""Share of the transitions that the length of a leapfrog step is kept at."""
RATE = 0.01
"""Of Adam; it falls to nothing over the last third of the updates."""

Images = NDArray[np.float32]
"""(height, width, count): the last axis is long, which makes every slice one of whole lines of memory."""
Array = NDArray[np.float64]


# -- repairs


@cache
def experts() -> AnalysisOperator:
    """The 24 filters as atoms, with their exponents as weights."""
    with resources.as_file(resources.files("cosparse.baselines") / "fields_of_experts.safetensors") as path:
        return AnalysisOperator.load(path)


def denoise(noisy: NDArray[np.float32], sigma: float) -> NDArray[np.float32]:
    """The most probable image near the noisy one."""
    levels, factors = zip(*WEIGHTS, strict=True)
    weight = sigma**2 * float(np.interp(sigma, levels, factors))
    return minimised(smoothed(noisy, sigma), Energy(Prior(experts(), STUDENT_T), weight, noisy))


def inpaint(image: NDArray[np.float32], mask: NDArray[np.bool_]) -> NDArray[np.float32]:
    """The most probable image that has the known pixels, from that of experts with wider tops."""
    filled = interpolate(np.where(mask, 0, image).astype(np.float32), mask)
    for nu in WIDER:
        filled = minimised(filled, Energy(Prior(experts(), Penalty.log(nu)), 1.0), free=mask, iterations=50)
    return minimised(filled, Energy(Prior(experts(), STUDENT_T), 1.0), free=mask)


def upscale(small: NDArray[np.float32], factor: int, sigma: float = 0.0) -> NDArray[np.float32]:
    """The most probable image which, blurred and decimated, is near the small one."""
    levels, weights = zip(*UPSCALING, strict=True)
    start = enlarge(np.asarray(small, np.float32), factor)
    A, weight = measurement.downsampling(factor, start.shape), float(np.interp(sigma, levels, weights))
    return minimised(start, Energy(Prior(experts(), STUDENT_T), weight, small.ravel(), A))


def minimised(
    start: NDArray[np.float32], energy: Energy, *, free: NDArray[np.bool_] | None = None, iterations: int = 150
) -> NDArray[np.float32]:
    """The image of least energy downhill from `start`; ends early where an iteration lowers it by a few millionths."""
    settings = Settings(iterations=iterations, step_tolerance=0.0, decrease_tolerance=3e-6, first_step=0.5)
    results = minimise([energy], [settings], np.ascontiguousarray(start, np.float32), free=free)
    return np.asarray(results[-1].point, np.float32)


# -- learning


def learn_experts(
    patches: NDArray[np.float32], count: int = 24, *, iterations: int = 2000, rng: Rng = 0
) -> AnalysisOperator:
    """Learn filters and exponents by contrastive divergence.

    Parameters
    ----------
    patches : (patches, height, width) array
        Of photographs on 0..255; Roth and Black take 15x15 pixels, three times the side of a filter.
    count : int
        Of the experts.
    iterations : int
        Updates, each by 200 of the patches.
    rng : int or numpy Generator
        Draws the first filters, the patches of each update and the momenta.

    Returns
    -------
    AnalysisOperator
        Its atoms are the filters, its weights the exponents.
    """
    patches = np.asarray(patches, np.float32)
    if patches.ndim != 3 or min(patches.shape[1:]) < SIDE or len(patches) < 2:
        raise ValueError(f"patches: expected (count, height, width) of at least {SIDE}x{SIDE}, got {patches.shape}")
    generator = np.random.default_rng(rng)
    whitening = _whitening(patches)
    free = np.concatenate([
        generator.standard_normal(count * len(whitening)) / len(whitening) ** 0.5,
        np.full(count, np.log(0.1)),
    ])  # fmt: skip
    first, second, length = np.zeros_like(free), np.zeros_like(free), 1.0
    for done in range(1, iterations + 1):
        filters, exponents = _experts(free, whitening, count)
        drawn = patches[generator.choice(len(patches), min(BATCH, len(patches)), replace=False)]
        data = np.ascontiguousarray(drawn.transpose(1, 2, 0) - drawn.mean((1, 2)))
        moved, share = transition(filters, exponents, data, length, generator)
        length *= float(np.exp(0.1 * (share - ACCEPTED)))
        at_data, after = (derivatives(filters, exponents, images) for images in (data, moved))
        ascent = np.concatenate([((after[0] - at_data[0]) @ whitening.T).ravel(), after[1] - at_data[1]])
        first = 0.9 * first + 0.1 * ascent
        second = 0.999 * second + 0.001 * ascent**2
        rate = RATE * min(1.0, 3 * (1 - done / iterations) + 0.02)
        free = free + rate * (first / (1 - 0.9**done)) / (np.sqrt(second / (1 - 0.999**done)) + 1e-12)
    filters, exponents = _experts(free, whitening, count)
    norms = np.linalg.norm(filters, axis=1)
    return AnalysisOperator(filters / norms[:, None], (SIDE, SIDE), STUDENT_T, exponents, scale=norms)


def transition(
    filters: Images, exponents: Images, images: Images, length: float, generator: np.random.Generator
) -> tuple[Images, float]:
    """Images after one step of hybrid Monte Carlo, and the share of them that was accepted."""
    momentum = generator.standard_normal(images.shape, np.float32)
    before = energy(filters, exponents, images) + 0.5 * (momentum**2).sum((0, 1), dtype=float)
    moved, momentum = leapfrog(filters, exponents, images, momentum, length)
    after = energy(filters, exponents, moved) + 0.5 * (momentum**2).sum((0, 1), dtype=float)
    accepted = generator.random(len(before)) < np.exp(np.minimum(before - after, 0))
    return np.where(accepted, moved, images), float(accepted.mean())


def leapfrog(
    filters: Images, exponents: Images, images: Images, momentum: Images, length: float
) -> tuple[Images, Images]:
    """Images and momenta after the steps; from there with the momenta turned about, the same steps lead back."""
    step = np.float32(length)
    images, momentum = images.copy(), momentum - step / 2 * gradient(filters, exponents, images)
    for done in range(1, LEAPS + 1):
        images += step * momentum
        momentum -= (step if done < LEAPS else step / 2) * gradient(filters, exponents, images)
    return images, momentum


def energy(filters: Images, exponents: Images, images: Images) -> Array:
    """E of each image, over the patches that lie within it."""
    answers = filters @ _columns(images)
    costs = exponents @ np.log1p(0.5 * answers * answers)
    return np.asarray(costs.reshape(-1, images.shape[2]).sum(axis=0, dtype=float))


def gradient(filters: Images, exponents: Images, images: Images) -> Images:
    """∂E/∂x of each image."""
    answers = filters @ _columns(images)
    answers /= 1 + 0.5 * answers * answers
    answers *= exponents[:, None]
    height, width, count = images.shape
    parts = (filters.T @ answers).reshape(SIDE * SIDE, height - SIDE + 1, width - SIDE + 1, count)
    total = np.zeros_like(images)
    for pixel, part in enumerate(parts):
        total[_shifted(images, pixel)] += part
    return total


def derivatives(filters: Images, exponents: Images, images: Images) -> tuple[Array, Array]:
    """Means over the images of ∂E/∂J and ∂E/∂log α."""
    columns = _columns(images)
    answers = filters @ columns
    squares = 1 + 0.5 * answers * answers
    by_filter = ((exponents[:, None] * answers / squares) @ columns.T).astype(float)
    by_exponent = exponents * np.log(squares).sum(axis=1, dtype=float)
    return by_filter / images.shape[2], np.asarray(by_exponent / images.shape[2])


def _columns(images: Images) -> Images:
    """All patches of all images, a column each."""
    height, width, count = images.shape
    columns = np.empty((SIDE * SIDE, height - SIDE + 1, width - SIDE + 1, count), images.dtype)
    for pixel in range(SIDE * SIDE):
        columns[pixel] = images[_shifted(images, pixel)]
    return columns.reshape(SIDE * SIDE, -1)


def _shifted(images: Images, pixel: int) -> tuple[slice, slice]:
    """Where in the images this pixel of their patches lies."""
    row, column = divmod(pixel, SIDE)
    return slice(row, row + images.shape[0] - SIDE + 1), slice(column, column + images.shape[1] - SIDE + 1)


def _experts(free: Array, whitening: Array, count: int) -> tuple[Images, Images]:
    """Filters and exponents from what is learned: J̃ and log α."""
    filters = free[:-count].reshape(count, -1) @ whitening
    return filters.astype(np.float32), np.exp(free[-count:]).astype(np.float32)


def _whitening(patches: NDArray[np.float32]) -> Array:
    """Λ^-½ Uᵀ of the patches of a filter's size without their means: the constant patch is left out."""
    corners = patches[:, :SIDE, :SIDE].reshape(len(patches), -1).astype(float)
    corners -= corners.mean(axis=1, keepdims=True)
    variances, axes = np.linalg.eigh(corners.T @ corners / len(corners))
    return np.asarray((axes[:, 1:] / np.sqrt(np.maximum(variances[1:], 1e-6))).T)
