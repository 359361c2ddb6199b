"""What the tests of the kernels share: penalties, shapes, patches and strides, numbers without rounding."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from cosparse import Penalty

PENALTIES = [Penalty.log(5e3), Penalty.log(0.1), Penalty.pnorm(), Penalty.pnorm(1.0, 1e-2), Penalty.pnorm(0.1, 1e-4)]
penalties = st.sampled_from(PENALTIES)
seeds = st.integers(0, 2**31)


def whole_numbers(seed, shape, largest, scale):
    """Random multiples of `scale`, so few of them that products and sums are exact in float32.

    What differs between the twins is then their own arithmetic: near v = 0 the slope of the p-norm
    would turn the last bit of a rounded response into an error that is nobody's fault.
    """
    numbers = np.random.default_rng(seed).integers(-largest, largest + 1, shape)
    return (numbers * scale).astype(np.float32)


def random_weights(seed, k):
    weights = np.random.default_rng(seed + 1).random(k).astype(np.float32)
    weights[:: max(2, k)] = 0  # an atom may be switched off
    return weights


side = st.sampled_from([1, 2, 3, 4, 5, 6, 8])  # 8 has a loop of its own
sides = st.tuples(side, side)


@st.composite
def strided_patches(draw):
    """A patch, not always square, and strides from 1 to its sides."""
    height, width = draw(sides)
    return (height, width), (draw(st.integers(1, height)), draw(st.integers(1, width)))


# From a single pixel, through less than a patch, to more than one band and more than one tile.
shapes = st.one_of(
    st.tuples(st.integers(1, 9), st.integers(1, 9)),
    st.sampled_from([(1, 1), (1, 300), (40, 1), (33, 17), (50, 260), (18, 530)]),
)
