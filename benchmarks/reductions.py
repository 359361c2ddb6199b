"""What upscaling loses if a small picture was made by another reduction than it is told.

    python benchmarks/reductions.py [--factors 2 3 4] [--every 50]

Training photographs are reduced by each kernel that `cosparse.upscale` knows by name, in float, and enlarged again as
if each had made them, at the quality "fast". Prints the mean PSNR (a border of the factor apart) and how much less each
assumption gives than the best for pictures made that way, its regret: mean and largest over all ways. The default of
`upscale` is one of the two of least mean regret. Writes benchmarks/results/reductions.csv.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from common import need_data, validation_images, write_csv

import cosparse
from cosparse.reconstruction.measurement import REDUCTIONS, reduction


def reached(image: np.ndarray, factor: int, made_by: str, assumed: str) -> float:
    """dB of one photograph."""
    height, width = (side // factor * factor for side in image.shape)
    truth = np.ascontiguousarray(image[:height, :width])
    small = reduction(factor, truth.shape, made_by).forward(truth)
    found = cosparse.upscale(small, factor, kernel=assumed, quality="fast", data_range=255)
    inside = (slice(factor, -factor), slice(factor, -factor))
    return cosparse.psnr(truth[inside], found[inside].clip(0, 255), data_range=255)


def matrix(images: list[np.ndarray], factor: int) -> list[dict[str, Any]]:
    """Every way to make it against every assumption."""
    rows = []
    for made_by in REDUCTIONS:
        means = {
            assumed: float(np.mean([reached(image, factor, made_by, assumed) for image in images]))
            for assumed in REDUCTIONS
        }
        best = max(means.values())
        for assumed, psnr in means.items():
            figures = {"psnr": round(psnr, 3), "regret": round(best - psnr, 3), "photographs": len(images)}
            rows.append({"factor": factor, "made_by": made_by, "assumed": assumed, **figures})
        told = ", ".join(f"{assumed} {psnr:.3f}" for assumed, psnr in means.items())
        print(f"x{factor}, made by {made_by}; assumed: {told}", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--factors", nargs="+", type=int, choices=(2, 3, 4), default=[2, 3, 4])
    parser.add_argument("--every", type=int, default=50, help="take every so many-th photograph")
    args = parser.parse_args()
    need_data()
    images = validation_images(args.every)
    rows = [row for factor in args.factors for row in matrix(images, factor)]
    for assumed in REDUCTIONS:
        regrets = [row["regret"] for row in rows if row["assumed"] == assumed]
        print(f"{assumed}: mean regret {np.mean(regrets):.3f} dB, largest {max(regrets):.3f}")
    print(f"written: {write_csv('reductions', rows)}")


if __name__ == "__main__":
    main()
