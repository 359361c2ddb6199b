"""Learning an operator: right, repeatable, and clear about what it cannot do."""

from __future__ import annotations

import logging
import warnings

import numpy as np
import pytest

from cosparse import AnalysisOperator, Penalty, Settings, Stop, learn_operator, sample_patches
from cosparse.kernels import reference
from cosparse.operator import cosine_atoms

SHORT = Settings(iterations=25)


def sparsity(operator, patches, penalty):
    """J by the reference, of an operator with unit rows."""
    arguments = penalty.code, penalty.nu, penalty.p, penalty.square
    atoms = operator.matrix.astype(float)
    return reference.patch_sparsity(atoms, np.ones(len(atoms)), patches.astype(float), *arguments)[0]


@pytest.mark.parametrize("start", ["random", "dct"])
@pytest.mark.parametrize("zero_mean", [True, False])
@pytest.mark.parametrize("penalty", ["log", "pnorm"])
def test_what_is_learned_is_an_operator(small_patches, penalty, zero_mean, start):
    result = learn_operator(small_patches, rows=24, penalty=penalty, zero_mean=zero_mean, start=start, settings=SHORT)
    operator = result.operator
    assert operator.shape == (24, 16) and operator.patch_shape == (4, 4)
    assert operator.penalty == Penalty.named(penalty)
    np.testing.assert_allclose(np.linalg.norm(operator.matrix.astype(float), axis=1), 1, rtol=0, atol=1e-6)
    assert operator.zero_mean is zero_mean
    assert len(operator.singular_values) == (15 if zero_mean else 16)
    assert operator.condition < 100
    assert operator.coherence < 1 - 1e-4
    # Every iteration lowers the objective.
    assert len(result.objectives) == result.iterations + 1
    assert (np.diff(result.objectives) < 0).all()
    assert result.objective == result.objectives[-1]


def test_the_same_seed_gives_the_same_bits(small_patches):
    def learn(rng, patches=small_patches):
        return learn_operator(patches, rows=20, settings=Settings(iterations=8), rng=rng)

    first = learn(5)
    assert learn(5).operator.matrix.tobytes() == first.operator.matrix.tobytes()
    assert learn(5).objectives == first.objectives
    generator = np.random.default_rng(5)
    assert learn(generator).operator.matrix.tobytes() == first.operator.matrix.tobytes()
    assert learn(6).operator.matrix.tobytes() != first.operator.matrix.tobytes()
    # Whatever the patches are given as.
    for same in (small_patches.astype(float), np.asfortranarray(small_patches)):
        assert learn(5, same).operator.matrix.tobytes() == first.operator.matrix.tobytes()


def test_real_photographs_become_sparse(photograph, other_photograph):
    """On a picture not learned from: sparser than its start, which is random, and than cosines."""
    patches = sample_patches(photograph, count=8000)
    unseen = sample_patches(other_photograph, count=2000)
    penalty = Penalty.log(5e3)
    result = learn_operator(patches, penalty=penalty, kappa=1280.0, mu=0.0945, settings=Settings(iterations=120))
    operator = result.operator
    begun = learn_operator(patches, penalty=penalty, kappa=1280.0, mu=0.0945, settings=Settings(iterations=0))
    assert result.objective < begun.objective
    rivals = {"its start": begun.operator, "cosines": AnalysisOperator.dct(8, 12)}
    for name, rival in rivals.items():
        # Per atom, since the cosines are 143.
        ours = sparsity(operator, unseen, penalty) / len(operator.matrix)
        assert ours < sparsity(rival, unseen, penalty) / len(rival.matrix), name
        silent = operator.cosparsity(unseen).mean() / len(operator.matrix)
        assert silent > rival.cosparsity(unseen).mean() / len(rival.matrix), name
    assert operator.cosparsity(unseen).mean() > 2 * begun.operator.cosparsity(unseen).mean()
    # The level of DESIGN.md's reference setting.
    assert operator.condition < 3
    assert operator.coherence < 0.9


def test_raising_mu_lowers_the_coherence(small_patches):
    coherences = [
        learn_operator(small_patches, rows=32, kappa=50.0, mu=mu, settings=Settings(iterations=150)).operator.coherence
        for mu in (0.01, 1.0, 100.0)
    ]
    assert coherences[0] > coherences[1] > coherences[2]
    assert coherences[0] - coherences[2] > 0.1


def test_raising_kappa_brings_the_condition_towards_one(small_patches):
    conditions = [
        learn_operator(small_patches, rows=32, kappa=kappa, settings=Settings(iterations=150)).operator.condition
        for kappa in (30.0, 1000.0, 1e6)
    ]
    assert conditions[0] > conditions[1] > conditions[2]
    assert conditions[2] < 1.1


def test_patches_that_are_not_prepared_are(small_patches):
    """Other means and lengths are taken away first; the caller's array is not touched."""
    rng = np.random.default_rng(0)
    raw = small_patches * rng.uniform(1, 50, (len(small_patches), 1)) + rng.uniform(0, 200)
    kept = raw.copy()
    prepared = learn_operator(small_patches, rows=20, settings=SHORT)
    result = learn_operator(raw, rows=20, settings=SHORT)
    np.testing.assert_array_equal(raw, kept)
    assert result.objectives[0] == pytest.approx(prepared.objectives[0], rel=1e-4)


def test_a_given_start_is_where_it_starts(small_patches):
    begun = learn_operator(small_patches, rows=20, settings=Settings(iterations=0)).operator
    again = learn_operator(small_patches, rows=20, start=7 * begun.matrix, settings=Settings(iterations=0))
    np.testing.assert_allclose(again.operator.matrix, begun.matrix, atol=1e-6)
    assert again.operator.provenance["start"] == "given"


