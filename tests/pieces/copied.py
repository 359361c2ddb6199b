"""Wide holes: which there are, their scales, matching, filling and joining."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import cosparse
from cosparse.reconstruction import filling, holes, joining, matching, scales
from cosparse.reconstruction.planes import take_apart
from cosparse.reconstruction.start import interpolate
from cosparse.reconstruction.watch import Watch
from pieces import MINIMISED, NEAR, piece
from pieces.pictures import ASTRONAUT, CAMERA, noise

# Whole numbers, so that sums of squares are exact and no tie is broken by rounding.
WEAVE = np.rint(
    np.tile(noise((11, 13, 3), 40, 3) + 128, (8, 7, 1))[:80, :84]
    + noise((80, 84, 3), 4, 4)
    + np.arange(84)[:, None] / 4
).astype(np.float32)
GAP = np.zeros((80, 84), bool)
GAP[30:52, 33:58] = True
OPERATOR = cosparse.load_operator()


def _scales(image: Any = WEAVE, gap: Any = GAP) -> list[scales.Scale]:
    hidden = np.where(gap[..., None], 0, image).astype(np.float32)
    return [scales.Scale(one, hole, source, image.shape[2]) for one, hole, source in scales.pyramid(hidden, gap, ~gap)]


def _filled() -> tuple[scales.Scale, Any, Any]:
    """A scale whose hole has something in it, and origins."""
    scale, rng = _scales()[0], np.random.default_rng(0)
    sources = np.argwhere(scale.usable)
    origins = sources[rng.integers(0, len(sources), len(scale.centres))].astype(np.int32)
    scale.put(np.rint(rng.random((len(scale.pixels), scale.image.shape[2])) * 200).astype(np.float32))
    bias = np.rint(rng.random(GAP.shape) * 2e4).astype(np.float32)
    return scale, origins, bias


def _mask(*boxes: tuple[int, int, int, int], shape: tuple[int, int] = (90, 120)) -> Any:
    mask = np.zeros(shape, bool)
    for top, bottom, left, right in boxes:
        mask[top:bottom, left:right] = True
    return mask


@piece()
def wide_parts() -> Any:
    """Squares that are just wide enough or not, scratches, crossings, corners, scattered pixels with discs between."""
    scattered = np.random.default_rng(0).random((90, 120)) < 0.97
    scattered[30:60, 30:60] = True
    masks = [
        _mask((20, 37, 20, 37)),
        _mask((20, 38, 20, 38)),
        _mask((20, 41, 20, 41)),
        _mask((20, 39, 20, 60), (0, 90, 70, 74)),
        _mask((10, 40, 10, 60), (40, 80, 20, 23)),
        _mask((30, 60, 30, 60), (25, 33, 60, 100)),
        scattered,
        _mask((0, 40, 0, 40)),
        _mask((0, 90, 40, 80)),
        _mask((2, 88, 2, 118)),
        np.ones((90, 120), bool),
        _mask((0, 7, 0, 7), shape=(7, 40)),
        _mask((40, 60, 40, 60), (40, 60, 62, 82)),
    ]
    found = [holes.wide_parts(mask) for mask in masks]
    each = [list(holes.find_holes(one, everywhere)) for one in found for everywhere in (False, True)]
    return found, each, [[hole.within for hole in some] for some in each], [holes._blocks(mask) for mask in masks]


@piece()
def just_wide_enough() -> Any:
    """Rectangles of all sides about that."""
    return [
        holes.wide_parts(_mask((20, 20 + height, 20, 20 + width), shape=(64, 72))).sum()
        for height in range(15, 22)
        for width in (17, 19, 20, 24, 30)
    ]


@piece()
def found_holes() -> Any:
    """Near together or apart, deep and shallow, in a page larger than their windows."""
    large = _mask(
        (300, 320, 330, 380), (334, 340, 300, 306), (300, 310, 389, 395), (300, 310, 410, 420), shape=(700, 760)
    )
    deep = _mask((100, 400, 120, 420), shape=(700, 760))
    eight = _mask((20, 36, 20, 60), (60, 77, 20, 60), (20, 53, 80, 115))
    return [list(holes.find_holes(mask)) for mask in (large, deep, eight)]


@piece()
def what_is_left() -> Any:
    """To copy from: too little, enough, plenty."""
    hole = next(holes.find_holes(_mask((20, 60, 20, 110))))
    sources = [_mask((0, 20, 0, side)) for side in (6, 14, 20, 21, 22, 30, 40, 45, 60, 120)]
    left = [(holes.enough_left(hole, one), holes.plenty_left(hole, one)) for one in sources]
    missing = _mask((20, 60, 20, 110), (70, 72, 0, 120))
    stack = np.stack([missing, ~missing])
    wishes = [
        holes.Wish.checked("auto", None, 3, missing.shape),
        holes.Wish.checked("copy", None, np.int8(1), missing.shape),
        holes.Wish.checked("smooth", None, 0, missing.shape),
        holes.Wish.checked("auto", sources[8], 0, missing.shape),
        holes.Wish.checked("copy", sources[9], 0, stack.shape),
        holes.Wish.checked("copy", np.stack([sources[9]] * 2), 0, stack.shape),
    ]
    gaps = [missing, missing & False, _mask((10, 26, 10, 26), (40, 80, 20, 110)), ~_mask((0, 90, 0, 15))]
    works = [wish.of_page(0, gap, OPERATOR, "fast") for wish in wishes[:4] for gap in gaps[: 3 + (wish is wishes[0])]]
    some = wishes[0].of_page(0, gaps[2], OPERATOR, "fast")
    told = [work and (work.copied, work.source, work.seed, work.parts, list(work.holes)) for work in [*works, some]]
    return left, told, [wish.source for wish in wishes], holes.grown((slice(3, 9), slice(80, 88)), 5, (12, 90))


@piece()
def pyramids() -> Any:
    """All scales, of a hole that is deep and of one that is not; with little to copy from."""
    deep, shallow = _mask((30, 70, 30, 80)), _mask((30, 46, 30, 80))
    picture = np.ascontiguousarray(CAMERA[:90, :120, None])
    narrow = _mask((10, 80, 15, 105))
    found = [scales.pyramid(picture, gap, ~gap) for gap in (deep, shallow, narrow)]
    found.append(scales.pyramid(picture, deep, _mask((0, 30, 0, 40))))
    found.append(scales.pyramid(picture[:23], deep[40:63], ~deep[40:63]))
    one, two = _scales()[0], _scales()[1]
    return found, [vars(one), vars(two)], scales._texture(picture, ~deep), scales._halved(picture, ~deep)


@piece()
def matched() -> Any:
    """Origins that are better than those before, near and far; the votes' weights; what is crowded."""
    scale, origins, bias = _filled()
    found, costs = matching._matched(scale, origins, bias, matching._FIRST_MOVES)
    search = matching.Search(scale)
    strangers = matching._with_strangers(scale, found, costs, bias, search)
    return [
        found,
        costs,
        search(scale, bias, 3),
        strangers,
        matching._weights(scale, costs),
        matching._crowding(scale, found),
        matching._crowding(scale, origins[:40]),
        scale.shifts(origins),
        scale.means,
        len(search.places),
        search.basis.shape,
        matching._MOVES,
        matching._FIRST_MOVES,
    ]


