"""How noisy a picture is: every page by every model, and what the levels are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from cosparse import estimate_noise, estimate_sigma
from cosparse.noise import Gaussian, Map, PoissonGaussian
from cosparse.reconstruction import estimation
from cosparse.reconstruction.estimation import _common, _of_photons, _photon_noise, _together, page_noise
from cosparse.reconstruction.flat_blocks import (
    BANDS,
    Level,
    _expected,
    band_energies,
    band_level,
    blocks_of,
    coefficients,
    cut_off,
    mosaic,
    noise_level_of,
    sampled,
)
from cosparse.reconstruction.photons import VarianceLine
from cosparse.reconstruction.planes import open_image
from pieces import FITTED, NEAR, piece
from pieces.pictures import COLOUR, FLAT, GREY, TEXTURED, noise, photons, saved, soft_noise

BRIGHTER = np.float32(np.sqrt(np.maximum(FLAT, 1)) * 2)
OPPOSED = noise((64, 64), 1.0, 9)[..., None] * np.array([20, -10, -10], np.float32)
PAGES = {
    "white": GREY + noise(GREY.shape, 20),
    "white on texture": TEXTURED + noise(TEXTURED.shape, 8),
    "none": GREY,
    "none in texture": TEXTURED,
    "little": FLAT + noise(FLAT.shape, 1.2),
    "cut off": (GREY + noise(GREY.shape, 45)).clip(0, 255),
    "cut off much": (3 * GREY - 250 + noise(GREY.shape, 20)).clip(0, 255),
    "soft": FLAT + soft_noise(FLAT.shape, 12, 0.8),
    "softer": FLAT + soft_noise(FLAT.shape, 20, 2.0),
    "soft on texture": TEXTURED + soft_noise(TEXTURED.shape, 9, 0.7),
    "stronger where bright": FLAT + BRIGHTER * noise(FLAT.shape, 1, 4),
    "colour": COLOUR + noise(COLOUR.shape, 15),
    "colour of luma": COLOUR + noise((64, 64, 1), 15),
    "colour of opponents": (COLOUR + OPPOSED)[:40, :40],
    "colour, clean": COLOUR[:40, 20:60],
    "two channels": np.stack([FLAT + noise(FLAT.shape, 6), FLAT.T + noise(FLAT.shape, 18, 1)], axis=-1)[:48, :40],
}


def _of(model: Any, *names: str) -> Any:
    return [page_noise(PAGES[name], model) for name in names or PAGES]


def _page(name: str) -> None:
    """A piece for the page of that name."""

    def one_page() -> Any:
        return _of("auto", name)

    one_page.__name__ = name.replace(" ", "_").replace(",", "")
    piece(NEAR)(one_page)


for _name in PAGES:
    _page(_name)


@piece(NEAR)
def rising() -> Any:
    """Noise of more and more, softer and softer: where one way to see it gives way to the next."""
    shape = (28, 28)
    return [
        page_noise(FLAT[:28, :28] + (soft_noise(shape, sigma, width) if width else noise(shape, sigma)), "gaussian")
        for sigma in (0.8, 1.4, 2.2, 3.2, 4.2, 5.5, 9.0)
        for width in (0.0, 0.4, 0.5, 0.7)
    ]


@piece()
def bands_of_pages() -> Any:
    """The levels of all bands, and of classes of brightness."""
    found = {name: coefficients(blocks_of(mosaic(page))) for name, page in PAGES.items() if page.ndim == 2}
    fading = [FLAT + (1 + part * BRIGHTER / 20) * noise(FLAT.shape, 3, 4) for part in (0.2, 0.35, 0.5, 0.8, 1.5)]
    every = [*found.values(), *(coefficients(blocks_of(mosaic(page))) for page in fading)]
    return [
        [estimation._levels(one) for one in every],
        [estimation._varies(one) for one in every],
        [estimation._by_brightness(one[:, 0, 0], band_energies(one)) for one in (every[0], every[0][:500:2])],
    ]


@piece()
def more_and_more_photons() -> Any:
    """From which gain on they are believed; what else must be so."""
    pages = [photons(clean, gain, 1.0) for clean in (FLAT[:64, :64], TEXTURED[:64, :64]) for gain in (0.1, 0.4, 1.5)]
    pages.append(photons(FLAT[:56, :70], 2.0, 1.0))  # 800 blocks, as many as must be
    return [isinstance(page_noise(page, "auto"), PoissonGaussian) for page in pages]


@piece(FITTED)
def of_photons() -> Any:
    """Auto and as asked for, with and without an offset, in grey and in colour."""
    pages = [
        photons(FLAT, 2.0, 4.0),
        photons(FLAT + 40, 1.0, 0.0, 30.0),
        photons(TEXTURED, 3.0, 2.0),
        photons(FLAT[:64, :32], 2.0, 4.0),
    ]
    asked = photons(COLOUR[::2, ::2], 2.0, 1.0)
    return [page_noise(page, "auto") for page in pages], page_noise(asked, "poisson-gaussian")


@piece(FITTED)
def of_photons_that_are_none() -> Any:
    """Where brightness does not vary, and white noise that is asked to be photons."""
    pages = [PAGES["white"][:40, :40], PAGES["two channels"], 100 + noise((40, 40), 9)]
    return [page_noise(page, "poisson-gaussian") for page in pages]


@piece(NEAR)
def maps() -> Any:
    """Levels that rise across, in grey and in colour; too small a page; no noise at all."""
    across = np.linspace(4, 40, 72, dtype=np.float32)
    grey = TEXTURED + across * noise(TEXTURED.shape)
    colour = COLOUR + across[:64, None] * noise(COLOUR.shape)
    wide = np.tile(FLAT, (1, 2))[:, :100] + np.linspace(2, 30, 100) * noise((72, 100))
    pages = [grey, colour, np.float32(wide), grey[:60], np.full((64, 64), 50, np.float32), 2 * GREY - 100]
    return [page_noise(page, "map") for page in pages]


@piece()
def small_pages() -> Any:
    """Too small for blocks."""
    rough = FLAT[:20, :30] + noise((20, 30), 10)
    pages = [rough, rough[:1], rough[:2, :3], 0 * rough, np.stack([rough, 0 * rough, rough**2 / 99], axis=-1)]
    edge = FLAT[:24, :24] + noise((24, 24), 10)
    return [[page_noise(page, model) for model in ("auto", "map")] for page in [*pages, edge[:23], edge]]


@piece(NEAR)
def jpegs() -> Any:
    """As decoded, and changed since."""
    noisy = saved(TEXTURED + noise(TEXTURED.shape, 10), 80)
    colour = saved(COLOUR + noise(COLOUR.shape, 12), 85)
    return [page_noise(page) for page in (noisy, saved(GREY, 60), colour, 0.8 * noisy + 13, noisy[3:, 3:])]


@piece(FITTED)
def in_units() -> Any:
    """Of arrays as callers have them: types, ranges, offsets, stacks, transparency."""
    white, other = PAGES["white"][:30, :32], (GREY + noise(GREY.shape, 10, 5))[:30, :32]
    stack, counts = np.stack([white, other]), photons(FLAT, 2.0, 4.0)[:32, :34]
    colour = PAGES["colour"][:32, :30]
    alpha = np.concatenate([colour, np.full((32, 30, 1), 9)], axis=-1)
    wide = np.stack([PAGES["colour"], 2 * PAGES["colour"] - 90])
    return [
        estimate_noise(white / 255),
        estimate_noise(white.clip(0, 255).astype(np.uint8)),
        estimate_noise(np.uint16(white.clip(0, 255) * 200)),
        estimate_noise(white + 5000, data_range=255),
        estimate_noise(counts + 1000, "poisson-gaussian", data_range=255),
        estimate_noise(stack, data_range=255),
        estimate_noise(np.stack([counts, counts[::-1]]), "poisson-gaussian", data_range=255),
        estimate_noise(np.stack([photons(FLAT, 2.0, 4.0), FLAT + noise(FLAT.shape, 9)]), data_range=255),
        estimate_noise(wide, "map", data_range=255, channel_axis=-1),
        estimate_noise(wide[..., 0], "map", data_range=255),
        estimate_noise(alpha, data_range=255, channel_axis=-1, alpha=True),
        estimate_sigma(stack, data_range=255),
        estimate_sigma(colour / 255, channel_axis=-1),
    ]


@piece()
def from_blocks() -> Any:
    """Of blocks side by side, as a large picture's."""
    tiles = mosaic(PAGES["white"])
    return [
        estimation.blocks_noise(tiles / 255, "auto", 1.0, None),
        estimation.mosaic_noise(tiles, "auto", Level(7.0, 0.5)),
        estimation.mosaic_noise(tiles, "gaussian", changed=True),
    ]


