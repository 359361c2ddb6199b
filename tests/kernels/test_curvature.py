"""Second derivatives of the prior: the fused kernels against their definition, and that against differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosparse import Penalty
from cosparse.kernels import curvature, reference

penalties = st.sampled_from([Penalty.log(0.1), Penalty.log(5.0), Penalty.pnorm(0.4, 0.5), Penalty.pnorm(1.0, 1.0)])


@given(
    shape=st.sampled_from([(1, 1), (3, 2), (9, 40), (37, 12), (20, 300)]),
    stride=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    penalty=penalties,
    seed=st.integers(0, 2**31),
)
def test_the_fused_second_derivatives_are_their_definition(shape, stride, penalty, seed):
    rng = np.random.default_rng(seed)
    atoms = rng.standard_normal((5, 12)).astype(np.float32) / 3
    weights = rng.random(5).astype(np.float32)
    image, direction = (rng.standard_normal((2, *shape)) * 3).astype(np.float32)
    rest = (3, 4), stride, penalty.code, penalty.nu, penalty.p
    exact = [array.astype(float) for array in (atoms, weights, image, direction)]
    fast, slow = (
        curvature.image_curvature(atoms, weights, image, direction, *rest),
        reference.image_curvature(*exact, *rest),
    )
    np.testing.assert_allclose(fast, slow, rtol=1e-3, atol=2e-5 * max(1, np.abs(slow).max()))
    for part, wanted in zip(
        curvature.image_sensitivity(atoms, weights, image, direction, *rest),
        reference.image_sensitivity(*exact, *rest),
        strict=True,
    ):
        np.testing.assert_allclose(part, wanted, rtol=1e-3, atol=2e-5 * max(1, np.abs(wanted).max()))


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