@piece()
def most_alike() -> Any:
    """Of known patches, where little of the own one is trusted."""
    scale, _, bias = _filled()
    sources = np.argwhere(scale.usable).astype(np.int32)[::5]
    known = matching.patches(scale.image, sources, scales.REACH)
    trust = np.where(scale.gap, np.float32(0.1), np.float32(1))
    return matching._most_like(scale, scale.centres[::3], trust, known, bias[sources[:, 0], sources[:, 1]])


@piece(NEAR)
def origins_begun() -> Any:
    """At the coarsest scale, and at the finer one from these."""
    fine, coarse = _scales()[:2]
    flat = np.zeros(coarse.gap.shape, np.float32)
    first = matching.first_origins(coarse, flat)
    begun = coarse.image.copy()
    origins, places = matching.settle(coarse, first, flat, 3, lambda: True)
    finer = matching.finer_origins(fine, coarse, origins)
    return first, begun, origins, places, coarse.image, finer, fine.image


@piece()
def settled() -> Any:
    """With votes averaged at first, without, and stopped."""
    found = []
    for blended, stop in ((0, False), (4, False), (10, True)):
        scale, origins, bias = _filled()
        found.append((matching.settle(scale, origins, bias, blended, lambda stop=stop: not stop), scale.image))  # type: ignore[misc]
    return found


