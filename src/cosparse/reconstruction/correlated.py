"""Noise that neighbours share: how much of a residual is such noise, and denoising in rounds with that.

The noise n has covariance C, Toeplitz in rows and in columns; its spectrum S is C's on a periodic grid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.noise import Correlated
from cosparse.reconstruction.engine import Descend, solve
from cosparse.reconstruction.planes import Channel, Plane
from cosparse.reconstruction.problem import Problem
from cosparse.reconstruction.stages import QUALITIES
from cosparse.reconstruction.watch import Watch

Array = NDArray[Any]

MARGIN = 64  # pixels beyond the borders that noise is imagined on: further off, it says nothing of the picture
FLOOR = 1e-3  # of the mean variance: nothing is known better than this, in a patch
# Of denoising in rounds, in units of the noise's level, all chosen on training photographs in the noise of
# benchmarks/noise/correlated.py. From 2.2 down, narrow bands of noise are not found (45 -> 31 dB); down to 0.25 is
# 0.1 dB better where the noise is nearly white, and worse elsewhere.
FIRST, LAST = 3.3, 0.4
ROUNDS = (6, 12, 16)  # by quality; 8 cost 0.1 to 2 dB
REST, END = (
    1.4,
    0.3,
)  # how much s is taken to be off, in units of the level: on the way (1 costs 0.2 to 0.6 dB), and last
BORDERS = 3  # times that the noise beyond the borders is imagined, at last
BOUND = 10.0  # by which a whitened measurement counts more or less than it would


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The power of the noise at each frequency (half of them, as `scipy.fft.rfft2` has them) of a periodic grid.

    Where the noise was not wrapped around the borders, as none is that a kernel made, the grid is larger than the
    picture by some widths of the kernel, so that opposite borders have nothing to do with each other.
    """

    power: Array
    grid: tuple[int, int]

    @classmethod
    def of(cls, noise: Correlated, shape: tuple[int, ...], gain: float = 1.0) -> Spectrum:
        """That of the noise in a plane of a picture, on which it is `gain` times as strong."""
        from scipy.fft import next_fast_len

        height, width = shape
        if noise.kernel is not None:
            beyond = [min(3 * (side - 1), MARGIN) for side in noise.kernel.shape]
            height, width = (next_fast_len(n + more, True) for n, more in zip(shape, beyond, strict=True))
        return cls(gain**2 * noise.spectrum((height, width))[:, : width // 2 + 1], (height, width))

    def filtered(self, image: Array, response: Array) -> Array:
        """An image of the grid's size, each frequency times its response."""
        from scipy.fft import irfft2, rfft2

        return np.asarray(irfft2(rfft2(image) * response, self.grid))

    def in_patch(self, patch: tuple[int, int]) -> Array:
        """The covariance of the noise of a patch's pixels, row by row."""
        from scipy.fft import irfft2

        covariance = irfft2(self.power, self.grid)
        rows, columns = (place.ravel() for place in np.indices(patch))
        return np.asarray(
            covariance[(rows[:, None] - rows) % self.grid[0], (columns[:, None] - columns) % self.grid[1]]
        )


class Separation:
    """What of a residual r = n + e is noise, if the rest e is white with variance v: C(C + v)⁻¹ r.

    On the grid that is the filter S/(S + v). Beyond the picture's borders r is unknown; what was found there last takes
    its place, again and again (expectation and maximisation): the fixed point is the equation above.
    """

    def __init__(self, spectrum: Spectrum, shape: tuple[int, ...]) -> None:
        self.spectrum = spectrum
        self._inside = slice(0, shape[0]), slice(0, shape[1])
        self._found: Array = np.zeros(spectrum.grid)

    def noise(self, residual: Array, variance: float, times: int = 1) -> Array:
        """The noise in a residual."""
        power = self.spectrum.power
        for _ in range(times):
            self._found[self._inside] = residual
            self._found = self.spectrum.filtered(self._found, power / (power + variance))
        return self._found[self._inside]


def denoise_in_rounds(
    pose: Callable[[float, Plane], Problem], channel: Channel, noise: Correlated, quality: str, watch: Watch,
    descend: Descend,
) -> Plane:  # fmt: skip
    """A plane denoised by an operator that knows of white noise alone, which `pose` has for a level and a plane.

    The posterior's maximum, with -log prior R, by half quadratic splitting (Geman and Yang 1995; with a denoiser in the
    place of R: Zhang et al., "Plug-and-Play Image Restoration with Deep Denoiser Prior", 2021): in turn

        s = argmin ½‖s - x‖²/l² + R(s),
        x = argmin ½(x - y)ᵀC⁻¹(x - y) + ½‖x - s‖²/v = y - C(C + v)⁻¹(y - s),    v = (1.4·l)²,

    where the level l goes down from several times the noise to less than half of it. What y tells without noise is
    taken over from it as it is, whatever s has made of it: the last x is the result.
    """
    levels = noise.sigma * channel.gain * np.geomspace(FIRST, LAST, ROUNDS[QUALITIES.index(quality)])
    separation = Separation(Spectrum.of(noise, channel.plane.shape, channel.gain), channel.plane.shape)
    y = channel.plane.astype(float)
    x, quiet = channel.plane, Watch()
    for turn, level in enumerate(levels):
        s = solve(pose(float(level), x), watch=quiet, descend=descend).image
        ended = turn == len(levels) - 1
        off = float(((END if ended else REST) * level) ** 2)
        x = (y - separation.noise(y - s, off, BORDERS if ended else 1)).astype(np.float32)
        if watch.iteration(turn + 1, len(levels), float("nan"), x, 0, float("nan")):
            break
    return x


def whitened(problem: Problem, noise: Correlated, gain: float) -> Problem:
    """½‖W(A s - y)‖² for a problem's ½‖A s - y‖²: W is the inverse root of the spectrum, times the noise's level.

    As if the noise were periodic on the data. W² is bounded: a minimisation would come to nothing but frequencies that
    are known much better than others.
    """
    from cosparse.reconstruction.measurement import Measurement

    assert problem.measure is not None and problem.data is not None
    A, shape = problem.measure, problem.measure.data_shape
    power = (noise.sigma * gain) ** 2
    found = noise.spectrum(shape)[:, : shape[1] // 2 + 1] * gain**2
    response = np.sqrt((power / np.maximum(found, power / BOUND)).clip(1 / BOUND, BOUND))
    spectrum = Spectrum(found, shape)

    def white(data: Array) -> Array:
        return spectrum.filtered(data.reshape(shape), response).astype(np.float32)

    def forward(image: Array) -> Array:
        return white(A.matvec(image.ravel()))

    def adjoint(data: Array) -> Array:
        return np.asarray(A.rmatvec(white(data).ravel()).reshape(A.image_shape))

    measure = Measurement(A.image_shape, shape, forward, adjoint)
    return replace(problem, measure=measure, data=white(problem.data).ravel())


def patch_covariances(
    noise: Correlated, channels: list[Channel], shape: tuple[int, ...], patch: tuple[int, int]
) -> Array:
    """(c, pixels, pixels): of the noise of every channel in a patch, and a little white noise beside it."""
    floor = FLOOR * noise.sigma**2 * np.eye(patch[0] * patch[1])
    once = Spectrum.of(noise, shape).in_patch(patch) + floor
    return np.stack([channel.gain**2 * once for channel in channels])
