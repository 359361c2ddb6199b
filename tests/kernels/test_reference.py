"""The definition of the kernels against loops and differences anyone can check."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_cases import PENALTIES, seeds, shapes, strided_patches

from cosparse import Penalty
from cosparse.kernels import reference


@given(shape=st.tuples(st.integers(1, 7), st.integers(1, 7)), patch_stride=strided_patches(), seed=seeds)
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


@given(shape=shapes, patch_stride=strided_patches(), seed=seeds)
def test_means_over_patches_are_responses_to_a_flat_atom(shape, patch_stride, seed):
    (height, width), stride = patch_stride
    plane = np.random.default_rng(seed).random(shape)
    flat = np.full((1, height * width), 1 / (height * width))
    wanted = reference.analyse(flat, plane, (height, width), stride)[..., 0]
    np.testing.assert_allclose(reference.patch_means(plane, (height, width), stride), wanted, rtol=1e-9)
    sums = reference.synthesise(height * width * flat, wanted[..., None], shape, (height, width), stride)
    np.testing.assert_allclose(reference.patch_sums(wanted, shape, (height, width), stride), sums, rtol=1e-9)


@pytest.mark.parametrize("local", [False, True], ids=["one level", "a level for every patch"])
@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
def test_image_gradient_has_taylor_slope_two(photograph, penalty, local, taylor_slope):
    rng = np.random.default_rng(2)
    image = photograph[30:50, 30:55].astype(float) / 25
    atoms, weights = rng.standard_normal((7, 12)), rng.random(7)
    direction = rng.standard_normal(image.shape)
    tables = (rng.random((3, 7)) + 0.5 for _ in range(2))
    levels = reference.LocalWeights(rng.integers(0, 3, (11, 25)), *tables) if local else None
    arguments = (3, 4), (2, 1), penalty.code, penalty.nu, penalty.p, None, levels
    rate = np.vdot(reference.image_sparsity(atoms, weights, image, *arguments)[1], direction)
    slope = taylor_slope(
        lambda t: reference.image_sparsity(atoms, weights, image + t * direction, *arguments)[0],
        rate,
        1e-5 * 0.5 ** np.arange(5),
    )
    assert 1.9 < slope < 2.1


@pytest.mark.parametrize("penalty", [Penalty.log(0.3), Penalty.pnorm(0.5, 0.2)], ids=str)
def test_second_derivatives_against_differences_of_gradients(penalty):
    """In double precision, where differences are worth something."""
    rng = np.random.default_rng(0)
    atoms, weights = rng.standard_normal((4, 9)), rng.random(4)
    image, direction = rng.standard_normal((2, 11, 8))
    rest = (3, 3), (2, 1), penalty.code, penalty.nu, penalty.p

    def slope(image=image, atoms=atoms, weights=weights):
        return reference.image_sparsity(atoms, weights, image, *rest)[1]

    t = 1e-5
    product = reference.image_curvature(atoms, weights, image, direction, *rest)
    differences = (slope(image + t * direction) - slope(image - t * direction)) / (2 * t)
    np.testing.assert_allclose(product, differences, rtol=1e-5, atol=1e-6)
    by_atom, by_weight = reference.image_sensitivity(atoms, weights, image, direction, *rest)
    turn, shift = rng.standard_normal(atoms.shape), rng.standard_normal(4)
    moved = np.vdot(slope(atoms=atoms + t * turn) - slope(atoms=atoms - t * turn), direction) / (2 * t)
    assert np.vdot(by_atom, turn) == pytest.approx(moved, rel=1e-6)
    moved = np.vdot(slope(weights=weights + t * shift) - slope(weights=weights - t * shift), direction) / (2 * t)
    assert by_weight @ shift == pytest.approx(moved, rel=1e-6)
