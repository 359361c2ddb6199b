"""Conjugate gradient with its two ways to choose step lengths: how far it comes, and how far apart rounding takes it.

    python benchmarks/solvers.py repair         writes results/solvers.csv
    python benchmarks/solvers.py learn          writes results/solvers_learning.csv

"trials" goes on from the accepted trial of a search line, as the paper's Algorithm 2 (cosparse.optimize.LineSearch);
"minima" from the minimum of the parabola along it (cosparse.optimize.Interpolation), as learning and repairs do.

repair: training photographs, quality balanced, as many iterations as the plan allows, no second pass. "apart" is the
root mean square difference, in grey levels of 255, of two results whose first steps were a millionth apart.

learn: 128 atoms of 8x8 from the paper's training pictures, with the defaults of learn_operator. The least objective
after so many evaluations, the mean of some seeds (of patches and start), and in how many of them "minima" is the lower.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from common import DATA, add_noise, need_data, validation_images, write_csv
from scipy.ndimage import convolve

import cosparse
from cosparse.optimize import Interpolation, LineSearch, Settings, conjugate_gradient
from cosparse.reconstruction import measurement
from cosparse.reconstruction.request import Request
from cosparse.reconstruction.tasks import TASKS

STEP_LENGTHS = {"trials": LineSearch(), "minima": Interpolation()}
EVALUATIONS = (50, 100, 200, 400)


def repairs(truth: np.ndarray, seed: int) -> Iterator[tuple[str, Request]]:
    """Name and request of each repair of a photograph on 0..255."""
    for sigma in (25.0, 50.0):
        noisy = add_noise(truth, sigma, seed)
        yield (
            f"denoise, noise {sigma:g}",
            TASKS["denoise"].request(noisy, sigma, operator="default", grouping=False, data_range=255),
        )
    gaps = np.random.default_rng(seed).random(truth.shape) < 0.8
    yield "inpaint, 80 % missing", TASKS["inpaint"].request(truth, gaps, grouping=False, data_range=255)
    kernel = measurement.gaussian_kernel(2.0)
    soft = add_noise(convolve(truth, kernel, mode="nearest"), 2.0, seed)
    yield "deblur, Gaussian of 2, noise 2", TASKS["deblur"].request(soft, kernel, sigma=2.0, data_range=255)
    small = measurement.downsampling(3, truth.shape)
    few = small.matvec(truth.ravel()).reshape(small.data_shape)
    yield "upscale x3", TASKS["upscale"].request(few, 3, kernel="gaussian", data_range=255)


def run(request: Request, step_length: LineSearch | Interpolation, first: float) -> tuple[np.ndarray, int]:
    """The result and the evaluations, with the first step of every stage `first` times as long."""
    evaluations = 0

    def descend(energy, geometry, start, settings, **_):
        nonlocal evaluations
        settings = replace(settings, first_step=settings.first_step * first, line_search=step_length)
        result = conjugate_gradient(energy, geometry, start, settings)
        evaluations += result.evaluations
        return result

    return request.run(descend=descend), evaluations


def repair(every: int) -> Iterator[dict[str, str]]:
    """A row for each task and step length."""
    measured: dict[tuple[str, str], list[tuple[float, int, float]]] = {}
    for seed, image in enumerate(validation_images(every)):
        truth = image[: image.shape[0] // 3 * 3, : image.shape[1] // 3 * 3]
        for task, request in repairs(truth, seed):
            for name, step_length in STEP_LENGTHS.items():
                (one, count), (other, _) = (run(request, step_length, first) for first in (1.0, 1 + 1e-6))
                apart = float(np.sqrt(np.mean((one - other) ** 2)))
                row = cosparse.psnr(truth, one.clip(0, 255), data_range=255), count, apart
                measured.setdefault((task, name), []).append(row)
    for (task, name), values in measured.items():
        psnr, count, apart = np.mean(values, axis=0)
        yield {"task": task, "goes on from": name, "evaluations": f"{count:.1f}", "psnr": f"{psnr:.3f}",
               "apart": f"{apart:.1g}"}  # fmt: skip


def curve(patches: np.ndarray, penalty: str, seed: int, step_length: LineSearch | Interpolation) -> list[float]:
    """The least objective after so many evaluations."""
    seen: list[tuple[int, float]] = []

    def note(progress: cosparse.LearnProgress) -> bool:
        seen.append((progress.evaluations, progress.objective))
        return progress.evaluations >= EVALUATIONS[-1]

    settings = Settings(iterations=EVALUATIONS[-1], step_tolerance=0, line_search=step_length)
    cosparse.learn_operator(patches, 128, penalty=penalty, rng=seed, settings=settings, callback=note)
    return [min(value for count, value in seen if count <= limit) for limit in EVALUATIONS]


def learn(count: int, seeds: int) -> Iterator[dict[str, str]]:
    """A row for each penalty and number of evaluations."""
    for penalty in ("log", "pnorm"):
        curves = np.empty((seeds, len(STEP_LENGTHS), len(EVALUATIONS)))
        for seed in range(seeds):
            patches = cosparse.sample_patches(DATA / "train" / "goal", count=count, rng=seed)
            curves[seed] = [curve(patches, penalty, seed, one) for one in STEP_LENGTHS.values()]
        for evaluations, values in zip(EVALUATIONS, np.moveaxis(curves, 2, 0), strict=True):
            means = {name: f"{mean:.2f}" for name, mean in zip(STEP_LENGTHS, values.mean(axis=0), strict=True)}
            lower = int((values[:, 1] < values[:, 0]).sum())
            yield {"penalty": penalty, "evaluations": str(evaluations), **means, "minima lower": f"{lower} of {seeds}"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["repair", "learn"], nargs="?", default="repair")
    parser.add_argument("--every", type=int, default=50, help="repair: take every so many-th photograph")
    parser.add_argument("--patches", type=int, default=20_000, help="learn: from so many")
    parser.add_argument("--seeds", type=int, default=3, help="learn: so many times")
    options = parser.parse_args()
    need_data()
    rows = []
    found = repair(options.every) if options.what == "repair" else learn(options.patches, options.seeds)
    for row in found:
        print(row, flush=True)
        rows.append(row)
    print(write_csv("solvers" if options.what == "repair" else "solvers_learning", rows))


if __name__ == "__main__":
    main()
