"""The door of the tasks: any array a caller may have, as grey planes on 0..255, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse.io.values import checked_range, from_working, to_working
from cosparse.reconstruction.bounds import Extremes, Pair, known_bounds
from cosparse.reconstruction.intervals import Intervals

Plane = NDArray[np.float32]
Pages = NDArray[np.float32]

# Luma and two opponent colours. Each row has absolute sum 1 or less, so that a channel has the range of a grey image;
# where noise of RGB has standard deviation σ, that of a channel has σ times the row's norm.
OPPONENT = np.array([[1 / 3, 1 / 3, 1 / 3], [1 / 2, 0, -1 / 2], [1 / 4, -1 / 2, 1 / 4]], np.float32)
_BACK = np.linalg.inv(OPPONENT.astype(float)).astype(np.float32)
GAINS = tuple(float(np.linalg.norm(row)) for row in OPPONENT)

FAR = 8.0  # data ranges: what spreads further was most likely given in other units
OFF = 1.0  # data ranges: values further from zero lose bits in float32, and are shifted first


@dataclass(frozen=True)
class Channel:
    """One grey plane: its pixels, how its noise relates to the image's, and its bounds if it has any."""

    plane: Plane
    gain: float = 1.0
    bounds: Pair | None = None
    mixed: tuple[float, ...] = (1.0,)  # how much of each of the page's channels is in it
    chroma: bool = False  # whether it is one of two opponent colours beside luma
    within: Intervals | None = None  # of a JPEG: those of its coefficients


@dataclass(frozen=True, eq=False)
class Caller:
    """What the caller's array was like, so that the result is like it."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]  # like the type and the axis, of the array without its transparency
    data_range: float  # the value of white
    channel_axis: int | None
    offset: float = 0.0  # what was taken away from all values, in the caller's units
    alpha: NDArray[Any] | None = None  # the transparency, as it came; colour axis last, and one long

    def scale(self, sigma: float) -> float:
        """A noise level in the caller's units as one on 0..255."""
        return sigma * 255.0 / self.data_range

    def working_bounds(self, bounds: Pair) -> Pair:
        """Bounds in the caller's units as those of the planes at work."""
        low, high = (self.scale(end - self.offset) for end in bounds)
        return low, high

    def paged(self, array: NDArray[Any]) -> NDArray[Any]:
        """(pages, h, w[, channels]): an array laid out as the caller's; a view where that can be."""
        if self.channel_axis is not None:
            array = np.moveaxis(array, self.channel_axis, -1)
        inner = array.shape[-2:] if self.channel_axis is None else array.shape[-3:]
        return array.reshape(-1, *inner)

    def unpaged(self, pages: NDArray[Any]) -> NDArray[Any]:
        """The reverse; the pages may have another size than they had."""
        outer = [*self.shape]
        if self.channel_axis is not None:
            del outer[self.channel_axis]
        array = pages.reshape(*outer[:-2], *pages.shape[1:])
        return array if self.channel_axis is None else np.moveaxis(array, -1, self.channel_axis)


def open_image(
    image: ArrayLike, data_range: float | None, channel_axis: int | None, *, alpha: bool = False, nan: bool = False
) -> tuple[Pages, Caller]:
    """The image as float32 pages on 0..255, colour last; without infinity, and without NaN but where it may be."""
    array = np.asarray(image)
    channel_axis = checked_axis(array.shape, channel_axis)
    kept = None
    if alpha:
        if channel_axis is None or array.shape[channel_axis] < 2:
            raise ValueError("alpha: the image has no channel beside a first; pass channel_axis, or alpha=False")
        kept = np.moveaxis(array, channel_axis, -1)[..., -1:]
        image = np.take(image, range(array.shape[channel_axis] - 1), axis=channel_axis)
        array = np.asarray(image)
    span = checked_range(array, data_range, "image")
    offset = offset_of(array, span)
    working = to_working(image, data_range=span, offset=offset)  # not `array`: it has lost a mask
    if not nan and np.isnan(working).any():
        raise ValueError("image: holds NaN; fill those pixels with cosparse.inpaint first")
    caller = Caller(array.dtype, array.shape, span, channel_axis, offset, kept)
    return np.ascontiguousarray(caller.paged(working)), caller


def checked_axis(shape: tuple[int, ...], channel_axis: int | None) -> int | None:
    """The axis of channels counted from the first; refuses shapes that no image, or that another, has."""
    if len(shape) < 2 or (len(shape) == 2 and channel_axis is not None):
        problem = "" if channel_axis is None else f" and channel_axis={channel_axis}"
        raise ValueError(
            f"image: expected (h, w), pages of it (..., h, w), or either with a channel_axis; "
            f"got shape {shape}{problem}"
        )
    if len(shape) > 2 and channel_axis is None and shape[-1] in (3, 4) and shape[-2] > 4:
        raise ValueError(
            f"image: shape {shape} looks like a colour image; pass channel_axis=-1 "
            "(or move the pages of a stack to the first axis)"
        )
    if channel_axis is None:
        return None
    if not -len(shape) <= channel_axis < len(shape):
        raise ValueError(f"channel_axis: {channel_axis} is not an axis of shape {shape}")
    return channel_axis % len(shape)


