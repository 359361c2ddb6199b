"""Upscaling: A is how the small image was made, a blur and a decimation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

from numpy.typing import ArrayLike, NDArray

from cosparse.foreign import adopting
from cosparse.keywords import keywords_of
from cosparse.operator import AnalysisOperator
from cosparse.reconstruction.correction import enlarged_level
from cosparse.reconstruction.local_noise import channel_noise, enlarged, precision
from cosparse.reconstruction.memory import ask_memory
from cosparse.reconstruction.planes import Channel, Plane
from cosparse.reconstruction.problem import Problem
from cosparse.reconstruction.psf import checked_kernel
from cosparse.reconstruction.reductions import FACTORS, FILTERS, REDUCTIONS, USUAL
from cosparse.reconstruction.request import Asked, Common, Options, Repairing, RepairKeywords, Request, Task
from cosparse.reconstruction.stages import Quality, plan
from cosparse.reconstruction.start import enlarge, enlarged_side
from cosparse.reconstruction.tasks import denoising
from cosparse.reconstruction.tasks.denoising import trained_to_denoise, with_photon_map
from cosparse.trained_steps import TrainedSteps


@adopting
@keywords_of(Repairing)
def upscale(
    image: ArrayLike,
    factor: float,
    *,
    kernel: ArrayLike | str = USUAL,
    sigma: ArrayLike = 0.0,
    operator: AnalysisOperator | str | None = None,
    weight: float | None = None,
    quality: Quality = "balanced",
    **more: Unpack[RepairKeywords],
) -> NDArray[Any]:
    """Enlarge by 1.5, 2, 3, 4 or 8, and with `sigma` denoise as well (section V-E).

    Minimises ½‖A s - y‖² + lambda·g(s), Eq. (49), where g is the sparsity of all patches under the operator. A makes
    the small image y of the large one, see :func:`~cosparse.reconstruction.measurement.reduction`; the nearer to what
    made it, the better. An operator that has trained steps to upscale, as the shipped one has, at last corrects the
    minimiser by them; one with steps to denoise takes the noise off the small image before all else. With
    operator="default", or a weight, the result is the minimiser, of noisy images too.

    Parameters
    ----------
    image : array
        (h, w), pages of it (..., h, w), or either with a channel axis; uint8, uint16 or float.
    factor : {1.5, 2, 3, 4, 8}
        How many times larger. Half a pixel at the end of an odd side becomes a whole one.
    kernel : {"bicubic", "box", "lanczos", "gaussian"} or (a, b) array
        How the small image was made: as Pillow and others reduce ("bicubic", "lanczos"), by the mean of every block of
        factor x factor pixels ("box": a camera's coarser pixels), by the paper's blur ("gaussian"), or by a blur with
        this array, normalised to sum 1, of which every factor-th pixel was kept. An array of even sides lies in the
        middle of the blocks of an even factor, one of odd sides in those of factor 3; else half a pixel beside.
        For 1.5, whose blocks have no middle, one of the first three.
    sigma : float
        Noise of the small image in its own units, to be removed as well.
    operator : AnalysisOperator or str, optional
        The prior; a shipped operator's name, an operator file, or "default".
    weight : float, optional
        lambda, a factor on the operator's own weights, instead of the one chosen from sigma.
    quality : {"fast", "balanced", "best"}
        How much effort.
    noise : Noise, optional
        Instead of sigma: what kind of noise it is, as :class:`cosparse.PoissonGaussian`. See docs/noise.md.
    luma, chroma : float
        Factors on the noise of brightness and of colour: how much of it to remove.
    bounds : "auto", None or (low, high)
        Between which values the result lies, in the image's units, see :func:`denoise`.
    data_range : float, optional
        The value of white: by default 255, 65535, or 1.0 for floats.
    channel_axis : int, optional
        The axis of the channels. Three are taken for red, green and blue; of other numbers each channel stands alone.
    alpha : bool
        Whether the last channel is transparency, which is enlarged by bicubic interpolation.
    max_memory : float, optional
        Bytes that the work may take beside the image; more is refused before it begins. By default what the machine and
        the control groups of the process leave free; infinity asks nobody.
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
    asked = request(
        image, factor, kernel=kernel, sigma=sigma, operator=operator, weight=weight, quality=quality, **more
    )
    return asked.run()


def pose(channel: Channel, asked: Asked) -> Problem:
    """½‖A s - y‖² + lambda·g(s), from bicubic interpolation.

    Where neither data nor prior say much of fine detail, b(s) is so stiff that conjugate gradient comes to little else:
    without noise it is left out. On training photographs it costs 0.02 dB after as many iterations; with noise, where
    the prior weighs more, it is worth 0.005 dB (benchmarks/tune.py --no-bounds).
    """
    from cosparse.reconstruction import measurement  # late, as in deblurring

    start = enlarge(channel.plane, asked.factor)
    sigma, noise, levels = channel_noise(asked.sigma, asked.noise, channel)
    named = asked.kernel if isinstance(asked.kernel, str) else "array"
    chosen = plan("upscale", sigma, asked.quality, asked.weight, asked.operator, named, levels)
    measure = measurement.reduction(asked.factor, start.shape, asked.kernel)
    bounds = channel.bounds if asked.sigma > 0 else None
    if noise is None:
        return Problem(asked.operator, chosen, start, channel.plane.ravel(), measure, bounds=bounds)
    trust, noise = precision(noise).ravel(), enlarged(noise, asked.factor)
    return Problem(asked.operator, chosen, start, channel.plane.ravel(), measure, trust, bounds=bounds, noise=noise)


@keywords_of(Options)
def request(
    image: ArrayLike, factor: float, *, kernel: ArrayLike | str = USUAL, sigma: ArrayLike = 0.0, **given: Unpack[Common]
) -> Request:
    """What :func:`upscale` is asked for."""
    if isinstance(factor, bool) or factor not in FACTORS:
        raise ValueError(f"factor: expected 1.5, 2, 3, 4 or 8, got {factor!r}")
    times = float(factor) if factor % 1 else int(factor)
    ask_memory("upscale", image, sigma, given, times)
    request = _without_noise(Request.of(pose, image, sigma, given), image, sigma, given)
    made_by = checked_reduction(kernel, times, tuple(enlarged_side(side, times) for side in request.pages.shape[1:3]))

    def larger(plane: Plane) -> Plane:
        return enlarge(plane, times)

    return replace(
        request,
        asked=[asked and replace(asked, factor=times, kernel=made_by) for asked in request.asked],
        larger=larger,
        correction=_correction(request.asked[0], times),
    )


def _without_noise(asked_for: Request, image: ArrayLike, sigma: ArrayLike, given: Common) -> Request:
    """With the noise taken off the small image first, if the operator has trained steps for that.

    On training photographs that is 0.1 to 0.7 dB better than the energy is at doing both (docs/upscaling.md).
    """
    noisy = any(asked is not None and asked.sigma for asked in asked_for.asked)
    if not noisy or asked_for.asked[0] is None or trained_to_denoise(asked_for.asked[0]) is None:
        return with_photon_map(asked_for)
    first = denoising.request(image, sigma, **given)
    asked = [asked and replace(asked, sigma=0.0, noise=None) for asked in asked_for.asked]
    return replace(asked_for, pages=first.repaired(), asked=asked, strengths=(1.0, 1.0), denoised=first)


def _correction(asked: Asked | None, factor: float) -> TrainedSteps | None:
    """The steps that the operator has for such a factor, unless the energy is asked for by its weight."""
    steps = None if asked is None or asked.weight is not None else asked.operator.steps.get("upscale")
    return steps if steps and steps.sigma[0] <= enlarged_level(factor) <= steps.sigma[1] else None


def checked_reduction(kernel: ArrayLike | str, factor: float, shape: tuple[int, ...]) -> NDArray[Any] | str:
    """A kernel, given or named; refuses a name that nothing has and what does not fit into the result or the factor."""
    if factor % 1 and not (isinstance(kernel, str) and kernel in FILTERS):
        got = repr(kernel) if isinstance(kernel, str) else "an array"
        raise ValueError(f"kernel: for factor {factor:g} expected {', '.join(FILTERS)}, got {got}")
    if not isinstance(kernel, str):
        return checked_kernel(kernel, shape)
    if kernel not in REDUCTIONS:
        raise ValueError(f"kernel: expected {', '.join(REDUCTIONS)} or an array, got {kernel!r}")
    return kernel


TASK = Task("upscale", "upscaled", pose, request, needs=("factor",), takes=("kernel",))
