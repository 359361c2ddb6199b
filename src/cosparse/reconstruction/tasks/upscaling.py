"""Upscaling: A blurs and decimates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

from numpy.typing import ArrayLike, NDArray

from cosparse.keywords import keywords_of
from cosparse.operator import AnalysisOperator
from cosparse.reconstruction import measurement
from cosparse.reconstruction.noise import checked
from cosparse.reconstruction.planes import Channel, Plane
from cosparse.reconstruction.problem import Problem
from cosparse.reconstruction.request import Asked, Common, Options, Repairing, RepairKeywords, Request, Task
from cosparse.reconstruction.stages import Quality, plan
from cosparse.reconstruction.start import enlarge


@keywords_of(Repairing)
def upscale(
    image: ArrayLike,
    factor: int,
    *,
    sigma: float = 0.0,
    operator: AnalysisOperator | str | None = None,
    weight: float | None = None,
    quality: Quality = "balanced",
    **more: Unpack[RepairKeywords],
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
        lambda, a factor on the operator's own weights, instead of the one chosen from sigma.
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
    Hawe, Kleinsteuber, Diepold: Analysis Operator Learning and Its Application..., IEEE TIP 22(6), 2013, section V-E.

    Examples
    --------
    >>> import numpy as np, cosparse
    >>> cosparse.upscale(np.full((5, 7), 9, np.uint8), 3).shape
    (15, 21)
    """
    asked = request(image, factor, sigma=sigma, operator=operator, weight=weight, quality=quality, **more)
    return asked.run()


def pose(channel: Channel, asked: Asked) -> Problem:
    """½‖A s - y‖² + lambda·g(s), from bicubic interpolation.

    Where neither data nor prior say much of fine detail, b(s) is so stiff that conjugate gradient comes to little else:
    without noise it is left out. On training photographs it costs 0.02 dB after as many iterations; with noise, where
    the prior weighs more, it is worth 0.005 dB (benchmarks/tune.py --no-bounds).
    """
    sigma, start = asked.sigma * channel.gain, enlarge(channel.plane, asked.factor)
    chosen = plan("upscale", sigma, asked.quality, asked.weight, asked.operator)
    measure = measurement.downsampling(asked.factor, start.shape)
    bounds = channel.bounds if asked.sigma > 0 else None
    return Problem(asked.operator, chosen, start, channel.plane.ravel(), measure, bounds=bounds)


@keywords_of(Options)
def request(image: ArrayLike, factor: int, *, sigma: float = 0.0, **given: Unpack[Common]) -> Request:
    """What :func:`upscale` is asked for."""
    if isinstance(factor, bool) or factor not in (2, 3, 4):
        raise ValueError(f"factor: expected 2, 3 or 4, got {factor!r}")
    request = Request.of(pose, image, checked(sigma), given)

    def larger(plane: Plane) -> Plane:
        return enlarge(plane, int(factor))

    return replace(
        request, asked=[asked and replace(asked, factor=int(factor)) for asked in request.asked], larger=larger
    )


TASK = Task("upscale", "upscaled", pose, request, needs=("factor",))
