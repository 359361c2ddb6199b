"""The classic learners: each shows what its own paper claims, and all have one shape."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import cosparse
from cosparse.baselines import analysis_ksvd, aol, minimal_eigenvalues, noise_aware_aol

pytestmark = pytest.mark.slow

LEARNERS = (minimal_eigenvalues, analysis_ksvd, aol, noise_aware_aol)


def planted(rows, cosparsity, count, *, tight=False, noise=0.0, seed=0):
    """A random operator for 4x4 patches, and signals of unit norm that so many of its rows are silent on."""
    rng = np.random.default_rng(seed)
    omega = rng.standard_normal((rows, 16))
    omega = aol.tight(omega) if tight else omega / np.linalg.norm(omega, axis=1, keepdims=True)
    chosen = np.argsort(rng.random((count, rows)), axis=1)[:, :cosparsity]
    spans = np.linalg.qr(omega[chosen].transpose(0, 2, 1))[0]
    signals = rng.standard_normal((count, 16))
    signals -= np.einsum("cij,ckj,ck->ci", spans, spans, signals)
    signals /= np.linalg.norm(signals, axis=1, keepdims=True)
    return omega, signals + noise / 4 * rng.standard_normal(signals.shape)


def recovered(truth, operator, cosine=0.99):
    """Part of the true rows that the operator has."""
    return (np.abs(truth @ operator.matrix.T).max(axis=1) > cosine).mean()


def differences():
    """First differences of neighbours in a 4x4 patch, and the mixed ones of 2x2 pixels."""
    pixels = np.eye(16).reshape(4, 4, 16)
    across, down = np.diff(pixels, axis=1), np.diff(pixels, axis=0)
    first = np.concatenate([across.reshape(-1, 16), down.reshape(-1, 16)]) / np.sqrt(2)
    return first, np.diff(across, axis=0).reshape(-1, 16) / 2


@pytest.fixture(scope="module")
def pieces():
    """Patches of pictures of many small rectangles, one over the other."""
    rng = np.random.default_rng(0)
    picture = np.zeros((192, 192))
    for top, left, height, width in zip(
        *rng.integers(-4, 192, (2, 30_000)), *rng.integers(1, 5, (2, 30_000)), strict=True
    ):
        picture[max(top, 0) : max(top + height, 0), max(left, 0) : max(left + width, 0)] = rng.random()
    return cosparse.sample_patches([picture], size=4, count=4000)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda module: module.__name__.rpartition(".")[2])
def test_one_shape(learner, pieces):
    """The same call for all: unit rows blind to the mean, the same for the same seed; it reports, and can be ended."""
    assert list(inspect.signature(learner.learn).parameters)[:2] == ["patches", "rows"]
    quick = {"iterations": 6} if "iterations" in inspect.signature(learner.learn).parameters else {}
    seen = []
    operator = learner.learn(pieces[:500], 20, **quick, callback=seen.append)
    assert operator.shape == (20, 16) and operator.zero_mean and learner.TITLE
    assert np.allclose(np.linalg.norm(operator.matrix, axis=1), 1, atol=1e-6)
    assert operator == learner.learn(pieces[:500], 20, **quick)
    assert operator != learner.learn(pieces[:500], 20, **quick, rng=1)
    assert [progress.iteration for progress in seen] == list(range(1, len(seen) + 1))
    assert seen[-1].operator.shape == (20, 16) and np.isfinite(seen[-1].objective)
    calls = []
    learner.learn(pieces[:500], 20, **quick, callback=lambda progress: calls.append(progress) or True)
    assert len(calls) == 1


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda module: module.__name__.rpartition(".")[2])
def test_what_cannot_be_learned_from_is_named(learner):
    good = np.random.default_rng(0).standard_normal((100, 16))
    for patches, rows, word in (
        (good[:, :15], 32, "square patches"),
        (good, 15, "at least 16 atoms"),
        (good[:15], 32, "too few"),
        (np.full((100, 16), np.nan), 32, "NaN"),
        (np.zeros((100, 16)), 32, "all are zero"),
        (good[0], 32, r"\(count, pixels\)"),
    ):
        with pytest.raises(ValueError, match=word):
            learner.learn(patches, rows)


def test_minimal_eigenvalues_finds_finite_differences(pieces):
    """All first differences are among the rows; most of the others are the mixed ones, silent but at corners."""
    operator = minimal_eigenvalues.learn(pieces, 40)
    first, mixed = differences()
    assert recovered(first, operator) > 0.9
    kinds = np.abs(operator.matrix @ np.concatenate([first, mixed]).T).max(axis=1)
    assert (kinds > 0.99).mean() > 0.75


def test_minimal_eigenvalues_recovers_a_planted_operator():
    truth, signals = planted(24, 12, 3000)
    assert recovered(truth, minimal_eigenvalues.learn(signals, 24)) > 0.9


def test_analysis_ksvd_recovers_a_planted_operator():
    truth, signals = planted(24, 13, 2000, seed=1)
    assert recovered(truth, analysis_ksvd.learn(signals, 24, dimension=3)) >= 0.8


def test_analysis_ksvd_mimics_finite_differences(pieces):
    operator = analysis_ksvd.learn(pieces, 24, dimension=3)
    kinds = np.abs(operator.matrix @ np.concatenate(differences()).T).max(axis=1)
    assert (kinds > 0.99).mean() > 0.7
    random = np.random.default_rng(0).standard_normal((24, 16))
    random /= np.linalg.norm(random, axis=1, keepdims=True)
    assert (np.abs(random @ np.concatenate(differences()).T).max(axis=1) > 0.99).mean() == 0


def test_the_pursuit_is_the_projection_that_takes_least_away():
    """Against the algorithm written out: every choice by projecting anew."""
    rng = np.random.default_rng(0)
    omega = rng.standard_normal((10, 6))
    omega /= np.linalg.norm(omega, axis=1, keepdims=True)
    signals = rng.standard_normal((20, 6))
    silent, error = analysis_ksvd.cosupports(omega, signals, 4)
    lost = []
    for y, found in zip(signals, silent, strict=True):
        chosen = []
        for _ in range(4):

            def left(j, y=y, chosen=chosen):
                rows = omega[[*chosen, j]]
                return np.linalg.norm(y - np.linalg.pinv(rows) @ (rows @ y))

            chosen.append(max(set(range(10)) - set(chosen), key=left))
        assert sorted(chosen) == list(np.flatnonzero(found))
        rows = omega[chosen]
        lost.append(np.sum((np.linalg.pinv(rows) @ (rows @ y)) ** 2))
    assert error == pytest.approx(np.mean(lost))


@pytest.mark.parametrize("learner", [aol, noise_aware_aol])
def test_aol_gives_uniform_normalised_tight_frames(learner, pieces):
    """On the fifteen dimensions that centred patches have."""
    matrix = learner.learn(pieces[:1000], 24, iterations=20).matrix.astype(float)
    assert np.abs(np.linalg.norm(matrix, axis=1) - 1).max() < 1e-6
    projection = np.eye(16) - 1 / 16
    assert np.abs(matrix.T @ matrix - 24 / 15 * projection).max() < 1e-6


def test_aol_recovers_a_planted_operator():
    truth, signals = planted(32, 12, 3000, tight=True)
    assert recovered(truth, aol.learn(signals, 32, iterations=1000)) > 0.9


def test_noise_aware_aol_recovers_from_noise_what_aol_cannot():
    """From few signals, with noise of a third of their norm."""
    rates = []
    for seed in range(4):
        truth, signals = planted(24, 14, 300, tight=True, noise=10 ** (-10 / 20), seed=seed)
        rates.append(
            [recovered(truth, learner.learn(signals, 24, iterations=1000)) for learner in (aol, noise_aware_aol)]
        )
    without, aware = np.mean(rates, axis=0)
    assert aware > 0.85 and aware > without + 0.05
