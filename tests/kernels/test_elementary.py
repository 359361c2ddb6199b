"""The parts of the kernels: how exact the functions are, and that patches go where they came from."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from cosparse.kernels import elementary


@njit
def logarithms(numbers):
    return np.array([elementary.log2(number) for number in numbers])


@njit
def powers(numbers):
    return np.array([elementary.exp2(number) for number in numbers])


def test_the_logarithm_of_every_normal_number():
    """As exact as promised within an octave, and in all of them alike."""
    octave = np.linspace(1, 2, 100_001, dtype=np.float32)
    assert np.abs(logarithms(octave) - np.log2(octave.astype(float))).max() < 4e-7
    numbers = (octave[:-1:999, None] * np.exp2(np.arange(-126.0, 128.0))).astype(np.float32).ravel()
    exact = np.log2(numbers.astype(float))
    # Beyond the octave about 1 the exponent leaves fewer bits for the rest.
    np.testing.assert_allclose(logarithms(numbers), exact, rtol=1.2e-7, atol=4e-7)


def test_the_power_of_every_exponent():
    exponents = np.linspace(-125.9, 125.9, 100_001, dtype=np.float32)
    np.testing.assert_allclose(powers(exponents), np.exp2(exponents.astype(float)), rtol=3e-7)
    whole = np.arange(-125, 126, dtype=np.float32)
    np.testing.assert_array_equal(powers(whole), np.exp2(whole))


@pytest.mark.parametrize("patch", [(3, 5), (4, 8), (1, 1)])  # rows of 8 have a loop of their own
@pytest.mark.parametrize("stride", [(1, 1), (2, 3)])
def test_patches_are_gathered_in_reading_order_and_scattered_back(patch, stride):
    """From any number on, of some columns only; scattering is the adjoint."""
    rng = np.random.default_rng(0)
    pixels = rng.standard_normal((20, 30)).astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(pixels, patch)[:: stride[0], :: stride[1]]
    left, right, first, count = 2, 7, 3, 12
    wanted = windows[:, left:right].reshape(-1, patch[0] * patch[1])[first : first + count]
    patches = np.empty((count, patch[0] * patch[1]), np.float32)
    elementary.gather(pixels, first, left, right, *patch, *stride, patches)
    np.testing.assert_array_equal(patches, wanted)

    back, others = np.zeros_like(pixels), rng.standard_normal(patches.shape).astype(np.float32)
    elementary.scatter(others, first, left, right, *patch, *stride, back)
    assert np.vdot(back, pixels) == pytest.approx(np.vdot(others, patches), rel=1e-4)
