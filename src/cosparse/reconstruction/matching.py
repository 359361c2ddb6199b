"""Which known patch each patch of a hole is like, and what they say the hole is: in turns, until it settles."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cosparse.kernels.copying import differences, elect, improve, nearest, project, vote
from cosparse.kernels.copying_reference import Image, Places, patches
from cosparse.reconstruction.scales import PULL, REACH, Scale, box_means
from cosparse.reconstruction.start import interpolate

TURNS = 10  # of matching and voting at a scale, at most; fewer where it has settled
BLENDED = 6  # of those, the first at the coarsest scale: there votes are averaged
SETTLED = 0.3  # grey levels: a turn that changes less is the last
NUMBERS = 24  # that stand for a patch where all known ones are searched
EFFORT = 2e10  # multiplications: a search of all known patches that takes more is not made
SEARCHES = 3  # of those that take much of that, at a scale
SAMPLED = 120_000  # known patches that are searched, at most
PEELED = 12_000  # the same of the first filling
STRANGER = 1.2  # times nearer must a patch be that continues no neighbour's
CROWD = 1.0  # how much it costs to copy what was copied before
FAINT = 0.1  # what a guess counts beside what is known, in the first filling
RIM = 1.3  # times less counts what is a pixel farther from all that is known
DEEPEST = 200  # pixels, and no less from there on: single precision ends at 300
DOUBT = 1.5  # how far the similarity of a patch changes what it counts
JITTER = 0.3  # variances of the picture by which chance favours places to copy from

_AROUND = [(down, across) for down in (-1, 0, 1) for across in (-1, 0, 1) if down or across]
_BESIDE = [(-1, 0), (1, 0), (0, -1), (0, 1)]
_FAR = [(far * down, far * across, 0, 0) for far in (8, 4, 2) for down, across in _BESIDE]
_NEXT = [(down, across, 0, 0) for down, across in _AROUND]
_NUDGED = [(0, 0, down, across) for down, across in _AROUND]
_MOVES = np.array([*_FAR, *_NEXT], np.int32)
_FIRST_MOVES = np.array([*_FAR, *_NEXT, *_NUDGED], np.int32)  # where origins are of a coarser scale, half a pixel off


class Search:
    """All known patches of a scale, a few numbers each: where the patches of the hole have their like."""

    def __init__(self, scale: Scale) -> None:
        places = np.argwhere(scale.usable).astype(np.int32)
        self.places = places[:: -(-len(places) // SAMPLED)]
        seen = patches(scale.image, self.places[:: max(1, len(self.places) // 4000)], REACH)
        flat = np.where(scale.slack > 0, 1 - np.sqrt(PULL), 0)  # as shifted patches differ little by their means

        def without_means(values: Image) -> Image:
            return np.asarray(values - flat * values.mean(axis=(1, 2), keepdims=True))

        values = without_means(seen - seen.mean(axis=0)).reshape(len(seen), -1)
        main = np.linalg.eigh(values.T @ values)[1][:, : -NUMBERS - 1 : -1]
        basis = without_means(main.T.reshape(-1, *seen.shape[1:])).reshape(main.shape[1], -1).T
        self.basis = np.ascontiguousarray(basis, np.float32)
        self.numbers = project(scale.image, self.places, self.basis, REACH)

    def __call__(self, scale: Scale, bias: Image, count: int) -> Places:
        """(n, count, 2): the likeliest origins of all patches of the hole."""
        wanted = project(scale.image, scale.centres, self.basis, REACH)
        return self.places[nearest(wanted, self.numbers, bias[self.places[:, 0], self.places[:, 1]], count)]


def settle(
    scale: Scale, origins: Places, bias: Image, blended: int, proceed: Callable[[], bool]
) -> tuple[Places, Places]:
    """Match and vote in turns, of which the first are `blended`: the origins of patches and of pixels at last.

    Averages of unlike patches are soft, and what is soft is like flat patches: texture is lost where these are many, at
    coarse scales first. Then each pixel is copied from one place alone, and pieces grow whose patches have their like
    to the bit. But pieces once there do not give way to each other: what goes where is for averages to find, once.
    `bias` (h, w) is what it costs to copy from a place.
    """
    pairs = float(len(scale.centres)) * min(int(scale.usable.sum()), SAMPLED) * NUMBERS * 2
    search = Search(scale) if pairs < EFFORT else None
    crowded, places = bias, scale.pixels
    for turn in range(TURNS):
        matched = _matched(scale, origins, crowded, _MOVES if turn else _FIRST_MOVES)
        if search is not None and (turn < SEARCHES or pairs < EFFORT / 20):
            matched = _with_strangers(scale, *matched, crowded, search)
        origins = matched[0]
        costs = differences(
            scale.image, scale.means, scale.slack, PULL, scale.centres, origins, np.zeros_like(bias), REACH
        )
        voters = scale.image, scale.pixels, scale.index, origins, scale.shifts(origins), _weights(scale, costs), REACH
        if turn < blended and proceed():
            scale.put(vote(*voters))
        else:
            values, places = elect(*voters)
            if scale.put(values) < SETTLED or not proceed():
                break
        crowded = bias + _crowding(scale, origins) * np.float32(CROWD * np.median(costs))
    return origins, places


def _matched(scale: Scale, origins: Places, bias: Image, moves: Places) -> tuple[Places, Image]:
    """The best of what patches have and of what continues their neighbours' origins, near and far, twice over."""
    given = scale.image, scale.means, scale.slack, PULL, scale.centres
    costs = differences(*given, origins, bias, REACH)
    for _ in range(2):
        origins, costs = improve(*given, scale.index, scale.usable, bias, REACH, moves, origins, costs)
    return origins, costs


