"""The fused kernels against their definition, and the definition against loops anyone can check."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosparse import Penalty, sample_patches
from cosparse.kernels import fused, reference
from cosparse.operator import cosine_atoms
from cosparse.penalty import LOG

PENALTIES = [
    Penalty.log(5e3),
    Penalty.log(0.1),
    Penalty.pnorm(),
    Penalty.pnorm(1.0, 1e-2),
    Penalty.pnorm(0.1, 1e-4),
]
penalties = st.sampled_from(PENALTIES)
seeds = st.integers(0, 2**31)


def whole_numbers(seed, shape, largest, scale):
    """Random multiples of `scale`, so few of them that products and sums are exact in float32.

    What differs between the twins is then their own arithmetic: near v = 0 the slope of the p-norm
    would turn the last bit of a rounded response into an error that is nobody's fault.
    """
    numbers = np.random.default_rng(seed).integers(-largest, largest + 1, shape)
    return (numbers * scale).astype(np.float32)


def random_weights(seed, k):
    weights = np.random.default_rng(seed + 1).random(k).astype(np.float32)
    weights[:: max(2, k)] = 0  # an atom may be switched off
    return weights


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


side = st.sampled_from([1, 2, 3, 4, 5, 6, 8])  # 8 has a loop of its own
sides = st.tuples(side, side)


@st.composite
def strided_patches(draw):
    """A patch, not always square, and strides from 1 to its sides."""
    height, width = draw(sides)
    return (height, width), (draw(st.integers(1, height)), draw(st.integers(1, width)))


# From a single pixel, through less than a patch, to more than one band and more than one tile.
shapes = st.one_of(
    st.tuples(st.integers(1, 9), st.integers(1, 9)),
    st.sampled_from([(1, 1), (1, 300), (40, 1), (33, 17), (50, 260), (18, 530)]),
)


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


@given(
    shape=st.tuples(st.integers(1, 7), st.integers(1, 7)),
    patch_stride=strided_patches(),
    seed=seeds,
)
def test_analyse_is_what_its_definition_says(shape, patch_stride, seed):
    """Patch (a, b) starts at (a·down - height//2, b·across - width//2); outside, the nearest."""
    (height, width), (down, across) = patch_stride
    rng = np.random.default_rng(seed)
    atoms, image = rng.standard_normal((2, height * width)), rng.standard_normal(shape)
    responses = reference.analyse(atoms, image, (height, width), (down, across))
    for a, row in enumerate(responses):
        for b, response in enumerate(row):
            rows = np.clip(a * down - height // 2 + np.arange(height), 0, shape[0] - 1)
            columns = np.clip(b * across - width // 2 + np.arange(width), 0, shape[1] - 1)
            np.testing.assert_allclose(response, atoms @ image[np.ix_(rows, columns)].ravel(), atol=1e-12)


@given(shape=shapes, patch_stride=strided_patches(), seed=seeds)
def test_synthesise_is_the_adjoint_of_analyse(shape, patch_stride, seed):
    patch, stride = patch_stride
    rng = np.random.default_rng(seed)
    atoms, image = rng.standard_normal((3, patch[0] * patch[1])), rng.standard_normal(shape)
    forward = reference.analyse(atoms, image, patch, stride)
    responses = rng.standard_normal(forward.shape)
    back = reference.synthesise(atoms, responses, shape, patch, stride)
    scale = np.linalg.norm(forward) * np.linalg.norm(responses)
    assert abs(np.vdot(forward, responses) - np.vdot(image, back)) <= 1e-12 * scale


@given(extent=st.integers(1, 70), size=st.integers(1, 10), data=st.data())
def test_every_pixel_is_seen(extent, size, data):
    """No pixel is left out at any stride up to the side; away from the border all fare alike."""
    stride = data.draw(st.integers(1, size))
    count = reference.positions(extent, stride)
    before, after = reference.padding(extent, size, stride)
    assert before == size // 2 and after >= 0
    seen = np.zeros(before + extent + after, int)
    for number in range(count):
        seen[number * stride : number * stride + size] += 1
    own = seen[before : before + extent]
    assert own.min() >= 1
    inner = own[size : extent - size]
    # Where the stride divides the side, the two bounds are one number.
    assert ((inner >= size // stride) & (inner <= -(-size // stride))).all()
    if stride == 1:
        assert count == extent
    # Folding the repeated pixels onto their source loses none of what they saw.
    padded = np.tile(seen, (3, 1)).astype(float)
    folded = reference.fold_border(padded, (3, extent), (0, size // 2))
    assert folded.sum() == 3 * count * size


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


@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
def test_image_gradient_has_taylor_slope_two(photograph, penalty, taylor_slope):
    rng = np.random.default_rng(2)
    image = photograph[30:50, 30:55].astype(float) / 25
    atoms, weights = rng.standard_normal((7, 12)), rng.random(7)
    direction = rng.standard_normal(image.shape)
    arguments = (3, 4), (2, 1), penalty.code, penalty.nu, penalty.p
    rate = np.vdot(reference.image_sparsity(atoms, weights, image, *arguments)[1], direction)
    slope = taylor_slope(
        lambda t: reference.image_sparsity(atoms, weights, image + t * direction, *arguments)[0],
        rate,
        1e-5 * 0.5 ** np.arange(5),
    )
    assert 1.9 < slope < 2.1