@piece()
def levels_together() -> Any:
    """Of channels that are alike or not; three that are opponents, and three that are not."""
    cases = [
        [Level(10, 1.0)],
        [Level(10, 1.0), Level(12.5, 0.5), Level(12.9, 2.0)],
        [Level(10, 1.0), Level(12.5, 0.5), Level(13.1, 2.0)],
        [Level(10, 1.0), Level(4, 0.5), Level(3, 2.0)],
        [Level(10, 1.0), Level(24, 0.5), Level(3, 2.0)],
        [Level(10, 0.0), Level(11, 1e-7), Level(10, 2e-6)],
        [Level(0, 0.0), Level(0, 0.0), Level(0, 0.0)],
    ]
    return [_together(case, rgb) for case in cases for rgb in (False, len(case) == 3)]


@piece()
def whether_photons() -> Any:
    """Lines just above and below what is believed."""
    line = VarianceLine(2.0, 9.0, 5.0, 100.0, 3.0, 0.1)
    changes: list[dict[str, float]] = [
        {},
        {"gain": 0.0},
        {"gain": -1.0},
        {"ratio": 1.61},
        {"ratio": 1.59},
        {"ratio": 1.6},
        {"evidence": 61.0},
        {"evidence": 59.0},
        {"evidence": 60.0},
        {"intercept": -4.0},
        {"darkest": -50.0},
        {"darkest": -2.0},
        {"darkest": -3.5},
        {"error": 0.7},
        {"error": 0.5},
        {"intercept": 0.0},
        {"gain": 0.5, "intercept": -1.0},
    ]
    lines = [VarianceLine(**(vars(line) | change)) for change in changes]
    each = [(_of_photons([one]), _photon_noise([one], Level(5, 1)), one.parameters()) for one in lines]
    several = [[line, None], [line, line, lines[6]], [line, lines[1]], []]
    return each, [_of_photons(one) for one in several], [_photon_noise(one, Level(5, 1)) for one in several[:3]]


