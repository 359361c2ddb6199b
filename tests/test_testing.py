"""The public checks must pass what is right and, above all, fail what is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from cosparse.reconstruction import measurement
from cosparse.testing import dot_test, gradient_test


def with_adjoint(A, adjoint):
    return LinearOperator(A.shape, matvec=A.matvec, rmatvec=adjoint, dtype=A.dtype)


@pytest.mark.parametrize("side", [8, 300])
@pytest.mark.parametrize(
    "mistake",
    [
        pytest.param(lambda A, y: A.matvec(y), id="the forward map"),
        pytest.param(lambda A, y: 1.01 * A.rmatvec(y), id="one per cent too long"),
        pytest.param(lambda A, y: -A.rmatvec(y), id="wrong sign"),
        pytest.param(lambda A, y: 0 * A.rmatvec(y), id="zero"),
    ],
)
def test_a_wrong_adjoint_is_found_on_images_of_any_size(side, mistake):
    A = measurement.blur(np.arange(1, 13).reshape(3, 4) / 78, (side, side))
    dot_test(A)
    for seed in range(3):
        with pytest.raises(AssertionError, match="rmatvec"):
            dot_test(with_adjoint(A, lambda y: mistake(A, y)), rng=seed)


def test_a_forgotten_conjugate_is_found():
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((12, 20)) + 1j * rng.standard_normal((12, 20))
    A = aslinearoperator(matrix)
    dot_test(A)
    with pytest.raises(AssertionError):
        dot_test(with_adjoint(A, lambda y: matrix.T @ y))


def test_the_zero_map_has_an_adjoint_too():
    A = aslinearoperator(np.zeros((3, 4)))
    dot_test(A)
    with pytest.raises(AssertionError):
        dot_test(with_adjoint(A, lambda y: np.ones(4)))


def test_gradient_test_tells_right_from_wrong():
    def function(x, factor=1.0):
        return float(np.cos(x).sum()), -factor * np.sin(x)

    point = np.random.default_rng(0).standard_normal((4, 5))
    assert gradient_test(function, point) == pytest.approx(2, abs=0.1)
    assert gradient_test(lambda x: (float(x.sum()), np.ones_like(x)), point) == 2.0
    for factor in (0.9, 1.1, -1.0, 0.0):
        with pytest.raises(AssertionError, match="gradient is wrong"):
            gradient_test(lambda x, factor=factor: function(x, factor), point)


def test_a_huge_value_hides_no_wrong_gradient():
    """Until the value's rounding drowns the change, and then the test says so instead of passing."""
    point = np.random.default_rng(0).standard_normal((4, 5))

    def function(x, constant, factor):
        return constant + float(np.cos(x).sum()), -factor * np.sin(x)

    for constant in (1e6, -1e6):
        assert gradient_test(lambda x, c=constant: function(x, c, 1.0), point) == pytest.approx(2, abs=0.1)
    for constant in (1e8, -1e10, 1e12, 1e20):
        for factor in (0.9, 1.1, -1.0, 0.0):
            with pytest.raises(AssertionError, match="gradient is wrong|cannot tell"):
                gradient_test(lambda x, c=constant, f=factor: function(x, c, f), point)
    with pytest.raises(AssertionError, match="cannot tell.*subtract a constant"):
        gradient_test(lambda x: function(x, 1e20, 1.0), point)


def test_linear_functions_pass_with_a_right_gradient_only():
    point = np.random.default_rng(0).standard_normal(30)
    slope = np.arange(30.0) - 15
    for constant in (0.0, 1e6, -float(slope @ point)):  # the last: a value of nothing but rounding
        assert gradient_test(lambda x, c=constant: (float(slope @ x) + c, slope), point) == 2.0
        with pytest.raises(AssertionError, match="gradient is wrong"):
            gradient_test(lambda x, c=constant: (float(slope @ x) + c, 1.01 * slope), point)
    assert gradient_test(lambda x: (0.0, np.zeros_like(x)), point) == 2.0
    with pytest.raises(AssertionError):
        gradient_test(lambda x: (np.nan, slope), point)
