"""How likely noise of any level is under the textures of photographs, rounded or not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from cosparse.jpeg import Jpeg
from cosparse.reconstruction.block_textures import GROUPS, textures
from cosparse.reconstruction.flat_blocks import coefficients
from cosparse.reconstruction.textured_noise import WHITE, evidence_of


def blocks(level, blur=0.0, rough=0, count=800):
    """Cosine transforms of blocks with noise, all of one of the kinds of texture from the roughest part of them on."""
    rng = np.random.default_rng(0)
    kinds, share = textures()
    likely = share * (np.arange(len(share)) >= rough)
    chosen = rng.choice(len(share), count, p=likely / likely.sum())
    found = rng.standard_normal((count, 8, 8)) * np.sqrt(kinds[chosen][:, np.maximum(GROUPS, 0)])
    seen = gaussian_filter(rng.standard_normal((8 * count, 8 * 12)), blur)[:, 40:48]
    found += level * coefficients(seen.reshape(count, 8, 8))
    found[:, 0, 0] = rng.uniform(300, 1700, count)
    return found.astype(np.float32)


@pytest.mark.parametrize("level", [6.0, 12.0])
@pytest.mark.parametrize("rough", [0, 60])
def test_white_noise_is_found_under_texture_and_rounding(level, rough):
    """Of the rough pictures no block is flat; the table of quality 80 leaves a fifth of the coefficients."""
    found = blocks(level, rough=rough)
    assert evidence_of(found, np.ones((8, 8)), WHITE).level.sigma == pytest.approx(level, rel=0.12)
    steps = np.asarray(Jpeg.standard(80).quantization[0])
    rounded = evidence_of((np.rint(found / steps) * steps).astype(np.float32), steps)
    assert rounded.level.sigma == pytest.approx(level, rel=0.25)
    assert rounded.blur < 0.2


def test_blurred_noise_is_told_from_white_noise():
    found = evidence_of(blocks(30.0, blur=0.8), np.ones((8, 8)))
    assert found.blur > 0.6


def test_clean_pictures_have_no_noise():
    assert evidence_of(blocks(0.0), np.ones((8, 8)), WHITE).level.sigma < 1
    assert evidence_of(blocks(0.0, rough=60), np.ones((8, 8)), WHITE).level.sigma < 1.5


def test_noise_that_depends_on_brightness_has_a_level_for_each():
    found = blocks(5.0)
    dark = found[:, 0, 0] < 700
    found[dark] += 12 * coefficients(np.random.default_rng(1).standard_normal((dark.sum(), 8, 8)))
    levels = np.sqrt(evidence_of(found, np.ones((8, 8)), WHITE).variance)
    assert levels[0] == pytest.approx(13, rel=0.2) and levels[-1] == pytest.approx(5, rel=0.2)
