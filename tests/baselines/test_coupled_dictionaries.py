"""Coupled dictionaries: what their paper claims, and the compiled lasso against the plain one."""

from __future__ import annotations

import numpy as np
import pytest

import cosparse
from cosparse.baselines import coupled_dictionaries as coupled
from cosparse.baselines._signals import unit
from cosparse.reconstruction.start import enlarge


def shrunk(large):
    rows, columns = (coupled.shrinking(side) for side in large.shape)
    return (rows @ large @ columns.T).astype(np.float32)


def plain_lasso(atoms, point, penalty):
    """By its definition, with many proximal gradient steps."""
    code, step = np.zeros(len(atoms)), 1 / np.linalg.norm(atoms, 2) ** 2
    for _ in range(4000):
        moved = code + step * atoms @ (point - code @ atoms)
        code = np.sign(moved) * np.maximum(np.abs(moved) - step * penalty, 0)
    return code


def test_lasso_is_the_plain_one(monkeypatch):
    monkeypatch.setattr(coupled, "SETTLED", 1e-6)
    rng = np.random.default_rng(0)
    atoms, points = (unit(rng.standard_normal((count, 12))).astype(np.float32) for count in (20, 6))
    found = coupled.lasso(atoms, points, 0.1)
    wanted = [plain_lasso(atoms.astype(float), point, 0.1) for point in points]
    assert np.allclose(found, wanted, atol=1e-4)
    assert 2 < (found != 0).sum(axis=1).mean() < 12


@pytest.mark.slow
def test_planted_dictionaries_are_found_together():
    """The paper's premise: where pairs share their codes, learning finds both halves of the atoms, each to each."""
    rng = np.random.default_rng(0)
    low, high = unit(rng.standard_normal((24, 16))), unit(rng.standard_normal((24, 10)))
    codes = rng.standard_normal((6000, 24)) * (np.argsort(rng.random((6000, 24)), axis=1) < 2)
    features, details = ((codes @ one).astype(np.float32) for one in (low, high))
    found_low, found_high = coupled.learn_dictionaries(features, details, atoms=32, passes=8)
    cosines = low @ found_low.T
    nearest = np.abs(cosines).argmax(axis=1)
    assert (np.abs(cosines).max(axis=1) > 0.95).mean() >= 0.8
    signs = np.sign(cosines[np.arange(24), nearest])
    assert (signs * (high * unit(found_high[nearest])).sum(axis=1) > 0.9).mean() >= 0.8


@pytest.mark.slow
def test_details_come_back(photograph):
    """Above bicubic enlarging, also once that was made to agree with the small image; and agreeing with it."""
    large = np.ascontiguousarray(photograph[:240, :240], np.float32)
    small = shrunk(large)
    plain, agreeing, ours = (
        enlarge(small, 3),
        coupled.back_projected(enlarge(small, 3), small),
        coupled.upscale(small, 3),
    )
    values = [cosparse.psnr(large, np.clip(one, 0, 255), data_range=255) for one in (plain, agreeing, ours)]
    assert values[2] > values[0] + 0.5 and values[2] > values[1] + 0.1
    assert np.abs(shrunk(ours) - small).mean() < 0.2


def test_threads_do_not_matter_and_constants_are_added():
    small = np.random.default_rng(0).uniform(50, 150, (23, 17)).astype(np.float32)
    result = coupled.upscale(small, 3)
    assert result.shape == (69, 51) and result.dtype == np.float32
    with cosparse.limit_threads(1):
        assert np.array_equal(coupled.upscale(small, 3), result)
    assert np.abs(coupled.upscale(small + 40, 3) - 40 - result).mean() < 0.02  # a lasso ends where it is near enough


@pytest.mark.parametrize("shape", [(3, 3), (5, 11)])
def test_a_constant_image_stays(shape):
    assert np.allclose(coupled.upscale(np.full(shape, 77.3, np.float32), 3), 77.3, atol=1e-3)


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match=r"small: .*3x3.*\(2, 20\)"):
        coupled.upscale(np.zeros((2, 20), np.float32), 3)
    with pytest.raises(ValueError, match="factor: the dictionaries were learned for 3, got 2"):
        coupled.upscale(np.zeros((20, 20), np.float32), 2)


def test_the_dictionaries_are_small():
    low, high = coupled.dictionaries()
    assert low.shape == (coupled.ATOMS, 144) and high.shape == (coupled.ATOMS, 81)
    assert coupled.FILE.stat().st_size < 300_000
