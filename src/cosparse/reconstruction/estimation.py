"""What noise a picture has, found in the picture alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse.noise import Correlated, Gaussian, Map, Noise, PoissonGaussian
from cosparse.reconstruction.compressed import compressed_level, was_compressed
from cosparse.reconstruction.flat_blocks import (
    BANDS,
    FEWEST,
    SIDE,
    Level,
    band_energies,
    band_level,
    blocks_of,
    coefficients,
    cut_off,
    mosaic,
    noise_level_of,
)
from cosparse.reconstruction.photons import VarianceLine, fit_line, rises
from cosparse.reconstruction.planes import GAINS, OPPONENT, Caller, Plane, open_image
from cosparse.reconstruction.smooth_noise import smooth_noise
from cosparse.reconstruction.textured_noise import WHITE, evidence_of

Model = Literal["auto", "gaussian", "poisson-gaussian", "map", "correlated"]
Array = NDArray[Any]

SMALL = 24  # pixels: of a narrower picture the finest wavelets must do
FLATTER = 0.05  # of all blocks: if these have surely less of low frequencies than others, it is no noise
CLASSES = 6  # of brightness, each with a noise of its own
DIFFERENT = 1.5  # times the noise of all blocks together: from here on that of the classes counts
COLOURED = 1.2  # times the noise of the finest band: from here on lower ones are taken to be noisier
LEAST = 2.0  # of 255: less noise that depends on brightness is left in; shadings of clean pictures look like it
SURE, COARSE = 5.0, 4.0  # errors of the lowest band below which its noise is still so much of 255; else it is left in
LOWER = 0.9  # times the noise of flat blocks: if textures explain the blocks with less, it was texture
CLEAN = 1.5  # of 255: so little noise is not looked at twice
STRONGER = 1.2  # times its strongest band: the white noise that removes coloured noise best, on training photographs
ALIKE = 1.3  # times: opponents whose noise differs by less have the same
PHOTONS = 0.025  # of the difference of bright and dark: photons are not looked for in less noise; shadings look so
MANY = 800  # blocks, as of 64x64 pixels: of fewer, photons cannot be told from textures that are bright
EVIDENCE = 60.0  # of the log likelihood: what photon noise must explain to be believed
VARIES = 1.1  # times the noise of all blocks together, at least, is that of classes of brightness then
BELIEVED = 0.4  # the confidence that photon noise must have if blocks alone do not show it
RATIO = 1.6  # of the variances of bright and dark blocks, at least
WINDOW = 32  # pixels of the windows that a map is found in


def estimate_noise(
    image: ArrayLike, model: Model = "auto", *, channel_axis: int | None = None, data_range: float | None = None,
    alpha: bool = False,
) -> Noise:  # fmt: skip
    """What noise an image has.

    Looks at blocks of 8x8 pixels that are flat but for it: noise is the same in all of them, texture is not, see
    :mod:`cosparse.reconstruction.flat_blocks`. Blocks with values that were cut off are left out.

    Parameters
    ----------
    image : array
        (h, w), pages of it (..., h, w), or either with a channel axis; uint8, uint16 or float. Pages are taken to have
        the same noise.
    model : {"auto", "gaussian", "poisson-gaussian", "map", "correlated"}
        What kind of noise to look for. "gaussian" finds one level: where noise is stronger at low frequencies than at
        high ones, as in JPEGs of cameras and in pictures that were resized, the level of white noise that
        :func:`denoise` removes it best by. "auto": smooth noise (:class:`Correlated`) if neighbours surely share it,
        photon noise if variances grow with brightness, else one level.
    channel_axis : int, optional
        The axis of the channels, if there is one.
    data_range : float, optional
        The value of white: by default 255, 65535, or 1.0 for floats.
    alpha : bool
        Whether the last channel is transparency, which is not looked at.

    Returns
    -------
    Noise
        In the image's own units. Its `confidence` is 1 less twice the relative error of the level (of the gain, for
        photon noise), and not below 0: an error of 10 % is a confidence of 0.8. The error is the standard deviation of
        all levels that explain the blocks; half a grey level of 255 is added to the level, so that clean pictures can
        be trusted to be clean.

    Examples
    --------
    >>> import numpy as np, cosparse
    >>> clean = np.tile(np.linspace(20, 200, 160), (160, 1))
    >>> counts = cosparse.PoissonGaussian(gain=2.0, read=4.0).sample(clean, rng=0)
    >>> found = cosparse.estimate_noise(counts, data_range=255)
    >>> round(found.gain, 1), bool(found.confidence > 0.5)
    (2.0, True)
    """
    if model not in get_args(Model):
        raise ValueError(f"model: expected one of {', '.join(get_args(Model))}, got {model!r}")
    pages, caller = open_image(image, data_range, channel_axis, alpha=alpha)
    found = [page_noise(page, model) for page in pages]
    if len({type(noise) for noise in found}) > 1:
        found = [page_noise(page, "gaussian") for page in pages]
    return _in_units(_common(found, caller), caller)


def blocks_noise(tiles: ArrayLike, model: Model, data_range: float, channel_axis: int | None) -> Noise:
    """What :func:`estimate_noise` finds of a picture, from the blocks that it looks at, side by side."""
    pages, caller = open_image(tiles, data_range, channel_axis)
    return _in_units(mosaic_noise(pages[0], model), caller)


def _in_units(noise: Noise, caller: Caller) -> Noise:
    """Of a noise on 0..255 that in the caller's units."""
    return noise.scaled(caller.data_range / 255.0, -caller.offset * 255.0 / caller.data_range)


