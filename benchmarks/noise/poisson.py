"""Photon noise: ours beside BM3D after the Anscombe transform, both with the exact unbiased inverse.

    python benchmarks/noise/poisson.py [--peaks 2 5 10 30 120] [--quality best] [--count 2] [--no-bm3d]

An image's largest value is `peak` photons; picture number i has the seed i. The paper's five images and every 4th of
BSD68. Writes benchmarks/results/noise_poisson.csv.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from pictures import common, means, reported

import cosparse
from cosparse.reconstruction.stabilisation import Stabilisation


def bm3d_after_anscombe(noisy: np.ndarray, noise: cosparse.PoissonGaussian) -> np.ndarray:
    """The rival that a user has: the same transform and inverse about PyPI's bm3d."""
    from cosparse.baselines import bm3d

    way = Stabilisation(noise)
    return way.back(bm3d.denoise(way.forward(noisy), way.sigma))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peaks", nargs="+", type=float, default=[2, 5, 10, 30, 120])
    parser.add_argument("--quality", default="balanced")
    parser.add_argument("--count", type=int)
    parser.add_argument("--no-bm3d", action="store_true")
    given = parser.parse_args()
    rows = []
    for peak in given.peaks:
        for number, (name, image) in enumerate(reported(given.count).items()):
            noise = cosparse.PoissonGaussian(gain=float(image.max()) / peak)
            noisy = noise.sample(image, rng=number)
            methods = {
                "noisy": lambda y, n: y,
                f"cosparse {given.quality}": lambda y, n: cosparse.denoise(
                    y, noise=n, data_range=255.0, quality=given.quality
                ),
            }
            if not given.no_bm3d:
                methods["bm3d"] = bm3d_after_anscombe
            for method, work in methods.items():
                started = time.process_time()
                result = np.clip(work(noisy, noise), 0, 255)
                rows.append({
                    "peak": f"{peak:g}", "image": name, "method": method,
                    "psnr": f"{cosparse.psnr(image, result, data_range=255):.3f}",
                    "cpu_seconds": f"{time.process_time() - started:.2f}",
                })  # fmt: skip
        means([row for row in rows if row["peak"] == f"{peak:g}"], "peak")
    means(rows, "peak")
    print(common.write_csv("noise_poisson", rows))


if __name__ == "__main__":
    main()
