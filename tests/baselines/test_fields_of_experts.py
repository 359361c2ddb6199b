"""Fields of Experts: the energy and its derivatives, the sampler, and what Roth and Black claim."""

from __future__ import annotations

import numpy as np
import pytest

import cosparse
from cosparse.baselines import fields_of_experts as foe
from cosparse.operator import AnalysisOperator
from cosparse.reconstruction.energy import Energy
from cosparse.reconstruction.prior import Prior
from cosparse.reconstruction.start import smoothed
from cosparse.testing import gradient_test

SIGMA = 20.0


@pytest.fixture
def field():
    """Three experts and four images, in double precision."""
    rng = np.random.default_rng(0)
    return 0.2 * rng.standard_normal((3, 25)), rng.uniform(0.2, 1, 3), 20 * rng.standard_normal((9, 8, 4))


def test_the_energys_gradient(field):
    filters, exponents, images = field

    def function(flat):
        given = flat.reshape(images.shape)
        return float(foe.energy(filters, exponents, given).sum()), foe.gradient(filters, exponents, given).ravel()

    gradient_test(function, images.ravel())


@pytest.mark.parametrize("which", ["filters", "exponents"])
def test_the_derivatives_that_learning_follows(field, which):
    filters, exponents, images = field

    def function(free):
        there = (free.reshape(3, 25), exponents) if which == "filters" else (filters, np.exp(free))
        mean = float(foe.energy(*there, images).mean())
        return mean, foe.derivatives(*there, images)[which == "exponents"].ravel()

    gradient_test(function, filters.ravel() if which == "filters" else np.log(exponents), step=1e-3)


def test_repairs_minimise_the_energy_that_was_learned(photograph):
    """The engine's prior and the sampler's energy have one gradient, but where a filter reaches the border."""
    image, experts = photograph[:40, :30].astype(np.float32), foe.experts()
    engine = Prior(experts, foe.STUDENT_T)(image)[1]
    sampler = foe.gradient(experts.atoms, experts.weights, image[:, :, None])[:, :, 0]
    inner = slice(4, -4), slice(4, -4)
    assert np.allclose(engine[inner], sampler[inner], atol=1e-4 * np.abs(sampler).max())


def test_the_sampler_goes_back_the_way_it_came(field):
    filters, exponents, images = field
    momentum = np.random.default_rng(1).standard_normal(images.shape)
    moved, faster = foe.leapfrog(filters, exponents, images, momentum, 0.1)
    assert np.abs(moved - images).max() > 1
    back, turned = foe.leapfrog(filters, exponents, moved, -faster, 0.1)
    assert np.allclose(back, images) and np.allclose(-turned, momentum)

    def total(x, p):
        return foe.energy(filters, exponents, x) + 0.5 * (p**2).sum((0, 1))

    assert np.allclose(total(moved, faster), total(images, momentum), rtol=0.01)


def test_the_experts_are_those_of_the_article(photograph):
    """24 filters of 5x5 that see no mean; what they answer has tails far heavier than a Gaussian's (kurtosis 3)."""
    experts = foe.experts()
    assert experts.shape == (24, 25) and experts.zero_mean and (experts.weights > 0).all()
    answers = experts.as_linear_operator(photograph.shape) @ photograph.astype(float).ravel()
    answers = answers.reshape(-1, 24)
    kurtosis = (answers**4).mean(axis=0) / (answers**2).mean(axis=0) ** 2
    assert kurtosis.min() > 6


def test_learned_filters_beat_neighbours(photograph):
    """Above a field of pairs of neighbours with the same experts, at the best of its weights and sharpnesses."""
    clean = photograph[:96, :96].astype(np.float32)
    noisy = (clean + SIGMA * np.random.default_rng(0).standard_normal(clean.shape)).astype(np.float32)
    pairs, start, reached = AnalysisOperator.finite_differences(), smoothed(noisy, SIGMA), []
    for scale in (0.03, 0.1, 0.3):
        atoms = AnalysisOperator(pairs.matrix, (2, 2), scale=np.full(2, scale))
        for weight in (0.2, 0.6, 2.0, 6.0):
            energy = Energy(Prior(atoms, foe.STUDENT_T), weight * SIGMA**2, noisy)
            reached.append(cosparse.psnr(clean, foe.minimised(start, energy), data_range=255))
    best = int(np.argmax(reached))
    assert 0 < best % 4 < 3  # not at an end of the weights
    assert cosparse.psnr(clean, foe.denoise(noisy, SIGMA), data_range=255) > reached[best] + 0.3


@pytest.mark.slow
def test_learning_ends_where_a_transition_changes_little(photograph, other_photograph):
    """Contrastive divergence: what the experts answer to the data, and after one step of the chain, comes to agree."""
    rng = np.random.default_rng(0)
    pictures = [photograph.astype(np.float32), other_photograph.astype(np.float32)]
    patches = []
    for i in range(400):
        top, left = (int(rng.integers(length - 9)) for length in pictures[i % 2].shape)
        patches.append(pictures[i % 2][top : top + 9, left : left + 9])

    def change(iterations):
        found = foe.learn_experts(np.stack(patches), 6, iterations=iterations)
        data = np.stack(patches, axis=-1)
        moved, _ = foe.transition(found.atoms, found.weights, data, 0.2, np.random.default_rng(1))
        at_data, after = (foe.derivatives(found.atoms, found.weights, images)[1] for images in (data, moved))
        return float(np.abs(after / at_data - 1).max())

    assert change(300) < 0.3 * change(0)


def test_enlarging_with_noise_smooths_more(photograph):
    small = photograph[:30, :30].astype(np.float32)
    plain, noisy = foe.upscale(small, 3), foe.upscale(small, 3, sigma=8.0)
    assert plain.shape == (90, 90) and plain.dtype == np.float32
    assert np.abs(np.diff(noisy)).mean() < np.abs(np.diff(plain)).mean()


def test_patches_smaller_than_a_filter_are_refused():
    with pytest.raises(ValueError, match=r"patches: expected .* at least 5x5"):
        foe.learn_experts(np.zeros((10, 4, 8), np.float32))