@piece()
def confidence() -> Any:
    """Of levels that are known well or badly."""
    return [estimation._confidence(Level(sigma, error)) for sigma in (0.0, 0.3, 8.0) for error in (0.0, 0.2, 1.5, 9.0)]


@piece()
def common_noise() -> Any:
    """Of pages of one kind."""
    _, caller = open_image(np.zeros((2, 4, 5, 3), np.float32), 1.0, -1)
    one = PoissonGaussian(gain=2.0, read=1.0, offset=3.0, confidence=0.5)
    maps = [Map(np.full((4, 5), level, np.float32), confidence=0.2) for level in (3.0, 5.0)]
    return [
        _common(found, caller)
        for found in (
            [Gaussian(3.0, confidence=0.4), Gaussian(6.0, confidence=0.8)],
            [one, PoissonGaussian(gain=4.0, read=0.0, offset=1.0)],
            maps,
            maps[:1],
            [],
        )
    ]


@piece()
def bands() -> Any:
    """What is looked at, and the level of each band."""
    energies = {name: band_energies(coefficients(blocks_of(mosaic(PAGES[name])))) for name in ("white", "soft")}
    return [
        [sampled(side) for side in (8, 9, 30, 64, 199, 200, 201, 1000)],
        [band_level(one, band, part) for one in energies.values() for band in range(4) for part in (0.05, 0.15, 0.9)],
        [band_level(energies["white"][:count], 3) for count in (30, 64, 65, 500)],
        BANDS,
        [_expected(freedom)[::4, ::3] for freedom in (4, 11)],
    ]


@piece()
def levels_of_energies() -> Any:
    """Of chi-squared energies with and without texture, few and many; of none."""
    rng = np.random.default_rng(8)
    pure = rng.chisquare(9, 4000) / 9
    mixed = pure * (4 + np.exp(rng.normal(0, 1.4, 4000)))
    cases = [pure, 100 * pure, mixed, mixed[:200], pure[:299], pure[:301], pure[:70], 1e-10 * pure, pure[:0]]
    found = [noise_level_of(case, 9) for case in cases]
    level = Level(3.0, 0.5)
    return found, level.surely(), level.at_most(), level.surely(7), level.at_most(2.0), Level(0.1, 1.0).surely()


@piece()
def ends() -> Any:
    """Where values were cut off."""
    values = np.arange(2000.0).reshape(20, 100)
    pages = [values, values.clip(3), values.clip(4), values.clip(0, 1994), values.clip(5, 1900)]
    blocks = [blocks_of(mosaic(page))[:, ::3, ::3] for page in (PAGES["cut off"], PAGES["cut off much"])]
    return [cut_off(page) for page in pages], blocks, blocks_of(mosaic(COLOUR.clip(30, 200)))[:, ::4, ::4]