def test_the_cosine_start_is_close_to_cosines(small_patches):
    begun = learn_operator(small_patches, rows=24, start="dct", settings=Settings(iterations=0)).operator
    cosines = np.abs(begun.matrix @ cosine_atoms(4, 5).T).max(axis=1)
    assert cosines.min() > 0.97


def test_the_callback_sees_every_iteration_and_can_end_it(small_patches):
    seen = []

    def callback(progress):
        seen.append(progress)
        return progress.iteration == 6

    result = learn_operator(small_patches, rows=20, settings=SHORT, callback=callback)
    assert result.stop is Stop.CALLBACK and not result.stop.converged
    assert [progress.iteration for progress in seen] == [1, 2, 3, 4, 5, 6]
    assert tuple(progress.objective for progress in seen) == result.objectives[1:]
    assert seen[-1].operator == result.operator
    assert seen[-1].evaluations == result.evaluations
    assert seen[0].operator != result.operator


def test_every_setting_of_the_optimiser_reaches_it(small_patches):
    tight = learn_operator(small_patches, rows=20, settings=Settings(iterations=2000, step_tolerance=0.3))
    assert tight.stop is Stop.STEP and tight.stop.converged
    assert learn_operator(small_patches, rows=20, settings=SHORT).stop is Stop.ITERATIONS
    paths = {
        learn_operator(small_patches, rows=20, settings=Settings(iterations=9, rule=rule)).objective
        for rule in ("hybrid", "fr", "hs")
    }
    assert len(paths) > 1


def test_provenance_tells_how_it_was_made(small_patches):
    provenance = learn_operator(small_patches, rows=20, settings=SHORT, rng=3).operator.provenance
    assert provenance["patches"] == "1500 of 4x4"
    assert provenance["seed"] == "3"
    assert provenance["iterations"] == "25"
    assert all(isinstance(value, str) for value in provenance.values())


PATCHES = np.random.default_rng(0).standard_normal((60, 16)).astype(np.float32)
SPOILT = PATCHES.copy()
SPOILT[7, 3] = np.nan
ENDLESS = PATCHES.copy()
ENDLESS[7, 3] = np.inf
CONSTANT = PATCHES.copy()
CONSTANT[7] = 3


@pytest.mark.parametrize(
    ("patches", "arguments", "complaint"),
    [
        (SPOILT, {}, "patches: .*NaN"),
        (ENDLESS, {}, "patches: .*infinite"),
        (CONSTANT, {}, "patches: some are constant"),
        (np.full((60, 16), 0.25), {}, "patches: some are constant"),  # of unit norm, all the same
        (np.zeros((60, 16)), {}, "patches: some are constant"),
        (PATCHES[:, :12], {}, "patches: expected square patches.* 12 pixels"),
        (PATCHES[:15], {}, "patches: 15 are too few"),
        (PATCHES[0], {}, r"patches: expected \(count, pixels\)"),
        (PATCHES[:0], {}, "patches: expected"),
        (PATCHES[:, :1], {}, "patches"),
        (PATCHES, {"rows": 15}, "rows: .*at least 16"),
        (PATCHES, {"penalty": "l1"}, "penalty"),
        (PATCHES, {"penalty": Penalty.log(square=True)}, "kappa, mu: .*no default"),
        (PATCHES, {"penalty": Penalty.log(square=True), "kappa": 100.0}, "kappa, mu: .*no default"),
        (PATCHES, {"kappa": 0}, "kappa"),
        (PATCHES, {"kappa": np.nan}, "kappa"),
        (PATCHES, {"mu": -1}, "mu"),
        (PATCHES, {"mu": np.inf}, "mu"),
        (PATCHES, {"start": "cosine"}, "start: .*'cosine'"),
        (PATCHES, {"start": np.eye(16)}, r"start: expected a finite \(20, 16\)"),
        (PATCHES, {"start": np.full((20, 16), np.nan)}, "start"),
        (PATCHES, {"start": np.ones((20, 16))}, "start: an atom is zero"),  # constant, zero_mean
        (PATCHES, {"start": np.tile(np.eye(16)[:1], (20, 1))}, "start: two atoms are parallel"),
        (PATCHES, {"start": np.pad(np.random.default_rng(0).random((20, 9)), ((0, 0), (0, 7)))}, "start: .*full rank"),
    ],
)
def test_bad_input_is_named(patches, arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        learn_operator(patches, **{"rows": 20, "settings": SHORT, **arguments})


def test_leaves_the_callers_things_alone(small_patches, caplog, capfd):
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    filters, errors = list(warnings.filters), np.geterr()
    handlers = list(logging.getLogger().handlers)
    patches = small_patches.copy()
    learn_operator(patches, rows=20, settings=SHORT)
    np.testing.assert_array_equal(patches, small_patches)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    assert warnings.filters == filters
    assert np.geterr() == errors
    assert logging.getLogger().handlers == handlers
    assert capfd.readouterr() == ("", "")  # a library does not print


def test_the_papers_images_in_the_reference_setting(data):
    """A short run of what benchmarks/speed/learning.py times, on the images of the paper."""
    patches = sample_patches(data / "train" / "goal", count=10_000)
    result = learn_operator(
        patches, penalty=Penalty.log(5e3), kappa=1280.0, mu=0.0945, settings=Settings(iterations=100)
    )
    assert result.operator.condition < 3
    assert result.operator.coherence < 0.9
    # From interpolated minima hardly a first trial is rejected.
    assert result.evaluations < 1.1 * result.iterations


def test_as_many_patches_as_pixels_are_enough():
    assert learn_operator(PATCHES[:16], rows=20, settings=Settings(iterations=1)).operator.matrix.shape == (20, 16)
