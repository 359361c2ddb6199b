"""Denoising: A is the identity."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse.foreign import adopting
from cosparse.keywords import keywords_of
from cosparse.noise import Correlated, Map, PoissonGaussian
from cosparse.operator import AnalysisOperator
from cosparse.reconstruction.chroma import halved, is_half, taken_noise
from cosparse.reconstruction.local_noise import channel_noise
from cosparse.reconstruction.memory import ask_memory
from cosparse.reconstruction.noise_level import LEAST, MOST
from cosparse.reconstruction.planes import Caller, Channel
from cosparse.reconstruction.problem import Problem
from cosparse.reconstruction.request import Asked, Common, Options, Repairing, RepairKeywords, Request, Task
from cosparse.reconstruction.stages import GROUPING, QUALITIES, TABLE, Plan, Quality, plan
from cosparse.reconstruction.start import smoothed
from cosparse.trained_steps import TrainedSteps


@adopting
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
    max_memory : float, optional
        Bytes that the work may take beside the image; more is refused before it begins. By default what the machine and
        the control groups of the process leave free; infinity asks nobody.
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
    sigma, noise, levels = channel_noise(asked.sigma, asked.noise, channel)
    steps = trained_to_denoise(asked, channel.chroma)
    if steps is not None:
        none = Plan((), steps.stride)
        together = "colours" in asked.operator.steps
        if channel.chroma and is_half(asked.quality, taken_noise(channel, asked.sigma), asked.noise, together):
            plane = halved(channel.plane)
            return Problem(asked.operator, none, plane, plane, steps=tuple(steps.at(sigma / 2)), half=True)
        taken = tuple(steps.at(sigma, levels))
        return Problem(asked.operator, none, channel.plane, channel.plane, steps=taken, noise=noise)
    chosen = plan("denoise", sigma, asked.quality, asked.weight, asked.operator, levels=levels)
    start = smoothed(channel.plane, sigma, noise)
    return Problem(asked.operator, chosen, start, channel.plane, bounds=channel.bounds, noise=noise)


def _by_energy(asked_for: Request) -> Request:
    """Without trained steps where noise is correlated: in its rounds the energy's minimiser is 2 to 3 dB better.

    Steps that forgive a wrong level take what is left of such noise for more of it, and smooth.
    """
    asked = [
        replace(asked, operator=replace(asked.operator, steps={}))
        if asked is not None and isinstance(asked.noise, Correlated)
        else asked
        for asked in asked_for.asked
    ]
    return replace(asked_for, asked=asked)


@keywords_of(Options)
def request(
    image: ArrayLike, sigma: ArrayLike | None = None, *, grouping: bool = True, **given: Unpack[Common]
) -> Request:
    """What :func:`denoise` is asked for."""
    ask_memory("denoise", image, sigma, given)
    posed = Request.of(pose, image, sigma, given, model="auto")
    found = next((asked.noise for asked in posed.asked if asked and isinstance(asked.noise, Correlated)), None)
    if found is not None and given.get("noise") is None:  # which takes more than was asked for
        ask_memory("denoise", image, sigma, {**given, "noise": found})
    request = _by_energy(posed.with_white_noise())
    untouched = np.array([asked is None or asked.sigma == 0 for asked in request.asked])

    def finish(result: NDArray[Any]) -> NDArray[Any]:
        return _as_it_came(result, image, untouched, request.caller)

    rules = GROUPING["denoise" if trained_to_denoise(request.asked[0]) is None else "steps"]
    # Bounds that were stated may change a page without noise too.
    as_it_came = untouched.any() and given.get("bounds", "auto") in ("auto", None)
    return replace(
        request,
        asked=[asked if asked and asked.sigma else None for asked in request.asked],
        second_pass=rules.get(given.get("quality", "balanced")) if grouping else None,
        colours=steps_of_colours(request),
        finish=finish if as_it_came else None,
        blends=True,
    )


def with_photon_map(asked_for: Request) -> Request:
    """With photon noise as a map of the variances that a first, denoised estimate of the data has.

    For tasks that see the pixels through a measurement, which a root of every value would not let be linear. A pixel
    is taken to have a photon at least: an estimate of none would be believed without end.
    """
    noise = next((asked.noise for asked in asked_for.asked if asked is not None), None)
    if not isinstance(noise, PoissonGaussian):
        return asked_for
    axis, pages = -1 if asked_for.pages.ndim == 4 else None, asked_for.pages
    first = request(pages, noise=noise, quality="fast", bounds=None, data_range=255.0, channel_axis=axis, part=True)
    means = np.maximum(first.run(), np.add(noise.offset, noise.gain))
    levels = np.sqrt(noise.variance(means)).clip(LEAST, MOST)
    maps = [
        asked and replace(asked, noise=Map(page, typical=asked.sigma))
        for asked, page in zip(asked_for.asked, levels, strict=True)
    ]
    return replace(asked_for, asked=maps)


def trained_to_denoise(asked: Asked | None, chroma: bool = False) -> TrainedSteps | None:
    """Those that the operator has for the quality, unless the energy is asked for by its weight."""
    if asked is None or asked.weight is not None:
        return None
    steps, level = asked.operator.steps, QUALITIES.index(asked.quality)
    quality = TABLE["chroma"]["steps"][level] if chroma else asked.quality
    return steps.get(f"denoise {quality}", steps.get("denoise"))


def steps_of_colours(asked_for: Request) -> TrainedSteps | None:
    """Those that the operator has beside its others, where there are red, green and blue."""
    first = next((asked for asked in asked_for.asked if asked is not None), None)
    if first is None or trained_to_denoise(first) is None or asked_for.pages.shape[3:] != (3,):
        return None
    return first.operator.steps.get("colours")


def _as_it_came(result: NDArray[Any], image: ArrayLike, untouched: NDArray[np.bool_], caller: Caller) -> NDArray[Any]:
    """The result with pages that had nothing to repair as they came, to the last bit."""
    if untouched.all():
        return np.array(image, order="C")
    pages, came = caller.paged(result).copy(), caller.paged(np.asarray(image))
    pages[untouched] = came[untouched]
    return np.ascontiguousarray(caller.unpaged(pages))


TASK = Task("denoise", "denoised", pose, request, GROUPING["denoise"], estimates_noise=True, takes=("grouping",))
