"""The study behind the paper's figure: which operators, over a grid of κ, μ and k, are good?

    python benchmarks/paper/parameters.py                   100 operators
    python benchmarks/paper/parameters.py --operators 20    in a few minutes

Each operator is learned from the paper's training images and judged by the mean PSNR of denoising
validation photographs (σ = 25), at the best of three weights. A stopped run goes on with the next
operator; their order is by chance, and --kept writes and draws those that are there. Writes
benchmarks/results/parameters.csv and singular_values.csv (of the best operator); --figure draws them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cells
import numpy as np
import validation

import cosparse
from cosparse.penalty import Penalty

KAPPA = (300.0, 50_000.0)
MU = (0.01, 10.0)
USUAL = (4000.0, 0.2)  # kappa, mu of the sweep over k
SIZE = 8


def grid(count: int) -> list[tuple[float, float, int]]:
    """`count` settings: four fifths a square grid of κ and μ at k = 2n, the others a sweep over k."""
    n = SIZE * SIZE
    columns = max(1, int((0.8 * count) ** 0.5))
    rows = max(1, int(0.8 * count) // columns)
    settings = [
        (float(f"{kappa:.3g}"), float(f"{mu:.3g}"), 2 * n)
        for kappa in np.geomspace(*KAPPA, rows)
        for mu in np.geomspace(*MU, columns)
    ]
    left = count - len(settings)
    below, above = np.geomspace(n, 2 * n, left // 2 + 1)[:-1], np.geomspace(2 * n, 4 * n, left - left // 2)
    return settings + [(*USUAL, round(k)) for k in (*below, *above)]


def main(argv: Sequence[str] | None = None) -> list[dict[str, Any]]:
    parser = cells.parser(__doc__)
    parser.add_argument("--operators", type=int, default=100, help="how many to learn")
    parser.add_argument("--patches", type=int, default=50_000)
    parser.add_argument("--iterations", type=int, default=250)
    parser.add_argument("--kept", action="store_true", help="only those that earlier runs have learned")
    parser.add_argument("--figure", type=Path, help="draw the heat map, the singular values and the saturation in k")
    args = cells.parse(parser, argv)
    if args.quick:
        args.operators, args.patches, args.iterations = 4, 2000, 10
    images = validation.photographs(1 if args.quick else validation.PHOTOGRAPHS)
    patches = cosparse.sample_patches(validation.training_images(), SIZE, args.patches, rng=args.seed)
    penalty = Penalty.log()

    def learned(kappa: float, mu: float, k: int) -> dict[str, Any]:
        settings = cosparse.Settings(iterations=args.iterations, step_tolerance=0.0)
        operator = cosparse.learn_operator(
            patches, k, penalty=penalty, kappa=kappa, mu=mu, settings=settings, rng=args.seed
        ).operator
        return {
            "coherence": round(operator.coherence, 4),
            "condition": round(operator.condition, 4),
            "psnr": round(validation.score(operator, images, args.quality), 4),
            "singular_values": [round(float(value), 5) for value in operator.singular_values],
        }

    version = f"{cells.release()}+{cells.digest(cells.code(*cells.ENGINE, 'learning'))[:8]}"
    data, points = cells.digest(patches, *images), grid(args.operators)
    work = [
        cells.Cell(
            {"k": k, "kappa": kappa, "mu": mu, "patches": args.patches, "iterations": args.iterations,
             "quality": args.quality, "seed": args.seed, "version": version},
            ["parameters", k, kappa, mu, repr(penalty), args.iterations, args.quality, args.seed, data,
             version],
            lambda kappa=kappa, mu=mu, k=k: learned(kappa, mu, k),  # type: ignore[misc]
        )
        for kappa, mu, k in random.Random(0).sample(points, len(points))
    ]  # fmt: skip
    rows = cells.compute("parameters", cells.kept("parameters", work) if args.kept else work)
    best = max(rows, key=lambda row: row["psnr"])
    values = [{"number": i + 1, "value": value} for i, value in enumerate(best["singular_values"])]
    columns = (
        "k",
        "kappa",
        "mu",
        "coherence",
        "condition",
        "psnr",
        "patches",
        "iterations",
        "quality",
        "seed",
        "version",
    )
    rows = [{column: row[column] for column in columns} for row in rows]
    names = ("k", "kappa", "mu", "patches", "iterations", "quality", "seed")
    path = cells.write_rows(args.output, "parameters", rows, names)
    (args.output / "singular_values.csv").unlink(missing_ok=True)
    cells.write_rows(args.output, "singular_values", values, ("number",))
    report(rows, best)
    cells.console.print(f"written: {path}")
    if args.figure:
        from figures import parameters as draw

        draw(rows, values, args.figure)
        cells.console.print(f"written: {args.figure}")
    return rows


def report(rows: list[dict[str, Any]], best: dict[str, Any]) -> None:
    """The ten best and the sweep over k."""
    ranked = sorted(rows, key=lambda row: -row["psnr"])
    keys = ("kappa", "mu", "k", "coherence", "condition", "psnr")

    def lines(chosen: list[dict[str, Any]]) -> list[list[str]]:
        return [[f"{row[key]:g}" for key in keys] for row in chosen]

    cells.show(
        f"The best of {len(rows)} operators, validation photographs, σ = {validation.SIGMA}", keys, lines(ranked[:10])
    )
    sweep = sorted((row for row in rows if (row["kappa"], row["mu"]) == USUAL), key=lambda row: row["k"])
    cells.show("The number of atoms k (n = 64)", keys, lines(sweep))
    by_size = {row["k"]: row["psnr"] for row in sweep}
    n = SIZE * SIZE
    if {n, 2 * n} <= set(by_size):
        beyond = max(value for k, value in by_size.items() if k >= 2 * n) - by_size[2 * n]
        cells.console.print(
            f"k from n to 2n: {by_size[2 * n] - by_size[n]:+.3f} dB; beyond 2n at most {beyond:+.3f} dB"
        )


if __name__ == "__main__":
    main()
