"""GOAL and the classic learners on the same patches: how long each takes, and how well its operator denoises.

    python benchmarks/learners.py               a quarter of an hour; goes on where it was stopped
    python benchmarks/learners.py --table       also Table I's noises and test images, beside the paper's AOL row
    python benchmarks/learners.py --quick       tiny, to see that it runs; writes nothing

All learn 128 atoms from the same 50,000 patches of 8x8 of the paper's training images. Seconds are of the processor, of
all threads, without compiling. Each operator then is the prior of our denoiser on training photographs held out of
learning, at σ = 25 and at the best of a few weights, without the second pass over groups; the penalty is the same for
all, log(1 + nu v²). The learners' settings are their defaults.

Writes benchmarks/results/learners.csv, and with --table learners_table.csv.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import DATA, DENOISING, RESULTS, add_noise, need_data, read_grey, test_image, validation_images, write_csv

import cosparse
from cosparse.baselines import analysis_ksvd, aol, minimal_eigenvalues, noise_aware_aol
from cosparse.operator import AnalysisOperator

SIGMA, SIGMAS = 25, (5, 10, 20, 25, 30)
FACTORS = (0.7, 1.0, 1.4, 2.0, 2.8, 4.0)  # of the usual weight: operators differ in how heavy a prior they make
COUNT, ROWS = 50_000, 128
KEPT = RESULTS.parent.parent / ".benchmarks-cache" / "learners"

LEARNERS: dict[str, Callable[..., AnalysisOperator]] = {
    "GOAL": lambda patches, rows: cosparse.learn_operator(patches, rows).operator,
    **{module.TITLE: module.learn for module in (minimal_eigenvalues, analysis_ksvd, aol, noise_aware_aol)},
}


def learned(name: str, patches: np.ndarray, folder: Path | None) -> tuple[AnalysisOperator, float]:
    """The operator and the processor seconds it took; from the folder, if it has it."""
    file = None if folder is None else folder / f"{name}-{len(patches)}.safetensors"
    if file is not None and file.exists():
        operator = AnalysisOperator.load(file)
        return operator, float(operator.provenance["seconds"])
    LEARNERS[name](np.random.default_rng(0).standard_normal((200, 64)), 64)  # compiles
    started = time.process_time()
    operator = LEARNERS[name](patches, ROWS)
    seconds = time.process_time() - started
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        provenance = {**operator.provenance, "seconds": f"{seconds:.1f}"}
        AnalysisOperator(operator.matrix, operator.patch_shape, operator.penalty, provenance=provenance).save(file)
    return operator, seconds


def denoised(operator: AnalysisOperator, images: list[np.ndarray], sigma: float, factor: float) -> float:
    """Mean PSNR over images, each with noise of its own."""
    found = []
    for i, image in enumerate(images):
        noisy = add_noise(image, sigma, i)
        result = cosparse.denoise(noisy, sigma, operator=operator, weight=factor, grouping=False, data_range=255)
        found.append(cosparse.psnr(image, result.clip(0, 255), data_range=255))
    return float(np.mean(found))


def measured(folder: Path | None, count: int, photographs: int) -> list[dict[str, Any]]:
    """A row a learner."""
    training = [read_grey(file) for file in sorted((DATA / "train" / "goal").glob("*.png"))]
    patches = cosparse.sample_patches(training, count=count, data_range=255)
    images = validation_images(400 // photographs)[:photographs]
    rows = []
    for name in LEARNERS:
        operator, seconds = learned(name, patches, folder)
        reached = {factor: denoised(operator, images, SIGMA, factor) for factor in FACTORS}
        best = max(reached, key=lambda factor: reached[factor])
        row = {"learner": name, "patches": count, "cpu_seconds": f"{seconds:.0f}"}
        row |= {"validation_psnr": f"{reached[best]:.2f}", "weight": best}
        rows.append(row | {"condition": f"{operator.condition:.2f}", "coherence": f"{operator.coherence:.2f}"})
        print(*rows[-1].values(), sep=", ", flush=True)
    return rows


def table(rows: list[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """The paper's five images and five noises, each learner with the weight that was best on the photographs."""
    with (DATA / "published" / "denoising.csv").open(newline="") as file:
        published = [row for row in csv.DictReader(file) if row["method"] == "AOL"]
    print(f"the paper's AOL, mean: {np.mean([float(row['psnr']) for row in published]):.2f} dB")
    images, found = [test_image(name) for name in DENOISING], []
    for row in rows:
        operator = AnalysisOperator.load(folder / f"{row['learner']}-{row['patches']}.safetensors")
        reached = {sigma: denoised(operator, images, sigma, row["weight"]) for sigma in SIGMAS}
        means = {f"sigma_{sigma}": f"{value:.2f}" for sigma, value in reached.items()}
        found.append({"learner": row["learner"], **means, "mean": f"{np.mean(list(reached.values())):.2f}"})
        print(*found[-1].values(), sep=", ", flush=True)
    return found


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args(arguments)
    need_data()
    rows = measured(None, 500, 1) if args.quick else measured(KEPT, COUNT, 8)
    if not args.quick:
        print(f"written: {write_csv('learners', rows)}")
        if args.table:
            print(f"written: {write_csv('learners_table', table(rows, KEPT))}")


if __name__ == "__main__":
    main()
