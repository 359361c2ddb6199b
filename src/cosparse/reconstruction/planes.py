"""The door of the tasks: any array a caller may have, as grey planes on 0..255, and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse.images import default_range, from_working, to_working
from cosparse.reconstruction.energy import Progress

Plane = NDArray[np.float32]
Callback = Callable[[Progress], object] | None

# Told how many parts of how many are done, and the planes so far; True means stop.
Report = Callable[[int, int, list[Plane]], bool]
Finish = Callable[["list[Channel]", list[Plane], Report], list[Plane]]
FINISH = 10  # parts of a finish, about: they count as iterations in what callbacks see

# Luma and two opponent colours. Each row has absolute sum 1 or less, so that a channel has the range of a grey image;
# where noise of RGB has standard deviation σ, that of a channel has σ times the row's norm.
OPPONENT = np.array([[1 / 3, 1 / 3, 1 / 3], [1 / 2, 0, -1 / 2], [1 / 4, -1 / 2, 1 / 4]], np.float32)
_BACK = np.linalg.inv(OPPONENT.astype(float)).astype(np.float32)
GAINS = tuple(float(np.linalg.norm(row)) for row in OPPONENT)


@dataclass(frozen=True)
class Channel:
    """One grey plane: its pixels, how its noise relates to the image's, and its range if it has one."""

    plane: Plane
    gain: float = 1.0
    bounds: tuple[float, float] | None = (0.0, 255.0)

    def clipped(self, result: Plane) -> Plane:
        """A result within the range.

        For tasks that leave out Eq. (bound): where neither data nor prior say much of fine detail, it is so stiff that
        conjugate gradient comes to little else. On training photographs it costs deblurring 0.05 to 0.3 dB after as
        many iterations and upscaling 0.02 dB; in noisy upscaling, where the prior weighs more, it is worth 0.005 dB
        (benchmarks/tune.py --no-bounds).
        """
        return result if self.bounds is None else result.clip(*self.bounds)


@dataclass(frozen=True)
class Caller:
    """What the caller's array was like, so that the result is like it."""

    dtype: np.dtype[Any]
    data_range: float
    channel_axis: int | None

    def scale(self, sigma: float) -> float:
        """A noise level in the caller's units as one on 0..255."""
        return sigma * 255.0 / self.data_range


def open_image(
    image: ArrayLike, data_range: float | None, channel_axis: int | None, *, name: str = "image"
) -> tuple[NDArray[np.float32], Caller]:
    """The image as float32 on 0..255, colour last; NaN passes (inpainting asks for it), infinity does not."""
    array = np.asarray(image)
    if array.ndim < 2 or array.ndim > 4 or (array.ndim == 4 and channel_axis is None):
        raise ValueError(
            f"{name}: expected (h, w), a stack (pages, h, w), or either with a channel_axis; got shape {array.shape}"
        )
    if array.ndim == 3 and channel_axis is None and array.shape[-1] in (3, 4) and array.shape[1] > 4:
        raise ValueError(
            f"{name}: shape {array.shape} looks like a colour image; pass channel_axis=-1 "
            "(or move the pages of a stack to the first axis)"
        )
    if channel_axis is not None:
        if not -array.ndim <= channel_axis < array.ndim or array.ndim == 2:
            raise ValueError(f"channel_axis: {channel_axis} is not an axis of shape {array.shape}")
        channel_axis %= array.ndim
    span = default_range(array, name=name) if data_range is None else float(data_range)
    if not (span > 0 and np.isfinite(span)):
        raise ValueError(f"data_range: must be positive and finite, got {data_range!r}")
    working = to_working(image, data_range=span, name=name)  # not `array`, which has lost a masked array's mask
    if channel_axis is not None:
        working = np.moveaxis(working, channel_axis, -1)
    return working, Caller(array.dtype, span, channel_axis)


def open_finite(
    image: ArrayLike, data_range: float | None, channel_axis: int | None
) -> tuple[NDArray[np.float32], Caller]:
    """As :func:`open_image`, and every value a number."""
    working, caller = open_image(image, data_range, channel_axis)
    if np.isnan(working).any():
        raise ValueError("image: holds NaN; fill those pixels with cosparse.inpaint first")
    return working, caller


def close_image(working: NDArray[np.float32], caller: Caller) -> NDArray[Any]:
    """Back to the caller's type, range and axis order."""
    if caller.channel_axis is not None:
        working = np.moveaxis(working, -1, caller.channel_axis)
    return np.ascontiguousarray(
        from_working(working, dtype=caller.dtype, data_range=caller.data_range)
    )


