"""Reconstruction from any linear measurement, Eq. (49)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
from cosparse.reconstruction.measurement import dot_gap
from cosparse.reconstruction.planes import FAR
from cosparse.reconstruction.problem import Problem
from cosparse.reconstruction.stages import Quality, as_refined, checked_quality, last_settings, plan
from cosparse.reconstruction.start import first_image, nearest
from cosparse.reconstruction.watch import Callback, Watch

NEARLY = 0.03  # data ranges: a first image so near to [0, data_range] is taken to lie there


class MeasuredKeywords(TypedDict, total=False):
    """Keywords of :func:`reconstruct` as type checkers and editors see them: the fields of Measured."""

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
    image : (height, width) array
        In the units that y was measured in.
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
    shape: tuple[int, int],
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

    over real images s of the given shape: g is the sparsity of all patches under the operator, b(s) the squared excess
    of s over its bounds, and W is 1, or if the data are not all as noisy, the less the noisier each is.

    Parameters
    ----------
    y : array
        The measurements of a real image, themselves real or complex; flattened.
    A : scipy LinearOperator, PyLops operator, sparse or dense matrix
        Maps flattened images to data; its adjoint (`rmatvec`) is needed and checked.
    shape : (height, width)
        Of the image.
    sigma : float or array
        Standard deviation of the noise in y (of each of the real and imaginary parts), in units of y; or that of each
        of the values, of the shape of y.
    operator : AnalysisOperator or str, optional
        The prior; a shipped operator's name, an operator file, or "default".
    weight : float, optional
        lambda, a factor on the operator's own weights, those at noise 25; chosen from sigma if not given.
    quality : {"fast", "balanced", "best"}
        How much effort: at which decrease of the energy the last stage ends, and after how many iterations at most.
    noise : Gaussian, Map or PoissonGaussian, optional
        Instead of sigma. Photon noise is that of the measurements: an image is first found as if all were as noisy,
        then a second one with the variances that the measurements of the first have.
    bounds : "auto", None or (low, high)
        Between which values the image lies, in its units; None on one side of a pair leaves it open. "auto": 0 and
        `data_range`, if the image that the first stage gives lies nearly there.
    data_range : float
        The value of white in the image, in whose units y was measured.
    start : (height, width) array, optional
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
    """
    given = settled(reconstruct, Measured, options)
    asked = None if given.bounds == "auto" else stated(given.bounds)
    A, data, shape = _checked(y, A, shape, given.adjoint_tolerance)
    scale = 255.0 / checked_range(np.dtype(float), given.data_range, "data_range")
    noise = DataNoise.of(sigma, given.noise, np.shape(y), scale, data.dtype.kind == "c")
    data = data * data.real.dtype.type(scale)
    level, trust = noise.first(data)
    first = first_image(A, data, shape) if given.start is None else _started(given.start, scale, shape)
    _refuse_far(first, float(given.data_range))
    checked_quality(quality)
    atoms = as_refined(chosen_operator(operator))

    def bounded(energy: Energy, image: NDArray[np.float32]) -> Energy:
        """With bounds if they hold, which the image of the first stage shows."""
        if given.bounds == "auto":
            low, high = np.percentile(image, (2, 98)) / 255
            return replace(energy, bounds=(0.0, 255.0)) if low > -NEARLY and high < 1 + NEARLY else energy
        return energy if asked is None else replace(energy, bounds=(asked[0] * scale, asked[1] * scale))

    watch = Watch(given.callback)
    settings = given.settings or last_settings(level, quality)
    problem = Problem(atoms, plan("reconstruct", level, quality, weight, atoms), first, data, A, trust)
    found = solve(problem, settings=settings, revise=bounded, watch=watch)
    if isinstance(noise.model, PoissonGaussian) and not watch.stopped:
        level, trust = noise.weighed(np.asarray(A.matvec(found.image.ravel())).reshape(-1))
        again = plan("reconstruct", level, quality, weight, atoms)
        problem = replace(problem, plan=again, start=found.image, trust=trust)
        found = solve(problem, settings=settings, revise=bounded, watch=watch)
    return _reported(found, A, data, level, scale)


