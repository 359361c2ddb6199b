"""The prior of a whole image: its definition, its borders, its strides."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosparse import AnalysisOperator, Penalty, load_operator
from cosparse.kernels import reference
from cosparse.reconstruction.prior import Prior
from cosparse.testing import gradient_test

PENALTIES = [Penalty.log(0.1), Penalty.pnorm(nu=1.0)]


def double(prior):
    """The same prior by the reference kernel, in float64."""
    operator, (down, across) = prior.operator, prior.strides
    weights = operator.weights.astype(float) * down * across
    weights *= prior.penalty.p or 1.0  # the kernels divide the p-norm by p, as learning has it

    def evaluate(image):
        return reference.image_sparsity(
            operator.atoms.astype(float), weights, np.asarray(image, float), operator.patch_shape,
            (down, across), prior.penalty.code, prior.penalty.nu, prior.penalty.p,
        )  # fmt: skip

    return evaluate


@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda penalty: penalty.form)
@given(
    shape=st.tuples(st.integers(1, 20), st.integers(1, 20)),
    stride=st.tuples(st.integers(1, 8), st.integers(1, 8)),
    seed=st.integers(0, 2**31),
)
def test_value_and_gradient_are_the_references(penalty, shape, stride, seed):
    image = (255 * np.random.default_rng(seed).random(shape)).astype(np.float32)
    prior = Prior(load_operator(), penalty, stride)
    value, gradient = prior(image)
    expected, slope = double(prior)(image)
    assert gradient.dtype == np.float32 and gradient.shape == shape
    assert value == pytest.approx(expected, rel=1e-4, abs=1e-2)
    assert np.abs(gradient - slope).max() <= 1e-4 * np.abs(slope).max() + 1e-3


@pytest.mark.parametrize("stride", [1, 3, (2, 5), 8])
@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda penalty: penalty.form)
def test_the_gradient_is_the_gradient(penalty, stride, photograph):
    prior = Prior(load_operator(), penalty, stride)
    gradient_test(double(prior), photograph[:13, :17], step=1e-1)


@pytest.mark.parametrize(
    "penalty, phi",
    [(Penalty.log(0.1), lambda v: np.log1p(0.1 * v**2)), (Penalty.pnorm(0.4, 0.01), lambda v: (v**2 + 0.01) ** 0.2)],
    ids=["log", "pnorm"],
)
def test_the_definition_in_four_loops(penalty, phi):
    """Every patch about a pixel, borders replicated, every atom, phi as the paper writes it: no cleverness at all."""
    image = np.random.default_rng(0).random((5, 4)).astype(np.float32) * 50
    operator = AnalysisOperator.dct(3)
    total = 0.0
    for i in range(5):
        for j in range(4):
            patch = [image[np.clip(i + a, 0, 4), np.clip(j + b, 0, 3)] for a in (-1, 0, 1) for b in (-1, 0, 1)]
            total += phi(operator.atoms.astype(float) @ patch).sum()
    assert Prior(operator, penalty)(image)[0] == pytest.approx(total, rel=1e-5)


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (30, 2), (20, 20)])
@pytest.mark.parametrize("stride", range(1, 9))
def test_a_constant_image_is_perfectly_sparse(shape, stride):
    value, gradient = Prior(load_operator(), Penalty.log(0.1), stride)(np.full(shape, 200, np.float32))
    assert value == pytest.approx(0, abs=1e-3 * np.prod(shape))
    assert np.abs(gradient).max() < 0.02


def test_a_weight_means_the_same_at_every_stride(photograph):
    """Faded to grey at the border, where wider strides count a few patches more than there are pixels for."""
    fade = np.clip(np.arange(192) / 16 - 1, 0, 1)
    fade = np.minimum.outer(np.minimum(fade, fade[::-1]), np.minimum(fade, fade[::-1]))
    image = (128 + fade * (photograph - 128.0)).astype(np.float32)
    values = [Prior(load_operator(), Penalty.log(0.1), stride)(image)[0] for stride in range(1, 9)]
    np.testing.assert_allclose(values, values[0], rtol=0.03)


def test_weights_of_atoms_count():
    """An atom of weight 0 is not there, one of weight 2 is there twice."""
    image = np.random.default_rng(0).random((9, 9)).astype(np.float32) * 255
    atoms = AnalysisOperator.dct(4).atoms[:3]
    weighted = AnalysisOperator(atoms, (4, 4), weights=[2, 1, 0])
    listed = AnalysisOperator(atoms[[0, 0, 1]], (4, 4))
    a, b = (Prior(operator, Penalty.log(0.1))(image) for operator in (weighted, listed))
    assert a[0] == pytest.approx(b[0], rel=1e-5)
    np.testing.assert_allclose(a[1], b[1], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("stride", [0, 9, -1, (1, 9)])
def test_a_stride_leaves_no_pixel_out(stride):
    with pytest.raises(ValueError, match="stride"):
        Prior(load_operator(), Penalty.log(0.1), stride)


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_the_parts_of_regions_add_up(photograph, stride):
    image = photograph[:41, :50].astype(np.float32)
    prior = Prior(load_operator(), Penalty.log(0.1), stride)
    rows, columns = (slice(0, 12), slice(12, 24), slice(24, 41)), (slice(0, 36), slice(36, 50))
    value, gradient = prior(image)
    parts = [prior(image, (row, column)) for row in rows for column in columns]
    assert min(part for part, _ in parts) > 0
    assert sum(part for part, _ in parts) == pytest.approx(value, rel=1e-5)
    for _, whole in parts:
        np.testing.assert_allclose(whole, gradient, atol=1e-3)
