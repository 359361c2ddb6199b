"""The energy's descent in plain and in whitened coordinates: dB, energy, evaluations and processor time.

    python benchmarks/descent.py [--every 100]        writes results/descent.csv

Training photographs, the operator "default", quality balanced, no second pass. "plain" is conjugate gradient on the
pixels as they are, with as many iterations as the table had for it; "whitened" in the coordinates of
reconstruction/whitening.py, with the iterations that the table has now for the tasks that take them, and for the others
with as many as plain: there it was tried and did not earn its place. Tomography is of 20 angles, pixels spread over two
neighbouring rays.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from common import add_noise, need_data, validation_images, write_csv
from scipy.sparse import csr_array
from scipy.sparse.linalg import aslinearoperator

import cosparse
from cosparse.optimize import Euclidean, Whitened, conjugate_gradient
from cosparse.reconstruction import measurement
from cosparse.reconstruction.engine import Solution, solve
from cosparse.reconstruction.problem import Problem
from cosparse.reconstruction.stages import as_refined, last_settings, plan
from cosparse.reconstruction.start import first_image
from cosparse.reconstruction.tasks import TASKS
from cosparse.reconstruction.whitening import filters

PART = 0.12
# The iterations of every stage before descents were whitened; where there are none, they are as they were.
BEFORE = {"denoise 15": [16], "denoise 25": [22], "denoise 50": [48], "inpaint": [25, 45]}


def problems(truth: np.ndarray, seed: int) -> Iterator[tuple[str, Problem]]:
    """Name and problem of each repair of a photograph on 0..255."""
    how: dict[str, Any] = {"operator": "default", "data_range": 255}
    for sigma in (15.0, 25.0, 50.0):
        yield f"denoise {sigma:g}", posed("denoise", add_noise(truth, sigma, seed), sigma, **how)
    for missing in (50, 80, 90):
        gaps = np.random.default_rng(seed).random(truth.shape) < missing / 100
        yield f"inpaint {missing} %", posed("inpaint", truth, gaps, **how)
    for factor in (2, 3):
        small = measurement.reduction(factor, truth.shape).forward(truth)
        yield f"upscale x{factor}", posed("upscale", small, factor, **how)
    kernel = measurement.gaussian_kernel(2.0)
    soft = add_noise(measurement.blur(kernel, truth.shape).forward(truth), 2.0, seed)
    yield "deblur gaussian:2, noise 2", posed("deblur", soft, kernel, sigma=2.0, **how)
    operator = as_refined(cosparse.load_operator("default"))
    some = measurement.fourier_sampling(measurement.variable_density_mask(truth.shape, 0.25))
    for name, A in (("25 % Fourier", some), ("20 angles", tomograph(truth.shape, 20))):
        y = A.matvec(truth.ravel())
        chosen = plan("reconstruct", 0.0, "balanced", None, operator)
        yield name, Problem(operator, chosen, first_image(A, y, truth.shape), y, A)


def posed(task: str, *given: Any, **how: Any) -> Problem:
    """What a task poses for one plane."""
    return TASKS[task].request(*given, **how).problems()[0]


def tomograph(shape: tuple[int, int], angles: int) -> Any:
    """Sums along parallel rays; of about the norm of the identity."""
    down, across = (place - (side - 1) / 2 for place, side in zip(np.indices(shape), shape, strict=True))
    rays = int(np.hypot(*shape)) + 3
    turns = np.pi * np.arange(angles)[:, None, None] / angles
    where = across * np.cos(turns) + down * np.sin(turns) + rays / 2
    first = np.floor(where).astype(int)
    rows = (np.arange(angles)[:, None, None] * rays + first).ravel()
    pixels, part = np.tile(np.arange(shape[0] * shape[1]), angles), (where - first).ravel()
    entries = np.concatenate([1 - part, part]).astype(np.float32) / np.float32(np.sqrt(angles * shape[0]) / 3)
    places = np.concatenate([rows, rows + 1]), np.concatenate([pixels, pixels])
    return aslinearoperator(csr_array((entries, places), shape=(angles * rays, shape[0] * shape[1])))


def descent(white: bool, before: list[int] | None) -> Callable[..., Any]:
    """Conjugate gradient, whitened or not whatever the plan says."""
    stages = iter(before or [])

    def descend(energy: Any, space: Any, start: Any, settings: Any, callback: Any) -> Any:
        if not white:
            settings = replace(settings, iterations=next(stages, settings.iterations))
            if isinstance(space, Whitened):
                settings = replace(settings, first_step=0.2)
            return conjugate_gradient(energy, Euclidean(space.free), start, settings, callback=callback)
        if not isinstance(space, Whitened):
            down, across = filters(energy.prior, energy.weight, PART, 1.0)
            space, settings = Whitened(down, across, space.free), replace(settings, first_step=0.7)
        return conjugate_gradient(energy, space, start, settings, callback=callback)

    return descend


def run(name: str, problem: Problem, white: bool) -> tuple[Solution, float]:
    """The solution, and how many processor seconds it took."""
    before = next((count for task, count in BEFORE.items() if name.startswith(task)), None)
    settings = None if before or problem.data is None or problem.plan.stages[-1].iterations < 400 else SETTLED
    began = time.process_time()
    found = solve(problem, settings=settings, descend=descent(white, before))
    return found, time.process_time() - began


SETTLED = last_settings(0.0, "balanced")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=100, help="take every so many-th photograph")
    args = parser.parse_args()
    need_data()
    for white in (False, True):  # what is compiled or loaded first is not timed
        run("denoise 25", next(problems(np.zeros((48, 48), np.float32), 0))[1], white)
    measured: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    for seed, image in enumerate(validation_images(args.every)):
        truth = np.ascontiguousarray(image[: image.shape[0] // 6 * 6, : image.shape[1] // 6 * 6])
        for name, problem in problems(truth, seed):
            for white in (False, True):
                found, seconds = run(name, problem, white)
                reached = cosparse.psnr(truth, found.image.clip(0, 255), data_range=255)
                row = reached, found.energy, found.iterations, found.evaluations, seconds
                measured.setdefault((name, "whitened" if white else "plain"), []).append(row)
    rows = []
    for (name, kind), values in measured.items():
        psnr, energy, iterations, evaluations, seconds = np.mean(values, axis=0)
        rows.append(
            {
                "repair": name, "descent": kind, "iterations": f"{iterations:.0f}", "evaluations": f"{evaluations:.1f}",
                "seconds": f"{seconds:.3f}", "psnr": f"{psnr:.3f}", "energy": f"{energy:.6g}",
                "photographs": len(values),
            }
        )  # fmt: skip
        print(", ".join(map(str, rows[-1].values())), flush=True)
    print(f"written: {write_csv('descent', rows)}")


if __name__ == "__main__":
    main()
