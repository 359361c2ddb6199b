"""Reconstruction from any linear measurement, Eq. (recovery)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse.operator import AnalysisOperator, load_operator
from cosparse.optimize import Result, Stop
from cosparse.reconstruction.energy import Energy, Progress, minimise
from cosparse.reconstruction.prior import Prior
from cosparse.reconstruction.rules import OPERATORS, Plan, first_step, plan


@dataclass(frozen=True)
class Reconstruction:
    """A reconstructed image, in the units of the data, and how it was reached.

    `energy` is Eq. (recovery) on the scale of 0..255; `energies` its value after every iteration of the last stage.
    """

    image: NDArray[Any]
    energy: float
    stop: Stop
    iterations: int
    evaluations: int
    weight: float
    energies: tuple[float, ...]


def reconstruct(
    y: ArrayLike,
    A: Any,
    shape: tuple[int, int],
    *,
    sigma: float = 0.0,
    operator: AnalysisOperator | str | None = None,
    weight: float | None = None,
    quality: str = "balanced",
    data_range: float = 1.0,
    start: ArrayLike | None = None,
    callback: Callable[[Progress], object] | None = None,
) -> Reconstruction:
    """The image whose measurements are near y and whose patches are sparse.

    Minimises ½‖A s - y‖² + b(s) + weight·g(s) over images s of the given shape.

    Parameters
    ----------
    y : array
        The measurements, real or complex; flattened.
    A : scipy LinearOperator, PyLops operator, sparse or dense matrix
        Maps flattened images to data; its adjoint (`rmatvec`) is needed and checked.
    shape : (height, width)
        Of the image.
    sigma : float
        Standard deviation of the noise in y (of each of the real and imaginary parts), in units of y.
    weight : float, optional
        lambda, on the scale of images on 0..255; chosen from sigma if not given.
    data_range : float
        The value of white in the image, in whose units y was measured.
    start : (height, width) array, optional
        First image; by default the adjoint Aᴴy, scaled to fit the data best.

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
    A, data, shape = _checked(y, A, shape)
    if not (np.isfinite(sigma) and sigma >= 0):
        raise ValueError(f"sigma: must be a number that is not negative, got {sigma!r}")
    scale = 255.0 / _positive(data_range, "data_range")
    data = data * data.real.dtype.type(scale)
    if start is None:
        first = _backprojection(A, data, shape)
    else:
        first = np.array(start, np.float32) * np.float32(scale)
        if first.shape != shape or not np.isfinite(first).all():
            raise ValueError(f"start: expected a finite array of shape {shape}, got {first.shape}")
    atoms = resolve(operator, quality)
    chosen = plan("reconstruct", sigma * scale, quality, weight, atoms)
    results = solve(chosen, atoms, first, data, A, callback=callback)
    last = results[-1]
    return Reconstruction(
        last.point / np.float32(scale),
        last.value,
        last.stop,
        sum(result.iterations for result in results),
        sum(result.evaluations for result in results),
        chosen.stages[-1].weight,
        last.values,
    )


def solve(
    chosen: Plan,
    operator: AnalysisOperator,
    start: NDArray[np.float32],
    data: NDArray[Any] | None,
    measure: Any = None,
    *,
    free: NDArray[np.bool_] | None = None,
    trust: NDArray[np.float32] | None = None,
    bounds: tuple[float, float] | None = (0.0, 255.0),
    callback: Callable[[Progress], object] | None = None,
) -> list[Result]:
    """The shared middle of all tasks, on 0..255: build the plan's energies and minimise them in turn."""
    stride = min(chosen.stride, *operator.patch_shape)
    stages = [
        (
            Energy(Prior(operator.at(stage.sigma), stage.penalty, stride), stage.weight, data, measure, bounds, trust),
            stage.iterations,
        )
        for stage in chosen.stages
    ]
    return minimise(
        stages,
        np.ascontiguousarray(start, np.float32),
        first_step=first_step(chosen.stages[0], operator.at(chosen.stages[0].sigma)),
        free=free,
        callback=callback,
    )


def resolve(operator: AnalysisOperator | str | None, quality: str) -> AnalysisOperator:
    """The operator itself, a shipped or saved one by name, or the one that goes with the quality."""
    if quality not in OPERATORS:
        raise ValueError(f"quality: expected one of {', '.join(OPERATORS)}, got {quality!r}")
    if isinstance(operator, AnalysisOperator):
        return operator
    return load_operator(OPERATORS[quality] if operator is None else operator)


def dot_gap(A: Any, rng: np.random.Generator) -> tuple[float, float, float]:
    """|<A x, y> - <x, Aᴴ y>| relative to ‖A x‖‖y‖, and the two numbers (their real parts).

    Half of y is A x itself and half is random. For a wholly random y both numbers shrink as 1/sqrt(pixels) of the
    norms, and on a large image even an adjoint of zero would pass.
    """
    rows, columns = A.shape
    x = rng.standard_normal(columns).astype(np.float32)
    forward = np.asarray(A.matvec(x)).reshape(-1)
    y = rng.standard_normal(rows).astype(np.float32)
    if np.iscomplexobj(forward):
        y = y + 1j * rng.standard_normal(rows).astype(np.float32)
    norm = float(np.linalg.norm(forward))
    y = forward + y * (norm / (float(np.linalg.norm(y)) + 1e-30) if norm > 0 else 1.0)
    backward = np.asarray(A.rmatvec(y.astype(forward.dtype))).reshape(-1)
    left = complex(np.vdot(y, forward)).real
    right = complex(np.vdot(backward, x)).real
    scale = norm * float(np.linalg.norm(y)) + 1e-30
    return abs(left - right) / scale, left, right


def _positive(number: float, name: str) -> float:
    if not (np.isfinite(number) and number > 0):
        raise ValueError(f"{name}: must be positive and finite, got {number!r}")
    return float(number)


def _checked(
    y: ArrayLike, A: Any, shape: tuple[int, int]
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
    if not gap < 1e-3:
        raise ValueError(
            f"A: its adjoint is wrong (<A x, y> = {left:.6g}, <x, A* y> = {right:.6g}); "
            "check rmatvec with cosparse.testing.dot_test"
        )
    return A, data, shape


def _backprojection(A: Any, data: NDArray[Any], shape: tuple[int, int]) -> NDArray[np.float32]:
    """Aᴴy times the factor for which A of it is nearest to y."""
    image = np.asarray(A.rmatvec(data)).real.astype(np.float32)
    seen = np.asarray(A.matvec(image))
    energy = float(np.vdot(seen, seen).real)
    factor = float(np.vdot(seen, data).real) / energy if energy > 0 else 0.0
    return (image * np.float32(factor)).reshape(shape)
