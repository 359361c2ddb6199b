"""The four repairs. Each takes the caller's array as it is and returns one of the same kind."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse.operator import AnalysisOperator
from cosparse.reconstruction import measurement
from cosparse.reconstruction.blurs import named_kernel
from cosparse.reconstruction.bounds import Bounds
from cosparse.reconstruction.energy import until_stopped
from cosparse.reconstruction.general import resolve, solve
from cosparse.reconstruction.grouping import filter_groups
from cosparse.reconstruction.noise import checked, page_levels
from cosparse.reconstruction.planes import (
    Callback,
    Caller,
    Channel,
    Plane,
    Report,
    by_page,
    by_plane,
    close_image,
    open_finite,
    open_image,
    page_bounds,
    refuse_far,
)
from cosparse.reconstruction.rules import GROUPING, Quality, plan, trust
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
    quality: Quality = "balanced",
    grouping: bool = True,
    bounds: Bounds = "auto",
    data_range: float | None = None,
    channel_axis: int | None = None,
    alpha: bool = False,
    callback: Callback = None,
) -> NDArray[Any]:
    """Remove Gaussian noise.

    Minimises the paper's Eq. (49) with A the identity,

        ½‖s - y‖² + b(s) + lambda·g(s),

    where g is the sparsity of all patches under the operator and b keeps values within their bounds, and then lets
    patches that have come out similar help each other: see :func:`cosparse.reconstruction.grouping.filter_groups`.

    Parameters
    ----------
    image : array
        (h, w), pages of it (..., h, w), or either with a channel axis; uint8, uint16 or float.
    sigma : float, optional
        Standard deviation of the noise in the image's own units; estimated if not given, for every page of a stack.
    operator : AnalysisOperator or str, optional
        The prior; a shipped operator's name, an operator file, or "default".
    weight : float, optional
        lambda on the scale of 0..255, instead of the one chosen from sigma. With a refined operator,
        such as the default, it is a factor on the weights that training gave it, and 1 for denoising.
    quality : {"fast", "balanced", "best"}
        How much effort.
    grouping : bool
        False returns the minimiser of the energy, without the second pass over groups of similar patches.
    bounds : "auto", None or (low, high)
        Between which values the result lies, in the image's units; None on one side of a pair leaves it open. "auto":
        what the type of whole numbers can hold; for floats 0 and `data_range` if the image lies there but for its
        noise, else none.
    data_range : float, optional
        The value of white: by default 255, 65535, or 1.0 for floats.
    channel_axis : int, optional
        The axis of the channels. Three are taken for red, green and blue; of other numbers each channel stands alone.
    alpha : bool
        Whether the last channel is transparency, which is returned as it is.
    callback : callable, optional
        Called with a :class:`Progress` after every iteration, whose `image` is the page so far on 0..255, in colour;
        returning True ends the work with what there is.

    Returns
    -------
    ndarray
        Of the image's shape, type and range. A constant added to a float image is added to the result.

    References
    ----------
    S. Hawe, M. Kleinsteuber, K. Diepold: Analysis Operator Learning and Its Application to Image Reconstruction. IEEE
    Transactions on Image Processing 22(6), 2013, section V-C.

    Examples
    --------
    >>> import numpy as np, cosparse
    >>> clean = np.kron([[0.2, 0.8], [0.6, 0.4]], np.ones((24, 24)))
    >>> noisy = clean + 0.1 * np.random.default_rng(0).standard_normal(clean.shape)
    >>> cosparse.psnr(clean, cosparse.denoise(noisy, 0.1)) - cosparse.psnr(clean, noisy) > 10
    True
    """
    working, caller = open_finite(image, data_range, channel_axis, alpha=alpha)
    levels = page_levels(working, caller, sigma)
    refuse_far(working, caller, sigma)
    limits = page_bounds(working, caller, bounds, levels)
    chosen, follow = resolve(operator, quality), until_stopped(callback)

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
        return by_plane(
            page, start, repair, caller.working_bounds(limits[number]), told, finish if grouping else None,
            caller.scale(caller.offset),
        )  # fmt: skip

    result = close_image(by_page(working, repair_page, follow), caller, limits)
    if 0 in levels and bounds in ("auto", None):  # bounds that were stated may change a page without noise too
        return _as_it_came(result, image, np.equal(levels, 0), caller)
    return result


def inpaint(
    image: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    sigma: float = 0.0,
    operator: Operator = None,
    weight: float | None = None,
    quality: Quality = "balanced",
    grouping: bool = True,
    bounds: Bounds = "auto",
    data_range: float | None = None,
    channel_axis: int | None = None,
    alpha: bool = False,
    callback: Callback = None,
) -> NDArray[Any]:
    """Fill in missing pixels, and with `sigma` denoise the others too.

    Minimises the sparsity g of all patches under the operator with the known pixels held as they are, the limit of
    Eq. (49) for noiseless pixels; with `sigma` ½‖A s - y‖² + b(s) + lambda·g(s), where A picks the known pixels.
    Then similar patches help each other, as in :func:`denoise`.

    Parameters
    ----------
    image : array
        (h, w), pages of it (..., h, w), or either with a channel axis; uint8, uint16 or float. What stands under the
        mask is never looked at and may be NaN. Of a NumPy masked array, masked pixels are missing.
    mask : bool array, optional
        True where a pixel is missing, as in scikit-image; (h, w), or the shape of the stack. A masked array needs none.
    sigma : float
        Noise of the known pixels in the image's own units; at 0 they are returned as they came. Otherwise each counts
        the more, the fewer are known about it.
    operator : AnalysisOperator or str, optional
        The prior; a shipped operator's name, an operator file, or "default".
    weight : float, optional
        lambda on the scale of 0..255, instead of the one chosen from sigma; with a refined operator, such as the
        default, a factor on the weights that training gave it. Without noise it has no effect.
    quality : {"fast", "balanced", "best"}
        How much effort.
    grouping : bool
        False returns the minimiser of the energy, without the second pass over groups of similar patches.
    bounds : "auto", None or (low, high)
        Between which values filled pixels lie, in the image's units, see :func:`denoise`.
    data_range : float, optional
        The value of white: by default 255, 65535, or 1.0 for floats.
    channel_axis : int, optional
        The axis of the channels. Three are taken for red, green and blue; of other numbers each channel stands alone.
    alpha : bool
        Whether the last channel is transparency, which is returned as it is.
    callback : callable, optional
        Called with a :class:`Progress` after every iteration; returning True ends the work with what there is.

    Returns
    -------
    ndarray
        Of the image's shape, type and range.

    References
    ----------
    S. Hawe, M. Kleinsteuber, K. Diepold: Analysis Operator Learning and Its Application to Image Reconstruction. IEEE
    Transactions on Image Processing 22(6), 2013, section V-D.

    Examples
    --------
    >>> import numpy as np, cosparse
    >>> ramp = np.add.outer(np.arange(40), np.arange(40)) / 80
    >>> mask = np.random.default_rng(0).random(ramp.shape) < 0.5
    >>> cosparse.psnr(ramp, cosparse.inpaint(np.where(mask, 0, ramp), mask)) > 45
    True
    """
    visible, hidden, missing = _hidden(image, mask, channel_axis, alpha)
    working, caller = open_image(visible, data_range, channel_axis, alpha=alpha)
    pages = missing.reshape(len(working), *working.shape[1:3])
    outside = working[~pages]
    if np.isnan(outside).any():
        raise ValueError("image: holds NaN or infinity in pixels that the mask calls known; mark them as missing")
    level = caller.scale(checked(sigma))
    refuse_far(outside, caller, sigma)
    limits = page_bounds(working, caller, bounds, [level] * len(working), ~pages)
    chosen, follow = resolve(operator, quality), until_stopped(callback)
    working[pages] = 0
    if not pages.any() and level == 0:
        return np.array(image, order="C")

    def repair_page(page: Page, number: int, told: Callback) -> Page:
        gaps = pages[number]
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

        return by_plane(
            page, start, repair, caller.working_bounds(limits[number]), told, finish if grouping else None,
            caller.scale(caller.offset),
        )  # fmt: skip

    filled = close_image(by_page(working, repair_page, follow), caller, limits)
    if level > 0:
        return filled
    return np.where(hidden, filled, np.asarray(image))  # to the last bit, past the rounding of our own


def upscale(
    image: ArrayLike,
    factor: int,
    *,
    sigma: float = 0.0,
    operator: Operator = None,
    weight: float | None = None,
    quality: Quality = "balanced",
    bounds: Bounds = "auto",
    data_range: float | None = None,
    channel_axis: int | None = None,
    alpha: bool = False,
    callback: Callback = None,
) -> NDArray[Any]:
    """Enlarge by 2, 3 or 4, and with `sigma` denoise as well (section V-E).

    Minimises ½‖A s - y‖² + lambda·g(s), Eq. (49), where g is the sparsity of all patches under the operator. The
    small image y is taken to be the large one, blurred and decimated as in :func:`measurement.downsampling`.

    Parameters
    ----------
    image : array
        (h, w), pages of it (..., h, w), or either with a channel axis; uint8, uint16 or float.
    factor : {2, 3, 4}
        How many times larger.
    sigma : float
        Noise of the small image in its own units, to be removed as well.
    operator : AnalysisOperator or str, optional
        The prior; a shipped operator's name, an operator file, or "default".
    weight : float, optional
        lambda on the scale of 0..255, instead of the one chosen from sigma; with a refined operator, such as the
        default, a factor on the weights that training gave it.
    quality : {"fast", "balanced", "best"}
        How much effort.
    bounds : "auto", None or (low, high)
        Between which values the result lies, in the image's units, see :func:`denoise`.
    data_range : float, optional
        The value of white: by default 255, 65535, or 1.0 for floats.
    channel_axis : int, optional
        The axis of the channels. Three are taken for red, green and blue; of other numbers each channel stands alone.
    alpha : bool
        Whether the last channel is transparency, which is enlarged by bicubic interpolation.
    callback : callable, optional
        Called with a :class:`Progress` after every iteration; returning True ends the work with what there is.

    Returns
    -------
    ndarray
        Of the image's type and range, `factor` times as high and wide.

    References
    ----------
    S. Hawe, M. Kleinsteuber, K. Diepold: Analysis Operator Learning and Its Application to Image Reconstruction. IEEE
    Transactions on Image Processing 22(6), 2013, section V-E.

    Examples
    --------
    >>> import numpy as np, cosparse
    >>> cosparse.upscale(np.full((5, 7), 9, np.uint8), 3).shape
    (15, 21)
    """
    if isinstance(factor, bool) or factor not in (2, 3, 4):
        raise ValueError(f"factor: expected 2, 3 or 4, got {factor!r}")
    factor = int(factor)
    working, caller = open_finite(image, data_range, channel_axis, alpha=alpha)
    level = caller.scale(checked(sigma))
    refuse_far(working, caller, sigma)
    limits = page_bounds(working, caller, bounds, [level] * len(working))
    chosen, follow = resolve(operator, quality), until_stopped(callback)

    def larger(plane: Plane) -> Plane:
        return enlarge(plane, factor)

    def repair(channel: Channel, first: Plane, told: Callback) -> Plane:
        measure = measurement.downsampling(factor, first.shape)
        return solve(
            plan("upscale", level * channel.gain, quality, weight, chosen), chosen, first,
            channel.plane.ravel(), measure, bounds=channel.bounds if level > 0 else None, callback=told,
        )[-1].point  # fmt: skip

    def repair_page(page: Page, number: int, told: Callback) -> Page:
        return by_plane(
            page, lambda channel: larger(channel.plane), repair, caller.working_bounds(limits[number]), told,
            offset=caller.scale(caller.offset),
        )  # fmt: skip

    return close_image(by_page(working, repair_page, follow), caller, limits, larger)


def deblur(
    image: ArrayLike,
    kernel: ArrayLike | str,
    *,
    sigma: float | None = None,
    border: str = "replicate",
    operator: Operator = None,
    weight: float | None = None,
    quality: Quality = "balanced",
    bounds: Bounds = "auto",
    data_range: float | None = None,
    channel_axis: int | None = None,
    alpha: bool = False,
    callback: Callback = None,
) -> NDArray[Any]:
    """Undo a known blur.

    Minimises ½‖A s - y‖² + lambda·g(s), Eq. (49), where A is the convolution with the kernel and g the sparsity
    of all patches under the operator.

    Parameters
    ----------
    image : array
        (h, w), pages of it (..., h, w), or either with a channel axis; uint8, uint16 or float.
    kernel : (a, b) array or str
        The point spread function: what a single bright pixel was smeared into; normalised to sum 1. Or by name, as on
        the command line: "gaussian:SIGMA", "box:SIDE", "disk:RADIUS", "motion:LENGTH:ANGLE".
    sigma : float, optional
        Noise of the image in its own units; estimated if not given, for every page of a stack.
    border : {"replicate", "periodic"}
        What the camera saw beyond the border.
    operator : AnalysisOperator or str, optional
        The prior; a shipped operator's name, an operator file, or "default".
    weight : float, optional
        lambda on the scale of 0..255, instead of the one chosen from sigma; with a refined operator, such as the
        default, a factor on the weights that training gave it.
    quality : {"fast", "balanced", "best"}
        How much effort.
    bounds : "auto", None or (low, high)
        Between which values the result lies, in the image's units, see :func:`denoise`.
    data_range : float, optional
        The value of white: by default 255, 65535, or 1.0 for floats.
    channel_axis : int, optional
        The axis of the channels. Three are taken for red, green and blue; of other numbers each channel stands alone.
    alpha : bool
        Whether the last channel is transparency, which is returned as it is.
    callback : callable, optional
        Called with a :class:`Progress` after every iteration; returning True ends the work with what there is.

    Returns
    -------
    ndarray
        Of the image's shape, type and range.

    References
    ----------
    S. Hawe, M. Kleinsteuber, K. Diepold: Analysis Operator Learning and Its Application to Image Reconstruction. IEEE
    Transactions on Image Processing 22(6), 2013, section IV.

    Examples
    --------
    >>> import numpy as np, cosparse
    >>> from scipy.ndimage import convolve
    >>> clean = np.kron([[0.2, 0.8], [0.6, 0.4]], np.ones((24, 24)))
    >>> blurred = convolve(clean, np.ones((5, 5)) / 25, mode="nearest")
    >>> cosparse.psnr(clean, cosparse.deblur(blurred, "box:5")) - cosparse.psnr(clean, blurred) > 8
    True
    """
    working, caller = open_finite(image, data_range, channel_axis, alpha=alpha)
    if border not in ("replicate", "periodic"):
        raise ValueError(f"border: expected 'replicate' or 'periodic', got {border!r}")
    shape = working.shape[1:3]
    measure = measurement.blur(_point_spread(kernel, shape), shape, border=border)
    levels = page_levels(working, caller, sigma)
    refuse_far(working, caller, sigma)
    limits = page_bounds(working, caller, bounds, levels)
    chosen, follow = resolve(operator, quality), until_stopped(callback)

    def repair_page(page: Page, number: int, told: Callback) -> Page:
        def repair(channel: Channel, first: Plane, told: Callback) -> Plane:
            return solve(
                plan("deblur", levels[number] * channel.gain, quality, weight, chosen), chosen, first,
                channel.plane.ravel(), measure, bounds=None, callback=told,
            )[-1].point  # fmt: skip

        return by_plane(
            page, lambda channel: channel.plane, repair, caller.working_bounds(limits[number]), told,
            offset=caller.scale(caller.offset),
        )  # fmt: skip

    return close_image(by_page(working, repair_page, follow), caller, limits)


def _as_it_came(
    result: NDArray[Any], image: ArrayLike, untouched: NDArray[np.bool_], caller: Caller
) -> NDArray[Any]:
    """The result with pages that had nothing to repair as they came, to the last bit."""
    if untouched.all():
        return np.array(image, order="C")
    pages, came = caller.paged(result).copy(), caller.paged(np.asarray(image))
    pages[untouched] = came[untouched]
    return np.ascontiguousarray(caller.unpaged(pages))


def _hidden(
    image: ArrayLike, mask: ArrayLike | None, channel_axis: int | None, alpha: bool
) -> tuple[ArrayLike, NDArray[np.bool_], NDArray[np.bool_]]:
    """The image with NaN under the mask, if its type has that; which of its values are missing; and which pixels."""
    values = np.asarray(image)
    known_axis = channel_axis is not None and -values.ndim <= channel_axis < values.ndim  # another is refused later
    axis = channel_axis % values.ndim if channel_axis is not None and known_axis else None
    pixels = values.shape if axis is None else values.shape[:axis] + values.shape[axis + 1 :]
    missing: NDArray[np.bool_] = np.zeros(pixels, bool)
    if isinstance(image, np.ma.MaskedArray):
        missing = _of_pixels(np.ma.getmaskarray(image), axis)
        if mask is not None and np.asarray(mask).shape == values.shape:  # its own once more, with channels
            mask = _of_pixels(np.asarray(mask), axis)
    elif mask is None:
        raise ValueError("mask: say which pixels are missing, or pass a NumPy masked array")
    if mask is not None:
        missing = missing | _checked_mask(mask, pixels)
    if missing.size and missing.reshape(-1, *pixels[-2:]).all(axis=(1, 2)).any():
        raise ValueError("mask: all pixels are missing; nothing is known to start from")
    hidden = missing
    if axis is not None:
        hidden = np.repeat(np.expand_dims(missing, axis), values.shape[axis], axis=axis)
        if alpha:
            np.moveaxis(hidden, axis, -1)[..., -1] = False
    if values.dtype.kind != "f":
        return values, hidden, missing
    # Infinities elsewhere as NaN, which is then refused with the mask named.
    return np.where(hidden | np.isinf(values), values.dtype.type(np.nan), values), hidden, missing


def _of_pixels(mask: NDArray[Any], axis: int | None) -> NDArray[Any]:
    """A pixel is missing if any of its channels is."""
    return mask if axis is None else np.asarray(mask.any(axis=axis))


def _checked_mask(mask: ArrayLike, pixels: tuple[int, ...]) -> NDArray[np.bool_]:
    """True where a pixel is missing; one mask may be for all pages."""
    missing = np.asarray(mask)
    if missing.dtype != bool and not np.isin(missing, (0, 1)).all():
        raise ValueError("mask: expected booleans (True = missing), got other values than 0 and 1")
    if missing.shape not in (pixels, pixels[-2:]):
        raise ValueError(f"mask: has shape {missing.shape}, the image {pixels}; they must agree")
    return np.broadcast_to(missing.astype(bool), pixels)


def _point_spread(kernel: ArrayLike | str, shape: tuple[int, ...]) -> NDArray[Any]:
    """A kernel, given or named, of sum 1; refuses one that does not fit."""
    try:
        spread = named_kernel(kernel) if isinstance(kernel, str) else np.asarray(kernel, float)
    except (TypeError, ValueError) as problem:
        raise ValueError(f"kernel: {str(problem).removeprefix('kernel: ')}") from None
    if spread.ndim != 2 or not np.isfinite(spread).all() or not spread.sum() > 0:
        raise ValueError("kernel: expected a finite 2-D array with a positive sum")
    if any(k > s for k, s in zip(spread.shape, shape, strict=True)):
        raise ValueError(f"kernel: {spread.shape} is larger than the image {tuple(shape)}; crop it")
    return np.asarray(spread / spread.sum())
