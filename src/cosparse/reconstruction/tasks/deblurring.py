"""Deblurring: A is a convolution."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

from numpy.typing import ArrayLike, NDArray

from cosparse.foreign import adopting
from cosparse.keywords import keywords_of
from cosparse.operator import AnalysisOperator
from cosparse.reconstruction.local_noise import channel_noise, precision
from cosparse.reconstruction.memory import ask_memory
from cosparse.reconstruction.planes import Channel
from cosparse.reconstruction.problem import Problem
from cosparse.reconstruction.psf import checked_kernel, named_kernel
from cosparse.reconstruction.request import Asked, Common, Options, Repairing, RepairKeywords, Request, Task
from cosparse.reconstruction.stages import Quality, plan
from cosparse.reconstruction.tasks.denoising import with_photon_map


@adopting
@keywords_of(Repairing)
def deblur(
    image: ArrayLike,
    kernel: ArrayLike | str,
    *,
    sigma: ArrayLike | None = None,
    border: str = "replicate",
    operator: AnalysisOperator | str | None = None,
    weight: float | None = None,
    quality: Quality = "balanced",
    **more: Unpack[RepairKeywords],
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
    Hawe, Kleinsteuber, Diepold: Analysis Operator Learning and Its Application..., IEEE TIP 22(6), 2013, section IV.

    Examples
    --------
    >>> import numpy as np, cosparse
    >>> from scipy.ndimage import convolve
    >>> clean = np.kron([[0.2, 0.8], [0.6, 0.4]], np.ones((24, 24)))
    >>> blurred = convolve(clean, np.ones((5, 5)) / 25, mode="nearest")
    >>> cosparse.psnr(clean, cosparse.deblur(blurred, "box:5")) - cosparse.psnr(clean, blurred) > 8
    True
    """
    asked = request(
        image, kernel, sigma=sigma, border=border, operator=operator, weight=weight, quality=quality, **more
    )
    return asked.run()


def pose(channel: Channel, asked: Asked) -> Problem:
    """½‖A s - y‖² + lambda·g(s), from the blurred image.

    b(s) is left out for the reason that :mod:`cosparse.reconstruction.tasks.upscaling` gives; on training photographs
    it would cost 0.05 to 0.3 dB after as many iterations.
    """
    sigma, noise, levels = channel_noise(asked.sigma, asked.noise, channel)
    chosen = plan("deblur", sigma, asked.quality, asked.weight, asked.operator, levels=levels)
    trust = None if noise is None else precision(noise).ravel()
    return Problem(asked.operator, chosen, channel.plane, channel.plane.ravel(), asked.measure, trust, noise=noise)


@keywords_of(Options)
def request(
    image: ArrayLike,
    kernel: ArrayLike | str,
    *,
    sigma: ArrayLike | None = None,
    border: str = "replicate",
    **given: Unpack[Common],
) -> Request:
    """What :func:`deblur` is asked for."""
    from cosparse.reconstruction import measurement  # and all of scipy.sparse.linalg: here, so that importing is fast

    ask_memory("deblur", image, sigma, given)
    request = with_photon_map(Request.of(pose, image, sigma, given))
    if border not in ("replicate", "periodic"):
        raise ValueError(f"border: expected 'replicate' or 'periodic', got {border!r}")
    shape = request.pages.shape[1:3]
    spread = checked_kernel(named_kernel(kernel) if isinstance(kernel, str) else kernel, shape)
    measure = measurement.blur(spread, shape, border=border)
    return replace(request, asked=[asked and replace(asked, measure=measure) for asked in request.asked])


TASK = Task("deblur", "deblurred", pose, request, estimates_noise=True, needs=("kernel",), takes=("border",))
