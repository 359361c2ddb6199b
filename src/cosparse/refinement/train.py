"""refine_operator: train an operator so that what it repairs comes out best."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from cosparse._version import __version__
from cosparse.checkpoint import Resumable
from cosparse.identity import digest
from cosparse.kernels.threads import one_blas_thread, spread
from cosparse.keywords import keywords_of, settled
from cosparse.operator import AnalysisOperator, load_operator
from cosparse.patches import colour_images, grey_images
from cosparse.refinement.bilevel import BORDER, Bilevel, Crop, Image
from cosparse.refinement.colours import StagedColours
from cosparse.refinement.damage import damage, draw
from cosparse.refinement.staged import Staged
from cosparse.refinement.training import Model, RefineKeywords, RefineProgress, RefineResult, Training
from cosparse.refinement.training_state import Arrays, TrainingState

Workers = Callable[[Callable[[Any], Any], Iterable[Any]], list[Any]]
Images = ArrayLike | str | os.PathLike[str] | Iterable[Any]


@keywords_of(Training)
def refine_operator(
    operator: AnalysisOperator | str,
    images: Images,
    *,
    validation: Images | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    callback: Callable[[RefineProgress], object] | None = None,
    workers: Workers = spread,
    **settings: Unpack[RefineKeywords],
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
        Noise of what is to be repaired, on 0..255. For a range, how the weights follow the noise is trained too. 0 for
        steps to inpaint or to upscale, and only for those.
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
    data_range : float, optional
        The value that stands for white in `images` and `validation`, as for :func:`cosparse.sample_patches`.
    stages : int, optional
        Train so many steps of descent instead of an energy, each with atoms and potentials of its own: a staged
        operator. For denoising they are better and several times faster than a minimisation; five are a good number.
        For inpainting and upscaling they correct what the energy and the second pass give, with 15 to 95 % of the
        pixels missing, or by 2, 3 and 4.
        For colours (task="colours") they denoise both opponents at half their size, beside luma as the operator's own
        steps have it; images are then of red, green and blue.
        Where the operator has as many already, with as many pools, training goes on from them.
    pools : int
        Of the staged operator: how many energies, each of some atoms, its potentials look at.
    rough : bool
        Whether half of the crops to denoise are as pictures are found: with a level that was misjudged, saved as JPEG,
        or cut off at black and white. Costs little where the noise is told well, and saves much where it is not.
    checkpoint : path, optional
        Where to keep the state of the run. If the file exists, the run continues from it and ends with the operator it
        would have had without the interruption.
    callback : callable, optional
        Called with a :class:`RefineProgress` after each step; returning True ends the run.
    workers : callable, optional
        What shares out the crops of a step, as `map` does: workers(function, crops). All cores of this machine, or
        those of a cluster: :func:`cosparse.cluster.workers`. The result is the same.

    Returns
    -------
    RefineResult
        The operator with the best validation, and the course of the training.

    References
    ----------
    Y. Chen, R. Ranftl, T. Pock: Insights into analysis operator learning: from patch-based sparse models to higher
    order MRFs. IEEE Transactions on Image Processing 23(3), 2014. Of the steps: Y. Chen, T. Pock: Trainable Nonlinear
    Reaction Diffusion. IEEE Transactions on Pattern Analysis and Machine Intelligence 39(6), 2017.

    Examples
    --------
    >>> import numpy as np, cosparse
    >>> ramp = np.add.outer(np.arange(48), np.arange(48) ** 1.5 % 20) / 70
    >>> result = cosparse.refine_operator(
    ...     cosparse.AnalysisOperator.dct(4), [ramp, ramp.T], sigma=20, steps=2, batch=2, crop=24, validations=1)
    >>> result.operator.refined, result.steps
    (True, 2)
    """
    training = settled(refine_operator, Training, settings)
    start = load_operator(operator) if isinstance(operator, str) else operator
    training.check(start.patch_shape)
    seen, held_out = _split(images, validation, training)

    def asked() -> dict[str, Any]:
        return {
            **vars(training),
            "made": "refine_operator",
            "version": 6,
            "task": training.tasks,
            "sigma": training.levels,
            "start": start,
            "images": digest(seen) + digest(held_out),
        }

    model = _model(start, training)
    run = Resumable(checkpoint, TrainingState, "step", asked, lambda: TrainingState.begin(model.begin(), model.rates))
    with run, one_blas_thread():
        _train(run, _Course(model, training, seen, _trials(held_out, training), workers), callback)
    state = run.state
    step, psnr = max(state.validations, key=lambda pair: pair[1])
    low, high = training.levels
    provenance = {
        "made": "refine_operator",
        "cosparse": __version__,
        "task": ", ".join(training.tasks),
        "sigma": f"{low:g}" if low == high else f"{low:g} to {high:g}",
        "stride": str(training.stride),
        "crops": f"{training.batch} of {training.crop}x{training.crop} in each of {state.step} steps",
        "images": f"{len(seen)}, and {len(held_out)} held out",
        "seed": str(training.rng),
        "validation": f"{psnr:.4f} dB at step {step}",
        "start": start.provenance.get("name", start.provenance.get("made", "given")),
    }
    best = model.finished(state.best, provenance)
    return RefineResult(best, psnr, state.step, state.dropped, state.losses, state.validations)