def page_noise(page: NDArray[np.float32], model: Model = "auto") -> Noise:
    """The noise of one page (h, w[, channels]) on 0..255."""
    if model == "map":
        return _map(page)
    if model == "correlated":
        from cosparse.reconstruction.spectrum import estimate_correlated

        channels = 1 if page.ndim == 2 else page.shape[-1]
        grey: Plane = page if page.ndim == 2 else np.ascontiguousarray(page.mean(axis=-1))
        # Channels have noise of their own, of which their mean has less.
        correlated: Noise = estimate_correlated(grey).scaled(float(np.sqrt(channels)))
        return correlated
    if not large_enough(page.shape):
        return mosaic_noise(page, model)
    jpeg = (page.ndim == 2 or page.shape[-1] == 3) and was_compressed(page)
    level = compressed_level(page) if jpeg else None
    return mosaic_noise(mosaic(page), model, level, changed=jpeg and level is None)


def large_enough(shape: tuple[int, ...]) -> bool:
    """Whether blocks can be made of a page."""
    return min(shape[:2]) >= SMALL


def mosaic_noise(
    tiles: NDArray[np.float32], model: Model = "auto", compressed: Level | None = None, *, changed: bool = False
) -> Noise:
    """That of the blocks of a page, laid side by side; or of a page too small for blocks.

    If it was a JPEG its level is known, and photons are not looked for. One that was changed since has lost noise that
    nobody knows of, and what is left looks like texture: what it has at least counts.
    """
    if not large_enough(tiles.shape):
        return _small(tiles, model)
    blocks = blocks_of(tiles)
    colours = [blocks] if blocks.ndim == 3 else list(np.moveaxis(blocks, -1, 0))
    rgb = len(colours) == 3
    planes = [blocks @ (row / gain) for row, gain in zip(OPPONENT, GAINS, strict=True)] if rgb else colours
    level, white, smooth = (compressed, False, None) if compressed is not None else _one_level(planes, rgb)
    level = Level(level.surely(), level.error) if changed else level
    if model == "auto" and smooth is not None and not changed:
        return smooth
    dark, bright = np.quantile(blocks.mean(axis=(1, 2)), (0.1, 0.9))
    enough = len(blocks) >= MANY and level.sigma > PHOTONS * (bright - dark)
    if model == "gaussian" or (model == "auto" and not (white and enough)):
        return Gaussian(level.sigma, confidence=_confidence(level))
    whole = [tiles] if tiles.ndim == 2 else list(np.moveaxis(tiles, -1, 0))
    lines = [fit_line(coefficients(part), cut_off(all_of_it)) for part, all_of_it in zip(colours, whole, strict=True)]
    found = _photon_noise(lines, level)
    if model != "auto" or (_of_photons(lines) and all(_varies(coefficients(part)) for part in colours)):
        return found
    # Textured pictures may leave few flat blocks to tell by; there, variances that rise steadily are believed too.
    if found.confidence > BELIEVED and all(rises(part) for part in whole):
        return found
    return Gaussian(level.sigma, confidence=_confidence(level))


