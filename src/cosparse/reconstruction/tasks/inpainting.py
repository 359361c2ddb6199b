"""Inpainting: A picks the known pixels, or they are held as they are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse.foreign import adopting
from cosparse.keywords import keywords_of
from cosparse.noise import Correlated, Map
from cosparse.operator import AnalysisOperator
from cosparse.reconstruction.holes import Copying, Fill, Wish
from cosparse.reconstruction.local_noise import channel_noise, precision
from cosparse.reconstruction.memory import ask_memory
from cosparse.reconstruction.planes import Channel
from cosparse.reconstruction.problem import Problem
from cosparse.reconstruction.request import Asked, Common, Options, Repairing, RepairKeywords, Request, Task
from cosparse.reconstruction.stages import GROUPING, Quality, plan, trust
from cosparse.reconstruction.start import fill_levels, interpolate, smoothed
from cosparse.reconstruction.tasks import denoising

NOISY = 10.0  # of 255: from this noise on trained steps pay; below, the energy knows what is missing as well


class InpaintKeywords(RepairKeywords, total=False):
    """Further keywords of inpaint as type checkers and editors see them: the fields of Inpainting."""

    fill: Fill
    source: ArrayLike | None
    seed: int


@dataclass(frozen=True)
class Inpainting(Repairing):
    """What inpainting takes beside what every task does: how wide holes are filled."""

    fill: Fill = "auto"
    source: ArrayLike | None = None
    seed: int = 0


@adopting
@keywords_of(Inpainting)
def inpaint(
    image: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    sigma: ArrayLike = 0.0,
    operator: AnalysisOperator | str | None = None,
    weight: float | None = None,
    quality: Quality = "balanced",
    grouping: bool = True,
    **more: Unpack[InpaintKeywords],
) -> NDArray[Any]:
    """Fill in missing pixels, and with `sigma` denoise the others too.

    Minimises the sparsity g of all patches under the operator with the known pixels held as they are, the limit of
    Eq. (49) for noiseless pixels; with `sigma` ½‖A s - y‖² + b(s) + lambda·g(s), where A picks the known pixels.
    Then similar patches help each other, as in :func:`denoise`. Without noise, an operator that has trained steps to
    inpaint at last corrects what these gave by them. In much noise (from 10 of 255 on), one that has trained steps to
    denoise takes from the energy what is missing alone, and denoises the picture that is whole then before similar
    patches help.

    In the middle of a wide hole, farther than a patch from all that is known, the energy knows of nothing and would
    leave it flat. Such parts are filled from elsewhere in the picture: coarse to fine, patches of the hole are matched
    with known ones and these vote on its pixels, in turns until that settles; the energy then joins what was copied.
    See docs/holes.md.

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
        False returns the minimiser of the energy, without trained steps and the second pass over groups of similar
        patches.
    fill : {"auto", "smooth", "copy"}
        "auto": wide parts of the mask by copying, where there is enough to copy from, and all others by the energy.
        "smooth": all by the energy. "copy": all by copying.
    source : bool array, optional
        True where may be copied from; of the mask's shape. Left out: from all that is known about a hole.
    seed : int
        Another gives another filling of wide holes, the same one the same.
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
    max_memory : float, optional
        Bytes that the work may take beside the image; more is refused before it begins. By default what the machine and
        the control groups of the process leave free; infinity asks nobody.
    callback : callable, optional
        Called with a :class:`Progress` after every iteration; returning True ends the work with what there is.

    Returns
    -------
    ndarray
        Of the image's shape, type and range.

    References
    ----------
    Hawe, Kleinsteuber, Diepold: Analysis Operator Learning and Its Application..., IEEE TIP 22(6), 2013, section V-D.
    Wexler, Shechtman, Irani: Space-Time Completion of Video, IEEE TPAMI 29(3), 2007.

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
    fill: Fill = "auto",
    source: ArrayLike | None = None,
    seed: int = 0,
    **given: Unpack[Common],
) -> Request:
    """What :func:`inpaint` is asked for."""
    ask_memory("inpaint", image, sigma, given)
    visible, hidden, missing = _hidden(image, mask, given.get("channel_axis"), given.get("alpha", False))
    gaps = missing.reshape(-1, *missing.shape[-2:])
    wish = Wish.checked(fill, source, seed, missing.shape)
    request = Request.of(pose, visible, sigma, given, known=~gaps).with_white_noise()
    if any(asked is not None and isinstance(asked.noise, Correlated) for asked in request.asked):
        raise ValueError(
            "noise: what neighbours share cannot be told from pixels some of which are missing; fill in without a "
            "noise first, then denoise the result with it"
        )
    request.pages[gaps] = 0
    first = request.asked[0]
    assert first is not None
    copies = [wish.of_page(number, own, first.operator, first.quality) for number, own in enumerate(gaps)]

    def ask(asked: Asked | None, own: NDArray[np.bool_], copied: Copying | None) -> Asked | None:
        narrow = own if copied is None else own & ~copied.copied
        if asked is None or not (asked.sigma or narrow.any()):
            return None
        noise = fill_levels(asked.noise, own) if isinstance(asked.noise, Map) else asked.noise
        return replace(asked, gaps=own, trust=trust(~own) if asked.sigma else None, noise=noise)

    def finish(filled: NDArray[Any]) -> NDArray[Any]:
        return np.where(hidden, filled, np.asarray(image))  # to the last bit, past the rounding of our own

    sigma_seen = max((asked.sigma for asked in request.asked if asked is not None), default=0.0)
    posed = replace(
        request,
        asked=list(map(ask, request.asked, gaps, copies)),
        copies=copies,
        second_pass=GROUPING["inpaint"][given.get("quality", "balanced")] if grouping else None,
        correction=first.operator.steps.get("inpaint") if grouping else None,
        finish=None if sigma_seen else finish,
    )
    return _filled_first(posed) if grouping and sigma_seen >= NOISY else posed


def _filled_first(posed: Request) -> Request:
    """What is missing filled in by the energy, then the whole picture denoised by trained steps, if there are any.

    On training photographs with scratches, text or half of all pixels missing that is up to 0.2 dB better than the
    energy (benchmarks/noisy_inpainting.py). Groups still know what is missing.
    """
    first = next(asked for asked in posed.asked if asked is not None)
    if denoising.trained_to_denoise(first) is None:
        return posed
    limits: list[Any] = [None] * len(posed.limits) if posed.stabilised else posed.limits
    completion = replace(posed, second_pass=None, stabilised=(), limits=limits, finish=None, copies=())
    groups, colours = GROUPING["steps"].get(first.quality, posed.second_pass), denoising.steps_of_colours(posed)
    return replace(posed, pose=denoising.pose, completion=completion, second_pass=groups, colours=colours)


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
    "inpaint",
    "inpainted",
    pose,
    request,
    GROUPING["inpaint"],
    takes=("grouping", "fill", "source", "seed"),
    masks=True,
    reach=8,
    unit=16,
)