def _with_strangers(scale: Scale, origins: Places, costs: Image, bias: Image, search: Search) -> tuple[Places, Image]:
    """The same with patches from anywhere, where these are much nearer."""
    given = scale.image, scale.means, scale.slack, PULL, scale.centres
    for places in np.moveaxis(search(scale, bias, 2), 1, 0):
        found = np.ascontiguousarray(places)
        cost = differences(*given, found, bias, REACH)
        better = STRANGER * cost < costs
        origins, costs = np.where(better[:, None], found, origins), np.where(better, cost, costs)
    return improve(*given, scale.index, scale.usable, bias, REACH, _MOVES, origins, costs)


def _weights(scale: Scale, costs: Image) -> Image:
    """How much each patch counts: the more, the liker it is to its origin and the nearer to what is known."""
    usual = np.percentile(costs, 75) + 1e-3
    depth = scale.depth[scale.centres[:, 0], scale.centres[:, 1]].clip(max=DEEPEST)
    return np.asarray(np.exp(-np.minimum(costs / usual, DOUBT)) * RIM**-depth, np.float32)


def _crowding(scale: Scale, origins: Places) -> Image:
    """How many times more often than once every place was copied; what need not be copied twice is not."""
    places = np.ravel_multi_index((origins[:, 0], origins[:, 1]), scale.gap.shape)
    counts = np.bincount(places, minlength=scale.gap.size).reshape(*scale.gap.shape, 1).astype(np.float32)
    fair = max(1.5 * len(origins) / max(int(scale.usable.sum()), 1), 1.0)
    return np.asarray((box_means(counts, 2 * REACH + 1)[..., 0] / fair - 1).clip(0, 6), np.float32)


