"""Deblocking: A is the block cosines of a JPEG, each coefficient known within its step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse.foreign import adopting
from cosparse.jpeg import YCC, Jpeg, enlarged_chroma, joined, reduced_chroma, turned, whole_blocks
from cosparse.keywords import keywords_of
from cosparse.operator import AnalysisOperator
from cosparse.reconstruction.bounds import Pair
from cosparse.reconstruction.intervals import Intervals
from cosparse.reconstruction.memory import ask_memory
from cosparse.reconstruction.planes import Channel, Plane
from cosparse.reconstruction.problem import Problem
from cosparse.reconstruction.request import Asked, Common, Options, Repairing, RepairKeywords, Request, Task
from cosparse.reconstruction.stages import TABLE, Plan, Quality, by_noise, plan
from cosparse.trained_steps import TrainedSteps

_YCC = YCC.astype(np.float32)


@adopting
@keywords_of(Repairing)
def deblock(
    image: ArrayLike,
    quantization: Any,
    *,
    operator: AnalysisOperator | str | None = None,
    weight: float | None = None,
    quality: Quality = "balanced",
    **more: Unpack[RepairKeywords],
) -> NDArray[Any]:
    """Undo what JPEG did: blocks, ringing, lost texture.

    A JPEG is a measurement: D s, the cosines of all blocks of 8x8 pixels, each known within its step Δ of the file's
    table. With an operator that has trained steps for it, as the one that is taken if none is named, takes those, see
    :class:`cosparse.trained_steps.TrainedSteps`, and after each brings every coefficient back into the middle part of
    its interval, c ± h·Δ. With any other, or if a `weight` is given, minimises Eq. (49) with A = W D and y = W c,

        ½‖W(D s - c)‖² + lambda·g(s),      W = σ/(r·Δ/√12),

    where the error of a coefficient is taken for r times that of uniform rounding, and then takes the nearest image
    whose coefficients lie in their intervals. The constants are in reconstruction/stages.toml.

    Of colours, luma and the two planes of chroma are repaired one by one, chroma in the size that it has in the file,
    and put together as a decoder does.

    Parameters
    ----------
    image : array
        As a decoder gives it, neither cropped nor resized since: (h, w), pages of it (..., h, w), or either with a
        channel axis of three; uint8, uint16 or float.
    quantization : mapping, array or Jpeg
        The tables of the file, on 0..255, as Pillow has them: `Image.open(path).quantization`. Chroma is taken to be of
        half the size (4:2:0), as most files have it; if it is not, or the image was turned by its EXIF orientation,
        pass a :class:`cosparse.Jpeg`, as `cosparse.images.read_image(path).jpeg` is one.
    operator : AnalysisOperator or str, optional
        The prior; a shipped operator's name or an operator file. "default" has no steps: its results are minimisers.
    weight : float, optional
        lambda, a factor on the operator's own weights. Asks for the energy.
    quality : {"fast", "balanced", "best"}
        How much effort; the trained steps are the same for all.
    noise : None
        The tables say it all: any other noise is for :func:`denoise`, afterwards.
    luma, chroma : float
        As for other tasks; what the tables say of both is not changed by them.
    bounds : "auto", None or (low, high)
        Between which values the result lies, in the image's units, see :func:`denoise`.
    data_range : float, optional
        The value of white: by default 255, 65535, or 1.0 for floats.
    channel_axis : int, optional
        The axis of red, green and blue.
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
    Y. Chen, T. Pock: Trainable Nonlinear Reaction Diffusion. IEEE Transactions on Pattern Analysis and Machine
    Intelligence 39(6), 2017, section 6.3, which projects onto the intervals after each step.

    Examples
    --------
    >>> import numpy as np, cosparse
    >>> clean = np.kron([[52.0, 201.0], [155.0, 102.0]], np.ones((20, 20)))
    >>> jpeg = cosparse.Jpeg.standard(10)
    >>> decoded = jpeg.sample(clean).astype(np.uint8)
    >>> repaired = cosparse.deblock(decoded, jpeg.quantization)
    >>> cosparse.psnr(clean, repaired, data_range=255) - cosparse.psnr(clean, decoded, data_range=255) > 3
    True
    """
    return request(image, quantization, operator=operator, weight=weight, quality=quality, **more).run()


def pose(channel: Channel, asked: Asked) -> Problem:
    """The steps from the decoded plane; or ½‖W(D s - c)‖² + lambda·g(s). Both with the intervals that hold."""
    from cosparse.reconstruction import measurement  # late, as in deblurring

    within = channel.within
    assert within is not None
    steps = _steps(asked)
    if steps is not None:
        found = tuple(steps.at(within.level * channel.gain))
        return Problem(asked.operator, Plan((), steps.stride), channel.plane, channel.plane, steps=found, within=within)
    chosen = plan("deblock", 0.0, asked.quality, asked.weight, asked.operator)
    part = by_noise(TABLE["deblock"]["part_of_uniform"], within.level)
    weights = np.float32(chosen.stages[-1].sigma * np.sqrt(12) / part) / within.steps
    measure = measurement.block_cosines(within.shape, weights)
    data = (within.centres + measurement.block_cosines(within.shape, 1.0).forward(np.full(within.shape, 128))) * weights
    return Problem(asked.operator, chosen, channel.plane, data.ravel(), measure, within=within)


@keywords_of(Options)
def request(image: ArrayLike, quantization: Any, **given: Unpack[Common]) -> Request:
    """What :func:`deblock` is asked for."""
    ask_memory("deblock", image, 0.0, given)
    jpeg = quantization if isinstance(quantization, Jpeg) else Jpeg(quantization)
    if given.get("noise") is not None:
        raise ValueError("noise: the tables say it all; denoise what comes of deblocking, if there is more noise")
    request = Request.of(pose, image, 0.0, given)
    channels = request.pages.shape[3] if request.pages.ndim == 4 else 1
    if channels not in (1, 3):
        raise ValueError(f"image: a JPEG is grey or has three colours, got {channels} channels; deblock each alone")
    shift = np.float32(request.caller.scale(request.caller.offset))

    def apart(page: Plane, bounds: Pair | None) -> tuple[list[Channel], Callable[[list[Plane]], Plane]]:
        planes, join = _planes(page + shift, jpeg)
        found = [Intervals.of(plane, table) for plane, table in zip(planes, jpeg.quantization, strict=False)]
        if not given.get("part") and not found[0].fits(planes[0]):
            raise ValueError(
                "image: its blocks do not fit the tables; give it as it was decoded, not cropped, resized or repaired "
                "since, and the tables of this very file"
            )

        def together(planes: list[Plane]) -> Plane:
            page = join(planes) - shift
            return page if bounds is None else page.clip(*bounds)

        gains = (1.0, *[TABLE["deblock"]["chroma"]] * 2)
        each = zip(planes, gains, found, strict=False)
        return [Channel(whole_blocks(plane), gain, within=one) for plane, gain, one in each], together

    return replace(request, apart=apart)


def _planes(page: Plane, jpeg: Jpeg) -> tuple[list[Plane], Callable[[list[Plane]], Plane]]:
    """What the file holds of a page: luma, and chroma in its own size about 128; and how a decoder joins them."""
    stored = turned(page, jpeg.orientation, back=True)
    shape = stored.shape[:2]
    if stored.ndim == 2:
        return [stored], lambda planes: turned(planes[0][: shape[0], : shape[1]], jpeg.orientation)
    ycc = [np.ascontiguousarray(plane) for plane in np.moveaxis(stored @ _YCC.T, -1, 0)]
    small = [reduced_chroma(plane, jpeg.factors) + np.float32(128) for plane in ycc[1:]]
    sizes = [plane.shape for plane in small]

    def join(planes: list[Plane]) -> Plane:
        luma = planes[0][: shape[0], : shape[1]]
        cut = (plane[: size[0], : size[1]] - np.float32(128) for plane, size in zip(planes[1:], sizes, strict=True))
        return turned(joined([luma, *(enlarged_chroma(plane, jpeg.factors, shape) for plane in cut)]), jpeg.orientation)

    return [ycc[0], *small], join


def _steps(asked: Asked) -> TrainedSteps | None:
    """Those that the operator has, unless the energy is asked for by its weight."""
    return None if asked.weight is not None else asked.operator.steps.get("deblock")


TASK = Task("deblock", "deblocked", pose, request, needs=("quantization",), compressed=True, unit=16)
