"""Deblurring and compressive sensing: ours against total variation from the same engine.

    python benchmarks/paper/other_tasks.py [--quality best] [--images lena ...] [--problems box ...]
    python benchmarks/paper/other_tasks.py --tune       the best weights for TV, on training photographs

Blurs: Gaussian of σ = 1.6 and 9x9 box, borders replicated, then noise of σ = 2. Sensing: 25 % of the
Fourier coefficients, on radial lines or at random with a density that falls with frequency, without
noise. TV has its own best weight and sharpness for each problem. Writes
benchmarks/results/other_tasks.csv.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import cells
import common
import numpy as np

import cosparse
from cosparse.baselines import finite_differences
from cosparse.reconstruction import measurement

NOISE = 2.0
FRACTION = 0.25
KERNELS = {"gaussian": measurement.gaussian_kernel(1.6), "box": np.full((9, 9), 1 / 81, np.float32)}
PROBLEMS = ("gaussian", "box", "radial", "variable density")
METHODS = ("start", "ours", "finite_differences")
TV = {"gaussian": (0.1, 10.0), "box": (0.1, 10.0), "radial": (0.3, 1.0), "variable density": (0.03, 3.0)}
"""(weight, nu) for each problem: the best of --tune."""


def measured(problem: str, image: np.ndarray, seed: int) -> tuple[Any, np.ndarray, np.ndarray]:
    """(A, y, first image)."""
    if problem in KERNELS:
        A = measurement.blur(KERNELS[problem], image.shape)
        noise = np.random.default_rng(seed).standard_normal(image.shape)
        blurred = (A.forward(image) + NOISE * noise).astype(np.float32)
        return A, blurred.ravel(), blurred
    if problem == "radial":
        mask = measurement.radial_mask(image.shape, FRACTION)
    else:
        mask = measurement.variable_density_mask(image.shape, FRACTION, rng=seed)
    A = measurement.fourier_sampling(mask)
    y = A.matvec(image.ravel())
    return A, y, A.rmatvec(y).real.reshape(image.shape).astype(np.float32)


def cell(name: str, image: np.ndarray, problem: str, method: str, quality: str, seed: int, operator: Any) -> cells.Cell:
    """One method on one image."""
    A, y, start = measured(problem, image, seed)
    row, key = cells.described(method, quality, seed, operator)

    def repair() -> np.ndarray:
        if method == "start":
            return start
        if method == "finite_differences":
            return finite_differences.minimised(start, y, A, *TV[problem])
        if problem in KERNELS:
            return cosparse.deblur(
                start, KERNELS[problem], sigma=NOISE, operator=operator, quality=quality, data_range=255
            )
        found = cosparse.reconstruct(y, A, image.shape, operator=operator, quality=quality, data_range=255)
        return found.image

    settings = TV[problem] if method == "finite_differences" else ()
    return cells.Cell(
        {"problem": problem, "image": name, **row},
        ["other", problem, key, settings, y, image],
        lambda: cells.quality_of(image, repair()),
    )


def tune(problems: Sequence[str], every: int) -> None:
    """Print TV's PSNR on training photographs over a grid."""
    images = common.validation_images(every)
    for problem in problems:
        made = [(image, *measured(problem, image, i)) for i, image in enumerate(images)]
        blurred = problem in KERNELS
        grid = product((0.02, 0.05, 0.1, 0.2, 0.3) if blurred else (0.003, 0.01, 0.03, 0.1, 0.3, 1.0),
                       (1.0, 10.0, 100.0) if blurred else (0.1, 1.0, 3.0, 10.0))  # fmt: skip
        found = {}
        for weight, nu in grid:
            found[weight, nu] = float(np.mean([
                cells.quality_of(image, finite_differences.minimised(start, y, A, weight, nu))["psnr"]
                for image, A, y, start in made
            ]))  # fmt: skip
            cells.console.print(f"{problem}: weight {weight} nu {nu}: {found[weight, nu]:.3f} dB")
        best = max(found, key=lambda setting: found[setting])
        cells.console.print(f"{problem}: best {best} {found[best]:.3f} dB")


def main(argv: Sequence[str] | None = None) -> list[dict[str, Any]]:
    parser = cells.parser(__doc__, images=common.DENOISING, methods=METHODS)
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--tune", action="store_true", help="choose TV's weights on training photographs")
    parser.add_argument("--every", type=int, default=50, help="for --tune: take every so many-th photograph")
    args = cells.parse(parser, argv)
    if args.tune:
        tune(args.problems, args.every)
        return []
    operator = cells.chosen_operator(args)
    images = cells.pictures(args, common.DENOISING)
    work = [
        cell(name, image, problem, method, args.quality, args.seed, operator)
        for method in args.methods or METHODS
        for problem in args.problems
        for name, image in images.items()
    ]
    rows = cells.compute("other_tasks", work)
    columns = ("problem", "image", "method", "psnr", "ssim", "quality", "seed", "version")
    rows = [{column: row[column] for column in columns} for row in rows]
    path = cells.write_rows(args.output, "other_tasks", rows, ("problem", "image", "method", "quality", "seed"))
    report(rows, args)
    cells.console.print(f"written: {path}")
    return rows


def report(rows: list[dict[str, Any]], args: Any) -> None:
    """The table and the mean gain over TV."""
    found = {(row["problem"], row["image"], row["method"]): row for row in rows}
    methods = list(dict.fromkeys(row["method"] for row in rows))
    places = list(dict.fromkeys((row["problem"], row["image"]) for row in rows))
    both = {"ours", "finite_differences"} <= set(methods)

    def gain(place: tuple[str, str]) -> float:
        return float(found[*place, "ours"]["psnr"] - found[*place, "finite_differences"]["psnr"])

    lines = [
        [*place, *(cells.pair(found[*place, m]["psnr"], found[*place, m]["ssim"]) for m in methods)]
        + ([f"{gain(place):+.2f}"] if both else [])
        for place in places
    ]
    head = ["problem", "image", *methods, *(["ours-TV"] if both else [])]
    cells.show(f"Deblurring and compressive sensing, dB and SSIM; {args.quality}, seed {args.seed}", head, lines)
    if both:
        for title, chosen in (("deblurring", set(KERNELS)), ("compressive sensing", set(PROBLEMS) - set(KERNELS))):
            gains = [gain(place) for place in places if place[0] in chosen]
            if gains:
                mean = float(np.mean(gains))
                cells.verdict(f"{title}: {mean:+.2f} dB over TV on average, at least 0.5 wanted", mean >= 0.5)


if __name__ == "__main__":
    main()
