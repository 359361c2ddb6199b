"""The beta-process dictionary: what its paper claims, and the compiled sampler against the plain one."""

from __future__ import annotations

import math

import numpy as np
import pytest

import cosparse
from cosparse.baselines import beta_process
from cosparse.reconstruction.start import interpolate

BITS = 2**64 - 1


def random_bits(seed, patch):
    """64 at a time, as the definition has them: a patch's own numbers, whatever the thread."""
    state = (seed + patch * 0x9E3779B97F4A7C15) & BITS
    state = ((state ^ state >> 30) * 0xBF58476D1CE4E5B9) & BITS
    state = ((state ^ state >> 27) * 0x94D049BB133111EB) & BITS
    state = (state ^ state >> 31) | 1
    while True:
        state = (state ^ state << 13) & BITS
        state ^= state >> 7
        state = (state ^ state << 17) & BITS
        yield state


def plain_sweep(model, point, known, code, bits):
    """Step 1 for one patch, by its definition; the code is changed, and what was expected of it returned."""
    expected = np.zeros(len(code))
    for k, atom in enumerate(model.atoms.astype(float)):
        code[k] = 0
        rest = known * (point - code @ model.atoms)
        precision = model.coefficients + model.noise * (known * atom * atom).sum()
        mean = model.noise * (atom @ rest) / precision
        odds = model.usage[k] / (1 - model.usage[k]) * math.sqrt(model.coefficients / precision)
        odds *= math.exp(precision * mean**2 / 2)
        if math.log(odds) <= beta_process.HOPELESS:
            continue
        share = odds / (1 + odds)
        expected[k] = share * mean
        if (next(bits) >> 40) / 2**24 < share:
            number = next(bits)
            radius, angle = ((number >> 40) + 1) / 2**24, (number >> 16 & 0xFFFFFF) / 2**24
            code[k] = mean + math.sqrt(-2 * math.log(radius) / precision) * math.cos(2 * math.pi * angle)
    return expected


def test_the_sweep_is_the_plain_one():
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((7, 9)) / 3
    model = beta_process.Model(atoms.astype(np.float32), rng.uniform(0.05, 0.5, 7), 0.8, 30.0)
    points = rng.standard_normal((12, 9)).astype(np.float32)
    known = (rng.random((12, 9)) < 0.6).astype(np.float32)
    left, (codes, expected) = points * known, np.zeros((2, 12, 7), np.float32)
    wanted = np.zeros((12, 7))
    for seed in (3, 4):
        model.sweep(known, left, codes, expected, seed, first=5)
        means = [
            plain_sweep(model, points[i], known[i], wanted[i], random_bits(seed, 5 + i)) for i in range(len(points))
        ]
        assert np.allclose(codes, wanted, atol=1e-4)
        assert 0.1 < (codes != 0).mean() < 0.9
    assert np.allclose(left, known * (points - codes @ model.atoms), atol=1e-5)
    expected[:] = 0
    model.sweep(known, left, codes, expected, 5, first=5)
    means = [plain_sweep(model, points[i], known[i], wanted[i], random_bits(5, 5 + i)) for i in range(len(points))]
    assert np.allclose(expected, means, atol=1e-4)


def planted(share_known, rng):
    """Patches of three out of ten atoms each, some pixels missing, with noise of 0.1."""
    atoms = rng.standard_normal((10, 16)) / 4
    codes = rng.standard_normal((3000, 10)) * 3 * (np.argsort(rng.random((3000, 10)), axis=1) < 3)
    points = codes @ atoms + 0.1 * rng.standard_normal((3000, 16))
    return atoms, points.astype(np.float32), (rng.random(points.shape) < share_known).astype(np.float32)


@pytest.mark.slow
def test_noise_and_atoms_are_inferred():
    """The paper's claim: from incomplete patches, with neither the noise nor the number of atoms given.

    Atoms that there are too many of stay, as near copies that share their patches.
    """
    rng = np.random.default_rng(0)
    atoms, points, known = planted(0.7, rng)
    chain = beta_process.Chain(points, known, rng.standard_normal((24, 16)) / 4, rng, noise=4.0)
    for _ in range(150):
        chain.turn()
    model = chain.model
    assert 0.095 < model.noise**-0.5 < 0.105
    cosines = np.abs(beta_process.unit(atoms) @ beta_process.unit(model.atoms.astype(float)).T).max(axis=1)
    assert (cosines > 0.98).all()


@pytest.fixture(scope="module")
def weave():
    """A texture with half of its pixels missing."""
    down, across = np.mgrid[:96, :96]
    threads = [(across + slope * down) % period < 3 for slope, period in ((2, 11), (-3, 13))]
    clean = np.float32(60) + np.float32(120) * np.logical_or.reduce(threads)
    mask = np.random.default_rng(0).random(clean.shape) < 0.5
    return clean, np.where(mask, 0, clean).astype(np.float32), mask


@pytest.mark.slow
def test_a_texture_is_filled_better_than_by_interpolation_or_cosines(weave):
    """The dictionary is the image's own: what one turn makes of the cosines does not do."""
    clean, damaged, mask = weave

    def quality(result):
        return cosparse.psnr(clean, np.clip(result, 0, 255), data_range=255)

    learned, hardly = (quality(beta_process.inpaint(damaged, mask, iterations=n)) for n in (40, 1))
    assert learned > quality(interpolate(damaged, mask)) + 4
    assert learned > hardly + 1


@pytest.mark.slow
def test_threads_do_not_matter_and_the_seed_does(weave):
    _, damaged, mask = weave
    damaged, mask = damaged[:60], mask[:60]
    result = beta_process.inpaint(damaged, mask, iterations=2)
    with cosparse.limit_threads(1):
        assert np.array_equal(beta_process.inpaint(damaged, mask, iterations=2), result)
    assert np.array_equal(beta_process.inpaint(np.where(mask, 255, damaged), mask, iterations=2), result)
    assert not np.array_equal(beta_process.inpaint(damaged, mask, iterations=2, rng=1), result)


def test_wrong_arguments_are_named():
    flat = np.zeros((9, 20), np.float32)
    with pytest.raises(ValueError, match=r"image: .*8x8.*\(7, 20\)"):
        beta_process.inpaint(flat[:7], flat[:7] > 0)
    with pytest.raises(ValueError, match=r"mask: .*\(9, 20\), got \(20, 9\)"):
        beta_process.inpaint(flat, flat.T > 0)
    with pytest.raises(ValueError, match="mask: no pixel is known"):
        beta_process.inpaint(flat, flat == 0)