def by_page(
    image: NDArray[np.float32],
    colour: bool,
    repair: Callable[[NDArray[np.float32], int, Callback], NDArray[np.float32]],
    callback: Callback = None,
) -> NDArray[np.float32]:
    """Repair the pages of a stack, or the one there is; `repair` gets a page, its number and whom to tell."""
    if image.ndim == (3 if colour else 2):
        return repair(image, 0, callback)
    count = len(image)
    return np.stack(
        [repair(page, i, _telling(callback, page=i, pages=count)) for i, page in enumerate(image)]
    )


def _as_it_is(plane: Plane) -> Plane:
    return plane


def by_plane(
    page: NDArray[np.float32],
    colour: bool,
    start: Callable[[Channel], Plane],
    repair: Callable[[Channel, Plane, Callback], Plane],
    resize: Callable[[Plane], Plane] = _as_it_is,
    callback: Callback = None,
    finish: Finish | None = None,
    clip: bool = False,
) -> NDArray[np.float32]:
    """Repair every plane of a page: colours as luma and opponents, alpha left as it is.

    `repair` gets a channel, what `start` made of it and whom to tell; `resize` brings an alpha plane to the size of
    the repaired ones; `finish` goes over them all together at the end. With `clip` results are brought into the range.
    """
    channels, join = _taken_apart(page, colour, resize)
    planes = [start(channel) for channel in channels]
    for i, channel in enumerate(channels):
        shown = channel.clipped if clip else _as_it_is

        def view(
            point: Plane, before: list[Plane] = planes[:i], after: list[Plane] = planes[i + 1 :], shown: Any = shown
        ) -> Plane:
            return join([*before, shown(point), *after])

        told = _telling(callback, plane=i, planes=len(planes))
        if finish is not None and i == len(channels) - 1:
            last = _Last(told, join)
            told = None if callback is None else last
        planes[i] = shown(repair(channel, planes[i], _telling(told, view=view)))
    if finish is None or last.stopped:
        return join(planes)
    return join(finish(channels, planes, last.report))


def _taken_apart(
    page: NDArray[np.float32], colour: bool, resize: Callable[[Plane], Plane]
) -> tuple[list[Channel], Callable[[list[Plane]], NDArray[np.float32]]]:
    """The channels to repair, and how to make a page of their planes again."""
    if not colour:
        return [Channel(page)], lambda planes: planes[0]
    count = page.shape[-1]
    if count in (2, 4):  # grey or RGB with transparency
        channels, join = _taken_apart(page[..., :-1], True, resize)
        alpha = resize(page[..., -1])[..., None]
        return channels, lambda planes: np.concatenate([join(planes), alpha], axis=-1)
    if count != 3:
        channels = [Channel(np.ascontiguousarray(page[..., c])) for c in range(count)]
        return channels, lambda planes: np.stack(planes, axis=-1)
    opponents = np.moveaxis(page @ OPPONENT.T, -1, 0)
    luma = Channel(np.ascontiguousarray(opponents[0]), GAINS[0])
    chroma = [replace(luma, plane=np.ascontiguousarray(opponents[i]), gain=GAINS[i], bounds=None) for i in (1, 2)]
    return [luma, *chroma], lambda planes: np.stack(planes, axis=-1) @ _BACK.T


class _Last:
    """The callback of the last plane's repair, and of the finish that follows it."""

    def __init__(self, callback: Callback, join: Callable[[list[Plane]], Plane]) -> None:
        self.callback, self.join = callback, join
        self.latest: Progress | None = None
        self.stopped = False

    def __call__(self, progress: Progress) -> bool:
        """An iteration of the repair."""
        assert self.callback is not None
        self.latest = replace(progress, iterations=progress.iterations + FINISH)
        self.stopped = self.callback(self.latest) is True
        return self.stopped

    def report(self, number: int, total: int, planes: list[Plane]) -> bool:
        """A part of the finish."""
        if self.callback is None or self.latest is None:  # no one to tell, or nothing was to be repaired
            return False
        done, view = self.latest.iteration, lambda point: self.join(planes)
        now = replace(self.latest, iteration=done + number, iterations=done + total, point=planes[-1], view=view)
        return self.callback(now) is True


def _telling(callback: Callback, **more: Any) -> Callback:
    """The callback, told also what a single plane does not know."""
    return None if callback is None else lambda progress: callback(replace(progress, **more))
