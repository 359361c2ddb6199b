"""What docs/interop-others.md shows, run as it stands there; with stand-ins where the other library is absent."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from cosparse import Prior, load_operator

PAGE = Path(__file__).resolve().parents[2] / "docs" / "interop-others.md"
SHAPE = (20, 16)


def shown(library: str) -> type:
    """The class that the page shows for a library."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    space: dict[str, object] = {}
    exec(next(block for block in blocks if f"from {library}." in block), space)
    return space["AnalysisPrior"]


@pytest.fixture(scope="module")
def noisy(photograph):
    image = photograph[60:80, 60:76] / 255 + 0.1 * np.random.default_rng(0).standard_normal(SHAPE)
    return image.astype(np.float32)


@pytest.fixture(scope="module")
def expected(noisy):
    """Value, gradient and proximal map of the prior itself, in the units of the image."""
    prior = Prior.of(load_operator("default"), 25.5)
    value, gradient = prior(noisy * np.float32(255))
    return value / 255**2, gradient / 255, prior.prox(noisy * np.float32(255), 0.7, iterations=50) / 255


def test_scico(noisy, expected):
    pytest.importorskip("scico", reason="pip install scico")
    import jax
    import scico.numpy as snp
    from scico import functional, linop, loss, optimize

    prior, x = shown("scico")(0.1), snp.array(noisy)
    value, gradient, nearest = expected
    assert float(prior(x)) == pytest.approx(value, rel=1e-4)
    np.testing.assert_allclose(prior.grad(x), gradient, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(jax.jit(prior.grad)(x), gradient, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(prior.prox(x, 0.7), nearest, atol=1e-3)
    fit = loss.SquaredL2Loss(y=x, scale=0.5)
    solver = optimize.ADMM(
        f=fit, g_list=[0.7 * prior], C_list=[linop.Identity(SHAPE)], rho_list=[1.0], x0=x, maxiter=8,
        subproblem_solver=optimize.admm.LinearSubproblemSolver(),
    )  # fmt: skip
    assert float(snp.abs(solver.solve() - nearest).mean()) < 0.01
    assert isinstance(0.5 * prior, functional.ScaledFunctional)


class Container:
    """As much of CIL's DataContainer as a function of its needs."""

    def __init__(self, array):
        self.array = np.array(array)

    def as_array(self):
        return self.array

    def copy(self):
        return Container(self.array)

    def fill(self, array):
        self.array[:] = array


class Bare:
    """As CIL's Function begins."""

    def __init__(self, L=None):
        self._L = L


@pytest.fixture
def container(monkeypatch):
    """How CIL holds an image: its own way, or where it is absent a stand-in's."""
    try:
        from cil.framework import ImageGeometry
    except ImportError:
        functions = ModuleType("cil.optimisation.functions")
        functions.Function = Bare
        for name, module in {
            "cil": ModuleType("cil"), "cil.optimisation": ModuleType("cil.optimisation"), functions.__name__: functions
        }.items():  # fmt: skip
            monkeypatch.setitem(sys.modules, name, module)
        return Container

    def held(array):
        image = ImageGeometry(voxel_num_x=array.shape[1], voxel_num_y=array.shape[0]).allocate()
        image.fill(array)
        return image

    return held


def test_cil(noisy, expected, container):
    prior, x = shown("cil")(0.1), container(noisy)
    value, gradient, nearest = expected
    assert prior(x) == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(prior.gradient(x).as_array(), gradient, rtol=1e-4, atol=1e-6)
    out = container(np.zeros_like(noisy))
    prior.proximal(x, 0.7, out=out)
    np.testing.assert_allclose(out.as_array(), nearest, atol=1e-4)
    np.testing.assert_array_equal(x.as_array(), noisy)
