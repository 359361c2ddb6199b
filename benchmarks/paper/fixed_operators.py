"""The learned operator against those it could have been: the plain and the overcomplete cosine transform.

    python benchmarks/paper/fixed_operators.py [--quality best] [--images lena ...]
    python benchmarks/paper/fixed_operators.py --tune      finds their best constants on training photographs

The same engine, the same penalty, noise of σ = 25; each with its own best weight, nu and number of
iterations. Judged on validation photographs and on the five test images. Writes
benchmarks/results/fixed_operators.csv.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any

import cells
import common
import numpy as np

import cosparse
from cosparse.operator import AnalysisOperator
from cosparse.penalty import Penalty
from cosparse.reconstruction.engine import solve
from cosparse.reconstruction.problem import Problem
from cosparse.reconstruction.stages import Plan, Stage, mass, plan
from cosparse.reconstruction.start import smoothed
from cosparse.reconstruction.watch import Progress, Watch

SIGMA = 25
FIXED = {"dct": AnalysisOperator.dct(8), "overcomplete_dct": AnalysisOperator.dct(8, 12)}
BEST = {"dct": (1.25, 0.1, 15), "overcomplete_dct": (1.0, 0.3, 15)}
"""(weight for 128 unit atoms, nu, iterations): the best of --tune."""
METHODS = ("noisy", "ours", *FIXED)


def repaired(
    operator: AnalysisOperator, noisy: np.ndarray, weight: float, nu: float, iterations: int, stride: int,
    follow: Any = None,
) -> np.ndarray:  # fmt: skip
    """What `cosparse.denoise` does, with the constants given."""
    stage = Stage(weight * 128 / mass(operator), Penalty.log(nu), iterations, SIGMA)
    chosen, start = Plan((stage,), stride), np.ascontiguousarray(smoothed(noisy, SIGMA))
    return solve(Problem(operator, chosen, start, noisy, bounds=(0.0, 255.0)), watch=Watch(follow)).image


def tune(every: int, grid: Sequence[tuple[float, float]], limit: int = 40) -> None:
    """Print the PSNR of each fixed operator (and of ours) over a grid, at its best number of iterations."""
    images = common.validation_images(every)
    for name, operator in {**FIXED, "ours": cosparse.load_operator()}.items():
        best = (0.0, 0.0, 0.0, 0)
        for weight, nu in grid:
            curves = []
            for i, image in enumerate(images):
                reached: list[float] = []

                def follow(now: Progress, image: np.ndarray = image, reached: list[float] = reached) -> None:
                    reached.append(cosparse.psnr(image, now.image.clip(0, 255), data_range=255))

                repaired(operator, common.add_noise(image, SIGMA, i), weight, nu, limit, 2, follow)
                curves.append(reached + reached[-1:] * (limit - len(reached)))
            mean = np.mean(curves, axis=0)
            at = int(mean.argmax())
            best = max(best, (float(mean[at]), weight, nu, at + 1))
            cells.console.print(
                f"{name}: weight {weight} nu {nu}: {mean[at]:.3f} dB after {at + 1}, last {mean[-1]:.3f}"
            )
        cells.console.print(f"{name}: best {best[0]:.3f} dB, weight {best[1]}, nu {best[2]}, {best[3]} iterations")


def cell(where: str, name: str, image: np.ndarray, method: str, quality: str, seed: int, operator: Any) -> cells.Cell:
    """One operator on one image."""
    noisy = common.add_noise(image, SIGMA, seed)
    stride = plan("denoise", SIGMA, quality, None, operator).stride
    row, key = cells.described(method, quality, seed, operator)
    if method in FIXED:
        row |= {"quality": quality, "version": cells.our_version(FIXED[method])}
        key = [method, FIXED[method], BEST[method], stride, cells.code(*cells.ENGINE)]

    def repair() -> np.ndarray:
        if method == "noisy":
            return noisy
        if method == "ours":
            return cosparse.denoise(noisy, SIGMA, operator=operator, quality=quality, grouping=False, data_range=255)
        return repaired(FIXED[method], noisy, *BEST[method], stride)

    return cells.Cell(
        {"set": where, "image": name, **row}, ["fixed", key, noisy, image], lambda: cells.quality_of(image, repair())
    )


def main(argv: Sequence[str] | None = None) -> list[dict[str, Any]]:
    parser = cells.parser(__doc__, images=common.DENOISING, methods=METHODS)
    parser.add_argument("--tune", action="store_true", help="choose the constants on training photographs")
    parser.add_argument("--every", type=int, default=40, help="for --tune: take every so many-th photograph")
    parser.add_argument("--weight", nargs="+", type=float, default=[0.9, 1.0, 1.1, 1.25, 1.4, 1.6])
    parser.add_argument("--nu", nargs="+", type=float, default=[0.05, 0.1, 0.2, 0.3, 0.5])
    args = cells.parse(parser, argv)
    if args.tune:
        tune(args.every, list(product(args.weight, args.nu)))
        return []
    operator = cells.energy_of(cells.chosen_operator(args))
    sets = {"test": cells.pictures(args, common.DENOISING)}
    photographs = common.validation_images(400 if args.quick else 20)
    sets["validation"] = {f"photograph {i}": image for i, image in enumerate(photographs)}
    make = partial(cell, quality=args.quality, operator=operator)
    work = [
        make(where, name, image, method, seed=args.seed + (i if where == "validation" else 0))
        for where, images in sets.items()
        for method in args.methods or METHODS
        for i, (name, image) in enumerate(images.items())
    ]
    rows = cells.compute("fixed_operators", work)
    columns = ("set", "image", "method", "psnr", "ssim", "quality", "seed", "version")
    rows = [{column: row[column] for column in columns} for row in rows]
    path = cells.write_rows(args.output, "fixed_operators", rows, ("set", "image", "method", "quality", "seed"))
    report(rows, args)
    cells.console.print(f"written: {path}")
    return rows


def report(rows: list[dict[str, Any]], args: Any) -> None:
    """The table; photographs as their mean."""
    methods = list(dict.fromkeys(row["method"] for row in rows))

    def line(where: str, image: str | None) -> list[str]:
        chosen = [row for row in rows if row["set"] == where and image in (None, row["image"])]
        means = {
            m: [float(np.mean([row[k] for row in chosen if row["method"] == m])) for k in ("psnr", "ssim")]
            for m in methods
        }
        gaps = [f"{means['ours'][0] - means[m][0]:+.2f}" if "ours" in means else "" for m in methods if m in FIXED]
        return [where, image or "mean", *(cells.pair(*means[m]) for m in methods), *gaps]

    names = dict.fromkeys(row["image"] for row in rows if row["set"] == "test")
    lines: list[list[str]] = [line("test", name) for name in names]
    lines += [[], line("test", None), line("validation", None)]
    head = ["set", "image", *methods, *(f"ours-{m}" for m in methods if m in FIXED)]
    cells.show(f"Learned and fixed operators, σ={SIGMA}; {args.quality}, seed {args.seed}", head, lines)
    if "ours" in methods:
        for where, fixed in product(("test", "validation"), (m for m in methods if m in FIXED)):
            ours, other = (
                np.mean([row["psnr"] for row in rows if row["set"] == where and row["method"] == m])
                for m in ("ours", fixed)
            )
            cells.verdict(f"above the {fixed} on the {where} images: {ours:.3f} and {other:.3f} dB", ours > other)


if __name__ == "__main__":
    main()
