"""How learning goes: objective against iterations and seconds, for several starts and penalties.

    python benchmarks/paper/learning.py [--patches 200000] [--iterations 400] [--runs "log, random" ...]

The paper says that the start (random or an overcomplete DCT) does not matter and that learning took about
ten minutes on four cores. Each run is judged by its own best denoising of validation photographs (σ =
25). Seconds are this machine's. Writes benchmarks/results/learning.csv (a row a run) and
learning_curves.csv (a row an iteration, thinned).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import cells
import numpy as np
import validation

import cosparse
from cosparse.learning.goal import WEIGHTS
from cosparse.penalty import Penalty

ROWS = 128
LOG, PNORM = Penalty.log(), Penalty.pnorm()
RUNS = {
    "log, random": (LOG, "random", 0),
    "log, another random": (LOG, "random", 1),
    "log, DCT": (LOG, "dct", 0),
    "log squared, random": (Penalty.log(square=True), "random", 0),
    "p-norm, random": (Penalty.pnorm(square=False), "random", 0),
    "p-norm squared, random": (PNORM, "random", 0),
    "p-norm squared, DCT": (PNORM, "dct", 0),
}
"""name -> (penalty, start, seed of the start). The p-norm squared is the paper's."""
PAPER_SECONDS = 600


def weights(penalty: Penalty, patches: np.ndarray) -> tuple[float, float]:
    """κ and μ of a penalty: its own, or those of its twin with or without the square, rescaled.

    The gradient of g²/2 is g times that of g, so that squaring asks for weights larger by the typical g.
    """
    own = WEIGHTS.get((penalty.form, penalty.square))
    if own is not None:
        return own
    kappa, mu = WEIGHTS[penalty.form, not penalty.square]
    typical = typical_sum(penalty, patches)
    factor = typical if penalty.square else 1 / typical
    return float(f"{kappa * factor:.3g}"), float(f"{mu * factor:.3g}")


def typical_sum(penalty: Penalty, patches: np.ndarray) -> float:
    """The mean over patches of the summed penalty of a random operator's answers."""
    from cosparse.kernels.reference import penalise

    atoms = np.random.default_rng(0).standard_normal((ROWS, patches.shape[1]))
    atoms -= atoms.mean(axis=1, keepdims=True)
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    values, _ = penalise(patches[:2000] @ atoms.T, penalty.code, penalty.nu, penalty.p)
    return float(values.sum(axis=1).mean())


def main(argv: Sequence[str] | None = None) -> list[dict[str, Any]]:
    parser = cells.parser(__doc__)
    parser.add_argument("--patches", type=int, default=100_000)
    parser.add_argument("--iterations", type=int, default=400)
    parser.add_argument("--runs", nargs="+", choices=RUNS, default=list(RUNS), metavar="RUN", help="; ".join(RUNS))
    args = cells.parse(parser, argv)
    if args.quick:
        args.patches, args.iterations = 2000, 10
    images = validation.photographs(1 if args.quick else validation.PHOTOGRAPHS)
    patches = cosparse.sample_patches(validation.training_images(), 8, args.patches, rng=args.seed)
    # compile before the clock runs
    cosparse.learn_operator(patches[:300], 64, settings=cosparse.Settings(iterations=1))

    def learned(name: str) -> dict[str, Any]:
        penalty, start, seed = RUNS[name]
        kappa, mu = weights(penalty, patches)
        curve: list[tuple[int, float, float]] = []
        began = time.perf_counter()
        result = cosparse.learn_operator(
            patches, ROWS, penalty=penalty, kappa=kappa, mu=mu, start=start, rng=seed,
            settings=cosparse.Settings(iterations=args.iterations),
            callback=lambda now: curve.append((now.iteration, time.perf_counter() - began, now.objective)),
        )  # fmt: skip
        return {
            "kappa": kappa,
            "mu": mu,
            "iterations": result.iterations,
            "evaluations": result.evaluations,
            "seconds": round(curve[-1][1], 2),
            "objective": round(result.objective, 4),
            "coherence": round(result.operator.coherence, 4),
            "condition": round(result.operator.condition, 4),
            "psnr": round(validation.score(result.operator, images, args.quality), 4),
            "curve": [(i, round(s, 3), round(v, 4)) for i, s, v in curve],
        }

    version = f"{cells.release()}+{cells.digest(cells.code(*cells.ENGINE, 'learning'))[:8]}"
    data = cells.digest(patches, *images)
    work = [
        cells.Cell(
            {"run": name, "patches": args.patches, "limit": args.iterations, "quality": args.quality,
             "seed": args.seed, "version": version},
            ["learning", name, repr(RUNS[name]), args.iterations, args.quality, data, version],
            lambda name=name: learned(name),  # type: ignore[misc]
        )
        for name in args.runs
    ]  # fmt: skip
    found = cells.compute("learning", work)
    columns = ("run", "kappa", "mu", "iterations", "evaluations", "seconds", "objective", "coherence",
               "condition", "psnr", "patches", "limit", "quality", "seed", "version")  # fmt: skip
    rows = [{column: row[column] for column in columns} for row in found]
    curves = [
        {"run": row["run"], "iteration": i, "seconds": s, "objective": v}
        for row in found
        for i, s, v in row["curve"]
        if i <= 20 or i % 10 == 0 or i == row["iterations"]
    ]
    path = cells.write_rows(args.output, "learning", rows, ("run", "patches", "limit", "quality", "seed"))
    again = {row["run"] for row in curves}
    curves += [row for row in cells.read_rows(args.output, "learning_curves") if row["run"] not in again]
    (args.output / "learning_curves.csv").unlink(missing_ok=True)
    cells.write_rows(args.output, "learning_curves", curves, ("run", "iteration"))
    shown = (
        "run",
        "kappa",
        "mu",
        "iterations",
        "evaluations",
        "seconds",
        "objective",
        "coherence",
        "condition",
        "psnr",
    )
    cells.show(
        f"Learning {ROWS} atoms from {args.patches} patches",
        shown,
        [[row[key] if isinstance(row[key], str) else f"{row[key]:g}" for key in shown] for row in rows],
        f"the paper: about {PAPER_SECONDS} s on four cores, 200,000 patches",
    )
    starts = [row["psnr"] for row in rows if row["run"].startswith("log, ")]
    if len(starts) > 1:
        cells.verdict(f"the starts end within {max(starts) - min(starts):.3f} dB", max(starts) - min(starts) < 0.1)
    cells.console.print(f"written: {path}")
    return rows


if __name__ == "__main__":
    main()
