"""The rivals: each does its job on a photograph, and says what is missing where it cannot run."""

from __future__ import annotations

import numpy as np
import pytest

import cosparse
from cosparse import baselines
from cosparse.baselines import _extra, available, denoisers, inpainters, limit, title, upscalers

SIGMA = 20.0


@pytest.fixture(scope="module")
def clean(photograph):
    return photograph[:96, :96].astype(np.float32)


@pytest.mark.parametrize("name", sorted(denoisers))
def test_denoisers_remove_noise(name, clean):
    if not available(name):
        pytest.skip(f"{name} needs the bench extra")
    noisy = clean + SIGMA * np.random.default_rng(0).standard_normal(clean.shape).astype(np.float32)
    given = noisy.copy()
    result = denoisers[name](noisy, SIGMA)
    assert result.shape == clean.shape and result.dtype == np.float32
    assert np.array_equal(noisy, given)
    assert cosparse.psnr(clean, result, data_range=255) > cosparse.psnr(clean, noisy, data_range=255) + 4


@pytest.mark.parametrize("name", sorted(inpainters))
def test_inpainters_fill_holes_and_keep_the_rest(name, clean):
    if not available(name):
        pytest.skip(f"{name} needs the bench extra")
    mask = np.random.default_rng(0).random(clean.shape) < 0.3
    damaged = np.where(mask, 0, clean).astype(np.float32)
    result = inpainters[name](damaged, mask)
    assert result.dtype == np.float32
    assert np.allclose(result[~mask], clean[~mask], atol=1e-3)
    assert cosparse.psnr(clean, result, data_range=255) > 24


def test_what_stands_under_the_mask_is_not_looked_at(clean):
    mask = np.random.default_rng(0).random(clean.shape) < 0.3
    fill = inpainters["finite_differences"]
    assert np.array_equal(fill(np.where(mask, 0, clean), mask), fill(np.where(mask, 255, clean), mask))


def test_an_absent_package_is_named_with_its_extra():
    with pytest.raises(ImportError, match=r"no_such_package.*cosparse\[bench\]"):
        _extra.needed("no_such_package")


def test_every_rival_has_a_title():
    for name in {*denoisers, *inpainters, *upscalers}:
        assert title(name) != name and limit(name) > 0
    assert not any(name.startswith("_") for name in baselines._modules)
