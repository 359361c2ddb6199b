"""The set of planes that a JPEG may have been made of."""

from __future__ import annotations

import numpy as np
import pytest

from cosparse import Jpeg
from cosparse.jpeg import coefficients
from cosparse.reconstruction.intervals import Intervals

TABLE = Jpeg.standard(20).quantization[0]


@pytest.fixture(scope="module")
def decoded(photograph):
    return Jpeg.standard(20).sample(photograph[:67, :90]).astype(np.float32)


def test_the_nearest_plane_lies_in_the_intervals_and_stays(decoded):
    within = Intervals.of(decoded, TABLE)
    assert within.shape == (72, 96) and within.known.sum() == 8 * 11
    assert np.abs(within.centres / TABLE - np.rint(within.centres / TABLE)).max() < 1e-5
    rough = np.pad(decoded, ((0, 5), (0, 6)), mode="edge") + np.random.default_rng(0).normal(0, 30, (72, 96))
    for part in (1.0, 0.5):
        near = within.nearest(rough.astype(np.float32), part)
        off = np.abs(coefficients(near - 128) - within.centres) / TABLE
        assert off[within.known].max() < part / 2 + 1e-4
        np.testing.assert_allclose(within.nearest(near, part), near, atol=1e-3)
    # At the rim, of blocks of which only a part is known, nothing is held.
    np.testing.assert_allclose(near[64:], rough[64:], atol=1e-3)


def test_no_plane_in_the_set_is_nearer(decoded):
    within, rng = Intervals.of(decoded[:64, :64], TABLE), np.random.default_rng(0)
    point = (decoded[:64, :64] + rng.normal(0, 30, (64, 64))).astype(np.float32)
    near = within.nearest(point)
    for _ in range(5):
        other = within.nearest((point + rng.normal(0, 60, point.shape)).astype(np.float32))
        assert np.vdot(point - near, other - near) <= 1  # the angle at a projection is no acute one


def test_whether_a_plane_was_decoded_with_the_steps(decoded, photograph):
    assert Intervals.of(decoded, TABLE).fits(decoded)
    shifted = np.ascontiguousarray(decoded[3:, 2:])
    assert not Intervals.of(shifted, TABLE).fits(shifted)
    never = photograph.astype(np.float32)
    assert not Intervals.of(never, TABLE).fits(never)
    flat = np.full((32, 32), 77, np.float32)
    assert Intervals.of(flat, TABLE).fits(flat)


def test_coarser_steps_count_as_more_noise(decoded):
    levels = [Intervals.of(decoded, Jpeg.standard(q).quantization[0]).level for q in (5, 10, 30, 60, 90, 100)]
    assert levels == sorted(levels, reverse=True) and 10 < levels[1] < 20
