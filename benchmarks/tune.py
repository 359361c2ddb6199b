"""Choose the constants of reconstruction/stages.py on training photographs, never on test images.

    python benchmarks/tune.py denoise --operator default --sigma 25 --nu 0.05 0.1 --weight 1.2 1.4

prints, for each pair, the mean PSNR over the validation photographs after every few iterations. `weight` is given for
an operator of 128 unit atoms, as the rules are. For a refined operator `weight` and `nu` are factors on the operator's
own at the noise level --at. Everything else is posed as the task itself poses it.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from itertools import product

import numpy as np
from common import add_noise, need_data, validation_images

import cosparse
from cosparse.operator import AnalysisOperator
from cosparse.penalty import Penalty
from cosparse.reconstruction import measurement
from cosparse.reconstruction.engine import solve
from cosparse.reconstruction.problem import Problem
from cosparse.reconstruction.stages import Plan, Stage, mass, plan
from cosparse.reconstruction.start import first_image
from cosparse.reconstruction.tasks import TASKS
from cosparse.reconstruction.watch import Progress, Watch

SHOWN = [3, 5, 7, 9, 11, 14, 17, 20, 25, 30, 40, 60, 80]


def posed(task: str, image: np.ndarray, sigma: float, seed: int, option: float, operator: AnalysisOperator) -> Problem:
    """What the task asks of the engine for one validation photograph."""
    noise = sigma * np.random.default_rng(seed).standard_normal(image.shape)
    options = {"operator": operator, "sigma": sigma, "data_range": 255}
    if task == "fourier":
        measure = measurement.fourier_sampling(measurement.variable_density_mask(image.shape, option))
        data = measure.matvec(image.ravel())
        data = data + sigma * np.random.default_rng(seed).standard_normal(data.shape)
        chosen = plan("reconstruct", sigma, "balanced", None, operator)
        return Problem(operator, chosen, first_image(measure, data.astype(np.complex64), image.shape), data, measure)
    if task == "denoise":
        request = TASKS[task].request((image + noise).astype(np.float32), **options)
    elif task == "inpaint":
        gaps = np.random.default_rng(seed).random(image.shape) < option
        request = TASKS[task].request((image + noise).astype(np.float32), gaps, **options)
    elif task == "upscale":
        from bicubic import shrink

        small = shrink(image, int(option))
        small = add_noise(small, sigma, seed) if sigma else small
        request = TASKS[task].request(small, int(option), **options)
    else:
        kernel = np.full((9, 9), 1 / 81) if option == 0 else measurement.gaussian_kernel(option)
        blurred = measurement.blur(kernel, image.shape).forward(image)
        request = TASKS[task].request((blurred + noise).astype(np.float32), kernel, **options)
    return request.problems()[0]


def curve(args, operator, stages, image, seed) -> list[float]:
    """PSNR after each iteration: the task's problem with other stages."""
    if args.task == "upscale":
        image = image[tuple(slice(side // int(args.option) * int(args.option)) for side in image.shape)]
    problem = posed(args.task, image, args.sigma, seed, args.option, operator)
    scale = operator.penalty.nu if operator.refined else 1.0
    given = tuple(Stage(lam, Penalty.log(nu * scale), args.iterations, args.at) for lam, nu in stages)
    bounds = problem.bounds if args.bounds == "as the task" else args.bounds
    reached: list[float] = []

    def follow(progress: Progress) -> None:
        reached.append(cosparse.psnr(image, progress.image.clip(0, 255), data_range=255))

    solve(replace(problem, plan=Plan(given, args.stride), bounds=bounds), watch=Watch(follow))
    total = args.iterations * len(stages)
    return reached + reached[-1:] * (total - len(reached))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["denoise", "inpaint", "upscale", "deblur", "fourier"])
    parser.add_argument("--operator", default="default")
    parser.add_argument("--sigma", type=float, default=25)
    parser.add_argument("--option", type=float, default=0, help="missing fraction, factor, blur or sampled fraction")
    parser.add_argument("--weight", nargs="+", default=["1.3"], help="one per stage, joined by commas")
    parser.add_argument("--nu", nargs="+", default=["0.1"], help="one per stage, joined by commas")
    parser.add_argument("--at", type=float, default=25, help="noise level that a refined operator is taken at")
    parser.add_argument("--iterations", type=int, default=30, help="of each stage")
    parser.add_argument("--stride", type=int, default=2)
    parser.add_argument("--no-bounds", dest="bounds", action="store_const", const=None, default="as the task")
    parser.add_argument("--bounds", action="store_const", const=(0.0, 255.0), default="as the task")
    parser.add_argument("--every", type=int, default=25, help="take every so many-th photograph")
    args = parser.parse_args()
    need_data()
    operator = cosparse.load_operator(args.operator)
    images = validation_images(args.every)
    for weights, nus in product(args.weight, args.nu):
        stages = [
            (float(w) * (1.0 if operator.refined else 128 / mass(operator)), float(nu))
            for w, nu in zip(weights.split(","), nus.split(","), strict=True)
        ]
        mean = np.mean([curve(args, operator, stages, image, i) for i, image in enumerate(images)], axis=0)
        best = int(mean.argmax())
        shown = " ".join(f"{i + 1}:{mean[i]:.3f}" for i in SHOWN if i < len(mean))
        print(
            f"{args.task} sigma={args.sigma} option={args.option} weight={weights} nu={nus} "
            f"best {mean[best]:.3f} at {best + 1}, last {mean[-1]:.3f} | {shown}",
            flush=True,
        )


if __name__ == "__main__":
    main()
