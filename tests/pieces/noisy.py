"""Noise of every kind: photons, JPEGs, spectra, maps; how it is found and what is made of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from cosparse.noise import Correlated, Gaussian, Map, PoissonGaussian
from cosparse.operator import AnalysisOperator
from cosparse.reconstruction import block_textures, compressed, correlated, photons, spectrum, textured_noise
from cosparse.reconstruction.data_noise import DataNoise
from cosparse.reconstruction.flat_blocks import blocks_of, coefficients, mosaic
from cosparse.reconstruction.local_noise import (
    channel_noise,
    enlarged,
    grid,
    of_channel,
    patch_levels,
    pixel_levels,
    precision,
    relative_variance,
    taken_of,
)
from cosparse.reconstruction.measurement import blur
from cosparse.reconstruction.noise_level import largest_level, page_noises, stated_noise, typical_level
from cosparse.reconstruction.planes import Channel, open_image, take_apart
from cosparse.reconstruction.problem import Problem
from cosparse.reconstruction.stabilisation import Stabilisation, _photons, expected_roots
from cosparse.reconstruction.stages import plan
from pieces import FITTED, MINIMISED, NEAR, piece
from pieces.pictures import COLOUR, FLAT, GREY, TEXTURED, noise, saved, soft_noise, streaks
from pieces.pictures import photons as counted

COUNTS = coefficients(blocks_of(mosaic(counted(FLAT, 2.0, 4.0))))
COUNTS_OF_TEXTURE = coefficients(blocks_of(mosaic(counted(TEXTURED, 1.5, 3.0))))
SHIFTED = coefficients(blocks_of(mosaic(counted(FLAT + 30, 1.0, 0.0, 25.0))))
LEVELS = Map(np.add.outer(np.linspace(3, 30, 24), np.linspace(0, 9, 20)).astype(np.float32))


@piece(FITTED)
def variance_lines() -> Any:
    """Of photons, of texture, of an offset, of white noise; of blocks that are equally bright."""
    white = coefficients(blocks_of(mosaic(GREY + noise(GREY.shape, 15))))
    alike = coefficients(noise((100, 8, 8), 4) + np.float32(50))
    alike[:, 0, 0] = 400
    return [
        photons.fit_line(COUNTS),
        photons.fit_line(COUNTS, (15.0, 190.0)),
        photons.fit_line(COUNTS_OF_TEXTURE),
        photons.fit_line(SHIFTED),
        photons.fit_line(white),
        photons.fit_line(alike),
        photons.fit_line(COUNTS[:0]),
    ]


@piece()
def lines_begun() -> Any:
    """What the fit of a line is made of."""
    means, energies = photons._flat(COUNTS_OF_TEXTURE)
    place = (means - means.min()) / np.ptp(means)
    loss = photons._loss(energies / np.median(energies), place)
    points = [(0, 0, 1, -0.5), (-1, 1, 0.2, 1), (2, -40, 13, 31), (-0.4, 0.8, -13, -33), (0.5, 0.1, -1, 2)]
    return [
        means,
        energies,
        [photons._flat(COUNTS[:count]) for count in (30, 99, 101)],
        [loss(*point) for point in points],
        photons._first_line(energies, place),
        photons._first_line(1e-4 * energies, place),
        [len(photons._inside(COUNTS, ends)) for ends in ((-np.inf, np.inf), (25.0, np.inf), (0.0, 150.0), (60, 150))],
        photons.FREEDOM,
    ]


@piece()
def variances_by_brightness() -> Any:
    """Of a picture of photons and of one without; whether they rise."""
    pages = [
        counted(FLAT, 2.0, 1.0),
        FLAT + noise(FLAT.shape, 12),
        counted(TEXTURED, 4.0),
        counted(FLAT, 2.0)[:, :40],
        (3 * FLAT - 200 + noise(FLAT.shape, 12)).clip(0, 255),
        counted(FLAT, 0.3, 6.0),
        FLAT[:10, :10],
        counted(np.tile(np.linspace(5, 250, 144), (144, 1)), 1.0, 3.0),
        counted(np.tile(FLAT, (2, 2)), 0.6, 5.0),
    ]
    return [(photons.by_brightness(page), photons.rises(page)) for page in pages]


@piece(NEAR)
def textures_of_blocks() -> Any:
    """The kinds, and the line that is most likely with them."""
    kinds, share = block_textures.textures()
    found = COUNTS_OF_TEXTURE
    energies = block_textures.group_energies(found)
    order = np.argsort(found[:, 0, 0], kind="stable")
    parts = np.array_split(order[:400], 7)
    shares = np.tile(share, (block_textures.PARTS, 1))
    return [
        kinds[::10],
        share[::10],
        block_textures.groups_of_frequencies(),
        block_textures.SIZES,
        energies[::40],
        block_textures._expected(energies, parts, np.linspace(2.0, 90.0, 7), shares),
        block_textures.most_likely_line(found, (1.0, 20.0)),
        block_textures.most_likely_line(found, (3.0, -20.0)),
        block_textures.most_likely_line(SHIFTED, (1.2, -40.0)),
        block_textures.most_likely_line(COUNTS[::7], (0.0, 0.0)),
        block_textures.most_likely_line(np.float32(0.2) * COUNTS[::7], (0.4, 0.6)),
        block_textures._line(found[:11], np.array([1.0, 5.0]), True),
    ]


@piece(NEAR)
def offsets() -> Any:
    """Of sensors whose darkness is not zero: from where on that is believed."""
    found = []
    for offset in (1.0, 3.0, 6.0, 12.0):
        blocks = coefficients(blocks_of(mosaic(counted(FLAT[:48, :48] + offset, 2.0, 0.0, offset))))
        found.append(block_textures.most_likely_line(blocks, (2.0, -2.0 * offset)))
    return found


@piece()
def qualities() -> Any:
    """Of JPEGs, down to where they do not show."""
    pages = [
        saved(page + noise(page.shape, sigma), quality)
        for page, sigma in ((TEXTURED, 0.0), (TEXTURED, 6.0), (COLOUR, 3.0))
        for quality in (75, 85, 90, 93, 95, 97, 99)
    ]
    bright = [(gain * saved(TEXTURED, 80) + 3).clip(0, 255) for gain in (0.97, 1.0, 1.1, 1.5, 2.0)]
    return [
        [
            (compressed.zeros_of(page[..., 0] if page.ndim == 3 else page), compressed.was_compressed(page))
            for page in pages
        ],
        [
            compressed.steps_of(coefficients(compressed._blocks(page)))
            for page in (*pages[:14:2], *bright)
            if page.ndim == 2
        ],
        [compressed.inputs_of(page) is None for page in (*pages[3:7], *bright[::2])],
    ]


@piece(NEAR)
def evidence() -> Any:
    """Of noise in blocks, rounded by a JPEG or not."""
    found = coefficients(blocks_of(mosaic(TEXTURED + noise(TEXTURED.shape, 8))))
    steps = np.add.outer(np.arange(8), np.arange(8)) * 1.5 + 1
    rounded = np.float32(np.rint(found / steps) * steps)
    return [
        textured_noise.evidence_of(rounded[::9], steps),
        textured_noise.evidence_of(found[::3], np.ones((8, 8)), textured_noise.WHITE),
        textured_noise.evidence_of(found[:39], steps),
        textured_noise.evidence_of(found[:40], np.ones((8, 8)), (0.0, 0.8)).level,
    ]


@piece()
def evidence_begun() -> Any:
    """What it is made of."""
    found = np.float32(coefficients(blocks_of(mosaic(TEXTURED + noise(TEXTURED.shape, 8))))[::60])
    steps = np.add.outer(np.arange(8), 2 * np.arange(8)) + 1.0
    table = textured_noise._tabulated(found, steps)
    rng = np.random.default_rng(0)
    likely = rng.normal(0, 9, (3, 2, len(textured_noise.LEVELS)))
    of_kinds = table @ textured_noise._variances_of_kinds(0.4, 12)
    return [
        table,
        table[:, ::71].T,
        [textured_noise._variances_of_kinds(blur, place)[:, ::13] for blur in (0.0, 0.8) for place in (0, 20, 33)],
        of_kinds,
        textured_noise._mixed(of_kinds),
        textured_noise._posterior(likely),
        textured_noise._posterior(likely[:1]),
        textured_noise.LEVELS,
        textured_noise.VARIANCES,
    ]


@piece(NEAR)
def compression() -> Any:
    """Whether a page was a JPEG, its steps, and the level that removes its noise."""
    noisy, colour = TEXTURED + noise(TEXTURED.shape, 9), COLOUR + noise(COLOUR.shape, 14)
    contrast = (3 * TEXTURED - 300).clip(0, 255)
    pages = [saved(page, quality) for page in (noisy, colour) for quality in (60, 90)]
    pages += [saved(contrast, 75), saved(FLAT, 95), 0.9 * saved(noisy, 80), noisy, saved(TEXTURED, 40)]
    return [
        [compressed.was_compressed(page) for page in pages],
        [compressed.zeros_of(page) for page in (pages[0], noisy, noisy[:30, :30], noisy[:36, :36], noisy[:11])],
        [compressed.inputs_of(page) for page in pages[:7]],
        [compressed.compressed_level(page) for page in pages[4:7]],
    ]


@piece()
def steps_of_a_jpeg() -> Any:
    """Where many coefficients tell, where few do, and where none does."""
    pages = [saved(TEXTURED, 50), saved(FLAT, 90), saved(TEXTURED + noise(TEXTURED.shape, 20), 97), GREY]
    found = [coefficients(compressed._blocks(page)) for page in pages]
    return [compressed.steps_of(one) for one in (*found, found[0][:4], np.round(found[0]) * 2)]


@piece(NEAR)
def spectra() -> Any:
    """Of noise that is white, soft, streaky, or of a picture that is too small or has none."""
    pages = [
        GREY + noise(GREY.shape, 15),
        GREY + soft_noise(GREY.shape, 15, 0.8),
        FLAT + soft_noise(FLAT.shape, 15, 1.5),
        FLAT[:23],
        0 * FLAT,
        FLAT[:40, :24] + noise((40, 24), 9),
        TEXTURED,
    ]
    return [spectrum.estimate_correlated(page) for page in pages]


@piece(MINIMISED)
def narrow_spectra() -> Any:
    """Streaks, which are looked at more closely."""
    return spectrum.estimate_correlated(FLAT[:48, :56] + streaks((48, 56), 12))


@piece()
def spectra_begun() -> Any:
    """What they are made of."""
    powers = spectrum._window_powers(FLAT + soft_noise(FLAT.shape, 15, 1.0))
    wavy = spectrum._window_powers(GREY + streaks((64, 64), 12))
    low, middle = np.quantile(wavy, (0.15, 0.5), axis=0)
    likeness = np.minimum(1, 4 * low / middle)
    odd = spectrum._powers(GREY.astype(float), (15, 18), 6)
    calm = spectrum._of_calmest(wavy, low)
    rings = spectrum._rings(24)
    rng = np.random.default_rng(5)
    energies = [rng.chisquare(freedom, 90) for freedom in (8, 30, 70)]
    flat, peaked = np.ones(40), np.exp(-np.arange(40.0))
    peaks = np.exp(-(np.square(np.arange(24) - 7)[:, None] + np.square(np.arange(24) - 6)) / 18)
    peaked_at = [1 + height * (peaks + peaks[::-1, ::-1]) for height in (0.3, 0.6, 0.9, 1.2, 1.6, 2.2)]
    steeper = [1 + height * spectrum._far((24, 24)) for height in (0.2, 0.5, 0.8, 1.1, 1.5)]
    nearly = 1 + 0.2 * np.cos(np.arange(24)) * np.cos(2 * np.arange(24))[:, None]
    slope = 1 + 1.2 * spectrum._far((24, 24))
    return [
        powers[::9],
        wavy[::9],
        odd[::5],
        calm,
        spectrum._of_calmest(powers[:20], powers[:20].mean(axis=0)),
        rings,
        len(spectrum._rings(5)),
        [spectrum._is_white(one) for one in (nearly, slope, slope**2, calm, np.ones((3, 3)), *peaked_at, *steeper)],
        [spectrum._noise_of_ring(one, power) for one in energies for power in (flat, 2 * flat[:9], peaked, 1 + peaked)],
        spectrum._finest(GREY),
        spectrum._finest(GREY[:1]),
        spectrum._far((6, 5)),
        spectrum._breadth(calm),
        spectrum._of_noise_alone(low, likeness),
        spectrum._of_noise_alone(odd[0], odd[1] / odd[1].max()),
        spectrum._filtered(low, 0.5),
        spectrum._filtered(odd[0], 0.5),
        spectrum._fine_spectrum(streaks((40, 33), 5)),
        spectrum._fine_spectrum(noise((9, 40), 5)),
        spectrum._beside(np.random.default_rng(0).random((30, 24))),
        spectrum._enlarged(low, (40, 50)),
    ]


@piece(MINIMISED)
def seen_closer() -> Any:
    """By what denoising takes away."""
    wavy = np.float32(FLAT[:36, :40] + streaks((36, 40), 12))
    first = Correlated(11.0, kernel=np.sin(np.arange(9) * 0.7)[None] + 0.1, confidence=0.5)
    likeness = np.add.outer(np.linspace(0.2, 1, 16), np.zeros(12))
    return spectrum._seen_closer(wavy, first, likeness)


@piece()
def shared_noise() -> Any:
    """Spectra on larger grids, covariances in patches, what of a residual is noise."""
    kernel = np.outer([1, 2, 1.0], [1, 3, 0, 1, 0.5])
    noises = [Correlated(9.0, kernel=kernel), Correlated(7.0, kernel=np.ones((1, 25)))]
    drawn = Correlated(5.0, psd=np.add.outer(np.arange(20.0), np.arange(24.0)) + 1)
    found = [correlated.Spectrum.of(one, (20, 24), 1.3) for one in (*noises, drawn)]
    residual = noise((20, 24), 8)
    apart = [correlated.Separation(one, (20, 24)) for one in found]
    channels = [Channel(residual, gain) for gain in (1.0, 0.6)]
    return [
        [(one.power, one.grid, one.in_patch((3, 2))) for one in found],
        [(one.noise(residual, 30.0), one.noise(residual, 4.0, 3)) for one in apart],
        correlated.patch_covariances(noises[0], channels, (20, 24), (3, 4)),
    ]


@piece()
def whitened_data() -> Any:
    """Of a blur in noise that neighbours share."""
    kernel = np.outer([1, 2, 1], [1, 3, 1]) / 20
    measure = blur(kernel, (20, 24))
    image = np.ascontiguousarray(GREY[:20, :24])
    plain = Problem(
        AnalysisOperator.dct(4),
        plan("deblur", 9.0, "fast", None, AnalysisOperator.dct(4)),
        image,
        image.ravel(),
        measure,
    )
    found = correlated.whitened(plain, Correlated(9.0, kernel=np.outer([1, 4, 1.0], np.ones(7))), 0.8)
    return found.data, found.measure.matvec(noise((480,))), found.measure.rmatvec(noise((480,), 1.0, 1))


@piece()
def stabilised() -> Any:
    """Roots of counts, and back, with and without read noise, in one channel and in three."""
    counts = np.array([-9.0, -1.0, 0, 0.3, 1, 5, 20, 80, 140, 255], np.float32)
    noises = [PoissonGaussian(2.0, 0.0), PoissonGaussian(0.7, 3.0, 4.0), PoissonGaussian(300.0, 5.0)]
    several = Stabilisation(PoissonGaussian((1.0, 2.0, 0.5), (0.0, 3.0, 1.0), (0.0, 1.0, 5.0)))
    page = np.stack([counts] * 3, axis=-1)[None]
    ways = [Stabilisation(one) for one in noises]
    each = [(way.sigma, way.forward(counts), way.back(counts), way.level(way.forward(counts))) for way in ways]
    roots = [expected_roots(read) for read in (0.0, 2.5)]
    values = np.array([0.0, 1.0, 3.0, 19.9, 20.2, 45.0])
    return each, (several.sigma, several.forward(page), several.back(page)), roots, _photons(values, 1.5)


@piece()
def local_levels() -> Any:
    """Maps of levels: their grids, patches and pixels; in channels, and enlarged."""
    typical = Map(LEVELS.sigma, typical=12.0)
    colours = Map(np.stack([LEVELS.sigma, 2 * LEVELS.sigma, LEVELS.sigma + 4], axis=-1), typical=(9.0, 18.0, 12.0))
    untold = Map(colours.sigma)
    channels, _ = take_apart(COLOUR[:24, :20], None)
    each = [
        (
            grid(one),
            pixel_levels(one),
            patch_levels(one, (5, 4), (2, 3)),
            relative_variance(one),
            precision(one),
            taken_of(one, (5, 4), (2, 2)),
            enlarged(one, 2),
            enlarged(one, 1.5),
        )
        for one in (LEVELS, typical, Map(np.where(LEVELS.sigma > 29, np.float32(500), LEVELS.sigma)))
    ]
    of = [of_channel(one, channel) for one in (typical, LEVELS, colours, untold) for channel in channels]
    told = [channel_noise(7.0, one, channels[1]) for one in (None, Gaussian(3.0), typical)]
    return each, of, told


@piece()
def stated_levels() -> Any:
    """As a caller says: of every page, in all units."""
    image = np.stack([COLOUR[:20, :24], COLOUR[20:40, :24]]) / 255
    pages, caller = open_image(image + 7, None, -1)
    levels = np.linspace(1e-5, 9, 20 * 24).reshape(20, 24)
    several = np.broadcast_to(levels[None, ..., None], image.shape) * np.array([1, 2, 3.0])
    given = [
        Gaussian(0.1),
        Gaussian(1e-12),
        Map(levels),
        Map(several),
        Map(levels, typical=3.0),
        PoissonGaussian(0.02, 0.01),
        Correlated(0.1, kernel=np.ones((1, 3))),
        Correlated(0.1, psd=1 + np.random.default_rng(0).random((20, 24))),
        Correlated(0.1, kernel=np.ones((1, 1))),
    ]
    found = [page_noises(pages, caller, one) for one in given]
    told = [stated_noise(sigma, None) for sigma in (0.5, levels + 1, None)]
    return found, told, [(typical_level(one[0]), largest_level(one[0])) for one in found]


@piece()
def data_noise() -> Any:
    """Of measurements: one level, and how much each counts."""
    data = np.float32(np.linspace(-2, 30, 12))
    given: list[tuple[Any, Any]] = [
        (2.0, None),
        (np.linspace(1e-3, 3, 12), None),
        (np.linspace(1, 3, 12).reshape(3, 4), None),
        (0.0, PoissonGaussian(0.5, 1.0)),
        (0.0, PoissonGaussian(2.0, 0.0, 3.0)),
        (0.0, Map(np.full((1, 12), 2.0))),
    ]
    found = [DataNoise.of(sigma, model, np.shape(sigma) or (12,), 2.55, False) for sigma, model in given]
    return [(one.first(data), one.weighed(data)) for one in found]
