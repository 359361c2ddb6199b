"""Between which values a result lies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from repairs import REPAIRS, noise

from cosparse import denoise, inpaint, psnr
from cosparse.reconstruction.bounds import Extremes, stated


def test_what_lies_outside_the_range_is_repaired_there():
    """Air at -1000, and a hole at -10.5 °C."""
    scene = np.kron([[-1000.0, 40.0], [300.0, -1000.0]], np.ones((32, 32)))
    noisy = scene + noise(scene.shape, 40)
    error = denoise(noisy, 40, data_range=4096) - scene
    assert np.sqrt(np.mean(error**2)) < 12
    field = -10.5 + noise((40, 40), 0.01)
    hole = np.zeros(field.shape, bool)
    hole[15:22, 10:20] = True
    assert np.abs(inpaint(field, hole)[hole] + 10.5).max() < 0.05


def test_results_lie_where_the_data_do():
    """A binary picture comes back between 0 and 1, which is nearer to the truth; without bounds it does not."""
    binary = (np.indices((64, 64)).sum(axis=0) % 16 < 8).astype(float)
    noisy = binary + noise(binary.shape, 0.1)
    held, free = denoise(noisy, 0.1), denoise(noisy, 0.1, bounds=None)
    assert held.min() == 0 and held.max() == 1 and free.min() < -0.02 and free.max() > 1.02
    assert psnr(binary, held) > psnr(binary, free) + 0.3
    mask = np.random.default_rng(0).random(binary.shape) < 0.5
    assert inpaint(binary, mask).min() >= 0 and inpaint(binary, mask).max() <= 1
    rgb = np.stack([binary, 1 - binary, binary], axis=-1)
    held = denoise(rgb + noise(rgb.shape, 0.1), 0.1, channel_axis=-1)
    assert held.min() == 0 and held.max() == 1


@pytest.mark.parametrize("task", REPAIRS)
@pytest.mark.parametrize("bounds", [(0.2, 0.6), (None, 0.6), (0.2, None)])
def test_stated_bounds_hold(task, bounds, clean):
    image = clean[:32, :32]
    more = {"sigma": 0.02} if task == "inpaint" else {}
    result = REPAIRS[task](image, bounds=bounds, **more)
    assert result.min() == (bounds[0] or result.min()) and result.max() == (bounds[1] or result.max())
    assert image.min() < 0.2 and image.max() > 0.6


def test_whole_numbers_lie_in_their_type():
    """Below zero too, where the type has it, and beyond a stated range."""
    hounsfield = (np.kron([[-1000, 40], [300, -1000]], np.ones((24, 24))) + noise((48, 48), 40)).astype(np.int16)
    assert denoise(hounsfield, 40, data_range=4096).min() < -1000
    twelve = np.where(np.indices((32, 32))[0] > 15, 4095, 200).astype(np.uint16)
    assert abs(int(denoise(twelve + np.uint16(300), 20, data_range=4095).max()) - 4395) < 30


@given(low=st.floats(0, 0.4), high=st.floats(0.6, 1), sigma=st.sampled_from([0.01, 0.1, 0.3]), seed=st.integers(0, 9))
def test_noise_does_not_hide_where_the_values_lie(low, high, sigma, seed):
    """In [0, 1] they are found to be, but for their noise; somewhat beyond it they are not, however noisy."""
    scene = np.kron([[low, high], [high, low]], np.ones((32, 32)))
    noise = sigma * np.random.default_rng(seed).standard_normal(scene.shape)
    assert Extremes.of(scene + noise).within((0, 1), sigma)
    for shift in (-low - 1.5 * sigma, 1 - high + 1.5 * sigma):
        assert not Extremes.of(scene + shift + noise).within((0, 1), sigma)
    known = np.random.default_rng(seed).random(scene.shape) < 0.3
    hidden = np.where(known, scene + noise, 1e9)
    assert Extremes.of(hidden, known).within((0, 1), sigma)


@pytest.mark.parametrize("bounds", [(1, 0), (0, 0), "always", 3, (0,), (0, "x"), (np.nan, 1)])
def test_bounds_that_are_none_are_refused(bounds):
    with pytest.raises(ValueError, match="^bounds: "):
        stated(bounds)
