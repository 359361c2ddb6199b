"""refine_operator: train an operator so that what it repairs comes out best."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse._version import __version__
from cosparse.identity import digest
from cosparse.kernels.threads import one_blas_thread, spread
from cosparse.operator import AnalysisOperator, load_operator
from cosparse.patches import grey_images
from cosparse.refinement import training_state
from cosparse.refinement.bilevel import BORDER, Crop, Image, hypergradient, repair
from cosparse.refinement.damage import TASKS, damage, draw
from cosparse.refinement.parameters import RATES, Parameters
from cosparse.refinement.training_state import State

CHECKPOINT_SECONDS = 15.0
MOMENTS = (0.9, 0.99)  # of Adam
WARM_UP = 20  # steps until the rates are reached
CLIP = 3.0  # a crop's gradient is cut to so many times the median of its batch
LOOSER = 6.0  # so much larger gradients end the repairs of validation: dB are settled long before hyper-gradients


@dataclass(frozen=True)
class RefineResult:
    """A refined operator and how the training went.

    Attributes
    ----------
    operator : AnalysisOperator
        The one with the best validation.
    psnr : float
        That validation's.
    steps : int
        How many were taken.
    dropped : int
        Crops that had no derivative.
    losses : tuple of float
        The mean loss of every step.
    validations : tuple of (int, float)
        Steps, and the mean PSNR of the held-out images after each.
    """

    operator: AnalysisOperator
    psnr: float
    steps: int
    dropped: int
    losses: tuple[float, ...]
    validations: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class RefineProgress:
    """What a callback sees after every step.

    Attributes
    ----------
    step, steps : int
        Which one it was, and how many there will be.
    loss : float
        The step's mean loss.
    psnr : float
        The latest validation's.
    """

    step: int
    steps: int
    loss: float
    psnr: float
    _operator: Callable[[], AnalysisOperator]

    @property
    def operator(self) -> AnalysisOperator:
        """The operator as it is now."""
        return self._operator()


def refine_operator(
    operator: AnalysisOperator | str,
    images: ArrayLike | str | os.PathLike[str] | Sequence[Any],
    *,
    task: str | Sequence[str] = "denoise",
    sigma: float | Sequence[float] | NDArray[Any] = 25.0,
    stride: int = 2,
    steps: int = 1000,
    batch: int = 16,
    crop: int = 72,
    rate: float = 1.0,
    validation: ArrayLike | str | os.PathLike[str] | Sequence[Any] | None = None,
    validations: int = 10,
    rng: int = 0,
    checkpoint: str | os.PathLike[str] | None = None,
    callback: Callable[[RefineProgress], object] | None = None,
) -> RefineResult:
    """Train atoms, weights and scales so that repairs come out near the truth.

    Solves the bilevel problem

        min over the operator of  mean ln(‖s* - x‖² + c),   s* = argmin ½‖A s - y‖² + weight·g(s),

    over random crops x of clean images with fresh noise, flips and quarter turns, by Adam with hyper-gradients from
    implicit differentiation. s* is what the task's own function minimises in the end for the same noisy data at the
    quality "balanced": with its weight and sharpness, its trust in each pixel, from its own start. Two things are left
    out: the cost of pixels out of range, which repaired photographs hardly leave, and the second pass over groups of
    similar patches. The paper learns operators without looking at what they are used for, and expects this to do
    better (section VI).

    Parameters
    ----------
    operator : AnalysisOperator or str
        Where to start: a learned operator, `AnalysisOperator.dct(7)`, or one refined before.
    images : array, path, or iterable of them
        Clean images, as for :func:`cosparse.sample_patches`; a hundred photographs are a good number.
    task : {"denoise", "inpaint", "upscale"}, or several of them
        What the operator will be used for; of several, every crop gets one in turn. Inpainting is trained with 50 to
        90 % of the pixels missing and upscaling by 3, both with noise.
    sigma : float or (low, high)
        Noise of what is to be repaired, on 0..255. For a range, how the weights follow the noise is trained too.
    stride : int
        Distance of patches, as it will be used.
    steps, batch, crop : int
        Steps of Adam, crops in each, and their side in pixels.
    rate : float
        A factor on the length of the steps. Larger patches want smaller ones: 0.4 for 12x12.
    validation : as images, optional
        Held-out images; without them every tenth of `images` (at least one) is held out.
    validations : int
        How many times the held-out images are repaired; the best operator is kept.
    rng : int
        Same seed, same images, same operator.
    checkpoint : path, optional
        Where to keep the state of the run. If the file exists, the run continues from it and ends with the operator it
        would have had without the interruption.
    callback : callable, optional
        Called with a :class:`RefineProgress` after each step; returning True ends the run.

    Returns
    -------
    RefineResult
        The operator with the best validation, and the course of the training.

    References
    ----------
    Y. Chen, R. Ranftl, T. Pock: Insights into analysis operator learning: from patch-based sparse models to higher
    order MRFs. IEEE Transactions on Image Processing 23(3), 2014.

    Examples
    --------
    >>> import numpy as np, cosparse
    >>> ramp = np.add.outer(np.arange(48), np.arange(48) ** 1.5 % 20) / 70
    >>> result = cosparse.refine_operator(
    ...     cosparse.AnalysisOperator.dct(4), [ramp, ramp.T], sigma=20, steps=2, batch=2, crop=24, validations=1)
    >>> result.operator.refined, result.steps
    (True, 2)
    """
    start = load_operator(operator) if isinstance(operator, str) else operator
    tasks = (task,) if isinstance(task, str) else tuple(task)
    low, high = _levels(sigma)
    _check(start, tasks, low, high, stride, steps, batch, crop, validations, rate)
    training, held_out = _split(images, validation, crop)
    trial = _trials(held_out, tasks, (low, high))
    shape = start.patch_shape
    first = Parameters.of(start)
    fingerprint = {
        "version": 3,
        "task": tasks,
        "sigma": [repr(float(low)), repr(float(high))],
        "numbers": [stride, steps, batch, crop, validations, rng],
        "rate": repr(float(rate)),
        "start": start.digest(),
        "images": digest(training) + digest(held_out) if checkpoint is not None else "",
    }
    state = training_state.load(checkpoint, fingerprint) if checkpoint is not None else None
    if state is None:
        state = State.begin(first)
    written = time.monotonic()
    moments = {round(k * steps / validations) for k in range(1, validations + 1)}
    ended = False
    try:
        with one_blas_thread():
            if not state.validations:
                state = _validated(state, trial, shape, stride)
            while state.step < steps and not ended:
                state = _advance(state, training, tasks, (low, high), shape, stride, steps, batch, crop, rate, rng)
                if state.step in moments:
                    state = _validated(state, trial, shape, stride)
                if checkpoint is not None and time.monotonic() - written > CHECKPOINT_SECONDS:
                    training_state.save(checkpoint, state, fingerprint)
                    written = time.monotonic()
                if callback is not None:
                    current = state.parameters
                    progress = RefineProgress(
                        state.step, steps, state.losses[-1], state.validations[-1][1],
                        lambda current=current: _in_use(current, shape, stride),  # type: ignore[misc]
                    )  # fmt: skip
                    ended = callback(progress) is True
            if state.validations[-1][0] != state.step:
                state = _validated(state, trial, shape, stride)
    except KeyboardInterrupt:
        if checkpoint is None:
            raise
        training_state.save(checkpoint, state, fingerprint)
        raise KeyboardInterrupt(
            f"stopped at step {state.step}; {os.fspath(checkpoint)} keeps the state, the same call continues from it"
        ) from None
    if checkpoint is not None:
        training_state.save(checkpoint, state, fingerprint)
    best = max(state.validations, key=lambda pair: pair[1])
    provenance = {
        "made": "refine_operator",
        "cosparse": __version__,
        "task": ", ".join(tasks),
        "sigma": f"{low:g}" if low == high else f"{low:g} to {high:g}",
        "stride": str(stride),
        "crops": f"{batch} of {crop}x{crop} in each of {state.step} steps",
        "images": f"{len(training)}, and {len(held_out)} held out",
        "seed": str(rng),
        "validation": f"{best[1]:.4f} dB at step {best[0]}",
        "start": start.provenance.get("name", start.provenance.get("made", "given")),
    }
    return RefineResult(
        state.best.operator(shape, provenance),
        best[1],
        state.step,
        state.dropped,
        state.losses,
        state.validations,
    )


def _advance(
    state: State,
    images: list[Image],
    tasks: tuple[str, ...],
    sigmas: tuple[float, float],
    shape: tuple[int, int],
    stride: int,
    steps: int,
    batch: int,
    crop: int,
    rate: float,
    seed: int,
) -> State:
    """One step of Adam on a batch of crops. What is drawn depends on the seed and the step alone."""
    parameters = state.parameters
    operator = _in_use(parameters, shape, stride)

    def work(crop: Crop) -> tuple[float, dict[str, Any]] | None:
        answer = hypergradient(crop, operator)
        if answer is None or not all(np.isfinite(part).all() for part in answer):
            return None
        return answer[0], parameters.gradient(shape, *answer[1:])

    crops = [
        draw(
            images, tasks[(state.step * batch + number) % len(tasks)], sigmas, crop,
            np.random.default_rng([seed, state.step, number]),
        )
        for number in range(batch)
    ]  # fmt: skip
    # The longest first, so that no core waits for one begun last; added up in the order they were drawn in.
    order = sorted(range(batch), key=lambda number: -crops[number].sigma)
    found = dict(zip(order, spread(lambda number: work(crops[number]), order), strict=True))
    results = [result for number in range(batch) if (result := found[number]) is not None]
    dropped = state.dropped + batch - len(results)
    if not results:
        return dataclasses.replace(state, step=state.step + 1, dropped=dropped, losses=(*state.losses, float("nan")))
    norms = np.array([np.linalg.norm(gradient["coordinates"]) for _, gradient in results])
    factors = np.minimum(1, CLIP * np.median(norms) / np.maximum(norms, 1e-30)) / len(results)
    step = state.step + 1
    decay = 0.5 * (1 + np.cos(np.pi * state.step / steps)) * min(1, step / WARM_UP)
    new, first, second = {}, {}, {}
    for name, length in RATES.items():
        gradient = sum(f * g[name] for f, (_, g) in zip(factors, results, strict=True))
        first[name] = MOMENTS[0] * state.first[name] + (1 - MOMENTS[0]) * gradient
        second[name] = MOMENTS[1] * state.second[name] + (1 - MOMENTS[1]) * gradient**2
        mean = first[name] / (1 - MOMENTS[0] ** step)
        size = np.sqrt(second[name] / (1 - MOMENTS[1] ** step))
        new[name] = getattr(parameters, name) - decay * rate * length * mean / (size + 1e-12)
    return dataclasses.replace(
        state,
        parameters=Parameters(**new),
        first=first,
        second=second,
        step=step,
        dropped=dropped,
        losses=(*state.losses, float(np.mean([value for value, _ in results]))),
    )


def _validated(state: State, crops: list[Crop], shape: tuple[int, int], stride: int) -> State:
    """The state with the held-out images' PSNR, and the parameters if they are the best so far."""
    operator = _in_use(state.parameters, shape, stride)

    def work(crop: Crop) -> float:
        repaired = repair(crop, operator, looser=LOOSER)
        inside = (slice(BORDER, -BORDER), slice(BORDER, -BORDER))
        error = (np.clip(repaired, 0, 255) - crop.truth)[inside]
        return float(10 * np.log10(255**2 / max(float(np.mean(error**2)), 1e-10)))

    reached = float(np.mean(spread(work, crops)))
    better = not state.validations or reached > max(value for _, value in state.validations)
    return dataclasses.replace(
        state,
        validations=(*state.validations, (state.step, reached)),
        best=state.parameters if better else state.best,
    )


