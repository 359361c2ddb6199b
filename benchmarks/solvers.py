"""The two conjugate gradients on the same repairs: how far they come, and how far apart rounding takes them.

    python benchmarks/solvers.py          writes results/solvers.csv

"trials" goes on from the last trial of a search line, as the paper's Algorithm 2; "minima" from the minimum of the
parabola along it (cosparse.optimize.interpolating), as all repairs do. Training photographs, quality balanced, as many
iterations as the plan allows, no second pass. "apart" is the root mean square difference, in grey levels of 255, of two
results whose first steps were a millionth apart.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from common import add_noise, need_data, validation_images, write_csv
from scipy.ndimage import convolve

import cosparse
from cosparse.optimize import Result, conjugate_gradient, flat_conjugate_gradient
from cosparse.reconstruction import measurement
from cosparse.reconstruction.request import Request
from cosparse.reconstruction.tasks import TASKS

SOLVERS = {"trials": conjugate_gradient, "minima": flat_conjugate_gradient}


def repairs(truth: np.ndarray, seed: int) -> Iterator[tuple[str, Request]]:
    """Name and request of each repair of a photograph on 0..255."""
    for sigma in (25.0, 50.0):
        noisy = add_noise(truth, sigma, seed)
        yield f"denoise, noise {sigma:g}", TASKS["denoise"].request(noisy, sigma, grouping=False, data_range=255)
    gaps = np.random.default_rng(seed).random(truth.shape) < 0.8
    yield "inpaint, 80 % missing", TASKS["inpaint"].request(truth, gaps, grouping=False, data_range=255)
    kernel = measurement.gaussian_kernel(2.0)
    soft = add_noise(convolve(truth, kernel, mode="nearest"), 2.0, seed)
    yield "deblur, Gaussian of 2, noise 2", TASKS["deblur"].request(soft, kernel, sigma=2.0, data_range=255)
    small = measurement.downsampling(3, truth.shape)
    few = small.matvec(truth.ravel()).reshape(small.data_shape)
    yield "upscale x3", TASKS["upscale"].request(few, 3, data_range=255)


def run(request: Request, solver: Callable[..., Result], first: float) -> tuple[np.ndarray, int]:
    """The result and the evaluations, with the first step of every stage `first` times as long."""
    evaluations = 0

    def descend(energy, geometry, start, settings, **_):
        nonlocal evaluations
        settings = replace(settings, first_step=settings.first_step * first)
        result = solver(energy, geometry, start, settings)
        evaluations += result.evaluations
        return result

    return request.run(descend=descend), evaluations


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=50, help="take every so many-th photograph")
    need_data()
    measured: dict[tuple[str, str], list[tuple[float, int, float]]] = {}
    for seed, image in enumerate(validation_images(parser.parse_args().every)):
        truth = image[: image.shape[0] // 3 * 3, : image.shape[1] // 3 * 3]
        for task, request in repairs(truth, seed):
            for name, solver in SOLVERS.items():
                (one, count), (other, _) = (run(request, solver, first) for first in (1.0, 1 + 1e-6))
                apart = float(np.sqrt(np.mean((one - other) ** 2)))
                row = cosparse.psnr(truth, one.clip(0, 255), data_range=255), count, apart
                measured.setdefault((task, name), []).append(row)
    rows = []
    for (task, name), values in measured.items():
        psnr, count, apart = np.mean(values, axis=0)
        rows.append(
            {"task": task, "goes on from": name, "evaluations": f"{count:.1f}", "psnr": f"{psnr:.3f}",
             "apart": f"{apart:.1g}"}
        )  # fmt: skip
        print(rows[-1])
    print(write_csv("solvers", rows))


if __name__ == "__main__":
    main()
