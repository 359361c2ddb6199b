"""Second derivatives of the prior: the fused kernels against their definition."""

from __future__ import annotations

import numpy as np
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
