"""Training by reconstruction: its derivatives against differences, and what it gains."""

from __future__ import annotations

import dataclasses
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosparse import AnalysisOperator, Penalty, refine_operator
from cosparse.kernels import curvature, reference
from cosparse.reconstruction.energy import Energy
from cosparse.reconstruction.prior import Prior
from cosparse.refinement import bilevel
from cosparse.refinement.parameters import RATES, Parameters, zero_mean_basis
from cosparse.refinement.problems import TASKS, damage, draw

SMALL = {"sigma": 20.0, "steps": 6, "batch": 4, "crop": 32, "validations": 3}
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
    fast, slow = curvature.image_curvature(atoms, weights, image, direction, *rest), reference.image_curvature(
        *exact, *rest
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


def exact_repair(problem, operator, **_):
    """The same s*, by Newton's method: the energy in float32 is too coarse to find it any closer."""
    prior = Prior(operator.at(problem.sigma), operator.penalty, 1)
    energy = Energy(prior, 1.0, problem.data, problem.measure, bounds=None)
    image, measure = problem.start, problem.measure
    for _ in range(12):

        def hessian(v, image=image):
            seen = v if measure is None else measure.rmatvec(measure.matvec(v.ravel())).reshape(v.shape)
            return prior.curvature(image, v) + seen

        step = bilevel.solve_positive(hessian, -energy(image)[1], tolerance=1e-3, iterations=400)
        image = image + step
        if np.abs(step).max() < 2e-3:
            break
    assert np.abs(step).max() < 1e-2
    return image, prior


@pytest.mark.parametrize("task", TASKS)
def test_the_hypergradient_against_repairs_with_another_operator(task, photograph, monkeypatch):
    """Where the repair depends smoothly on the operator: a penalty so gentle that the energy is convex."""
    start = Parameters.of(AnalysisOperator.dct(3))
    start = dataclasses.replace(start, coordinates=0.03 * start.coordinates, log_weights=start.log_weights + 4)
    truth = photograph[40:61, 40:61].astype(np.float32)
    problem = damage(truth, task, 20.0, np.random.default_rng(3))
    monkeypatch.setattr(bilevel, "solve_positive", partial(bilevel.solve_positive, tolerance=1e-3, iterations=1000))
    monkeypatch.setattr(bilevel, "repair", lambda problem, operator, stride, **_: exact_repair(problem, operator))

    def error(parameters):
        return bilevel.loss(exact_repair(problem, parameters.operator((3, 3)))[0], truth, 20.0)[0]

    found = bilevel.hypergradient(problem, start.operator((3, 3)), 1)
    assert found is not None
    value, by_atom, by_weight = found
    assert value == pytest.approx(error(start), abs=1e-5)
    for name, slope in start.gradient((3, 3), 20.0, by_atom, by_weight).items():
        steepest = slope / np.linalg.norm(slope)
        t = {"coordinates": 2e-4}.get(name, 0.1)
        ahead, behind = (
            error(dataclasses.replace(start, **{name: getattr(start, name) + side * steepest})) for side in (t, -t)
        )
        assert (ahead - behind) / (2 * t) == pytest.approx(np.linalg.norm(slope), rel=0.02), name


def test_the_repair_of_a_crop_is_converged(photograph):
    truth = photograph[40:112, 40:112].astype(np.float32)
    problem = damage(truth, "denoise", 25.0, np.random.default_rng(0))
    operator = Parameters.of(AnalysisOperator.dct(5)).operator((5, 5))
    repaired, prior = bilevel.repair(problem, operator, 2, tolerance=0.05, iterations=200)
    slope = Energy(prior, 1.0, problem.data, bounds=None)(repaired)[1]
    assert np.sqrt(np.mean(slope**2)) <= 0.05


def test_where_the_energy_is_not_convex_there_is_no_derivative():
    def bent(v):
        return np.array([1.0, -1.0], np.float32) * v

    assert bilevel.solve_positive(bent, np.array([1.0, 2.0], np.float32)) is None


@pytest.mark.parametrize("shape", [(4, 4), (3, 5)])
def test_the_basis_is_orthonormal_and_blind_to_the_mean(shape):
    basis = zero_mean_basis(shape)
    np.testing.assert_allclose(basis @ basis.T, np.eye(len(basis)), atol=1e-12)
    np.testing.assert_allclose(basis.sum(axis=1), 0, atol=1e-12)


def test_parameters_and_operator_are_two_views_of_one_thing():
    rng = np.random.default_rng(0)
    numbers = Parameters(rng.standard_normal((7, 8)), *rng.standard_normal((3, 7)))
    again = Parameters.of(numbers.operator((3, 3)))
    for name in RATES:
        np.testing.assert_allclose(getattr(again, name), getattr(numbers, name), rtol=1e-5, atol=1e-6)


def test_training_starts_where_the_rules_stand(photograph):
    """The start's energy at noise 25 is the one that denoising with the plain operator minimises."""
    plain = AnalysisOperator.dct(4)
    image = photograph[:40, :40].astype(np.float32)
    from cosparse.reconstruction.rules import plan

    stage = plan("denoise", 25.0, "balanced", None, plain).stages[-1]
    started = Parameters.of(plain).operator((4, 4)).at(25.0)
    ours = Energy(Prior(started, Penalty.log(1.0), 2), 1.0, image)(image)[0]
    theirs = Energy(Prior(plain, stage.penalty, 2), stage.weight, image)(image)[0]
    assert ours == pytest.approx(theirs, rel=1e-4)


@given(task=st.sampled_from(TASKS), seed=st.integers(0, 1000))
def test_problems_are_what_the_task_says(task, seed):
    image = np.random.default_rng(seed).random((40, 50)).astype(np.float32) * 255
    problem = draw([image], task, (5.0, 50.0), 24, np.random.default_rng(seed))
    assert problem.truth.shape == problem.start.shape == (24, 24)
    assert 5 <= problem.sigma <= 50
    seen = problem.truth.ravel() if problem.measure is None else problem.measure.matvec(problem.truth.ravel())
    noise = np.asarray(problem.data).ravel() - seen
    assert np.std(noise) == pytest.approx(problem.sigma, rel=0.45)


@pytest.fixture(scope="module")
def refined(photograph):
    return refine_operator(AnalysisOperator.dct(4), [photograph], validation=[photograph.T], **SMALL)


def test_it_gains_on_a_picture_it_has_not_seen(photograph, other_photograph):
    """Against the energy that training started from, at the noise it was trained for."""
    result = refine_operator(
        AnalysisOperator.dct(4), [photograph], validation=[other_photograph], sigma=25.0, steps=30, batch=4, crop=40,
        validations=3,
    )  # fmt: skip
    assert result.psnr == max(value for _, value in result.validations)
    assert result.validations[0][0] == 0 and result.psnr > result.validations[0][1] + 0.05


def test_same_seed_same_operator(photograph, refined):
    again = refine_operator(AnalysisOperator.dct(4), [photograph], validation=[photograph.T], **SMALL)
    assert again.operator == refined.operator
    assert again.losses == refined.losses


def test_the_rate_is_the_length_of_the_steps(photograph):
    start, reached = AnalysisOperator.dct(4), {}
    for rate in (1.0, 0.25):
        refine_operator(
            start, [photograph], validation=[photograph.T], **SMALL | {"steps": 1}, rate=rate,
            callback=lambda progress, rate=rate: reached.update({rate: np.log(progress.operator.weights)}),
        )  # fmt: skip
    whole, quarter = (reached[rate] - Parameters.of(start).log_weights for rate in (1.0, 0.25))
    np.testing.assert_allclose(quarter, whole / 4, atol=1e-6)
    assert np.abs(whole).max() > 1e-4


def test_stopped_and_taken_up_again(photograph, refined, tmp_path):
    arguments = AnalysisOperator.dct(4), [photograph]
    file = tmp_path / "run.safetensors"

    def interrupt(progress):
        if progress.step == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="step 3"):
        refine_operator(*arguments, validation=[photograph.T], checkpoint=file, callback=interrupt, **SMALL)
    result = refine_operator(*arguments, validation=[photograph.T], checkpoint=file, **SMALL)
    assert result.operator == refined.operator
    assert result.losses == refined.losses and result.validations == refined.validations
    with pytest.raises(ValueError, match="differs in sigma"):
        refine_operator(*arguments, validation=[photograph.T], checkpoint=file, **{**SMALL, "sigma": 21.0})


