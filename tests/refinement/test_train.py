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
from cosparse.optimize import Euclidean, Settings, flat_conjugate_gradient
from cosparse.reconstruction import tasks as reconstruction
from cosparse.refinement import bilevel
from cosparse.refinement.damage import TASKS, damage, draw
from cosparse.refinement.parameters import Parameters

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


def as_the_task(crop, operator):
    """What the public function minimises for what the crop is measured as, and where it starts: a pair a stage."""
    seen = []

    def descend(energy, geometry, start, settings, **rest):
        seen.append((energy, start))
        return flat_conjugate_gradient(energy, geometry, start, settings, **rest)

    own = {"denoise": {}, "inpaint": {"mask": crop.gaps}, "upscale": {"factor": 3}}[crop.task]
    request = reconstruction.TASKS[crop.task].request
    request(crop.measured, sigma=crop.sigma, operator=operator, data_range=255, **own).run(descend=descend)
    return seen


@pytest.mark.parametrize("sigma", [0.05, 9.0, 25.0, 40.0])
@pytest.mark.parametrize("task", TASKS)
def test_training_minimises_what_the_task_does(task, sigma, photograph):
    """In every stage of it, from the same start; the images lie within the range, where its bounds cost nothing."""
    truth = 80 + photograph[40:100, 40:106].astype(np.float32) / 3
    operator = refined_at_random(AnalysisOperator.dct(4), stride=3)
    crop = damage(truth, task, sigma, np.random.default_rng(3))
    theirs, ours = as_the_task(crop, operator), crop.problem(operator).energies()
    assert len(ours) == len(theirs)
    np.testing.assert_array_equal(crop.problem(operator).start, theirs[0][1])
    noisy = truth + 5 * np.random.default_rng(4).standard_normal(truth.shape).astype(np.float32)
    for mine, (their, _) in zip(ours, theirs, strict=True):
        for image in (truth, crop.problem(operator).start.clip(0, 255), noisy):
            (value, slope), (wanted, steepest) = mine(image), their(image)
            assert value == pytest.approx(wanted, rel=1e-5)
            np.testing.assert_allclose(slope, steepest, rtol=1e-4, atol=1e-5 * np.abs(steepest).max())


@pytest.mark.parametrize("task", TASKS)
def test_training_ends_where_the_task_does(task, photograph):
    """But for the task's few iterations: nearer to its result than noise and start by far."""
    truth = 80 + photograph[40:100, 40:106].astype(np.float32) / 3
    operator = refined_at_random(AnalysisOperator.dct(5), stride=2)
    crop = damage(truth, task, 12.0, np.random.default_rng(3))
    repaired = bilevel.repair(crop, operator)
    energy, start = as_the_task(crop, operator)[-1]
    to_the_end = Settings(iterations=400, step_tolerance=0, decrease_tolerance=1e-9)
    theirs = flat_conjugate_gradient(energy, Euclidean(), start, to_the_end).point
    far = np.sqrt(np.mean((crop.problem(operator).start - theirs) ** 2))
    assert np.sqrt(np.mean((repaired - theirs) ** 2)) < 0.1 < far / 20


def refined_at_random(operator, stride):
    """With weights and scales that follow the noise, each atom's in its own way, and known by its stride."""
    rng, start = np.random.default_rng(1), Parameters.of(operator)
    return dataclasses.replace(
        start,
        log_weights=start.log_weights + 0.3 * rng.standard_normal(len(operator.matrix)),
        weight_exponents=start.weight_exponents + 0.2 * rng.standard_normal(len(operator.matrix)),
        scale_exponents=start.scale_exponents + 0.2 * rng.standard_normal(len(operator.matrix)),
    ).operator(operator.patch_shape, {"stride": str(stride)})


def exact_repair(crop, operator, **_):
    """The same s*, by Newton's method: the energy in float32 is too coarse to find it any closer."""
    problem = crop.problem(operator)
    energy = problem.energies()[-1]
    image, weight = problem.start, np.float32(energy.weight)
    for _ in range(12):

        def hessian(v, image=image):
            return weight * energy.prior.curvature(image, v) + bilevel._seen(problem, v)

        step = bilevel.solve_positive(hessian, -energy(image)[1], tolerance=1e-3, iterations=400)
        image = image + step
        if np.abs(step).max() < 2e-3:
            break
    assert np.abs(step).max() < 1e-2
    return image