@piece(MINIMISED)
def filled_pages() -> Any:
    """A whole page in colour and in grey, by chance and not; what is told meanwhile."""
    found = []
    stone = np.rint(ASTRONAUT[380:460, 20:104])
    for page, seed, bounds in ((WEAVE, 0, (0.0, 255.0)), (stone[..., 0].copy(), 2, None), (stone, 1, (60.0, 180.0))):
        work = holes.Wish.checked("auto", None, seed, GAP.shape).of_page(0, GAP, OPERATOR, "fast")
        assert work is not None
        if seed:  # what of the page is looked at begins further in
            work = replace(work, holes=[replace(hole, window=(slice(3, 78), slice(5, 81))) for hole in work.holes])
        told: list[Any] = []
        watch = Watch(
            lambda progress, told=told: told.append((progress.iteration, progress.filling, progress.image.copy()))
        )  # type: ignore[misc]
        hidden = np.where(GAP if page.ndim == 2 else GAP[..., None], 0, page).astype(np.float32)
        found.append(
            (filling.fill_page(hidden, work, bounds, watch), [(n, f.scale, f.scales, f.origins, i) for n, f, i in told])
        )
    return found


@piece()
def chances() -> Any:
    """What a seed adds."""
    scale = _scales()[1]
    return filling._chances(scale, np.random.default_rng(3))


@piece()
def previews() -> Any:
    """What is shown of a coarse filling."""
    work = holes.Wish.checked("copy", None, 0, GAP.shape).of_page(0, GAP, OPERATOR, "fast")
    assert work is not None
    page = filling.Page(np.where(GAP[..., None], 0, WEAVE).astype(np.float32), work, Watch(), grey=False)
    begun = page.pixels.copy()
    coarse = _scales()[1]
    for k in range(coarse.image.shape[2]):
        coarse.image[..., k] = interpolate(coarse.image[..., k], coarse.gap)
    filling._preview(page, work.holes[0], coarse, 2)
    return begun, page.pixels


@piece(MINIMISED)
def joined() -> Any:
    """Pieces that agree in places, in grey and in colour; how far they are apart."""
    rng = np.random.default_rng(1)
    image = WEAVE.copy()
    origins = np.full((*GAP.shape, 2), -1, np.int32)
    pixels = np.argwhere(GAP)
    moves = np.array([[-22, 0], [22, 13], [0, -26]])[(pixels[:, 1] // 9 + pixels[:, 0] // 11) % 3]
    own = (pixels + moves).clip(0, np.subtract(GAP.shape, 1))
    origins[GAP] = own
    image[GAP] = WEAVE[own[:, 0], own[:, 1]] + rng.integers(-3, 4, (len(own), 1))
    box = (slice(30, 52), slice(33, 58))
    found = [
        joining.joined(one, GAP, origins, box, (OPERATOR, quality, bounds))
        for one, quality, bounds in ((image, "fast", None), (image[..., :1].copy(), "fast", (60.0, 150.0)))
    ]
    return joining.disagreement(image, GAP, origins), found


@piece()
def told_of_holes() -> Any:
    """A task's copies, with what is narrow beside them."""
    from cosparse.reconstruction.tasks.inpainting import request

    missing = GAP.copy()
    missing[5:8, :] = True
    asked = request(WEAVE.astype(np.uint8), missing, channel_axis=-1, seed=4)
    work, own = asked.copies[0], asked.asked[0]
    assert work is not None and own is not None
    channels, join = take_apart(asked.pages[0], None)
    return (
        work.copied,
        work.source,
        own.gaps,
        replace(own, operator=None).sigma,
        asked.pages,
        len(channels),
        join([one.plane for one in channels]),
    )  # type: ignore[arg-type]
