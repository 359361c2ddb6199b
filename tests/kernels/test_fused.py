"""The fused kernels against their definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_cases import penalties, random_weights, seeds, shapes, strided_patches, whole_numbers

from cosparse import Penalty, sample_patches
from cosparse.kernels import fused, reference
from cosparse.operator import cosine_atoms
from cosparse.penalty import LOG


def assert_twins(fast, slow, responses, terms):
    """1e-5 of the value, and of the gradient's terms before they cancel.

    float32 holds no more of log(1 + x) than 1e-7, which is all there is of it for tiny responses.
    """
    assert fast[0] == pytest.approx(slow[0], rel=1e-5, abs=3e-7 * responses)
    assert fast[1].shape == slow[1].shape
    assert np.linalg.norm(fast[1] - slow[1]) <= 1e-5 * max(terms, np.linalg.norm(slow[1]))


@given(
    k=st.integers(1, 20),
    n=st.integers(1, 20),
    count=st.sampled_from([1, 2, 17, 255, 256, 257, 600, fused.CHUNK, 2 * fused.CHUNK + 1]),
    penalty=penalties,
    square=st.booleans(),
    seed=seeds,
)
def test_patch_sparsity(k, n, count, penalty, square, seed):
    atoms = whole_numbers(seed, (k, n), 8, 1 / 8)
    patches = whole_numbers(seed + 1, (count, n), 16, 1 / 16)
    weights = random_weights(seed, k)
    arguments = penalty.code, penalty.nu, penalty.p, square
    fast = fused.patch_sparsity(atoms, weights, patches, *arguments)
    slow = reference.patch_sparsity(atoms.astype(float), weights.astype(float), patches.astype(float), *arguments)
    slope = reference.penalise(patches @ atoms.T.astype(float), *arguments[:3])[1] * weights
    phi = reference.penalise(patches @ atoms.T.astype(float), *arguments[:3])[0] @ weights
    factor = phi[:, None] if square else 1
    terms = np.linalg.norm(np.abs(slope * factor).T @ np.abs(patches) / count)
    assert_twins(fast, slow, k * (1 + phi.max() if square else 1), terms)


@pytest.mark.parametrize("square", [False, True])
@pytest.mark.parametrize("penalty", [Penalty.log(5e3), Penalty.pnorm()], ids=str)
def test_patch_sparsity_as_in_learning(photograph, penalty, square):
    """128 atoms, real patches, real rounding: 1e-5 of the gradient itself."""
    patches = sample_patches(photograph, count=3000)
    atoms = cosine_atoms(8, 12)[:128] + 0.1 * np.random.default_rng(0).standard_normal((128, 64)) / 8
    atoms = (atoms / np.linalg.norm(atoms, axis=1, keepdims=True)).astype(np.float32)
    weights = np.ones(128, np.float32)
    arguments = penalty.code, penalty.nu, penalty.p, square
    value, gradient = fused.patch_sparsity(atoms, weights, patches, *arguments)
    exact, exact_gradient = reference.patch_sparsity(
        atoms.astype(float), weights.astype(float), patches.astype(float), *arguments
    )
    assert value == pytest.approx(exact, rel=1e-6)
    assert np.linalg.norm(gradient - exact_gradient) <= 1e-5 * np.linalg.norm(exact_gradient)


def part_of(count):
    """A range within so many, empty ones too."""
    ends = st.tuples(st.integers(0, count), st.integers(0, count))
    return ends.map(lambda pair: range(min(pair), max(pair)))


@given(k=st.integers(1, 9), shape=shapes, patch_stride=strided_patches(), penalty=penalties, seed=seeds, data=st.data())
def test_image_sparsity(k, shape, patch_stride, penalty, seed, data):
    patch, stride = patch_stride
    atoms = whole_numbers(seed, (k, patch[0] * patch[1]), 8, 1 / 8)
    image = whole_numbers(seed + 1, shape, 100, 1)
    weights = random_weights(seed, k)
    arguments = penalty.code, penalty.nu, penalty.p
    rows, columns = (part_of(reference.positions(*pair)) for pair in zip(shape, stride, strict=True))
    counted = data.draw(st.none() | st.tuples(rows, columns))
    fast = fused.image_sparsity(atoms, weights, image, patch, stride, *arguments, counted)
    exact = atoms.astype(float), weights.astype(float), image.astype(float)
    slow = reference.image_sparsity(*exact, patch, stride, *arguments, counted)
    responses = reference.analyse(exact[0], exact[2], patch, stride)
    slope = reference.penalise(responses, *arguments)[1] * weights
    terms = reference.synthesise(np.abs(exact[0]), np.abs(slope), shape, patch, stride)
    assert fast[1].dtype == np.float32
    assert_twins(fast, slow, responses.size, np.linalg.norm(terms))


@given(k=st.integers(1, 9), shape=shapes, patch_stride=strided_patches(), penalty=penalties, seed=seeds, data=st.data())
def test_image_sparsity_with_a_level_for_every_patch(k, shape, patch_stride, penalty, seed, data):
    """Runs of equal levels, and none; scales that are powers of two, so that no response is rounded."""
    patch, stride = patch_stride
    atoms, image = whole_numbers(seed, (k, patch[0] * patch[1]), 8, 1 / 8), whole_numbers(seed + 1, shape, 100, 1)
    rng, count = np.random.default_rng(seed), data.draw(st.sampled_from([1, 2, 5]))
    extents = tuple(reference.positions(*pair) for pair in zip(shape, stride, strict=True))
    levels = (
        rng.integers(0, count, extents) if data.draw(st.booleans()) else np.indices(extents)[1] * count // extents[1]
    )
    local = reference.LocalWeights(levels, rng.random((count, k)), 2.0 ** rng.integers(-2, 3, (count, k)))
    counted = data.draw(st.none() | st.tuples(*map(part_of, extents)))
    arguments = patch, stride, penalty.code, penalty.nu, penalty.p, counted
    single = reference.LocalWeights(levels, local.weights.astype(np.float32), local.scale.astype(np.float32))
    fast = fused.image_sparsity(atoms, np.ones(k, np.float32), image, *arguments, single)
    slow = reference.image_sparsity(atoms.astype(float), np.ones(k), image.astype(float), *arguments, local)
    scale, weights = local.scale[levels], local.weights[levels]
    responses = scale * reference.analyse(atoms.astype(float), image.astype(float), patch, stride)
    slope = scale * reference.penalise(responses, *arguments[2:5])[1] * weights
    terms = reference.synthesise(np.abs(atoms.astype(float)), np.abs(slope), shape, patch, stride)
    assert_twins(fast, slow, responses.size, np.linalg.norm(terms))


@pytest.mark.parametrize("penalty", [Penalty.log(0.1), Penalty.pnorm(nu=0.1)], ids=str)
@pytest.mark.parametrize("stride", [(1, 1), (2, 2)])
def test_image_sparsity_as_in_repair(photograph, penalty, stride):
    """1e-5 of the gradient, or the float32 floor where that lies higher.

    Zero-mean atoms on a picture of mean 128 cancel nearly all of what they add up. The sharp p-norm
    is left with about 2e-5 of rounding, by the definition itself in float32 too.
    """
    atoms = cosine_atoms(8, 9).astype(np.float32)
    weights = np.ones(len(atoms), np.float32)
    image = photograph[:90].astype(np.float32)
    arguments = (8, 8), stride, penalty.code, penalty.nu, penalty.p
    value, gradient = fused.image_sparsity(atoms, weights, image, *arguments)
    rounded = reference.image_sparsity(atoms, weights, image, *arguments)[1]
    exact, exact_gradient = reference.image_sparsity(
        atoms.astype(float), weights.astype(float), image.astype(float), *arguments
    )
    assert value == pytest.approx(exact, rel=1e-6)
    floor = np.linalg.norm(rounded - exact_gradient)
    allowed = max(1e-5 * np.linalg.norm(exact_gradient), 1.1 * floor)  # another order of sums rounds differently
    assert np.linalg.norm(gradient - exact_gradient) <= allowed
    if penalty.form == "log":  # what repair uses by default meets it plainly
        assert np.linalg.norm(gradient - exact_gradient) <= 1e-5 * np.linalg.norm(exact_gradient)


@given(power=st.integers(0, 50), shape=shapes, seed=seeds)
def test_the_product_under_a_shared_logarithm_never_overflows(power, shape, seed):
    """Up to pixels whose 1 + nu v² is barely a float32."""
    atoms = whole_numbers(seed, (5, 9), 8, 1 / 8)
    image = whole_numbers(seed + 1, shape, 100, 2.0**power)
    arguments = (3, 3), (1, 1), LOG, 7.0, 0.0
    value, _ = fused.image_sparsity(atoms, np.ones(5, np.float32), image, *arguments)
    exact, _ = reference.image_sparsity(atoms.astype(float), np.ones(5), image.astype(float), *arguments)
    assert value == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize("penalty", [Penalty.log(0.1), Penalty.pnorm()], ids=str)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_seen(penalty, bad):
    """The line search can only back away from what it is told of."""
    rng = np.random.default_rng(0)
    atoms, weights = rng.standard_normal((5, 9)).astype(np.float32), np.ones(5, np.float32)
    image = rng.random((20, 20)).astype(np.float32)
    image[3, 4] = bad
    arguments = penalty.code, penalty.nu, penalty.p
    assert np.isnan(fused.image_sparsity(atoms, weights, image, (3, 3), (1, 1), *arguments)[0])
    patches = image[:, :9].copy()
    assert np.isnan(fused.patch_sparsity(atoms, weights, patches, *arguments, False)[0])
