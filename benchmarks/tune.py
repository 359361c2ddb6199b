"""Choose the constants of reconstruction/rules.py on training photographs, never on test images.

    python benchmarks/tune.py denoise --operator default --sigma 25 --nu 0.05 0.1 --weight 1.2 1.4

prints, for each pair, the mean PSNR over the validation photographs after every few iterations. `weight` is given for
an operator of 128 unit atoms, as the rules are. For a refined operator `weight` and `nu` are factors on the operator's
own at the noise level --at.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np
from common import add_noise, need_data, validation_images

import cosparse
from cosparse.penalty import Penalty
from cosparse.reconstruction import measurement
from cosparse.reconstruction.energy import Energy, Progress, minimise
from cosparse.reconstruction.prior import Prior
from cosparse.reconstruction.rules import mass, trust
from cosparse.reconstruction.start import enlarge, interpolate, smoothed

SHOWN = [3, 5, 7, 9, 11, 14, 17, 20, 25, 30, 40, 60, 80]


def problem(task: str, image: np.ndarray, sigma: float, seed: int, option: float):
    """Of one validation photograph: the start, which pixels are free, and the rest that an energy is made of."""
    if task == "denoise":
        noisy = add_noise(image, sigma, seed)
        return smoothed(noisy, sigma), None, {"data": noisy}
    if task == "inpaint":
        noisy = add_noise(image, sigma, seed) if sigma else image
        gaps = np.random.default_rng(seed).random(image.shape) < option
        start = interpolate(np.where(gaps, 0, noisy).astype(np.float32), gaps)
        if sigma:
            return smoothed(start, sigma), None, {"data": noisy, "trust": trust(~gaps)}
        return start, gaps, {}
    if task == "upscale":
        from bicubic import shrink

        factor = int(option)
        whole = image[: image.shape[0] // factor * factor, : image.shape[1] // factor * factor]
        small = shrink(whole, factor)
        small = add_noise(small, sigma, seed) if sigma else small
        measure = measurement.downsampling(factor, whole.shape)
        return enlarge(small, factor), None, {"data": small.ravel(), "measure": measure}
    if task == "deblur":
        kernel = np.full((9, 9), 1 / 81) if option == 0 else measurement.gaussian_kernel(option)
        measure = measurement.blur(kernel, image.shape)
    else:
        measure = measurement.fourier_sampling(measurement.variable_density_mask(image.shape, option))
    data = measure.matvec(image.ravel())
    data = data + sigma * np.random.default_rng(seed).standard_normal(data.shape)
    if task == "deblur":
        data = data.astype(np.float32)
        return data.reshape(image.shape), None, {"data": data, "measure": measure}
    start = measure.rmatvec(data).real.reshape(image.shape).astype(np.float32)
    return start, None, {"data": data, "measure": measure}


def curve(args, operator, stages, image, seed) -> list[float]:
    """PSNR after each iteration."""
    start, free, terms = problem(args.task, image, args.sigma, seed, args.option)
    truth = image[: start.shape[0], : start.shape[1]]
    reached: list[float] = []
    energies = []
    for lam, nu in stages:
        prior = Prior(operator, Penalty.log(nu), args.stride)
        if operator.refined:
            prior = Prior(operator.at(args.at), Penalty.log(nu * operator.penalty.nu), args.stride)
        energies.append((Energy(prior, lam, bounds=args.bounds, **terms), args.iterations))

    def follow(progress: Progress) -> None:
        reached.append(cosparse.psnr(truth, progress.image.clip(0, 255), data_range=255))

    minimise(energies, start, first_step=args.first_step, free=free, callback=follow)
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
    parser.add_argument("--first-step", type=float, default=0.05)
    parser.add_argument("--stride", type=int, default=2)
    parser.add_argument("--no-bounds", dest="bounds", action="store_const", const=None, default=(0.0, 255.0))
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
