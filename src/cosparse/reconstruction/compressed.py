"""Noise in pictures that were JPEGs: seen in their pixels, with the level that removes it best.

A JPEG rounds the cosine coefficients of blocks of 8x8 pixels, and most fine ones become zero. So the finest part of
noise is gone, where it was weak all of it, and textures of clean photographs look like what is left. What remains in
each band of frequencies tells little by itself. The level is a small regression on all of them,

    log σ = a·x + c·tanh(B x),

where x has, of every band, the noise that there is, is at least and is at most (:mod:`.flat_blocks`), and how many
fine coefficients are zero in blocks of the JPEG and in blocks that lie across. Its numbers, in compressed.toml, make
what is lost in dB against the best level as small as can be, over training photographs with many kinds of noise and
with none, saved at qualities of 60 to 98: where much is uncertain, it takes the level that is forgiven most easily.
`benchmarks/noise/compressed.py` chose them.
"""

from __future__ import annotations

import tomllib
from functools import lru_cache
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosparse.reconstruction.flat_blocks import ORDER, SIDE, Level, coefficients

Array = NDArray[Any]

FINE = ORDER >= 6  # the coefficients that are counted
ZERO = 1.2  # of 255: what rounding to whole grey levels makes of a coefficient that was zero
ACROSS = 4  # pixels by which blocks are shifted to lie across those of the JPEG
MOST = 1500  # blocks that are looked at
FEWEST = 16  # of which something can be said
SEEN = 0.06  # more zeros in its blocks than across them, of all fine coefficients: of no JPEG in 95 of 100
LITTLE = 0.3  # of 255: levels are compared by their logarithms above this
ERROR = 0.3  # of the level: between the median, 0.21, and the root mean square, 0.46, on pictures not fitted to


class Zeros(NamedTuple):
    """What part of a plane's fine coefficients is zero: in the blocks of a JPEG, and in blocks across them."""

    within: float
    across: float

    @property
    def jpeg(self) -> bool:
        """Whether the plane was one."""
        return self.within - self.across > SEEN


def zeros_of(plane: Array) -> Zeros:
    """Of a plane whose first pixel is the first of a block, as in all JPEGs that were not cropped since."""
    rows, columns = ((side - ACROSS) // SIDE for side in plane.shape)
    if min(rows, columns) < 1 or rows * columns < FEWEST:
        return Zeros(0.0, 0.0)
    return Zeros(_zeros(plane), _zeros(plane[ACROSS:, ACROSS:]))


def _zeros(plane: Array) -> float:
    rows, columns = (side // SIDE for side in plane.shape)
    apart = plane[: rows * SIDE, : columns * SIDE].reshape(rows, SIDE, columns, SIDE).swapaxes(1, 2)
    blocks = apart.reshape(-1, SIDE, SIDE)
    found = coefficients(blocks[:: len(blocks) // MOST + 1])
    return float(np.mean(np.abs(found[:, FINE]) < ZERO))


def compressed_level(levels: list[Level], zeros: Zeros) -> Level:
    """The level of white noise that a JPEG is denoised best by, from the noise of its bands, low ones first."""
    sure, most = ([getattr(level, name)() for level in levels] for name in ("surely", "at_most"))
    logs = np.log(np.array([level.sigma for level in levels] + sure + most) + LITTLE)
    seen = np.array([*logs, np.clip(zeros.within - zeros.across, 0, 1), zeros.within])
    numbers = _numbers()
    x = np.append((seen - numbers["mean"]) / numbers["deviation"], 1.0)
    sigma = float(np.exp(x @ numbers["a"] + np.tanh(x @ numbers["B"]) @ numbers["c"]))
    return Level(sigma, ERROR * sigma)


@lru_cache
def _numbers() -> dict[str, Array]:
    text = resources.files(__package__).joinpath("compressed.toml").read_text("utf-8")
    return {name: np.array(value) for name, value in tomllib.loads(text).items() if isinstance(value, list)}