def test_several_tasks_over_a_range_of_noise(photograph):
    result = refine_operator(
        AnalysisOperator.dct(3), [photograph, photograph.T], task=TASKS, sigma=(5, 30), steps=2, batch=3, crop=30,
        validations=1,
    )  # fmt: skip
    assert result.operator.refined and result.steps == 2
    assert result.operator.provenance["task"] == "denoise, inpaint, upscale"
    low, high = result.operator.at(5.0), result.operator.at(30.0)
    assert (low.weights < high.weights).all() and not low.refined


def test_a_callback_can_end_it(photograph):
    result = refine_operator(
        AnalysisOperator.dct(3), [photograph], validation=[photograph], callback=lambda p: p.step == 2, **SMALL
    )
    assert result.steps == 2 and len(result.losses) == 2


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"task": "colourise"}, "task: expected one of"),
        ({"task": []}, "task: expected one of"),
        ({"sigma": 0}, "sigma: expected a positive"),
        ({"sigma": (30, 20)}, "sigma: expected a positive"),
        ({"stride": 9}, "stride: must lie between 1"),
        ({"steps": 0}, "steps: must be at least 1"),
        ({"batch": 0}, "batch: must be at least 1"),
        ({"crop": 4}, "crop: must be at least"),
        ({"validations": 0}, "validations: must be at least 1"),
        ({"rate": 0}, "rate: must be a positive number"),
        ({"validation": None}, "images: at least two are needed"),
        ({"validation": [np.zeros((5, 90))]}, "validation: every image must be at least"),
    ],
)
def test_bad_arguments_are_named(photograph, change, complaint):
    with pytest.raises(ValueError, match=complaint):
        refine_operator(AnalysisOperator.dct(4), [photograph], **{"validation": [photograph], **SMALL, **change})