def _in_use(parameters: Parameters, shape: tuple[int, int], stride: int) -> AnalysisOperator:
    """The operator as tasks will use it: they take the stride it was trained at."""
    return parameters.operator(shape, {"stride": str(stride)})


def _trials(images: list[Image], tasks: tuple[str, ...], sigmas: tuple[float, float]) -> list[Crop]:
    """Every held-out image at every task, at one noise level or three of the range."""
    levels = sorted({sigmas[0], float(np.sqrt(sigmas[0] * sigmas[1])), sigmas[1]})
    return [
        damage(image, task, level, np.random.default_rng([number, 1]))
        for task in tasks
        for level in levels
        for number, image in enumerate(images)
    ]


def _split(images: Any, validation: Any, crop: int) -> tuple[list[Image], list[Image]]:
    training = grey_images(images)
    if validation is not None:
        held_out = grey_images(validation)
    else:
        if len(training) < 2:
            raise ValueError("images: at least two are needed, one of them is held out; or give validation")
        held_out = training[9::10] or training[-1:]
        training = [image for number, image in enumerate(training) if number % 10 != 9][: len(training) - len(held_out)]
    smallest = 2 * BORDER + 2
    for name, pictures in (("images", training), ("validation", held_out)):
        if any(min(picture.shape) < smallest for picture in pictures):
            raise ValueError(f"{name}: every image must be at least {smallest} pixels high and wide")
    return training, [_centre(image, 3 * crop) for image in held_out]


