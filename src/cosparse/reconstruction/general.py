"""Reconstruction from any linear measurement, Eq. (49)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from cosparse.foreign import adopting
from cosparse.io.values import checked_range
from cosparse.keywords import keywords_of, settled
from cosparse.noise import Noise, PoissonGaussian
from cosparse.operator import AnalysisOperator, chosen_operator
from cosparse.optimize import Settings, Stop
from cosparse.reconstruction.bounds import Bounds, Pair, stated
from cosparse.reconstruction.data_noise import DataNoise
from cosparse.reconstruction.energy import Energy
from cosparse.reconstruction.engine import Solution, solve
from cosparse.reconstruction.joint import JointPrior, JointProblem, plans_of, turned
from cosparse.reconstruction.measured import Layout, checked_measurement, refuse_far, refuse_imaginary, size_of
from cosparse.reconstruction.problem import Problem
from cosparse.reconstruction.stages import Plan, Quality, as_refined, checked_quality, last_settings
from cosparse.reconstruction.start import first_image
from cosparse.reconstruction.watch import Callback, Watch

NEARLY = 0.03  # data ranges: a first image so near to [0, data_range] is taken to lie there


class MeasuredKeywords(TypedDict, total=False):
    """Keywords of :func:`reconstruct` as type checkers and editors see them: the fields of Measured."""

    dtype: DTypeLike | None
    noise: Noise | None
    bounds: Bounds
    data_range: float
    start: ArrayLike | None
    settings: Settings | None
    adjoint_tolerance: float
    callback: Callback


@dataclass(frozen=True)
class Measured:
    """The rarer settings of :func:`reconstruct`, which says what each means."""

    dtype: DTypeLike | None = None
    noise: Noise | None = None
    bounds: Bounds = "auto"
    data_range: float = 1.0
    start: ArrayLike | None = None
    settings: Settings | None = None
    adjoint_tolerance: float = 1e-3
    callback: Callback = None


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """A reconstructed image, in the units of the data, and how it was reached.

    The energy and its terms are those of the last stage, on the scale of 0..255.

    Attributes
    ----------
    image : array of the asked shape
        In the units that y was measured in; complex64 if the image is complex, else float32.
    energy : float
        ½‖W(A s - y)‖² + b(s) + weight·g(s) at the image; W is 1 where all data are as noisy.
    stop : Stop
        Why the last stage ended; `stop.converged` says whether a tolerance did.
    iterations, evaluations : int
        Of all stages together.
    weight : float
        lambda.
    energies : tuple of float
        After every iteration of the last stage.
    data_term, prior_term : float
        ½‖W(A s - y)‖² and weight·g(s).
    residual : float
        ‖A s - y‖ / ‖y‖.
    gradient_norm : float
        The root mean square, over the pixels, of the energy's gradient; 0 at a minimum.
    bounds : (low, high) or None
        Between which the image was kept, in its units.
    """

    image: NDArray[Any]
    energy: float
    stop: Stop
    iterations: int
    evaluations: int
    weight: float
    energies: tuple[float, ...]
    data_term: float
    prior_term: float
    residual: float
    gradient_norm: float
    bounds: Pair | None


@adopting
@keywords_of(Measured)
def reconstruct(
    y: ArrayLike,
    A: Any,
    shape: tuple[int, ...],
    *,
    sigma: ArrayLike = 0.0,
    operator: AnalysisOperator | str | None = None,
    weight: float | None = None,
    quality: Quality = "balanced",
    **options: Unpack[MeasuredKeywords],
) -> Reconstruction:
    """The image whose measurements are near y and whose patches are sparse.

    Minimises the paper's Eq. (49),

        ½‖W(A s - y)‖² + b(s) + weight·g(s),

    over images s of the given shape: g is the sparsity of all patches under the operator, b(s) the squared excess of s
    over its bounds, and W is 1, or if the data are not all as noisy, the less the noisier each is.

    Of an image of several planes that are measured together, g is the sum of theirs: of colours, luma and two opponent
    colours; of other channels, each alone; of complex numbers, two planes that follow the phase, the first along it and
    so nearly the magnitude, the second across it. The phase is that of the image which the first stage gives, smoothed.

    Parameters
    ----------
    y : array
        The measurements, real or complex (those of a real image may be complex too); flattened.
    A : scipy LinearOperator, PyLops operator, sparse or dense matrix
        Maps flattened images to data; its adjoint (`rmatvec`) is needed and checked.
    shape : (height, width) or (height, width, channels)
        Of the image. Three channels are red, green and blue.
    sigma : float or array
        Standard deviation of the noise in y (of each of the real and imaginary parts), in units of y; or that of each
        of the values, of the shape of y.
    operator : AnalysisOperator or str, optional
        The prior; a shipped operator's name, an operator file, or "default".
    weight : float, optional
        lambda, a factor on the operator's own weights, those at noise 25; chosen from sigma and the size of A if not
        given.
    quality : {"fast", "balanced", "best"}
        How much effort: at which decrease of the energy the last stage ends, and after how many iterations at most.
    dtype : dtype, optional
        float, or complex for an image of complex numbers, as in magnetic resonance imaging; not found out from A, as
        real images have complex measurements as well. The result has single precision.
    noise : Gaussian, Map or PoissonGaussian, optional
        Instead of sigma. Photon noise is that of the measurements: an image is first found as if all were as noisy,
        then a second one with the variances that the measurements of the first have.
    bounds : "auto", None or (low, high)
        Between which values the image lies, in its units; None on one side of a pair leaves it open. "auto": 0 and
        `data_range`, if the image that the first stage gives lies nearly there. Complex images have none.
    data_range : float
        The value of white in the image (the largest magnitude), in whose units y was measured.
    start : array of that shape, optional
        First image; by default the constant that fits the data best, plus the scaled adjoint Aᴴ of what is left.
    settings : Settings, optional
        Of the last stage, instead of those that go with the quality: limits on its iterations, tolerances.
    adjoint_tolerance : float
        By how much <A x, y> and <x, Aᴴ y> may differ, relative to ‖A x‖‖y‖. Raise it for a pair that is an adjoint but
        nearly, as scikit-image's radon and unfiltered iradon (0.006); the result is then as near as they are.
    callback : callable, optional
        Called with a :class:`Progress` after every iteration; returning True ends the work with what there is.

    Returns
    -------
    Reconstruction
        The image, the terms of its energy, and why the iteration ended.

    References
    ----------
    Hawe, Kleinsteuber, Diepold: Analysis Operator Learning and Its Application..., IEEE TIP 22(6), 2013, section IV.

    Examples
    --------
    Recover an image from 40 % of its Fourier coefficients:

    >>> import numpy as np, cosparse
    >>> from cosparse.reconstruction import measurement
    >>> ramp = np.clip(np.add.outer(np.arange(32), np.arange(32)) / 62.0, 0.2, 0.7)
    >>> A = measurement.fourier_sampling(measurement.variable_density_mask((32, 32), 0.4))
    >>> result = cosparse.reconstruct(A.matvec(ramp.ravel()), A, (32, 32))
    >>> cosparse.psnr(ramp, result.image) > 35
    True

    The same of a complex one:

    >>> turned = ramp * np.exp(1j * ramp)
    >>> found = cosparse.reconstruct(A.matvec(turned.ravel()), A, (32, 32), dtype=complex).image
    >>> float(np.abs(found - turned).mean()) < 0.02
    True
    """
    given = settled(reconstruct, Measured, options)
    layout = Layout.of(shape, given.dtype)
    asked = None if given.bounds == "auto" else stated(given.bounds)
    if layout.imaginary and asked is not None:
        raise ValueError(f"bounds: complex numbers lie between none, got {given.bounds!r}; pass None or nothing")
    A, data = checked_measurement(y, A, layout, given.adjoint_tolerance)
    scale = 255.0 / checked_range(np.dtype(float), given.data_range, "data_range")
    noise = DataNoise.of(sigma, given.noise, np.shape(y), scale, data.dtype.kind == "c")
    data = data * data.real.dtype.type(scale)
    level, trust = noise.first(data)
    if given.start is None:
        first = first_image(A, data, layout.working_shape)
    else:
        first = layout.opened(given.start, "start") * np.float32(scale)
    refuse_far(first, float(given.data_range))
    checked_quality(quality)
    atoms = as_refined(chosen_operator(operator))

    def known_better(energy: Energy, image: NDArray[np.float32]) -> Energy:
        """With bounds if they hold, and with the phase, which the image of the first stage shows."""
        if layout.imaginary:
            return (
                replace(energy, prior=turned(energy.prior, image)) if isinstance(energy.prior, JointPrior) else energy
            )
        if given.bounds == "auto":
            low, high = np.percentile(image, (2, 98)) / 255
            return replace(energy, bounds=(0.0, 255.0)) if low > -NEARLY and high < 1 + NEARLY else energy
        return energy if asked is None else replace(energy, bounds=(asked[0] * scale, asked[1] * scale))

    watch = Watch(given.callback)
    watch.view = layout.closed
    size = size_of(A)
    settings = given.settings or last_settings(level / size, quality)
    plans = plans_of(layout.mixing, level, quality, weight, atoms, size)
    problem = _posed(layout, atoms, plans, first, data, A, trust)
    found = solve(problem, settings=settings, revise=known_better, watch=watch)
    if isinstance(noise.model, PoissonGaussian) and not watch.stopped:
        level, trust = noise.weighed(np.asarray(A.matvec(found.image.ravel())).reshape(-1))
        plans = plans_of(layout.mixing, level, quality, weight, atoms, size)
        problem = _posed(layout, atoms, plans, found.image, data, A, trust)
        found = solve(problem, settings=settings, revise=known_better, watch=watch)
    return _reported(found, A, data, level, scale, layout)


def _posed(
    layout: Layout,
    operator: AnalysisOperator,
    plans: tuple[Plan, ...],
    start: NDArray[np.float32],
    data: NDArray[Any],
    A: Any,
    trust: NDArray[np.float32] | None,
) -> Problem:
    if layout.mixing is None:
        return Problem(operator, plans[0], start, data, A, trust)
    return JointProblem(operator, plans[0], start, data, A, trust, mixing=layout.mixing, plans=plans)


def _reported(
    found: Solution, A: Any, data: NDArray[Any], sigma: float, scale: float, layout: Layout
) -> Reconstruction:
    """In the caller's units."""
    terms, image = found.terms(), found.image
    off = np.asarray(A.matvec(image.ravel())).reshape(-1) - data
    residual = float(np.linalg.norm(off)) / max(float(np.linalg.norm(data)), 1e-30)
    if np.iscomplexobj(data) and not layout.imaginary and found.stop is not Stop.CALLBACK:
        refuse_imaginary(A, image, data, residual, sigma)
    held = None if found.minimised is None else found.minimised.bounds
    return Reconstruction(
        layout.closed(image if held is None else image.clip(*held)) / np.float32(scale),
        found.energy,
        found.stop,
        found.iterations,
        found.evaluations,
        found.weight,
        found.energies[-1],
        terms.data,
        terms.prior,
        residual,
        found.gradient_norm / float(np.sqrt(image.size)),
        None if held is None else (held[0] / scale, held[1] / scale),
    )
