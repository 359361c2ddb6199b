"""Denoising: A is the identity."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse.keywords import keywords_of
from cosparse.operator import AnalysisOperator
from cosparse.reconstruction.planes import Caller, Channel
from cosparse.reconstruction.problem import Problem
from cosparse.reconstruction.request import Asked, Common, Options, Repairing, RepairKeywords, Request, Task
from cosparse.reconstruction.stages import GROUPING, Plan, Quality, plan
from cosparse.reconstruction.start import smoothed
from cosparse.trained_steps import TrainedSteps


@keywords_of(Repairing)
def denoise(
    image: ArrayLike,
    sigma: ArrayLike | None = None,
    *,
    operator: AnalysisOperator | str | None = None,
    weight: float | None = None,
    quality: Quality = "balanced",
    grouping: bool = True,
    **more: Unpack[RepairKeywords],
) -> NDArray[Any]:
    """Remove noise.

    With an operator that has trained steps, as the one that is taken if none is named, takes those: see
    :class:`cosparse.trained_steps.TrainedSteps`. With any other, or if a `weight` is given, minimises the paper's
    Eq. (49) with A the identity,

        ½‖s - y‖² + b(s) + lambda·g(s),

    where g is the sparsity of all patches under the operator and b keeps values within their bounds. Then lets patches
    that have come out similar help each other: see :func:`cosparse.reconstruction.second_pass.filter_groups`.

    Parameters
    ----------
    image : array
        (h, w), pages of it (..., h, w), or either with a channel axis; uint8, uint16 or float.
    sigma : float or array, optional
        Standard deviation of the noise in the image's own units, or a map of it: (h, w), or of the image's shape.
        If neither it nor `noise` is given, what :func:`estimate_noise` finds, for every page of a stack.
    operator : AnalysisOperator or str, optional
        The prior; a shipped operator's name or an operator file. "default" has no steps: its results are minimisers.
    weight : float, optional
        lambda, a factor on the weights that the operator has for this noise; 1 is as it is. Asks for the energy.
    quality : {"fast", "balanced", "best"}
        How much effort.
    grouping : bool
        False returns what the steps give, or the minimiser of the energy, without the second pass over groups of
        similar patches; after the steps of "fast" there is none.
    noise : Noise, optional
        Instead of sigma: what kind of noise it is, as :class:`cosparse.PoissonGaussian`. See docs/noise.md.
    luma, chroma : float
        How much of the noise of brightness and of colour to remove: 1 is all of it, 0.5 leaves half as grain, 2 takes
        the noise for twice as strong.
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
    asked = request(image, sigma, operator=operator, weight=weight, quality=quality, grouping=grouping, **more)
    return asked.run()


def pose(channel: Channel, asked: Asked) -> Problem:
    """½‖s - y‖² + b(s) + lambda·g(s), from a smoothed y; or the steps of a staged operator, from y itself."""
    sigma = asked.sigma * channel.gain
    steps = _steps(asked)
    if steps is not None:
        none = Plan((), steps.stride)
        return Problem(asked.operator, none, channel.plane, channel.plane, steps=tuple(steps.at(sigma)))
    chosen = plan("denoise", sigma, asked.quality, asked.weight, asked.operator)
    return Problem(asked.operator, chosen, smoothed(channel.plane, sigma), channel.plane, bounds=channel.bounds)


@keywords_of(Options)
def request(
    image: ArrayLike, sigma: ArrayLike | None = None, *, grouping: bool = True, **given: Unpack[Common]
) -> Request:
    """What :func:`denoise` is asked for."""
    request = Request.of(pose, image, sigma, given, model="auto").with_white_noise()
    untouched = np.array([asked is None or asked.sigma == 0 for asked in request.asked])

    def finish(result: NDArray[Any]) -> NDArray[Any]:
        return _as_it_came(result, image, untouched, request.caller)

    rules = GROUPING["denoise" if _steps(request.asked[0]) is None else "steps"]
    # Bounds that were stated may change a page without noise too.
    as_it_came = untouched.any() and given.get("bounds", "auto") in ("auto", None)
    return replace(
        request,
        asked=[asked if asked and asked.sigma else None for asked in request.asked],
        second_pass=rules.get(given.get("quality", "balanced")) if grouping else None,
        finish=finish if as_it_came else None,
        blends=True,
    )


def _steps(asked: Asked | None) -> TrainedSteps | None:
    """Those that the operator has for the quality, unless the energy is asked for by its weight."""
    if asked is None or asked.weight is not None:
        return None
    steps = asked.operator.steps
    return steps.get(f"denoise {asked.quality}", steps.get("denoise"))


def _as_it_came(result: NDArray[Any], image: ArrayLike, untouched: NDArray[np.bool_], caller: Caller) -> NDArray[Any]:
    """The result with pages that had nothing to repair as they came, to the last bit."""
    if untouched.all():
        return np.array(image, order="C")
    pages, came = caller.paged(result).copy(), caller.paged(np.asarray(image))
    pages[untouched] = came[untouched]
    return np.ascontiguousarray(caller.unpaged(pages))


TASK = Task("denoise", "denoised", pose, request, GROUPING["denoise"], estimates_noise=True, takes=("grouping",))
