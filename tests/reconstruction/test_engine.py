"""A problem from its parts, the engine that solves it, and the watch that may stop it."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

import cosparse
from cosparse.reconstruction.watch import Watch


@pytest.fixture(scope="module")
def noisy(photograph):
    rng = np.random.default_rng(0)
    return (photograph[40:72, 60:88] + 20 * rng.standard_normal((32, 28))).astype(np.float32)


def posed(noisy, iterations=15, weights=(3.0, 1.0)):
    operator = cosparse.load_operator()
    stages = tuple(cosparse.Stage(weight, operator.penalty, iterations, 20.0) for weight in weights)
    return cosparse.Problem(operator, cosparse.Plan(stages, 2), noisy, noisy, bounds=(0.0, 255.0))


def test_the_solution_tells_what_was_done(noisy):
    found = cosparse.solve(posed(noisy))
    assert found.iterations == 30 <= found.evaluations and found.weight == 1.0
    assert [len(stage) for stage in found.energies] == [16, 16]
    assert all((np.diff(stage) <= 0).all() for stage in found.energies)
    assert found.energy == found.energies[-1][-1]
    terms = found.terms()
    assert terms.data + terms.bound + terms.prior == pytest.approx(found.energy, rel=1e-6)
    value, gradient = found.minimised(found.image)
    assert value == pytest.approx(found.energy)
    assert np.linalg.norm(gradient) == pytest.approx(found.gradient_norm, rel=1e-3)


def test_a_watch_that_stopped_stops_what_follows(noisy):
    watch = Watch(lambda progress: progress.iteration == 3)
    first = cosparse.solve(posed(noisy), watch=watch)
    assert first.iterations == 3 and first.stop is cosparse.Stop.CALLBACK
    second = cosparse.solve(posed(noisy), watch=watch)
    assert (second.iterations == 0 and second.image is posed(noisy).start) or (second.image == noisy).all()


def test_the_prior_in_another_solver(noisy):
    """SciPy's L-BFGS on the same energy ends as low."""
    operator = cosparse.load_operator()
    prior = cosparse.Prior.of(operator, sigma=20.0)

    def energy(flat):
        image = flat.reshape(noisy.shape).astype(np.float32)
        value, gradient = prior(image)
        off = image - noisy
        return value + 0.5 * float(np.vdot(off, off)), (gradient + off).ravel().astype(float)

    theirs = minimize(energy, noisy.ravel().astype(float), jac=True, method="L-BFGS-B", options={"maxiter": 300})
    ours = prior.prox(noisy, 1.0, iterations=300)
    assert energy(ours.ravel())[0] == pytest.approx(theirs.fun, rel=1e-3)
    assert np.sqrt(np.mean((ours.ravel() - theirs.x) ** 2)) < 0.5


@pytest.mark.slow
def test_a_large_image_takes_nine_planes_of_memory(noisy):
    """Itself, its data and start, and what the loop cannot do without: arrays are let go as soon as they can be."""
    large = np.tile(noisy, (32, 36))[:1024, :1024]
    cosparse.denoise(noisy, 20, data_range=255, quality="fast", grouping=False)  # compiling takes memory of its own
    tracemalloc.start()
    cosparse.denoise(large, 20, data_range=255, quality="fast", grouping=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 9 * large.nbytes


def test_an_operator_that_leads_out_of_all_numbers_is_refused_by_name(noisy):
    shipped = cosparse.load_operator("staged")
    wild = {name: replace(steps, own=np.full_like(steps.own, 1e30)) for name, steps in shipped.steps.items()}
    with pytest.raises(ValueError, match="^operator: .*range of numbers"):
        cosparse.denoise(noisy, 25, data_range=255, operator=replace(shipped, steps=wild))
