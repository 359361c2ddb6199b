"""Arrays for the tests of files and values, and when two are the same."""

from __future__ import annotations

import numpy as np

from cosparse.io.values import default_range


def noise(shape, dtype=np.uint8, seed=0):
    values = np.random.default_rng(seed).random(shape)
    return (values if np.dtype(dtype).kind == "f" else values * default_range(dtype)).astype(dtype)


def same(got, want):
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)
