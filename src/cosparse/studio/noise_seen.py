"""What the page sees of a picture's noise: estimated, said in words and drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import cosparse
from cosparse.noise import Correlated, Gaussian, Map, Noise, PoissonGaussian
from cosparse.reconstruction.photons import by_brightness
from cosparse.studio import chart
from cosparse.studio.page_pictures import Array, Source, reduced, reduction

PART = 1_000_000  # pixels that dots are drawn of: a large photograph must not keep the page waiting
BLOCK = 128  # pixels of a side: a whole number of JPEG's blocks
SMALL = 20_000  # pixels of the drawn map
UNSURE = 0.4  # a confidence below which an estimate is a guess
CHANNELS = {1: ("",), 3: ("red", "green", "blue")}


@dataclass(frozen=True, eq=False)
class Estimate:
    """The noise on 0..255, how it depends on brightness, and its level over the picture, made small."""

    noise: Noise
    dots: tuple[tuple[str, Array, Array], ...]  # of every channel: its name, brightnesses and variances there
    levels: Array

    @property
    def level(self) -> float:
        """One number: the root of the mean variance."""
        return float(np.sqrt(np.mean(self.levels**2)))


def look(source: Source) -> Estimate:
    """Estimate the noise of a picture; of one with holes, which would count as noise, nothing is said."""
    if source.missing is not None:
        return Estimate(Gaussian(0.0), (), np.zeros((1, 1)))
    work = source.picture.working
    axis = source.picture.channel_axis
    noise = cosparse.estimate_noise(work, data_range=255.0, channel_axis=axis)
    some = part(work)
    planes = [some] if some.ndim == 2 else [some[..., c] for c in range(some.shape[-1])]
    names = CHANNELS.get(len(planes), ("",) * len(planes))
    marks = tuple((name, *by_brightness(plane)) for plane, name in zip(planes, names, strict=True))
    return Estimate(noise, marks, _levels(noise, work))


def _levels(noise: Noise, work: Array) -> Array:
    """The level of every pixel of a small picture, over its channels."""
    if isinstance(noise, Map):
        small, _ = reduced(noise.sigma, reduction(noise.sigma.size, SMALL))
    else:
        small, _ = reduced(work, reduction(work.size, SMALL))
        small = np.sqrt(noise.variance(small))
    return small if small.ndim == 2 else small.mean(axis=-1)


def part(work: Array) -> Array:
    """Blocks from all over a large picture, side by side as they lie in it; a small one whole.

    >>> part(np.zeros((3000, 4000))).shape, part(np.zeros((90, 80))).shape
    ((768, 1024), (90, 80))
    """
    skip = reduction(work.shape[0] * work.shape[1], PART)
    rows, columns = (np.flatnonzero(np.arange(side) // BLOCK % skip == 0) for side in work.shape[:2])
    return work if skip == 1 else np.ascontiguousarray(work[rows[:, None], columns])


# -- said and drawn ------------------------------------------------------------------------------------


def drawn(seen: Estimate) -> str:
    """The words, the curve, and the map if the noise differs over the picture."""
    return f'<div class="noise-seen"><p>Noise: {in_words(seen)}</p>{curve(seen)}{level_map(seen.levels)}</div>'


def in_words(seen: Estimate) -> str:
    """What was found, and how sure that is."""
    noise = seen.noise
    low, high = (float(np.percentile(seen.levels, share)) for share in (2, 98))
    if isinstance(noise, PoissonGaussian):
        said = f"grows with brightness, as photons' does: σ is {low:.1f} in the dark and {high:.1f} in the light."
    elif isinstance(noise, Map):
        said = f"differs over the picture: σ goes from {low:.1f} to {high:.1f}."
    elif isinstance(noise, Correlated):
        said = f"shared by neighbouring pixels, as after resizing or in a JPEG: σ = {seen.level:.1f}."
    else:
        said = f"much the same everywhere: σ = {seen.level:.1f} of 255."
    return f"{said} {_sure(noise.confidence)}".strip()


def _sure(confidence: float) -> str:
    """How far to trust an estimate; nothing of what was stated."""
    if confidence >= 1:
        return ""
    words = ((0.75, "This is quite sure."), (UNSURE, "This is fairly sure."))
    unsure = "This is a guess: if the result is too smooth or still noisy, choose another kind."
    return next((said for least, said in words if confidence >= least), unsure)


def curve(seen: Estimate) -> str:
    """Dots of variance over brightness, and the line of the model, one for each channel where they differ."""
    if not any(len(variance) for _, _, variance in seen.dots):
        return ""
    across = np.linspace(0, 255, 52)
    lines = []
    if isinstance(seen.noise, PoissonGaussian):
        several = max(np.size(value) for value in (seen.noise.gain, seen.noise.read, seen.noise.offset))
        ways = seen.noise.variance(np.repeat(across[:, None], several, axis=1))
        names = CHANNELS.get(several, ("",) * several)
        lines = [(name, across, ways[:, c]) for c, name in enumerate(names)]
    elif not isinstance(seen.noise, Map):
        lines = [("", across, np.full(len(across), seen.level**2))]
    svg = chart.scatter(list(seen.dots), lines, x="brightness", y="variance")
    return chart.captioned(svg, f"Dots: measured.{' Line: what is used.' * bool(lines)}")


def level_map(levels: Array, *, always: bool = False) -> str:
    """Where there is how much noise, as a small picture; nothing if it is much the same everywhere."""
    low, high = (float(np.percentile(levels, share)) for share in (1, 99))
    if not always and high <= 1.25 * low + 0.2:
        return ""
    shown, _ = reduced(levels, reduction(levels.size, SMALL))
    heat = chart.heat((shown - low) / max(high - low, 1e-6))
    said = f"Map of the noise: from {low:.1f} to {high:.1f}"
    scale = f'<div class="scale">σ {low:.1f} <i></i> {high:.1f}</div>'
    return chart.captioned(chart.picture(heat, said, "noise-map"), f"Where there is how much noise.{scale}")


def reduced_noise(noise: Noise, factor: int) -> Noise:
    """The noise of means of blocks of factor x factor pixels, in which it averages out."""
    if factor == 1:
        return noise
    if isinstance(noise, Map):
        return Map(np.sqrt(reduced(noise.sigma**2, factor)[0]) / factor)
    if isinstance(noise, PoissonGaussian):
        return replace(noise, gain=np.asarray(noise.gain) / factor**2, read=np.asarray(noise.read) / factor)
    if isinstance(noise, Correlated):  # shared by neighbours, it does so less; tried, as it need not be exact
        shape: Any = (64 * factor, 64 * factor) if noise.psd is None else noise.psd.shape
        return Gaussian(float(reduced(noise.sample(np.zeros(shape), 0), factor)[0].std()))
    return noise.scaled(1 / factor)
