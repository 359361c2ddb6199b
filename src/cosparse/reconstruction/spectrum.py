"""The spectrum of the noise in a single picture, from nothing but its pixels."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, map_coordinates

from cosparse.noise import Correlated
from cosparse.reconstruction.flat_blocks import (
    BANDS,
    band_energies,
    band_level,
    blocks_of,
    coefficients,
    mosaic,
    noise_level_of,
)
from cosparse.reconstruction.planes import Plane

Array = NDArray[Any]

# All chosen on training photographs in the noise of benchmarks/noise/correlated.py.
WINDOW, STEP = 32, 8  # pixels: of the windows whose spectra are compared, and between them
PART = 0.15  # of the windows, the calmest at a frequency, is taken to have nothing but noise there at first
CALMEST = 0.12  # of the windows, those with the least power at all other frequencies: of these it is the mean then
FEWEST = 24  # windows, if there are as many
ROUNDS = 3  # of comparing windows by the spectrum that the calmest of them have
RINGS = (0.0, 0.047, 0.09, 0.14, 0.2, 0.28, 0.375, 1.0)  # cycles a pixel: frequencies that are compared together
FILLED = 0.3  # of a ring: noise in less of it is too narrow for windows to be compared by its energy
OVERLAP = 2.25  # frequencies of a window that count for one, as its bell mixes neighbours
FREEDOMS = (4, 8, 16, 32)  # of the energies of rings
LOWEST = 3  # rings that pictures fill everywhere: whether noise is white, they do not say
WHITE = 1.4  # times: the power of rings, of white noise, differs by less; that of single frequencies by its square
NEIGHBOURS = 4.0  # frequencies: the width of what is called near
SMALLEST = 24  # pixels: less does not hold three windows of any use
LARGEST = 512  # pixels that are looked at along an axis, those in the middle
NARROW = 0.15  # of all frequencies: a spectrum broader than this is as windows see it, and smooth
SMOOTH = 1.5  # frequencies over which it is the mean then
NOTHING = 1e-6  # grey levels, squared: rounding
WIDEST = 101  # pixels of the kernel
FINER = 2  # of the windows of a finer look: the part of the picture's sides that theirs are
NEAREST = 0.9  # frequencies: the width over which the logarithms of their powers are averaged
HIDDEN = 1.0  # times the mean power: what they have below it, where noise is not alone, is the picture's detail
COARSE = 0.06  # cycles a pixel: below, what denoising takes away misses noise, which pictures hide there
BESIDE = 0.02  # cycles a pixel: the width of what is beside these frequencies, and takes their place
LOOKS = 2


def estimate_correlated(plane: Plane) -> Correlated:
    """The noise of a grey plane, as white noise filtered by a kernel, in the units of the plane (on 0..255).

    At every frequency windows of the picture have the power of the noise, exponentially distributed about its mean, and
    that of what is shown. Windows with little at all other frequencies show little at this one: the mean of theirs is
    the noise's power. Where noise fills a ring of frequencies, what the calmest windows still show there is told from
    it as in :mod:`cosparse.reconstruction.flat_blocks`. Noise whose rings are alike is white.

    Noise in narrow bands is blurred by such small windows. So the picture is denoised with what was found, and the
    spectrum of what that took away, with the resolution of half the picture, less what may be the picture's own,
    takes the place of the first: twice.

    Its `confidence` says how far the middle of all windows is from where pure noise would have it.
    """
    height, width = plane.shape
    if min(height, width) < SMALLEST:
        return Correlated(_finest(plane), kernel=np.ones((1, 1)), confidence=0.0)
    top, left = (max(0, (side - LARGEST) // 2) for side in plane.shape)
    seen = np.ascontiguousarray(plane[top : top + LARGEST, left : left + LARGEST])
    powers = _window_powers(seen)
    low, middle = np.quantile(powers, (PART, 0.5), axis=0)
    if low.mean() < NOTHING:
        return Correlated(0.0, kernel=np.ones((1, 1)))
    pure = np.log(0.5) / np.log1p(-PART)
    likeness = np.minimum(1, pure * low / np.maximum(middle, 1e-12))
    power = _of_calmest(powers, low / -np.log1p(-PART))
    confidence = float(np.average(likeness, weights=power))
    if _is_white(power):
        fine = band_level(band_energies(coefficients(blocks_of(mosaic(seen)))), len(BANDS) - 1)
        return Correlated(fine.sigma, kernel=np.ones((1, 1)), confidence=confidence)
    if _breadth(power) > NARROW:
        return _filtered(gaussian_filter(power, SMOOTH, mode="wrap"), confidence)
    noise = _filtered(_of_noise_alone(low / -np.log1p(-PART), likeness), confidence)
    for _ in range(LOOKS):
        noise = _seen_closer(seen, noise, likeness)
    return noise


def _far(shape: tuple[int, ...]) -> Array:
    """Cycles a pixel of every frequency."""
    return np.asarray(np.hypot(*np.meshgrid(*(np.fft.fftfreq(side) for side in shape), indexing="ij")))


def _rings(side: int) -> list[Array]:
    """Which frequencies of a window each of them has; those that have any."""
    far = _far((side, side))
    found = [(far >= low) & (far < high) for low, high in pairwise(RINGS)]
    return [ring for ring in found if ring.any()]


def _of_calmest(powers: Array, power: Array) -> Array:
    """The spectrum of the noise by windows that are calm at other frequencies; from a first guess of it."""
    rings = _rings(power.shape[0])
    rings[0][0, 0] = False  # windows have no mean: what is left of it is rounding, by which none is the calmer
    rings = [ring for ring in rings if ring.any()]
    count = min(len(powers), max(int(CALMEST * len(powers)), FEWEST))
    for turn in range(ROUNDS):
        least = 1e-9 * power.max()
        shown = np.stack([(powers[:, ring] / np.maximum(power[ring], least)).mean(axis=1) for ring in rings], axis=1)
        ranks = np.argsort(np.argsort(shown, axis=0, kind="stable"), axis=0, kind="stable")
        power = power.copy()
        for number, ring in enumerate(rings):
            others = np.delete(ranks, number, axis=1).max(axis=1)
            calmest = powers[np.argsort(others, kind="stable")[:count]][:, ring]
            power[ring] = calmest.mean(axis=0)
            if turn == ROUNDS - 1:
                power[ring] *= _noise_of_ring(calmest.sum(axis=1), power[ring])
    power[0, 0] = np.mean([power[0, 1], power[1, 0], power[0, -1], power[-1, 0]])  # windows have no mean
    return power


def _noise_of_ring(energies: Array, power: Array) -> float:
    """What part of the power is noise, by how the energies of windows scatter; 1 of noise that does not fill it."""
    freedom = power.sum() ** 2 / np.maximum((power**2).sum(), 1e-30) / OVERLAP
    if power.sum() ** 2 < FILLED * power.size * (power**2).sum():
        return 1.0
    nearest = min(FREEDOMS, key=lambda one: abs(one - freedom))
    return min(noise_level_of(energies / power.sum(), nearest).at_most(1.0), 1.0) ** 2


def _is_white(power: Array) -> bool:
    """Whether all rings, and all frequencies in them, have about the same power."""
    rings = _rings(power.shape[0])[LOWEST:]
    if not rings:
        return False
    each = np.array([power[ring].mean() for ring in rings])
    smooth = gaussian_filter(np.where(np.any(rings, axis=0), power, each.mean()), SMOOTH, mode="wrap")
    return bool(each.max() < WHITE * each.min() and smooth.max() < WHITE**2 * each.mean())


def _finest(plane: Plane) -> float:
    """The level of white noise, from the differences of differences of neighbours (Donoho and Johnstone 1994)."""
    details = np.abs(np.diff(np.diff(plane, axis=0), axis=1)) / 2
    return float(np.median(details)) / 0.6745 if details.size else 0.0


def _window_powers(plane: Plane) -> Array:
    """(n, side, side): the power spectra of overlapping windows without their means."""
    side = min(WINDOW, *(extent // 3 for extent in plane.shape))
    return _powers(plane, (side, side), STEP)


def _powers(plane: Array, sides: tuple[int, int], step: int) -> Array:
    """(n, h, w): the power spectra of windows of these sides, without their means.

    Under a bell: as opposite borders of a window do not fit each other, strong frequencies would show at all others.
    """
    windows = np.lib.stride_tricks.sliding_window_view(plane, sides)[::step, ::step].reshape(-1, *sides)
    bell = np.outer(*(np.hanning(side + 2)[1:-1] for side in sides))
    bell /= np.linalg.norm(bell)
    means = (windows * bell).sum(axis=(1, 2)) / bell.sum()
    return np.asarray(np.abs(np.fft.fft2((windows - means[:, None, None]) * bell)) ** 2)


def _of_noise_alone(power: Array, likeness: Array) -> Array:
    """A spectrum without what the picture shows in all windows: the less its values look like noise's, the more they
    are held under those of neighbouring frequencies that do.

    The mean, and frequencies whose waves have no phase, are distributed otherwise: they are as their neighbours.
    """
    weights = likeness**4
    real = np.ix_(*([0, side // 2] if side % 2 == 0 else [0] for side in power.shape))
    weights[real] = 0
    logs = np.log(np.maximum(power, 1e-12))
    near = gaussian_filter(weights * logs, NEIGHBOURS, mode="wrap") / gaussian_filter(weights, NEIGHBOURS, mode="wrap")
    held = np.exp(weights * logs + (1 - weights) * near)
    found = np.minimum(power, held)
    found[real] = held[real]
    return np.asarray(found)


def _filtered(power: Array, confidence: float) -> Correlated:
    """Noise of a power spectrum, as the symmetric kernel that makes it."""
    kernel = np.fft.fftshift(np.fft.ifft2(np.sqrt(power)).real)
    rows, columns = (
        slice(side // 2 - reach, side // 2 + reach + 1)
        for side in power.shape
        for reach in (min(WIDEST // 2, (side - 1) // 2),)
    )
    return Correlated(float(np.sqrt(power.mean())), kernel=kernel[rows, columns], confidence=confidence)


def _breadth(power: Array) -> float:
    """What part of all frequencies there would be noise at, if it were everywhere the same: 1 of white noise."""
    return float(power.mean() ** 2 / (power**2).mean())


def _seen_closer(plane: Plane, noise: Correlated, likeness: Array) -> Correlated:
    """The noise by what denoising with a first guess of it takes away."""
    from cosparse.reconstruction.tasks.denoising import denoise  # not before its use: that task may ask for this

    clean = denoise(plane, noise=noise, grouping=False, data_range=255.0, bounds=None)
    power = _fine_spectrum(plane - clean)
    mean = power.mean()
    if mean == 0:
        return noise
    shown = _enlarged(1 - likeness**4, power.shape)  # how much of the picture there is at each frequency
    found = np.maximum(power - HIDDEN * shown * mean, 1e-5 * mean)
    return _filtered(np.maximum(found, _beside(found)), noise.confidence)


def _fine_spectrum(residual: Array) -> Array:
    """Its power spectrum, by windows of half its sides: the geometric mean of all windows and of near frequencies.

    Bands of noise fall off by powers of ten within a few frequencies: an arithmetic mean would make them wider, that of
    logarithms leaves their flanks steep. And noise is in all windows, what is left of the picture in some.
    """
    sides = residual.shape[0] // FINER, residual.shape[1] // FINER
    powers = _powers(residual.astype(float), sides, max(1, min(sides) // 8))
    logs = np.log(np.maximum(powers, 1e-9)).mean(axis=0)
    power = np.exp(gaussian_filter(logs, NEAREST, mode="wrap"))
    strong = power >= power.mean()
    return np.asarray(power * (powers.mean(axis=0)[strong].sum() / power[strong].sum()))


def _beside(power: Array) -> Array:
    """What the lowest frequencies have if they are as those beside them; 0 at all others."""
    widths = [BESIDE * side for side in power.shape]
    others = (_far(power.shape) > COARSE).astype(float)
    mean = gaussian_filter(others * power, widths, mode="wrap") / gaussian_filter(others, widths, mode="wrap")
    return np.where(others > 0, 0.0, mean)


def _enlarged(spectrum: Array, shape: tuple[int, ...]) -> Array:
    """A spectrum at more frequencies, linearly in between."""
    places = [np.arange(side) * old / side for side, old in zip(shape, spectrum.shape, strict=True)]
    return np.asarray(map_coordinates(spectrum, np.meshgrid(*places, indexing="ij"), order=1, mode="grid-wrap"))
