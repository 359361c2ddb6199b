"""K-SVD denoising: what its paper claims, and the compiled pursuit against the plain one."""

from __future__ import annotations

import numpy as np
import pytest

import cosparse
from cosparse.baselines import ksvd

pytestmark = pytest.mark.slow

SIGMA = 25.0


def noisy(clean, seed=0):
    return (clean + SIGMA * np.random.default_rng(seed).standard_normal(clean.shape)).astype(np.float32)


@pytest.fixture(scope="module")
def weave():
    """A texture that no cosine is near: bright threads of a few slopes, one over the other."""
    down, across = np.mgrid[:96, :96]
    threads = [(across + slope * down) % period < 2 for slope, period in ((2, 11), (-3, 13), (1, 17))]
    return np.float32(60) + np.float32(120) * np.logical_or.reduce(threads)


def plain_pursuit(atoms, point, bound):
    """The definition: the atom nearest the residual joins, and least squares over all that joined."""
    chosen, values, left = [], np.zeros(0), point
    while left @ left > bound and len(chosen) < ksvd.MOST:
        chosen.append(int(np.argmax(np.abs(atoms @ left))))
        values = np.linalg.lstsq(atoms[chosen].T, point, rcond=None)[0]
        left = point - values @ atoms[chosen]
    return chosen, values


def test_pursuit_is_the_plain_one():
    rng = np.random.default_rng(0)
    atoms = ksvd.overcomplete_cosines()
    points = rng.standard_normal((60, 64)) * rng.uniform(0.2, 3, (60, 1))
    points -= points.mean(axis=1, keepdims=True)
    chosen, values = ksvd.pursue(atoms, points, 20.0)
    counts = (chosen >= 0).sum(axis=1)
    assert counts.min() == 0 and counts.max() > 15
    for point, found, coefficients, count in zip(points, chosen, values, counts, strict=True):
        wanted, exact = plain_pursuit(atoms, point, 20.0)
        assert found[:count].tolist() == wanted
        assert np.allclose(coefficients[:count], exact, atol=1e-8) and not coefficients[count:].any()


def test_pursuit_ends_where_atoms_cannot_help():
    """At the most coefficients; and at a patch that lies across all atoms, or in the span of those that joined."""
    atoms = np.eye(64)[:40]
    atoms = np.concatenate([atoms, atoms[:1]])
    points = np.stack([np.eye(64)[50], np.eye(64)[0] + np.eye(64)[50], np.ones(64)])
    chosen, values = ksvd.pursue(atoms, points, 1e-12)
    assert (chosen >= 0).sum(axis=1).tolist() == [0, 1, ksvd.MOST]
    assert np.allclose(values[1, 0], 1) and np.allclose(values[2], 1)


def test_cosines_begin_the_dictionary():
    atoms = ksvd.overcomplete_cosines()
    assert atoms.shape == (255, 64)
    assert np.allclose(np.linalg.norm(atoms, axis=1), 1) and np.allclose(atoms.sum(axis=1), 0)


def test_atoms_of_planted_patches_are_found():
    """K-SVD's own claim, in its own experiment: signals of three atoms each give the atoms back."""
    rng = np.random.default_rng(0)
    planted, start = (ksvd.unit(rng.standard_normal((50, 20))) for _ in range(2))
    codes = rng.standard_normal((1500, 50)) * (np.argsort(rng.random((1500, 50)), axis=1) < 3)
    found = ksvd.learn_atoms(start, codes @ planted, 1e-6, 80, most=3)
    assert (np.abs(planted @ found.T).max(axis=1) > 0.99).mean() >= 0.8


def test_the_learned_dictionary_beats_the_cosines(weave):
    """The paper's claim: adapting to the noisy image itself gains over the same pursuit with the fixed dictionary."""
    given = noisy(weave)
    fixed, learned = (cosparse.psnr(weave, ksvd.denoise(given, SIGMA, iterations=n), data_range=255) for n in (0, 10))
    assert learned > fixed + 2


def test_threads_do_not_matter_and_the_seed_does(weave, monkeypatch):
    monkeypatch.setattr(ksvd, "TRAINING", 3000)
    given = noisy(weave)
    result = ksvd.denoise(given, SIGMA, iterations=2)
    with cosparse.limit_threads(1):
        assert np.array_equal(ksvd.denoise(given, SIGMA, iterations=2), result)
    assert not np.array_equal(ksvd.denoise(given, SIGMA, iterations=2, rng=1), result)


@pytest.mark.parametrize("shape", [(8, 8), (19, 41)])
def test_a_constant_image_stays(shape):
    flat = np.full(shape, 77.3, np.float32)
    assert np.allclose(ksvd.denoise(flat, 10.0), flat, rtol=1e-6)


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match=r"noisy: .*8x8.*\(7, 20\)"):
        ksvd.denoise(np.zeros((7, 20), np.float32), 10.0)
    with pytest.raises(ValueError, match="sigma: must be positive"):
        ksvd.denoise(np.zeros((20, 20), np.float32), 0.0)
