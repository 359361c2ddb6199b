"""PyLops and PyProximal, with the real libraries."""

from __future__ import annotations

import numpy as np
import pytest

from cosparse import AnalysisOperator, Prior, denoise, load_operator, psnr
from cosparse.testing import dot_test

pylops = pytest.importorskip("pylops", reason="pip install 'cosparse[pylops]'")
SHAPE = (24, 20)


@pytest.fixture(scope="module")
def truth(photograph):
    return photograph[60:84, 60:80] / 255


@pytest.fixture(scope="module")
def noisy(truth):
    return truth + 0.1 * np.random.default_rng(0).standard_normal(SHAPE)


def analysis(*arguments, **more):
    from cosparse.interop.pylops import analysis_operator

    return analysis_operator(*arguments, **more)


def proximal(*arguments, **more):
    pytest.importorskip("pyproximal", reason="pip install 'cosparse[pylops]'")
    from cosparse.interop.pyproximal import AnalysisProximal

    return AnalysisProximal(*arguments, **more)


@pytest.mark.parametrize("stride, dtype", [(1, "float64"), (3, "float64"), (2, "complex128")])
def test_it_is_an_operator_of_pylops(stride, dtype, truth):
    own = load_operator("default")
    Op = analysis(own, SHAPE, stride=stride, dtype=dtype)
    assert pylops.utils.dottest(Op, complexflag=3 if "complex" in dtype else 0, raiseerror=True)
    dot_test(Op)
    assert Op.dims == SHAPE and Op.dimsd[-1] == len(own.atoms) and Op.shape == (np.prod(Op.dimsd), np.prod(SHAPE))
    np.testing.assert_array_equal(Op @ truth.ravel(), own.as_linear_operator(SHAPE, stride=stride) @ truth.ravel())


def test_it_stacks_and_goes_into_their_solvers(truth):
    """Half of the pixels, and least squares that want few large responses, beside none."""
    known = np.flatnonzero(np.random.default_rng(0).random(truth.size) < 0.5)
    R, Op = pylops.Restriction(truth.size, known), analysis(AnalysisOperator.dct(4), SHAPE)
    stacked = pylops.VStack([R, 0.1 * Op])
    pylops.utils.dottest(stacked, raiseerror=True)
    y = R @ truth.ravel()
    wanted = np.concatenate([y, np.zeros(Op.shape[0])])
    by_stack = pylops.optimization.basic.lsqr(stacked, wanted, niter=100)[0]
    by_them = pylops.optimization.leastsquares.regularized_inversion(R, y, [Op], epsRs=[0.1], iter_lim=100)[0]
    np.testing.assert_allclose(by_stack, by_them, atol=1e-4)
    assert psnr(truth, by_stack.reshape(SHAPE)) > psnr(truth, (R.H @ y).reshape(SHAPE)) + 8


def test_what_is_no_shape_or_stride():
    with pytest.raises(ValueError, match="^shape: "):
        analysis(None, (4, 5, 3))
    with pytest.raises(ValueError, match="^stride: "):
        analysis(AnalysisOperator.dct(4), SHAPE, stride=5)


def test_value_and_gradient_are_the_priors(truth):
    f = proximal(SHAPE, 0.1, weight=2.0)
    value, gradient = Prior.of(load_operator("staged"), 25.5)(np.float32(255 * truth))
    assert f(truth.ravel()) == pytest.approx(2 * value / 255**2)
    np.testing.assert_allclose(f.grad(truth.ravel()), 2 * gradient.ravel() / 255, rtol=1e-5)
    assert f.hasgrad and f.grad(truth.ravel()).dtype == truth.dtype


def test_prox_is_where_its_gradient_vanishes(noisy):
    """x - u = tau·grad f(u), and no step along the way leads lower."""
    f, x, tau = proximal(SHAPE, 0.1, iterations=500), noisy.ravel(), 0.7
    found = f.prox(x, tau)
    rest = x - found - tau * f.grad(found)
    assert np.linalg.norm(rest) < 0.02 * np.linalg.norm(x - found)
    energy = lambda u: tau * f(u) + 0.5 * np.sum((u - x) ** 2)  # noqa: E731
    for other in (x, 0.5 * (x + found), np.full_like(x, x.mean())):
        assert energy(found) < energy(other)
    np.testing.assert_allclose(f.proxdual(x, 1 / tau), x - f.prox(x * tau, tau) / tau, atol=1e-6)


def test_at_its_noise_it_denoises(truth, noisy):
    found = proximal(SHAPE, 0.1).prox(noisy.ravel(), 1.0).reshape(SHAPE)
    ours = denoise(noisy, 0.1, operator="default", grouping=False)
    assert psnr(truth, found) > psnr(truth, ours) - 1 and psnr(truth, found) > psnr(truth, noisy) + 4


def test_units_do_not_matter(noisy):
    one = proximal(SHAPE, 0.1).prox(noisy.ravel(), 1.0)
    other = proximal(SHAPE, 100.0, data_range=1000).prox(1000 * noisy.ravel(), 1.0)
    np.testing.assert_allclose(other / 1000, one, atol=2e-3)


@pytest.mark.slow
def test_in_their_solvers(truth):
    """Missing pixels by proximal gradient, by ADMM and, with the prior as the smooth part, by its gradient."""
    pyproximal = pytest.importorskip("pyproximal", reason="pip install 'cosparse[pylops]'")
    rng = np.random.default_rng(0)
    R = pylops.Restriction(truth.size, np.flatnonzero(rng.random(truth.size) < 0.6))
    y = R @ truth.ravel() + 0.05 * rng.standard_normal(R.shape[0])
    misfit, prior, start = pyproximal.L2(R, y), proximal(SHAPE, 0.1, iterations=20), R.H @ y
    solvers = pyproximal.optimization.primal
    found = {
        "proximal gradient": (solvers.ProximalGradient(misfit, prior, start, tau=1.0, niter=30), 10),
        "ADMM": (solvers.ADMM(misfit, prior, start, tau=1.0, niter=30)[0], 10),
        "half-quadratic splitting": (solvers.HQS(misfit, prior, start, tau=1.0, niter=30)[0], 8),
        "gradient of the prior": (solvers.ProximalGradient(prior, misfit, start, tau=0.1, niter=80), 5),
    }
    before = psnr(truth, start.reshape(SHAPE))
    for name, (image, gain) in found.items():
        assert psnr(truth, np.reshape(image, SHAPE)) > before + gain, name


@pytest.mark.parametrize(
    "change, message",
    [
        ({"shape": (4, 5, 3)}, "^shape: "),
        ({"sigma": 0.0}, "^sigma: "),
        ({"weight": -1.0}, "^weight: "),
        ({"data_range": 0.0}, "^data_range: "),
    ],
)
def test_bad_input_is_refused_by_name(change, message):
    with pytest.raises(ValueError, match=message):
        proximal(**{"shape": SHAPE, "sigma": 0.1, **change})


def test_a_vector_of_another_size(noisy):
    f = proximal(SHAPE, 0.1)
    for x in (np.zeros(7), np.zeros(SHAPE, complex)):
        with pytest.raises(ValueError, match="^x: "):
            f.prox(x, 1.0)
