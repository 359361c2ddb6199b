"""The four repairs. Each takes the caller's array as it is and returns one of the same kind."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse.operator import AnalysisOperator
from cosparse.reconstruction import measurement
from cosparse.reconstruction.energy import until_stopped
from cosparse.reconstruction.general import resolve, solve
from cosparse.reconstruction.grouping import filter_groups
from cosparse.reconstruction.noise import checked, page_levels
from cosparse.reconstruction.planes import (
    Callback,
    Channel,
    Plane,
    Report,
    by_page,
    by_plane,
    close_image,
    open_finite,
    open_image,
)
from cosparse.reconstruction.rules import GROUPING, plan, trust
from cosparse.reconstruction.start import enlarge, interpolate, smoothed

__all__ = ["deblur", "denoise", "inpaint", "upscale"]

Operator = AnalysisOperator | str | None
Page = NDArray[np.float32]


def denoise(
    image: ArrayLike,
    sigma: float | None = None,
    *,
    operator: Operator = None,
    weight: float | None = None,
    quality: str = "balanced",
    grouping: bool = True,
    data_range: float | None = None,
    channel_axis: int | None = None,
    callback: Callback = None,
) -> NDArray[Any]:
    """Remove Gaussian noise.

    Minimises Eq. (recovery), the operator's energy, and then lets patches that have come out similar help each other:
    see :func:`cosparse.reconstruction.grouping.filter_groups`.

    Parameters
    ----------
    image : array
        (h, w), a stack (pages, h, w), or either with a channel axis; uint8, uint16 or float.
    sigma : float, optional
        Standard deviation of the noise in the image's own units; estimated if not given, for every page of a stack.
    operator : AnalysisOperator or str, optional
        The prior; a shipped operator's name, an operator file, or "default".
    weight : float, optional
        lambda of Eq. (recovery) on the scale of 0..255, instead of the one chosen from sigma. With a refined operator,
        such as the default, it is a factor on the weights that training gave it, and 1 for denoising.
    quality : {"fast", "balanced", "best"}
    grouping : bool
        False returns the minimiser of the energy, without the second pass over groups of similar patches.
    data_range : float, optional
        The value of white: by default 255, 65535, or 1.0 for floats.
    channel_axis : int, optional
        The axis of the colours; a fourth (or second) channel is transparency and left as it is.
    callback : callable, optional
        Called with a :class:`Progress` after every iteration, whose `image` is the page so far on 0..255, in colour;
        returning True ends the work with what there is.

    Returns
    -------
    Array of the image's shape, type and range.

    Examples
    --------
    >>> import numpy as np, cosparse
    >>> clean = np.kron([[0.2, 0.8], [0.6, 0.4]], np.ones((24, 24)))
    >>> noisy = clean + 0.1 * np.random.default_rng(0).standard_normal(clean.shape)
    >>> cosparse.psnr(clean, cosparse.denoise(noisy, 0.1)) - cosparse.psnr(clean, noisy) > 10
    True
    """
    working, caller = open_finite(image, data_range, channel_axis)
    chosen, follow = resolve(operator, quality), until_stopped(callback)
    colour = caller.channel_axis is not None
    levels = page_levels(working, caller, sigma)
    if not any(levels):
        return np.array(image, order="C")

    def repair_page(page: Page, number: int, told: Callback) -> Page:
        level = levels[number]

        def start(channel: Channel) -> Plane:
            return smoothed(channel.plane, level * channel.gain)

        def repair(channel: Channel, first: Plane, told: Callback) -> Plane:
            return solve(
                plan("denoise", level * channel.gain, quality, weight, chosen), chosen, first, channel.plane,
                bounds=channel.bounds, callback=told,
            )[-1].point  # fmt: skip

        def finish(channels: list[Channel], planes: list[Plane], report: Report) -> list[Plane]:
            return filter_groups(channels, planes, level, GROUPING["denoise"][quality], report)

        if level == 0:
            return page
        return by_plane(page, colour, start, repair, callback=told, finish=finish if grouping else None)

    result = close_image(by_page(working, colour, repair_page, follow), caller)
    if 0 in levels:  # a page without noise, to the last bit
        for number in np.flatnonzero(np.equal(levels, 0)):
            place = (slice(None), number) if caller.channel_axis == 0 else number
            result[place] = np.asarray(image)[place]
    return result


def inpaint(
    image: ArrayLike,
    mask: ArrayLike,
    *,
    sigma: float = 0.0,
    operator: Operator = None,
    weight: float | None = None,
    quality: str = "balanced",
    grouping: bool = True,
    data_range: float | None = None,
    channel_axis: int | None = None,
    callback: Callback = None,
) -> NDArray[Any]:
    """Fill in missing pixels, and with `sigma` denoise the others too.

    Parameters
    ----------
    mask : bool array
        True where a pixel is missing, as in scikit-image; (h, w), or the shape of the stack.
    sigma : float
        Noise of the known pixels; at 0 they are returned as they came. Otherwise each counts the more, the fewer are
        known about it.

    The other parameters are those of :func:`denoise`. What stands under the mask is never looked at.

    Examples
    --------
    >>> import numpy as np, cosparse
    >>> ramp = np.add.outer(np.arange(40), np.arange(40)) / 80
    >>> mask = np.random.default_rng(0).random(ramp.shape) < 0.5
    >>> cosparse.psnr(ramp, cosparse.inpaint(np.where(mask, 0, ramp), mask)) > 45
    True
    """
    working, caller = open_image(_infinite_as_missing(image), data_range, channel_axis)
    chosen, follow = resolve(operator, quality), until_stopped(callback)
    colour = caller.channel_axis is not None
    pages = working.shape[:-1] if colour else working.shape
    missing = np.asarray(mask)
    if missing.dtype != bool:
        if not np.isin(missing, (0, 1)).all():
            raise ValueError("mask: expected booleans (True = missing), got other values than 0 and 1")
        missing = missing.astype(bool)
    if missing.shape not in (pages, pages[-2:]):
        raise ValueError(f"mask: has shape {missing.shape}, the image {pages}; they must agree")
    missing = np.broadcast_to(missing, pages)
    hidden = missing
    if colour:
        hidden = np.repeat(missing[..., None], working.shape[-1], axis=-1)
        hidden[..., -1] &= working.shape[-1] not in (2, 4)  # transparency is kept
    if np.isnan(working[~hidden]).any():
        raise ValueError("image: holds NaN or infinity in pixels that the mask calls known; mark them as missing")
    if missing.reshape(-1, *pages[-2:]).all(axis=(1, 2)).any():
        raise ValueError("mask: all pixels are missing; nothing is known to start from")
    level = caller.scale(checked(sigma))
    working[hidden] = 0
    if not missing.any() and level == 0:
        return np.array(image, order="C")

    def repair_page(page: Page, number: int, told: Callback) -> Page:
        gaps = missing.reshape(-1, *pages[-2:])[number]
        known = ~gaps
        counts = trust(known) if level > 0 else None

        def start(channel: Channel) -> Plane:
            return smoothed(interpolate(channel.plane, gaps), level * channel.gain)

        def repair(channel: Channel, first: Plane, told: Callback) -> Plane:
            noisy = counts is not None
            return solve(
                plan("inpaint", level * channel.gain, quality, weight, chosen), chosen, first,
                channel.plane if noisy else None, trust=counts,
                free=None if noisy else gaps, bounds=channel.bounds, callback=told,
            )[-1].point  # fmt: skip

        def finish(channels: list[Channel], planes: list[Plane], report: Report) -> list[Plane]:
            return filter_groups(channels, planes, level, GROUPING["inpaint"][quality], report, known)

        return by_plane(page, colour, start, repair, callback=told, finish=finish if grouping else None)

    result = by_page(working, colour, repair_page, follow)
    filled = close_image(result, caller)
    if level > 0:
        return filled
    if caller.channel_axis is not None:
        hidden = np.moveaxis(hidden, -1, caller.channel_axis)
    return np.where(hidden, filled, np.asarray(image))  # to the last bit, past the rounding of our own


def upscale(
    image: ArrayLike,
    factor: int,
    *,
    sigma: float = 0.0,
    operator: Operator = None,
    weight: float | None = None,
    quality: str = "balanced",
    data_range: float | None = None,
    channel_axis: int | None = None,
    callback: Callback = None,
) -> NDArray[Any]:
    """Enlarge by 2, 3 or 4, and with `sigma` denoise as well (section V-E).

    The small image is taken to be the large one, blurred and decimated as in :func:`measurement.downsampling`. A grey
    result lies between 0 and `data_range`. The other parameters are those of :func:`denoise`.

    Examples
    --------
    >>> import numpy as np, cosparse
    >>> cosparse.upscale(np.full((5, 7), 9, np.uint8), 3).shape
    (15, 21)
    """
    if isinstance(factor, bool) or factor not in (2, 3, 4):
        raise ValueError(f"factor: expected 2, 3 or 4, got {factor!r}")
    factor = int(factor)
    working, caller = open_finite(image, data_range, channel_axis)
    level = caller.scale(checked(sigma))
    chosen, follow = resolve(operator, quality), until_stopped(callback)

    def start(channel: Channel) -> Plane:
        return enlarge(channel.plane, factor)

    def repair(channel: Channel, first: Plane, told: Callback) -> Plane:
        measure = measurement.downsampling(factor, first.shape)
        return solve(
            plan("upscale", level * channel.gain, quality, weight, chosen), chosen, first,
            channel.plane.ravel(), measure, bounds=channel.bounds if level > 0 else None, callback=told,
        )[-1].point  # fmt: skip

    def repair_page(page: Page, number: int, told: Callback) -> Page:
        return by_plane(
            page, colour, start, repair, lambda plane: enlarge(plane, factor).clip(0, 255), callback=told, clip=True
        )

    colour = caller.channel_axis is not None
    return close_image(by_page(working, colour, repair_page, follow), caller)


def deblur(
    image: ArrayLike,
    kernel: ArrayLike,
    *,
    sigma: float | None = None,
    border: str = "replicate",
    operator: Operator = None,
    weight: float | None = None,
    quality: str = "balanced",
    data_range: float | None = None,
    channel_axis: int | None = None,
    callback: Callback = None,
) -> NDArray[Any]:
    """Undo a known blur; a grey result lies between 0 and `data_range`.

    Parameters
    ----------
    kernel : (a, b) array
        What a single bright pixel was smeared into; normalised to sum 1.
    sigma : float, optional
        Noise of the image; estimated if not given, for every page of a stack.
    border : {"replicate", "periodic"}
        What the camera saw beyond the border.

    The other parameters are those of :func:`denoise`.

    Examples
    --------
    >>> import numpy as np, cosparse
    >>> from scipy.ndimage import convolve
    >>> clean = np.kron([[0.2, 0.8], [0.6, 0.4]], np.ones((24, 24)))
    >>> box = np.ones((5, 5)) / 25
    >>> blurred = convolve(clean, box, mode="nearest")
    >>> cosparse.psnr(clean, cosparse.deblur(blurred, box)) - cosparse.psnr(clean, blurred) > 8
    True
    """
    working, caller = open_finite(image, data_range, channel_axis)
    if border not in ("replicate", "periodic"):
        raise ValueError(f"border: expected 'replicate' or 'periodic', got {border!r}")
    point_spread = np.asarray(kernel, float)
    colour = caller.channel_axis is not None
    shape = working.shape[-3:-1] if colour else working.shape[-2:]
    if point_spread.ndim != 2 or not np.isfinite(point_spread).all() or not point_spread.sum() > 0:
        raise ValueError("kernel: expected a finite 2-D array with a positive sum")
    if any(k > s for k, s in zip(point_spread.shape, shape, strict=True)):
        raise ValueError(f"kernel: {point_spread.shape} is larger than the image {shape}; crop it")
    measure = measurement.blur(point_spread / point_spread.sum(), shape, border=border)
    levels = page_levels(working, caller, sigma)
    chosen, follow = resolve(operator, quality), until_stopped(callback)

    def repair_page(page: Page, number: int, told: Callback) -> Page:
        def repair(channel: Channel, first: Plane, told: Callback) -> Plane:
            return solve(
                plan("deblur", levels[number] * channel.gain, quality, weight, chosen), chosen, first,
                channel.plane.ravel(), measure, bounds=None, callback=told,
            )[-1].point  # fmt: skip

        return by_plane(page, colour, lambda channel: channel.plane, repair, callback=told, clip=True)

    return close_image(by_page(working, colour, repair_page, follow), caller)


def _infinite_as_missing(image: ArrayLike) -> ArrayLike:
    """Infinities as NaN, which inpainting takes under the mask and refuses elsewhere."""
    values = np.asarray(image)
    if isinstance(image, np.ma.MaskedArray) or values.dtype.kind != "f" or not np.isinf(values).any():
        return image
    return np.where(np.isinf(values), values.dtype.type(np.nan), values)