def _centre(image: Image, size: int) -> Image:
    """The middle of an image, so that validation costs the same for large ones."""
    height, width = (min(size, side) for side in image.shape)
    top, left = (image.shape[0] - height) // 2, (image.shape[1] - width) // 2
    return np.ascontiguousarray(image[top : top + height, left : left + width])


def _levels(sigma: Any) -> tuple[float, float]:
    """The least and the largest noise, from one number of any kind or two."""
    levels = np.asarray(sigma)
    if levels.dtype.kind not in "iuf" or levels.shape not in ((), (2,)):
        raise ValueError(f"sigma: expected a positive number, or two of them in order, got {sigma!r}")
    return float(levels.flat[0]), float(levels.flat[-1])


def _check(
    operator: AnalysisOperator, tasks: tuple[str, ...], low: float, high: float, stride: int, steps: int,
    batch: int, crop: int, validations: int, rate: float,
) -> None:  # fmt: skip
    for task in tasks or ("",):
        if task not in TASKS:
            raise ValueError(f"task: expected one of {', '.join(TASKS)}, got {task!r}")
    if not 0 < low <= high < np.inf:
        raise ValueError(f"sigma: expected a positive number, or two of them in order, got {(low, high)!r}")
    if not 1 <= stride <= min(operator.patch_shape):
        raise ValueError(f"stride: must lie between 1 and the patch size {operator.patch_shape}, got {stride!r}")
    if not 0 < rate < np.inf:
        raise ValueError(f"rate: must be a positive number, got {rate!r}")
    for name, value, least in (
        ("steps", steps, 1), ("batch", batch, 1), ("crop", crop, 2 * BORDER + 2), ("validations", validations, 1),
    ):  # fmt: skip
        if value < least:
            raise ValueError(f"{name}: must be at least {least}, got {value!r}")
