"""The smoothing kernel against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosparse.kernels import reference, smoothing


@given(
    shape=st.tuples(st.integers(1, 2 * smoothing.BAND + 3), st.integers(1, 40)),
    reach=st.tuples(st.integers(0, 6), st.integers(0, 6)),
    seed=st.integers(0, 2**16),
)
def test_smooth(shape, reach, seed):
    """Images narrower than the filter, too: they are mirrored again and again."""
    rng = np.random.default_rng(seed)
    image, *taps = (rng.standard_normal(size).astype(np.float32) for size in (shape, *(r + 1 for r in reach)))
    slow = reference.smooth(*(array.astype(float) for array in (image, *taps)))
    assert np.abs(smoothing.smooth(image, *taps) - slow).max() <= 1e-5 * (1 + np.abs(slow).max())


@pytest.mark.parametrize("shape", [(3, 2), (9, 14)])
def test_it_is_a_symmetric_matrix(shape):
    rng = np.random.default_rng(0)
    taps = rng.standard_normal(5), rng.standard_normal(4)
    columns = [reference.smooth(one.reshape(shape), *taps).ravel() for one in np.eye(shape[0] * shape[1])]
    np.testing.assert_allclose(np.transpose(columns), columns, atol=1e-12)