def refuse_far(values: NDArray[np.float32], caller: Caller, sigma: float) -> None:
    """Refuse values on 0..255 of which nearly all spread far beyond it: their data_range was forgotten.

    How they spread, not where they lie: a constant may be added to every value. Noise of sigma may spread them too, but
    hardly beyond the data range.
    """
    limit = 255 * FAR + 6 * min(sigma, 255.0)
    if values.size == 0 or not float(values.max()) - float(values.min()) > limit:
        return
    some = values.reshape(-1)[:: max(1, values.size // 100_000)]
    low, high = np.percentile(some, (1, 99))
    if high - low > limit:
        unit = caller.data_range / 255.0
        low, high = low * unit + caller.offset, high * unit + caller.offset
        raise ValueError(
            f"data_range: is {caller.data_range:g}, but most values lie between {low:.4g} and {high:.4g}; pass "
            "data_range, the value of white (255 for floats that were bytes), or scale the image"
        )


def page_bounds(
    working: Pages, caller: Caller, bounds: object, levels: Sequence[float], known: NDArray[np.bool_] | None = None
) -> list[Pair | None]:
    """Between which values the result of every page must lie, in the caller's units.

    Where neither the caller nor the type says so: 0 and the data range, if a page lies there but for its noise.
    """
    pair, settled = known_bounds(bounds, caller.dtype)
    if settled:
        return [pair] * len(working)
    white = (0.0, caller.data_range)
    at_work = caller.working_bounds(white)
    knowns = [None] * len(working) if known is None else list(known)
    return [
        white if Extremes.of(page, own).within(at_work, level) else None
        for page, level, own in zip(working, levels, knowns, strict=True)
    ]


def close_image(
    pages: Pages, caller: Caller, bounds: Sequence[Pair | None], resize: Callable[[Plane], Plane] | None = None
) -> NDArray[Any]:
    """Back to the caller's type, range and axis order, within the bounds of each page.

    `resize` brings the transparency, which is kept as it came, to another size.
    """
    values = from_working(pages, dtype=caller.dtype, data_range=caller.data_range, offset=caller.offset)
    for page, pair in zip(values, bounds, strict=True):
        if pair is not None and caller.dtype.kind == "f":  # exactly: the steps above may round past them
            np.clip(page, *(caller.dtype.type(end) for end in pair), out=page)
    if caller.alpha is not None:
        alpha = caller.alpha.reshape(len(values), *caller.alpha.shape[-3:])
        if resize is not None:
            alpha = _resized(alpha, resize, caller)
        values = np.concatenate([values, alpha], axis=-1)
    return np.ascontiguousarray(caller.unpaged(values))


def _resized(alpha: NDArray[Any], resize: Callable[[Plane], Plane], caller: Caller) -> NDArray[Any]:
    """The transparency of every page in another size."""
    large = np.stack([resize(to_working(page[..., 0], data_range=caller.data_range)) for page in alpha])
    return from_working(large.clip(0, 255), dtype=alpha.dtype, data_range=caller.data_range)[..., None]


def offset_of(array: NDArray[Any], span: float) -> float:
    """What to take away from values that lie far off zero, so that float32 keeps their differences: their mean.

    None is taken away where it need not be, so that most images are worked on as they are.
    """
    if array.dtype.kind not in "fi" or array.size == 0:
        return 0.0
    finite = np.isfinite(array)
    with np.errstate(over="ignore"):
        mean = float(np.sum(array, where=finite, dtype=float)) / max(int(np.count_nonzero(finite)), 1)
    return mean if np.isfinite(mean) and abs(mean) > OFF * span else 0.0


def take_apart(
    page: NDArray[np.float32], bounds: Pair | None
) -> tuple[list[Channel], Callable[[list[Plane]], NDArray[np.float32]]]:
    """The channels to repair, and how to make a page within the bounds of their planes again."""

    def within(joined: NDArray[np.float32]) -> NDArray[np.float32]:
        return joined if bounds is None else joined.clip(*bounds)

    if page.ndim == 2:
        return [Channel(page, bounds=bounds)], lambda planes: within(planes[0])
    if page.shape[-1] != 3:
        alone = map(tuple, np.eye(page.shape[-1]))
        channels = [Channel(np.ascontiguousarray(page[..., c]), 1.0, bounds, own) for c, own in enumerate(alone)]
        return channels, lambda planes: within(np.stack(planes, axis=-1))
    opponents = np.moveaxis(page @ OPPONENT.T, -1, 0)
    channels = [
        Channel(np.ascontiguousarray(plane), gain, None if i else bounds, tuple(map(float, OPPONENT[i])), chroma=i > 0)
        for i, (plane, gain) in enumerate(zip(opponents, GAINS, strict=True))
    ]
    return channels, lambda planes: within(np.stack(planes, axis=-1) @ _BACK.T)