def _started(start: ArrayLike, scale: float, shape: tuple[int, int]) -> NDArray[np.float32]:
    first = np.array(start, np.float32) * np.float32(scale)
    if first.shape != shape or not np.isfinite(first).all():
        raise ValueError(f"start: expected a finite array of shape {shape}, got {first.shape}")
    return first


def _reported(found: Solution, A: Any, data: NDArray[Any], sigma: float, scale: float) -> Reconstruction:
    """In the caller's units."""
    terms, image = found.terms(), found.image
    off = np.asarray(A.matvec(image.ravel())).reshape(-1) - data
    residual = float(np.linalg.norm(off)) / max(float(np.linalg.norm(data)), 1e-30)
    if np.iscomplexobj(data) and found.stop is not Stop.CALLBACK:
        _refuse_imaginary(A, image, data, residual, sigma)
    held = None if found.minimised is None else found.minimised.bounds
    return Reconstruction(
        (image if held is None else image.clip(*held)) / np.float32(scale),
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


def _checked(
    y: ArrayLike, A: Any, shape: tuple[int, ...], tolerance: float
) -> tuple[Any, NDArray[Any], tuple[int, int]]:
    """A as a LinearOperator that fits, and the data as a flat float32 or complex64 array."""
    from scipy.sparse.linalg import aslinearoperator

    if len(shape) != 2 or min(shape) < 1:
        raise ValueError(f"shape: expected (height, width), got {shape!r}")
    shape = (int(shape[0]), int(shape[1]))
    if not hasattr(A, "matvec"):
        try:
            A = aslinearoperator(A)
        except TypeError as problem:
            raise ValueError(f"A: not a linear operator or a matrix ({problem})") from None
    data = np.asarray(y).reshape(-1)
    if tuple(A.shape) != (data.size, shape[0] * shape[1]):
        raise ValueError(
            f"A: has shape {tuple(A.shape)}, but y has {data.size} values and an image of "
            f"{shape[0]}x{shape[1]} has {shape[0] * shape[1]} pixels"
        )
    if not np.isfinite(data).all():
        raise ValueError("y: holds NaN or infinite values; leave those measurements out of y and A")
    data = data.astype(np.complex64 if np.iscomplexobj(data) else np.float32)
    try:
        gap, left, right = dot_gap(A, np.random.default_rng(0))
    except NotImplementedError:
        raise ValueError("A: has no adjoint; define rmatvec") from None
    if not gap < tolerance:
        raise ValueError(
            f"A: its adjoint is wrong (<A x, y> = {left:.6g}, <x, A* y> = {right:.6g}, {gap:.2g} of ‖A x‖‖y‖ apart); "
            "check rmatvec with cosparse.testing.dot_test, or if it need not be exact raise adjoint_tolerance"
        )
    return A, data, shape


def _refuse_far(first: NDArray[np.float32], data_range: float) -> None:
    """Refuse what was measured in other units than the data range says, as the first image shows."""
    low, high = (float(end) for end in np.percentile(first, (1, 99)))
    if high - low > 255 * FAR:
        unit = data_range / 255
        raise ValueError(
            f"data_range: is {data_range:g}, but y seems to be of an image with values from about {low * unit:.3g} to "
            f"{high * unit:.3g}; pass data_range, the value of white in the image"
        )


def _refuse_imaginary(A: Any, image: NDArray[np.float32], data: NDArray[Any], residual: float, sigma: float) -> None:
    """Refuse data of a complex image: they are far from fitted, and an imaginary part would fit them."""
    if residual < 0.05 or residual < 3 * sigma * np.sqrt(2 * data.size) / float(np.linalg.norm(data)):
        return
    left = data - np.asarray(A.matvec(image.ravel())).reshape(-1)
    imaginary = np.asarray(A.rmatvec(left)).imag.astype(np.float32)
    _, rest = nearest(A, imaginary, (-1j * left).astype(data.dtype))
    explained = 1 - float(np.vdot(rest, rest).real) / float(np.vdot(left, left).real)
    if explained > 0.25:
        raise ValueError(
            f"y: seems to be measured from a complex image: a real one misses {residual:.0%} of it, and an imaginary "
            "part would explain much of that; only real images can be reconstructed"
        )
