"""Wide holes filled from elsewhere in the picture: coarse to fine, then joined to what is about them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cosparse.kernels.copying_reference import Image, Places
from cosparse.reconstruction.bounds import Pair
from cosparse.reconstruction.holes import Copying, Hole
from cosparse.reconstruction.joining import joined
from cosparse.reconstruction.matching import BLENDED, JITTER, finer_origins, first_origins, settle
from cosparse.reconstruction.planes import Plane
from cosparse.reconstruction.scales import REACH, Scale, box_means, pyramid
from cosparse.reconstruction.start import interpolate
from cosparse.reconstruction.watch import Watch

CHANCY = 2  # scales, the coarsest, at which a seed has a say


@dataclass(frozen=True, eq=False)
class Filling:
    """How far the filling of a page's wide holes is, and where from.

    Attributes
    ----------
    scale, scales : int
        Coarse to fine, over all holes of the page.
    origins : (h, w, 2) int32 array
        The row and the column that every pixel was copied from, -1 where none was.
    """

    scale: int
    scales: int
    origins: NDArray[np.int32]


@dataclass(eq=False)
class Page:
    """A page at work: its pixels, and where those that were copied come from."""

    pixels: Image  # (h, w, channels)
    work: Copying
    watch: Watch
    grey: bool
    done: int = 0
    origins: NDArray[np.int32] = field(init=False)

    def __post_init__(self) -> None:
        self.origins = np.full((*self.pixels.shape[:2], 2), -1, np.int32)
        for k in range(self.pixels.shape[2]):
            self.pixels[..., k] = interpolate(self.pixels[..., k], self.work.copied)

    def tell(self, steps: int = 1) -> bool:
        """So many scales are done; whether to go on."""
        self.done += steps
        filling = Filling(self.done, self.work.parts, self.origins)
        return not self.watch.filled(filling, self.shown())

    def shown(self) -> Plane:
        """The pixels as the page has them."""
        return self.pixels[..., 0] if self.grey else self.pixels


def fill_page(page: Plane, work: Copying, bounds: Pair | None, watch: Watch) -> Plane:
    """A page (h, w) or (h, w, channels) on 0..255 with its wide holes filled from elsewhere."""
    grey = page.ndim == 2
    at_work = Page(np.array(page[..., None] if grey else page, np.float32), work, watch, grey)
    for hole in work.holes:
        if watch.stopped:
            break
        _fill_hole(at_work, hole, bounds)
    found = at_work.shown()
    return found if bounds is None else found.clip(*bounds)


def _fill_hole(page: Page, hole: Hole, bounds: Pair | None) -> None:
    """One hole, scale by scale."""
    window = page.pixels[hole.window]
    gap = page.work.copied[hole.window]
    levels = pyramid(window, gap, page.work.source[hole.window])[: hole.scales]
    chance = np.random.default_rng(page.work.seed)
    before: tuple[Scale, Places] | None = None
    for number, (image, missing, source) in enumerate(reversed(levels)):
        left = len(levels) - 1 - number
        scale = Scale(image, missing, source, window.shape[2])
        bias = np.zeros(missing.shape, np.float32)
        if page.work.seed and number < CHANCY:
            bias += _chances(scale, chance)
        origins = first_origins(scale, bias) if before is None else finer_origins(scale, *before)
        origins, places = settle(scale, origins, bias, 0 if number else BLENDED, lambda: not page.watch.stopped)
        before = scale, origins
        if left == 0:
            _take(page, hole, scale, places, bounds)
        else:
            _preview(page, hole, scale, 2**left)
        last = hole.scales - number if left == 0 else 1  # there may be fewer scales than the depth would have
        if not page.tell(last):
            break


def _chances(scale: Scale, chance: np.random.Generator) -> Image:
    """What chance adds to the cost of places to copy from: neighbours are favoured together."""
    known = scale.image[~scale.gap][:, : scale.colours]
    typical = float(known.var(axis=0).sum()) * (2 * REACH + 1) ** 2
    noise = chance.random((*scale.gap.shape, 1)).astype(np.float32)
    return np.float32(JITTER * typical) * box_means(noise, 3)[..., 0]


def _preview(page: Page, hole: Hole, scale: Scale, factor: int) -> None:
    """Show a coarse filling in the page: what there is if the work ends here."""
    rows, columns = (np.arange(side.start, side.stop) // factor for side in hole.within)
    rows, columns = (where.clip(0, extent - 1) for where, extent in zip((rows, columns), scale.gap.shape, strict=True))
    values = scale.image[np.ix_(rows, columns)][..., : scale.colours]
    page.pixels[hole.box][hole.pixels] = values[hole.pixels]


def _take(page: Page, hole: Hole, scale: Scale, places: Places, bounds: Pair | None) -> None:
    """The finest filling into the page, joined to what is about it; every pixel is copied from its place."""
    origins = np.full((*scale.gap.shape, 2), -1, np.int32)
    origins[scale.pixels[:, 0], scale.pixels[:, 1]] = places
    prior = page.work.operator, page.work.quality, bounds
    result = joined(scale.image[..., : scale.colours], scale.gap, origins, hole.within, prior)
    page.pixels[hole.box][hole.pixels] = result[hole.pixels]
    own = origins[hole.within][hole.pixels]
    page.origins[hole.box][hole.pixels] = own + np.array([hole.window[0].start, hole.window[1].start])