@pytest.mark.parametrize("task", TASKS)
def test_the_hypergradient_against_repairs_with_another_operator(task, photograph, monkeypatch):
    """Where the repair depends smoothly on the operator: a penalty so gentle that the energy is convex."""
    start = Parameters.of(AnalysisOperator.dct(3))
    start = dataclasses.replace(start, coordinates=0.03 * start.coordinates, log_weights=start.log_weights + 4)
    truth = photograph[40:61, 40:61].astype(np.float32)
    crop = damage(truth, task, 20.0, np.random.default_rng(3))
    monkeypatch.setattr(bilevel, "solve_positive", partial(bilevel.solve_positive, tolerance=1e-3, iterations=1000))
    monkeypatch.setattr(bilevel, "repair", exact_repair)

    def error(parameters):
        return bilevel.loss(exact_repair(crop, parameters.operator((3, 3))), truth, 20.0)[0]

    found = bilevel.hypergradient(crop, start.operator((3, 3)))
    assert found is not None
    value, *rest = found
    assert value == pytest.approx(error(start), abs=1e-5)
    for name, slope in start.gradient((3, 3), *rest).items():
        steepest = slope / np.linalg.norm(slope)
        t = {"coordinates": 2e-4}.get(name, 0.1)
        ahead, behind = (
            error(dataclasses.replace(start, **{name: getattr(start, name) + side * steepest})) for side in (t, -t)
        )
        assert (ahead - behind) / (2 * t) == pytest.approx(np.linalg.norm(slope), rel=0.02), name


@pytest.mark.parametrize("task", TASKS)
def test_the_repair_of_a_crop_is_converged(task, photograph, monkeypatch):
    monkeypatch.setattr(bilevel, "ITERATIONS", 800)  # cosines fill the gaps of one corner slowly
    truth = photograph[40:112, 40:112].astype(np.float32)
    crop = damage(truth, task, 10.0, np.random.default_rng(0))
    operator = Parameters.of(AnalysisOperator.dct(5)).operator((5, 5), {"stride": "2"})
    slope = crop.problem(operator).energies()[-1](bilevel.repair(crop, operator))[1]
    assert np.sqrt(np.mean(slope**2)) <= {"denoise": 0.02, "inpaint": 0.004, "upscale": 0.002}[task]


def test_where_the_energy_is_not_convex_there_is_no_derivative():
    def bent(v):
        return np.array([1.0, -1.0], np.float32) * v

    assert bilevel.solve_positive(bent, np.array([1.0, 2.0], np.float32)) is None


@given(task=st.sampled_from(TASKS), seed=st.integers(0, 1000))
def test_problems_are_what_the_task_says(task, seed):
    image = np.random.default_rng(seed).random((40, 50)).astype(np.float32) * 255
    crop = draw([image], task, (5.0, 50.0), 24, np.random.default_rng(seed))
    problem = crop.problem(AnalysisOperator.dct(4))
    assert crop.truth.shape == problem.start.shape == (24, 24)
    assert 5 <= crop.sigma <= 50
    seen = crop.truth.ravel() if problem.measure is None else problem.measure.matvec(crop.truth.ravel())
    noise = np.asarray(problem.data).ravel() - seen
    if problem.trust is not None:
        noise = noise[problem.trust.ravel() > 0]
    assert np.std(noise) == pytest.approx(crop.sigma, rel=0.45)


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


@pytest.mark.parametrize(
    ("sigma", "same"),
    [
        (np.float32(25), 25), (np.int64(25), 25), (np.array(25.0), 25),
        (np.array([5, 30]), (5, 30)), ([np.float32(5), 30], (5, 30)),
    ],
    ids=repr,
)  # fmt: skip
def test_noise_is_any_number_or_two(photograph, sigma, same):
    few = {"steps": 1, "batch": 2, "crop": 24, "validations": 1}
    start, tell = AnalysisOperator.dct(3), {"images": [photograph], "validation": [photograph[:30, :30]]}
    ours, theirs = (refine_operator(start, **tell, sigma=level, **few) for level in (sigma, same))
    assert ours.operator == theirs.operator and ours.losses == theirs.losses
    assert ours.operator.provenance == theirs.operator.provenance


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
        ({"sigma": (10, 20, 30)}, "sigma: expected a positive"),
        ({"sigma": np.nan}, "sigma: expected a positive"),
        ({"sigma": "25"}, "sigma: expected a positive"),
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
