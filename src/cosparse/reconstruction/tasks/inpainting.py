"""Inpainting: A picks the known pixels, or they are held as they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse.foreign import adopting
from cosparse.keywords import keywords_of
from cosparse.noise import Correlated, Map
from cosparse.operator import AnalysisOperator
from cosparse.reconstruction.local_noise import channel_noise, precision
from cosparse.reconstruction.planes import Channel
from cosparse.reconstruction.problem import Problem
from cosparse.reconstruction.request import Asked, Common, Options, Repairing, RepairKeywords, Request, Task
from cosparse.reconstruction.stages import GROUPING, Quality, plan, trust
from cosparse.reconstruction.start import fill_levels, interpolate, smoothed


@adopting
@keywords_of(Repairing)
def inpaint(
    image: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    sigma: ArrayLike = 0.0,
    operator: AnalysisOperator | str | None = None,
    weight: float | None = None,
    quality: Quality = "balanced",
    grouping: bool = True,
    **more: Unpack[RepairKeywords],
) -> NDArray[Any]:
    """Fill in missing pixels, and with `sigma` denoise the others too.

    Minimises the sparsity g of all patches under the operator with the known pixels held as they are, the limit of
    Eq. (49) for noiseless pixels; with `sigma` ½‖A s - y‖² + b(s) + lambda·g(s), where A picks the known pixels.
    Then similar patches help each other, as in :func:`denoise`. Without noise, an operator that has trained steps to
    inpaint at last corrects what these gave by them.

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
        lambda, a factor on the operator's own weights, instead of the one chosen from sigma. Without noise it
        has no effect.
    quality : {"fast", "balanced", "best"}
        How much effort.
    grouping : bool
        False returns the minimiser of the energy, without the second pass over groups of similar patches and without
        what follows it.
    noise : Noise, optional
        Instead of sigma: what kind of noise it is, as :class:`cosparse.PoissonGaussian`. See docs/noise.md.
    luma, chroma : float
        Factors on the noise of brightness and of colour: how much of it to remove.
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
    Hawe, Kleinsteuber, Diepold: Analysis Operator Learning and Its Application..., IEEE TIP 22(6), 2013, section V-D.

    Examples
    --------
    >>> import numpy as np, cosparse
    >>> ramp = np.add.outer(np.arange(40), np.arange(40)) / 80
    >>> mask = np.random.default_rng(0).random(ramp.shape) < 0.5
    >>> cosparse.psnr(ramp, cosparse.inpaint(np.where(mask, 0, ramp), mask)) > 45
    True
    """
    asked = request(
        image, mask, sigma=sigma, operator=operator, weight=weight, quality=quality, grouping=grouping, **more
    )
    return asked.run()


def pose(channel: Channel, asked: Asked) -> Problem:
    """The known pixels held as they are, or if they are noisy, drawn to as much as each is trusted."""
    assert asked.gaps is not None
    sigma, noise, levels = channel_noise(asked.sigma, asked.noise, channel)
    chosen = plan("inpaint", sigma, asked.quality, asked.weight, asked.operator, levels=levels)
    start = smoothed(interpolate(channel.plane, asked.gaps), sigma, noise)
    if asked.trust is None:
        return Problem(asked.operator, chosen, start, free=asked.gaps, bounds=channel.bounds)
    trusted = asked.trust if noise is None else asked.trust * precision(noise)
    return Problem(asked.operator, chosen, start, channel.plane, trust=trusted, bounds=channel.bounds, noise=noise)


@keywords_of(Options)
def request(
    image: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    sigma: ArrayLike = 0.0,
    grouping: bool = True,
    **given: Unpack[Common],
) -> Request:
    """What :func:`inpaint` is asked for."""
    visible, hidden, missing = _hidden(image, mask, given.get("channel_axis"), given.get("alpha", False))
    gaps = missing.reshape(-1, *missing.shape[-2:])
    request = Request.of(pose, visible, sigma, given, known=~gaps).with_white_noise()
    if any(asked is not None and isinstance(asked.noise, Correlated) for asked in request.asked):
        raise ValueError(
            "noise: what neighbours share cannot be told from pixels some of which are missing; fill in without a "
            "noise first, then denoise the result with it"
        )
    request.pages[gaps] = 0
    first = request.asked[0]
    assert first is not None

    def ask(asked: Asked | None, own: NDArray[np.bool_]) -> Asked | None:
        if asked is None or not (asked.sigma or own.any()):
            return None
        noise = fill_levels(asked.noise, own) if isinstance(asked.noise, Map) else asked.noise
        return replace(asked, gaps=own, trust=trust(~own) if asked.sigma else None, noise=noise)

    def finish(filled: NDArray[Any]) -> NDArray[Any]:
        return np.where(hidden, filled, np.asarray(image))  # to the last bit, past the rounding of our own

    return replace(
        request,
        asked=list(map(ask, request.asked, gaps)),
        second_pass=GROUPING["inpaint"][given.get("quality", "balanced")] if grouping else None,
        correction=first.operator.steps.get("inpaint") if grouping else None,
        finish=None if any(asked and asked.sigma for asked in request.asked) else finish,
    )


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


# Gaps are first filled from averages of ever larger blocks, which must lie alike in tiles.
TASK = Task(
    "inpaint", "inpainted", pose, request, GROUPING["inpaint"], takes=("grouping",), masks=True, reach=8, unit=16
)
