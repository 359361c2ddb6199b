"""Noise that is not the same everywhere: a map of it, beside the best single level for the whole picture.

    python benchmarks/noise/maps.py

A vignette, the noise growing from 5 in the middle to 50 in the corners, and stripes 16 pixels wide of noise 10 and 40.
The best single level is searched for every picture by its PSNR, which no user could: parts of the map's root mean
square, to 5 % of it. CPU time is of the map over that of a number, the same picture, the better of two. Writes
benchmarks/results/noise_maps.csv.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from pictures import common, means, reported

import cosparse


def vignette(shape: tuple[int, int]) -> np.ndarray:
    """5 in the middle, 50 in the corners."""
    rows, columns = (np.linspace(-1, 1, side) for side in shape)
    return np.asarray(5 + 45 * (rows[:, None] ** 2 + columns**2) / 2)


def stripes(shape: tuple[int, int]) -> np.ndarray:
    """10 and 40, each 16 pixels wide."""
    return np.where(np.arange(shape[1]) // 16 % 2, 40.0, 10.0) * np.ones((shape[0], 1))


MAPS: dict[str, Callable[[tuple[int, int]], np.ndarray]] = {"vignette": vignette, "stripes": stripes}


def denoised(noisy: np.ndarray, sigma: float | np.ndarray) -> np.ndarray:
    return cosparse.denoise(noisy, sigma, data_range=255)


def best_single(clean: np.ndarray, noisy: np.ndarray, level: float) -> tuple[float, float]:
    """The part of the level that is best, and its PSNR: from coarse to fine, as there is one summit."""
    found: dict[float, float] = {}
    todo = [0.8, 1.0, 1.2, 1.4, 1.6]
    for step in (0.1, 0.05, 0.0):
        for part in todo:
            found[part] = cosparse.psnr(clean, denoised(noisy, part * level), data_range=255)
        best = max(found, key=lambda part: found[part])
        todo = [round(best - step, 2), round(best + step, 2)]
    return best, found[best]


def seconds(noisy: np.ndarray, sigma: float | np.ndarray) -> float:
    """CPU time of a repair, the better of two."""
    times = []
    for _ in range(2):
        begun = time.process_time()
        denoised(noisy, sigma)
        times.append(time.process_time() - begun)
    return min(times)


def main() -> None:
    rows: list[dict[str, object]] = []
    pictures = reported()
    denoised(np.zeros((64, 64), np.float32) + 9, 5.0)  # compiled, or read from where it is kept
    for kind, levels_of in MAPS.items():
        ratios = []
        for seed, (name, clean) in enumerate(pictures.items()):
            levels = levels_of(clean.shape)
            noisy = cosparse.Map(levels).sample(clean, rng=seed).astype(np.float32)
            typical = float(np.sqrt(np.mean(levels**2)))
            part, single = best_single(clean, noisy, typical)
            mapped = cosparse.psnr(clean, denoised(noisy, levels), data_range=255)
            ratio = ""
            if clean.shape == (512, 512):
                ratios.append(seconds(noisy, levels) / seconds(noisy, typical))
                ratio = f"{ratios[-1]:.2f}"
            for method, reached, sigma, cost in (
                ("best single level", single, f"{part * typical:.1f}", ""),
                ("map", mapped, "map", ratio),
            ):
                rows.append({"noise": kind, "image": name, "method": method, "sigma": sigma, "psnr": f"{reached:.3f}"})
                rows[-1]["time over a number's"] = cost
            print(kind, name, f"{single:.2f} at {part * typical:.1f}, map {mapped:.2f}", ratio, flush=True)
        print(f"{kind}: CPU time {np.median(ratios):.2f} times that of a number", flush=True)
    means(rows, "noise")
    print(common.write_csv("noise_maps", rows))


if __name__ == "__main__":
    main()