def _levels(found: NDArray[np.float32]) -> list[Level]:
    """Of every band, from low frequencies to high ones."""
    energies = band_energies(found)
    levels = [band_level(energies, band) for band in range(len(BANDS))]
    flattest = band_level(energies, 0, FLATTER)
    if flattest.at_most() < levels[0].surely():  # texture: the flatter a block, the less there is
        levels[0] = flattest
    classes = _by_brightness(found[:, 0, 0], energies)
    if classes.sigma > max(DIFFERENT * levels[-1].sigma, LEAST):
        levels[-1] = classes
    return levels


def _by_brightness(brightness: Array, energies: Array) -> Level:
    """Of the finest band, where it depends on brightness: the root mean square of what all classes have at least.

    To all blocks together such noise looks like texture, and the least of it seems to be all there is.
    """
    count = min(CLASSES, len(energies) // (4 * FEWEST))
    parts = np.array_split(np.argsort(brightness, kind="stable"), max(count, 1))
    each = [band_level(energies[part], len(BANDS) - 1) for part in parts]
    least = np.sqrt(np.mean([level.surely() ** 2 for level in each]))
    return Level(float(least), float(np.mean([level.error for level in each])))


def _one_level(planes: list[Array], rgb: bool) -> tuple[Level, bool, Noise | None]:
    """The level of white noise that stands for that of the blocks of all planes, and whether it is white.

    If it surely is not, last what it is: white noise that was smoothed.
    """
    levels = [_levels(coefficients(plane)) for plane in planes]
    together = [_together([plane[band] for plane in levels], rgb) for band in range(len(BANDS))]
    fine, low = together[-1], together[0]
    doubtful = low.surely() > COLOURED * fine.sigma
    if doubtful and low.surely(SURE) > COARSE:
        strongest = max(together, key=Level.surely)
        smooth, error = smooth_noise(together) or (None, 0.0)
        if smooth is not None:
            smooth = replace(smooth, confidence=_confidence(Level(smooth.sigma, error)))
        return Level(STRONGER * strongest.surely(), STRONGER * strongest.error), False, smooth
    if not doubtful and fine.sigma <= CLEAN:
        return fine, True, None
    # Texture only ever adds to what looks like noise: if less is enough with textures of photographs, it was texture.
    steps = np.ones((SIDE, SIDE))
    textured = _together([evidence_of(coefficients(plane), steps, WHITE).level for plane in planes], rgb)
    return textured if doubtful or textured.sigma < LOWER * fine.sigma else fine, True, None


def _varies(found: NDArray[np.float32]) -> bool:
    """Whether noise depends on brightness: bright textures beside dark shades look as if it did, but for this."""
    energies = band_energies(found)
    return _by_brightness(found[:, 0, 0], energies).sigma > VARIES * band_level(energies, len(BANDS) - 1).sigma


def _together(planes: list[Level], rgb: bool) -> Level:
    """One level for all channels, or opponents: luma's, if JPEG has taken the noise of colours only."""
    if len(planes) == 1:
        return planes[0]
    sigmas = np.array([plane.sigma for plane in planes])
    errors = np.array([plane.error for plane in planes])
    if rgb and sigmas.max() <= ALIKE * sigmas.min():
        trust = 1 / np.maximum(errors, 1e-6) ** 2
        return Level(float(trust @ sigmas / trust.sum()), float(errors.mean()))
    root = float(np.sqrt(np.mean(sigmas**2)))
    return planes[0] if rgb and planes[0].sigma > root else Level(root, float(errors.mean()))


def _of_photons(lines: list[VarianceLine | None]) -> bool:
    """Whether variances grow with brightness, in every channel that has bright and dark blocks."""
    seen = [line for line in lines if line is not None]
    return len(seen) == len(lines) and all(
        line.gain > 0 and line.ratio > RATIO and line.evidence > EVIDENCE for line in seen
    )


def _photon_noise(lines: list[VarianceLine | None], level: Level) -> Noise:
    """Gain, read noise and offset of every channel; where brightness does not vary, photons cannot be told."""
    seen = [line for line in lines if line is not None and line.gain > 0]
    if len(seen) < len(lines):
        return Gaussian(level.sigma, confidence=0.0)
    gain, read, offset = zip(*(line.parameters() for line in seen), strict=True)
    trust = float(np.clip(1 - 2 * np.mean([line.error for line in seen]), 0, 1))
    if len(seen) == 1:
        return PoissonGaussian(gain[0], read[0], offset[0], confidence=trust)
    return PoissonGaussian(gain, read, offset, confidence=trust)


def _confidence(level: Level) -> float:
    return float(np.clip(1 - 2 * level.error / (level.sigma + 0.5), 0, 1))


def _small(page: NDArray[np.float32], model: str) -> Noise:
    """Of a picture too small for blocks: by its finest wavelets, which take texture for noise."""
    planes = page[None] if page.ndim == 2 else np.moveaxis(page, -1, 0)
    if min(planes.shape[1:]) < 2:
        return Gaussian(0.0, confidence=0.0)
    levels = [finest_wavelets(plane) for plane in planes if plane.min() < plane.max()]
    return Gaussian(float(np.mean(levels)) if levels else 0.0, confidence=0.5 if levels and model != "map" else 0.0)


def finest_wavelets(plane: Plane) -> float:
    """The median of the diagonal details, as a normal deviation (Donoho and Johnstone 1994).

    The same number as scikit-image's `estimate_sigma`, which warns that two or three columns look like colours.
    """
    import pywt

    details = np.abs(pywt.dwtn(plane, "db2")["dd"])
    details = details[details > 0]
    return float(np.median(details)) / 0.6744897501960817 if details.size else 0.0


def _map(page: NDArray[np.float32]) -> Noise:
    """A smooth map of levels: those of windows, each as near to that of the whole page as its error is large."""
    from scipy.ndimage import gaussian_filter, zoom

    whole = page_noise(page, "gaussian")
    assert isinstance(whole, Gaussian)
    if min(page.shape[:2]) < 2 * WINDOW or not whole.sigma > 0:
        return whole
    counts = [max(side // WINDOW, 2) for side in page.shape[:2]]
    logs = np.zeros(counts)
    errors = []
    for row, rows in enumerate(np.array_split(np.arange(page.shape[0]), counts[0])):
        for column, columns in enumerate(np.array_split(np.arange(page.shape[1]), counts[1])):
            level = _window_level(page[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1])
            ratio = np.clip(level.sigma / whole.sigma, 0.05, 20.0)
            trust = 1 / (1 + (2 * level.error / max(level.sigma, 1e-6)) ** 2)
            logs[row, column] = trust * np.log(ratio)
            errors.append(level.error / max(level.sigma, 1e-6))
    smooth = gaussian_filter(logs, 0.6, mode="nearest")
    factors = [side / count for side, count in zip(page.shape[:2], counts, strict=True)]
    large = zoom(smooth, factors, order=1, mode="nearest", grid_mode=True)
    confidence = float(np.clip(1 - 2 * np.median(errors), 0, 1))
    return Map(whole.sigma * np.exp(large), confidence=confidence)


def _window_level(window: NDArray[np.float32]) -> Level:
    blocks = blocks_of(mosaic(window))
    planes = [blocks] if blocks.ndim == 3 else list(np.moveaxis(blocks, -1, 0))
    each = []
    for plane in planes:
        energies = band_energies(coefficients(plane))
        flattest = np.argsort(energies[:, :-1].max(axis=1), kind="stable")[: max(len(energies) // 3, FEWEST)]
        each.append(noise_level_of(energies[flattest, -1], int(np.count_nonzero(BANDS[-1]))))
    return _together(each, rgb=False)


def _common(found: list[Noise], caller: Caller) -> Noise:
    """One noise for all pages, which are of one kind: maps side by side, the mean of anything else."""
    if len(found) == 1:
        return found[0]
    confidence = float(np.mean([noise.confidence for noise in found])) if found else 0.0
    maps = [noise.sigma for noise in found if isinstance(noise, Map)]
    if found and len(maps) == len(found):
        each = np.stack(maps)
        if caller.channel_axis is not None:
            each = np.repeat(each[..., None], caller.shape[caller.channel_axis], axis=-1)
        return Map(caller.unpaged(each), confidence=confidence)
    photons = [noise for noise in found if isinstance(noise, PoissonGaussian)]
    if found and len(photons) == len(found):
        gain, read, offset = (
            np.mean([np.asarray(getattr(one, name)) for one in photons], axis=0) for name in ("gain", "read", "offset")
        )
        return PoissonGaussian(gain, read, offset, confidence=confidence)
    first = found[0] if found else Gaussian(0.0)
    assert isinstance(first, Gaussian | Correlated)
    levels = [noise.sigma for noise in found if isinstance(noise, Gaussian | Correlated)]
    return replace(first, sigma=float(np.mean(levels or [0.0])), confidence=confidence)