@dataclass(frozen=True)
class _Course:
    """What stays the same while training goes on."""

    model: Model
    training: Training
    images: list[Image]
    trials: list[Crop]
    workers: Workers

    def advanced(self, state: TrainingState) -> TrainingState:
        """One step of Adam on a batch of crops. What is drawn depends on the seed and the step alone."""
        model, training = self.model, self.training
        crops = _drawn(self.images, state.step, training)
        work = partial(_crop_gradient, model, state.parameters, model.operator(state.parameters))
        # The longest first, so that no core waits for one begun last; added up in the order they were drawn in.
        order = sorted(range(len(crops)), key=lambda number: -crops[number].sigma)
        found = dict(zip(order, self.workers(work, [crops[number] for number in order]), strict=True))
        results = [result for number in range(len(crops)) if (result := found[number]) is not None]
        decay = 0.5 * (1 + np.cos(np.pi * state.step / training.steps)) * min(1, (state.step + 1) / model.warm_up)
        rates = {name: decay * training.rate * length for name, length in model.rates.items()}
        return state.advanced(results, len(crops) - len(results), rates, model.moments)

    def validated(self, state: TrainingState) -> TrainingState:
        """The state with the held-out images' PSNR, and the parameters if they are the best so far."""
        work = partial(_crop_psnr, self.model, self.model.operator(state.parameters))
        reached = float(np.mean(self.workers(work, self.trials)))
        better = not state.validations or reached > max(value for _, value in state.validations)
        validations = (*state.validations, (state.step, reached))
        return replace(state, validations=validations, best=state.parameters if better else state.best)

    def progress(self, state: TrainingState) -> RefineProgress:
        """What the callback sees."""
        return RefineProgress(
            state.step, self.training.steps, state.losses[-1], state.validations[-1][1],
            lambda: self.model.operator(state.parameters),
        )  # fmt: skip


def _train(run: Resumable[TrainingState], course: _Course, callback: Callable[[RefineProgress], object] | None) -> None:
    """Take all steps, and validate before the first, a few times on the way, and at the end."""
    steps, count = course.training.steps, course.training.validations
    moments = {round(k * steps / count) for k in range(1, count + 1)}
    ended = False
    if not run.state.validations:
        run.reached(course.validated(run.state))
    while run.state.step < steps and not ended:
        state = course.advanced(run.state)
        run.reached(course.validated(state) if state.step in moments else state)
        if callback is not None:
            ended = callback(course.progress(run.state)) is True
    if run.state.validations[-1][0] != run.state.step:
        run.reached(course.validated(run.state))


def _crop_gradient(
    model: Model, parameters: Arrays, operator: AnalysisOperator, crop: Crop
) -> tuple[float, Arrays] | None:
    with one_blas_thread():
        return model.gradient(parameters, operator, crop)


def _crop_psnr(model: Model, operator: AnalysisOperator, crop: Crop) -> float:
    with one_blas_thread():
        error = (np.clip(model.repaired(operator, crop), 0, 255) - crop.truth)[BORDER:-BORDER, BORDER:-BORDER]
    return float(10 * np.log10(255**2 / max(float(np.mean(error**2)), 1e-10)))


def _drawn(images: list[Image], step: int, training: Training) -> list[Crop]:
    """A batch of crops, the tasks in turn."""
    tasks, batch = training.tasks, training.batch
    return [
        draw(
            images, tasks[(step * batch + number) % len(tasks)], training.levels, training.crop,
            np.random.default_rng([training.rng, step, number]), rough=training.rough,
        )
        for number in range(batch)
    ]  # fmt: skip


def _model(start: AnalysisOperator, training: Training) -> Model:
    """What is trained: the operator's energy, or a sequence of steps."""
    if training.stages is None:
        return Bilevel(start, training.stride)
    kind = StagedColours if training.tasks[0] == "colours" else Staged
    return kind(start, training.stages, training.pools, training.stride, training.levels, training.tasks[0])


def _trials(images: list[Image], training: Training) -> list[Crop]:
    """Every held-out image at every task, at one noise level or three of the range."""
    low, high = training.levels
    return [
        damage(image, task, level, np.random.default_rng([number, 1]))
        for task in training.tasks
        for level in sorted({low, float(np.sqrt(low * high)), high})
        for number, image in enumerate(images)
    ]


def _split(images: Images, validation: Images | None, training: Training) -> tuple[list[Image], list[Image]]:
    """The images to train on, and the middles of those held out."""
    read = colour_images if "colours" in training.tasks else grey_images
    seen = read(images, training.data_range)
    if validation is not None:
        held_out = read(validation, training.data_range)
    else:
        if len(seen) < 2:
            raise ValueError("images: at least two are needed, one of them is held out; or give validation")
        held_out = seen[9::10] or seen[-1:]
        seen = [image for number, image in enumerate(seen) if number % 10 != 9][: len(seen) - len(held_out)]
    smallest = 2 * BORDER + 2
    for name, pictures in (("images", seen), ("validation", held_out)):
        if any(min(picture.shape[:2]) < smallest for picture in pictures):
            raise ValueError(f"{name}: every image must be at least {smallest} pixels high and wide")
    return seen, [_centre(image, 3 * training.crop) for image in held_out]


def _centre(image: Image, size: int) -> Image:
    """The middle of an image, so that validation costs the same for large ones."""
    height, width = (min(size, side) for side in image.shape[:2])
    top, left = (image.shape[0] - height) // 2, (image.shape[1] - width) // 2
    return np.ascontiguousarray(image[top : top + height, left : left + width])
