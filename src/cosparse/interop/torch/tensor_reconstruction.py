"""Reconstruction of tensors from any linear measurement of them, Eq. (49)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from cosparse.interop.torch.tensor_energy import Map, TensorEnergy, minimise, prior_of, stage_settings, with_bounds
from cosparse.interop.torch.tensor_noise import as_array
from cosparse.interop.torch.tensor_phase import complex_of, is_complex, parts_of, turn_of
from cosparse.interop.torch.tensor_prior import WHITE, checked_white, of_opponents, opponents
from cosparse.keywords import settled
from cosparse.noise import Noise, PoissonGaussian
from cosparse.operator import AnalysisOperator, chosen_operator
from cosparse.optimize import Result, Settings
from cosparse.reconstruction.bounds import Bounds, Pair, stated
from cosparse.reconstruction.data_noise import DataNoise
from cosparse.reconstruction.general import NEARLY, Reconstruction
from cosparse.reconstruction.joint import Mixing, plans_of
from cosparse.reconstruction.measured import UNIT
from cosparse.reconstruction.planes import FAR
from cosparse.reconstruction.stages import TABLE, Plan, Quality, as_refined, checked_quality, last_settings
from cosparse.reconstruction.watch import Callback, Watch

KINDS = (torch.float32, torch.float64, torch.complex64, torch.complex128)


@dataclass(frozen=True)
class TensorMeasured:
    """What :func:`cosparse.reconstruct` takes of tensors, which says what each means."""

    operator: AnalysisOperator | str | None = None
    weight: float | None = None
    quality: Quality = "balanced"
    dtype: Any = None
    noise: Noise | None = None
    bounds: Bounds = "auto"
    data_range: float = 1.0
    start: torch.Tensor | None = None
    settings: Settings | None = None
    adjoint_tolerance: float = 1e-3
    callback: Callback = None


@dataclass(frozen=True, eq=False)
class Sensing:
    """A and its adjoint, on images of one shape (n, channels, h, w); complex ones are given by their `parts`."""

    forward: Map
    adjoint: Map
    shape: tuple[int, ...]
    parts: bool = False

    @classmethod
    def of(cls, A: Any, shape: Sequence[int], y: torch.Tensor, kind: torch.dtype) -> Sensing:
        """Of a matrix, a function of images, or such a function and its adjoint, for images of that shape and kind."""
        given = tuple(int(side) for side in shape)
        if not 2 <= len(given) <= 4 or min(given) < 1:
            raise ValueError(f"shape: expected (h, w), (channels, h, w) or (n, channels, h, w), got {shape!r}")
        if hasattr(A, "matvec"):
            raise ValueError("A: works on arrays; pass a function of tensors, or y.cpu().numpy()")
        whole = (1,) * (4 - len(given)) + given
        if isinstance(A, torch.Tensor) or not (callable(A) or isinstance(A, tuple)):
            matrix = torch.as_tensor(A, device=y.device)
            if matrix.ndim != 2 or tuple(matrix.shape) != (y.numel(), math.prod(given)):
                raise ValueError(
                    f"A: has shape {tuple(matrix.shape)}, but y has {y.numel()} values and an image of shape {given} "
                    f"has {math.prod(given)}"
                )
            matrix = matrix.to(torch.promote_types(matrix.dtype, kind))
            return cls(
                lambda s: (matrix @ s.reshape(-1).to(matrix.dtype)).reshape(y.shape),
                lambda r: (matrix.mH @ r.reshape(-1).to(matrix.dtype)).reshape(whole), whole,
            )  # fmt: skip
        if isinstance(A, tuple):
            forward, adjoint = A
            return cls(lambda s: forward(s.reshape(given)), lambda r: adjoint(r.reshape(y.shape)).reshape(whole), whole)

        def backward(residual: torch.Tensor) -> torch.Tensor:
            with torch.enable_grad():
                point = torch.zeros(given, dtype=kind, device=y.device, requires_grad=True)
                answer = A(point)
            if not answer.requires_grad:
                raise ValueError("A: cannot be differentiated to find its adjoint; pass a pair, A and its adjoint")
            return torch.autograd.grad(answer, point, residual.reshape(answer.shape))[0].reshape(whole)

        return cls(lambda s: A(s.reshape(given)), backward, whole)

    def of_parts(self) -> Sensing:
        """The same of the parts of complex images."""
        n, channels, *sides = self.shape
        return Sensing(
            lambda parts: self.forward(complex_of(parts)),
            lambda residual: parts_of(self.adjoint(residual)), (n, 2 * channels, *sides), True,
        )  # fmt: skip

    def size(self, like: torch.Tensor) -> float:
        """How large it is: see :func:`cosparse.reconstruction.measured.size_of`."""
        noise = np.random.default_rng(0).standard_normal(like.numel()).reshape(self.shape)
        seen = self.forward(torch.as_tensor(noise).to(like))
        back = self.adjoint(seen)
        first, second = _norm(seen), _norm(back)
        if self.parts:  # as of arrays: their adjoint is asked for both parts, here of any data
            second *= math.sqrt(2)
        elif seen.is_complex() and not back.is_complex():  # the imaginary part, of those who give the real one alone
            second = math.hypot(second, _norm(self.adjoint(1j * seen)))
        size = second / first if first > 0 else 0.0
        return 1.0 if size == 0 or abs(size - 1) < UNIT else size

    def check(self, y: torch.Tensor, tolerance: float) -> None:
        """Refuse a pair that is no adjoint pair, or that does not fit the data."""
        rng = torch.Generator().manual_seed(0)
        x = torch.randn(self.shape, generator=rng, dtype=torch.float32).to(y.device, y.real.dtype)
        seen = self.forward(x)
        if tuple(seen.shape) != tuple(y.shape):
            raise ValueError(f"A: gives data of shape {tuple(seen.shape)}, but y has {tuple(y.shape)}")
        u = torch.randn(y.shape, generator=rng, dtype=torch.float32).to(y.device, y.dtype)
        left, right = _inner(seen, u), _inner(x, self.adjoint(u))
        gap = abs(left - right) / max(_norm(seen) * _norm(u), 1e-30)
        if not gap < tolerance:
            raise ValueError(
                f"A: its adjoint is wrong (<A x, y> = {left:.6g}, <x, A* y> = {right:.6g}, {gap:.2g} of ‖A x‖‖y‖ "
                "apart); correct it, or if it need not be exact raise adjoint_tolerance"
            )


@torch.no_grad()
def reconstruct(
    y: torch.Tensor, A: Any, shape: Sequence[int], *, sigma: float | torch.Tensor = 0.0, **given: Any
) -> Reconstruction:
    """:func:`cosparse.reconstruct` of tensors, all images of a batch as one problem.

    Parameters
    ----------
    y : tensor
        The measurements, real or complex, of any shape.
    A : tensor, callable or (callable, callable)
        A matrix for the flattened image; or a linear function of a tensor of that shape, whose adjoint is found by
        differentiation; or such a function and its adjoint.
    shape : (h, w), (channels, h, w) or (n, channels, h, w)
        Of the image. Three channels are taken for red, green and blue; others stand alone. With ``dtype=complex`` of an
        image of complex numbers, which A then takes.
    sigma : float or tensor
        Standard deviation of the noise in y, or of each of its values.
    **given
        As of :func:`cosparse.reconstruct`.

    Returns
    -------
    Reconstruction
        Its image is a tensor of that shape, on the device of y and in its real type, or in the complex one of it.
    """
    options = settled(None, TensorMeasured, given)
    checked_quality(options.quality)
    if not isinstance(y, torch.Tensor) or y.dtype not in KINDS:
        got = y.dtype if isinstance(y, torch.Tensor) else type(y).__name__
        raise ValueError(f"y: expected a tensor of float32, float64 or complex numbers of these, got {got}")
    if not bool(torch.isfinite(torch.view_as_real(y) if y.is_complex() else y).all()):
        raise ValueError("y: holds NaN or infinite values; leave those measurements out of y and A")
    unit = WHITE / checked_white(options.data_range)
    noise = DataNoise.of(as_array(sigma), options.noise, tuple(y.shape), unit, y.is_complex())
    imaginary = is_complex(options.dtype)
    if imaginary and options.bounds not in ("auto", None):
        raise ValueError(f"bounds: complex numbers lie between none, got {options.bounds!r}; pass None or nothing")
    sensing = Sensing.of(A, shape, y, y.dtype.to_complex() if imaginary else y.dtype.to_real())
    sensing = sensing.of_parts() if imaginary else sensing
    sensing.check(y, options.adjoint_tolerance)
    data = y * unit
    start = _first(sensing, data) if options.start is None else _started(options.start, unit, sensing, y)
    _refuse_far(start, options.data_range)
    watch = Watch(options.callback)
    weighed = noise.first(as_array(data) if isinstance(noise.model, PoissonGaussian) else np.empty(0))
    found = _solved(sensing, data, start, weighed, options, unit, watch)
    if isinstance(noise.model, PoissonGaussian) and not watch.stopped:  # as the measurements of the first image have it
        image: Any = found[0][-1].point
        means = as_array(sensing.forward(image).reshape(-1))
        found = _solved(sensing, data, image, noise.weighed(means), options, unit, watch)
    result = _reported(*found, unit, sensing.shape)
    shown: Any = result.image
    shown = complex_of(shown) if imaginary else shown
    return replace(result, image=shown.reshape([int(side) for side in shape]))


def _solved(
    sensing: Sensing,
    data: torch.Tensor,
    start: torch.Tensor,
    weighed: tuple[float, NDArray[np.float32] | None],
    options: TensorMeasured,
    unit: float,
    watch: Watch,
) -> tuple[list[Result], TensorEnergy, float]:
    """The results of all stages, the last energy and its weight, for data of such a level, each of which counts so."""
    level, counts = weighed
    trust = None if counts is None else torch.as_tensor(counts.reshape(tuple(data.shape))).to(start)
    operator, channels = as_refined(chosen_operator(options.operator)), start.shape[1]
    mixing = None if channels == 1 else Mixing.of_channels(channels)
    size = sensing.size(start)
    plans = plans_of(mixing, level, options.quality, options.weight, operator, size)
    energies = [
        TensorEnergy(_prior(operator, plans, stage, start), data, sensing.forward, sensing.adjoint, trust=trust)
        for stage in range(len(plans[0].stages))
    ]
    settings = stage_settings(plans[0].stages, operator)
    last = options.settings or last_settings(level / size, options.quality)
    settings[-1] = Settings(**{**vars(last), "first_step": last.first_step or settings[-1].first_step})
    results, energy = minimise(
        energies, settings, start, watch=watch, weights=[stage.weight for stage in plans[0].stages],
        revise=_turned if sensing.parts else _bounded(options, unit),
    )  # fmt: skip
    return results, energy, plans[0].stages[len(results) - 1].weight


@dataclass(frozen=True, eq=False)
class PlanesPrior:
    """weight·g of a batch, over its planes: each opponent at its own noise, and weighed by that.

    With a `turn`, of a complex image given by its parts: over those of the image times it, which follow its phase.
    """

    each: tuple[Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]], ...]
    turn: torch.Tensor | None = None

    def __call__(self, image: torch.Tensor) -> tuple[float, torch.Tensor]:
        if self.turn is not None:
            return self._along_the_phase(image, self.turn)
        found = [prior(planes) for prior, (planes, _) in zip(self.each, opponents(image), strict=True)]
        return sum(float(value.sum()) for value, _ in found), of_opponents([slope for _, slope in found])

    def _along_the_phase(self, image: torch.Tensor, turn: torch.Tensor) -> tuple[float, torch.Tensor]:
        planes = parts_of(complex_of(image) * turn)
        value, slopes = 0.0, []
        for number, prior in enumerate(self.each):
            factor = TABLE["phase"]["imaginary"] if number % 2 else 1.0
            one, slope = prior(planes[:, number])
            value += factor * float(one.sum())
            slopes.append(factor * slope)
        return value, parts_of(complex_of(torch.stack(slopes, 1)) * turn.conj())


def _prior(operator: AnalysisOperator, plans: tuple[Plan, ...], stage: int, like: torch.Tensor) -> PlanesPrior:
    gains = [gain for _, gain in opponents(like)]
    return PlanesPrior(
        tuple(
            prior_of(operator, own.stages[stage], own.stride, like, 1 / gain**2)
            for own, gain in zip(plans, gains, strict=True)
        )
    )


def _turned(energy: TensorEnergy, image: torch.Tensor) -> TensorEnergy:
    """With the phase, which the image of the first stage shows."""
    assert isinstance(energy.prior, PlanesPrior)
    return replace(energy, prior=replace(energy.prior, turn=turn_of(image)))


def _bounded(options: TensorMeasured, unit: float) -> Callable[[TensorEnergy, torch.Tensor], TensorEnergy]:
    """With bounds if they hold, which the image of the first stage shows."""

    def revise(energy: TensorEnergy, image: torch.Tensor) -> TensorEnergy:
        if options.bounds == "auto":
            low, high = (one / WHITE for one in _percentiles(image, (0.02, 0.98)))
            return with_bounds(energy, (0.0, WHITE)) if low > -NEARLY and high < 1 + NEARLY else energy
        pair: Pair | None = stated(options.bounds)
        return energy if pair is None else with_bounds(energy, (pair[0] * unit, pair[1] * unit))

    return revise


def _first(sensing: Sensing, data: torch.Tensor) -> torch.Tensor:
    """The constant channels whose measurements are nearest to y, and Aᴴ of what is left, by the best factor on it."""
    blank = torch.zeros(sensing.shape, dtype=data.dtype.to_real(), device=data.device)
    each = torch.arange(sensing.shape[1], device=blank.device)
    seen = [sensing.forward(blank.index_fill(1, channel, 1.0)) for channel in each]
    products = np.array([[_inner(a, b) for b in seen] for a in seen])
    levels = np.linalg.lstsq(products, np.array([_inner(a, data) for a in seen]))[0]
    left = data - sum(level * one for level, one in zip(levels.tolist(), seen, strict=True))
    back = sensing.adjoint(left)
    image = (back.real if back.is_complex() else back).to(blank.dtype)
    factor, _ = _nearest(sensing, image, left)
    return torch.tensor(levels).to(blank)[:, None, None] + factor * image


def _nearest(sensing: Sensing, image: torch.Tensor, data: torch.Tensor) -> tuple[float, torch.Tensor]:
    """The factor on an image for which its measurements are nearest to the data, and what of these is left."""
    seen = sensing.forward(image)
    energy = _inner(seen, seen)
    factor = _inner(seen, data) / energy if energy > 0 else 0.0
    return factor, data - factor * seen


def _started(start: Any, unit: float, sensing: Sensing, y: torch.Tensor) -> torch.Tensor:
    first = torch.as_tensor(start, device=y.device)
    if sensing.parts:
        n, channels, *sides = sensing.shape
        first = parts_of(first.to(y.dtype.to_complex()).reshape(n, channels // 2, *sides))
    elif first.is_complex():
        raise ValueError("start: is complex, but the image is not; pass dtype=complex if it is")
    first = first.to(y.real.dtype)
    if first.numel() != math.prod(sensing.shape) or not bool(torch.isfinite(first).all()):
        raise ValueError(f"start: expected a finite tensor of the image's shape, got {tuple(first.shape)}")
    return first.reshape(sensing.shape) * unit


def _refuse_far(first: torch.Tensor, data_range: float) -> None:
    """Refuse what was measured in other units than the data range says, as the first image shows."""
    low, high = _percentiles(first, (0.01, 0.99))
    if high - low > WHITE * FAR:
        unit = data_range / WHITE
        raise ValueError(
            f"data_range: is {data_range:g}, but y seems to be of an image with values from about {low * unit:.3g} to "
            f"{high * unit:.3g}; pass data_range, the value of white in the image"
        )


def _percentiles(image: torch.Tensor, parts: tuple[float, float]) -> tuple[float, float]:
    some = image.reshape(-1)
    some = some[:: max(1, some.numel() // 10**6)]
    return float(torch.quantile(some, parts[0])), float(torch.quantile(some, parts[1]))


def _reported(
    results: list[Result], energy: TensorEnergy, weight: float, unit: float, shape: tuple[int, ...]
) -> Reconstruction:
    """In the caller's units."""
    last: Any = results[-1]
    image, data = last.point, energy.data
    assert data is not None and energy.forward is not None
    off = energy.forward(image) - data
    shown = image if energy.bounds is None else image.clamp(*energy.bounds)
    return Reconstruction(
        (shown / unit).reshape(shape),
        last.value,
        last.stop,
        sum(result.iterations for result in results),
        sum(result.evaluations for result in results),
        weight,
        last.values,
        energy.misfit(image)[0],
        energy.prior(image)[0],
        _norm(off) / max(_norm(data), 1e-30),
        last.gradient_norm / math.sqrt(image.numel()),
        None if energy.bounds is None else (energy.bounds[0] / unit, energy.bounds[1] / unit),
    )


def _inner(a: torch.Tensor, b: torch.Tensor) -> float:
    """The real part of <a, b>."""
    return float((a.conj() * b).real.sum()) if a.is_complex() or b.is_complex() else float((a * b).sum())


def _norm(a: torch.Tensor) -> float:
    return math.sqrt(_inner(a, a))