def first_origins(scale: Scale, bias: Image) -> Places:
    """Of the coarsest scale: the hole is filled from its rim inwards, a ring of pixels at a time.

    A patch is compared where it is known or filled; what is not counts a little, as a smooth guess has it.
    """
    for k in range(scale.image.shape[2]):
        scale.image[..., k] = interpolate(scale.image[..., k], scale.gap)
    trust = np.where(scale.gap, np.float32(FAINT), np.float32(1))
    sources = np.argwhere(scale.usable).astype(np.int32)
    sources = sources[:: -(-len(sources) // PEELED)]
    costs = bias[sources[:, 0], sources[:, 1]]
    known = patches(scale.image, sources, REACH)
    rings = np.ceil(scale.depth).astype(int)
    for ring in range(1, rings.max() + 1):
        pixels = np.argwhere(rings == ring).astype(np.int32)
        inside = np.subtract(scale.gap.shape, REACH + 1)
        centres = np.unique(pixels.clip(REACH, inside), axis=0).astype(np.int32)
        found, shifts = _most_like(scale, centres, trust, known, costs)
        index = np.full(scale.gap.shape, -1, np.int32)
        index[centres[:, 0], centres[:, 1]] = np.arange(len(centres))
        weights = np.ones(len(centres), np.float32)
        values = vote(scale.image, pixels, index, sources[found], shifts, weights, REACH)
        scale.image[pixels[:, 0], pixels[:, 1]] = values
        trust[pixels[:, 0], pixels[:, 1]] = 1
    scale.changed()
    return np.ascontiguousarray(Search(scale)(scale, bias, 1)[:, 0])


def _most_like(scale: Scale, centres: Places, trust: Image, known: Image, costs: Image) -> tuple[Places, Image]:
    """Which of the `known` patches each is most like as far as it can be trusted, and by how much that is shifted."""
    found, shifts = np.zeros(len(centres), np.int32), np.zeros((len(centres), known.shape[-1]), np.float32)
    flat = known.reshape(len(known), -1)
    squares = np.square(known).sum(axis=3).reshape(len(known), -1)
    for first in range(0, len(centres), 128):
        some = slice(first, first + 128)
        own = patches(scale.image, centres[some], REACH)
        counted = patches(trust[..., None], centres[some], REACH)
        mass = counted.sum(axis=(1, 2))
        weights = counted.reshape(len(own), -1)
        totals = (counted * np.square(own)).sum(axis=(1, 2, 3))[:, None] + weights @ squares.T
        totals -= 2 * (counted * own).reshape(len(own), -1) @ flat.T
        moved = np.zeros((len(own), len(known), known.shape[-1]), np.float32)
        for k in np.flatnonzero(scale.slack):
            off = (counted * own)[..., k].sum(axis=(1, 2))[:, None] - weights @ known[..., k].reshape(len(known), -1).T
            off /= mass
            moved[..., k] = off.clip(-scale.slack[k], scale.slack[k])
            totals -= mass * (2 * off - (1 + PULL) * moved[..., k]) * moved[..., k]
        best = (totals * (weights.shape[1] / mass) + costs).argmin(axis=1)
        found[some], shifts[some] = best, moved[np.arange(len(own)), best]
    return found, shifts


def finer_origins(scale: Scale, coarse: Scale, origins: Places) -> Places:
    """Of a scale, from those of the one of half its size: where they point, or to what may be copied nearest to it.

    The hole is filled from there, with the shifts of the coarse scale.
    """
    from scipy import ndimage

    inside = np.subtract(coarse.gap.shape, REACH + 1)
    parents = (scale.centres // 2).clip(REACH, inside)
    numbers = coarse.index[parents[:, 0], parents[:, 1]].clip(0)
    wanted = 2 * origins[numbers] + scale.centres - 2 * parents
    wanted = wanted.clip(REACH, np.subtract(scale.gap.shape, REACH + 1))
    near = ndimage.distance_transform_edt(scale.usable == 0, return_distances=False, return_indices=True)
    found = np.ascontiguousarray(near[:, wanted[:, 0], wanted[:, 1]].T, np.int32)
    weights = np.ones(len(found), np.float32)
    shifts = np.ascontiguousarray(coarse.shifts(origins)[numbers])
    scale.put(vote(scale.image, scale.pixels, scale.index, found, shifts, weights, REACH))
    return found
