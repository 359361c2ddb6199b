"""Correlated noise: ours beside BM3D, given the same spectrum, and ours with the spectrum from the picture alone.

    python benchmarks/noise/correlated.py [--kinds g1 g4] [--count 2] [--crop 192] [--train] [--no-bm3d] [--again]

The kinds of noise are those of bm3d's examples (Mäkinen, Azzari, Foi: Collaborative Filtering of Correlated Noise, IEEE
TIP 2020), of variance 0.02 where white is 1, and not wrapped around the borders. The paper's five images and every 4th
of BSD68, or training photographs; picture number i has the seed i. --again measures only ours, given the spectrum
and from the picture alone, and keeps the other rows of the file as they are. Writes
benchmarks/results/noise_correlated.csv.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable

import numpy as np
from pictures import common, means, reported

import cosparse
from cosparse.reconstruction.spectrum import estimate_correlated

SIGMA = 255 * 0.02**0.5
KINDS = ("g0", "g1", "g2", "g3", "g4")
GIVEN, ALONE = "cosparse", "cosparse, estimated"


def kernel(kind: str, shape: tuple[int, int]) -> np.ndarray:
    """What white noise is filtered by: g0 nothing, g1 streaks, g2 ripples, g3 diagonal waves, g4 pink noise."""
    rows, columns = np.mgrid[-50:51, -50:51]
    bell = np.exp(-(rows**2 + columns**2) / (2 * 10**2))
    if kind == "g1":
        return 16.0 - np.abs(np.arange(-15, 16))[None]
    if kind == "g2":
        return bell * np.cos(np.hypot(rows, columns))
    if kind == "g3":
        return bell * np.cos(rows + columns)
    if kind == "g4":
        far = np.hypot(*np.meshgrid(*(np.fft.fftfreq(side) * side for side in shape), indexing="ij"))
        knee = 0.01 * np.sqrt(shape[0] * shape[1])
        return np.fft.fftshift(np.fft.ifft2(np.sqrt(knee / (far + knee))).real)
    return np.ones((1, 1))


def noisy_of(image: np.ndarray, spread: np.ndarray, seed: int) -> np.ndarray:
    """White noise of more than the image's size, filtered and cut to it."""
    from scipy.signal import fftconvolve

    sides = (extent + side - 1 for extent, side in zip(image.shape, spread.shape, strict=True))
    white = np.random.default_rng(seed).standard_normal(tuple(sides))
    return image + SIGMA * fftconvolve(white, spread / np.linalg.norm(spread), mode="valid")


def bm3d_of(noisy: np.ndarray, noise: cosparse.Correlated) -> np.ndarray:
    """The rival, given the spectrum as it wants it: of the picture's size, times its pixels, where white is 1."""
    if not hasattr(np, "trapz"):
        np.trapz = np.trapezoid  # noqa: NPY201 - which bm4d 4.2.5 calls by its old name
    import bm3d

    return 255 * np.asarray(bm3d.bm3d(noisy / 255, noise.spectrum(noisy.shape) * noisy.size / 255**2))


def pictures(given: argparse.Namespace) -> dict[str, np.ndarray]:
    """By name; cropped in their middle, if so asked."""
    found = reported(given.count)
    if given.train:
        found = {f"train/{i}": image for i, image in enumerate(common.validation_images(40)[: given.count])}
    if given.crop is None:
        return found
    corners = {name: [max(0, (side - given.crop) // 2) for side in image.shape] for name, image in found.items()}
    return {
        name: image[corners[name][0] :, corners[name][1] :][: given.crop, : given.crop] for name, image in found.items()
    }


def methods_of(given: argparse.Namespace) -> dict[str, Callable[[np.ndarray, cosparse.Correlated], np.ndarray]]:
    """What is compared: each takes the noisy picture and its noise."""

    def ours(noisy: np.ndarray, noise: cosparse.Correlated) -> np.ndarray:
        return np.asarray(cosparse.denoise(noisy, noise=noise, data_range=255.0, quality=given.quality))

    def alone(noisy: np.ndarray, noise: cosparse.Correlated) -> np.ndarray:
        return ours(noisy, estimate_correlated(noisy.astype(np.float32)))

    found = {GIVEN: ours, ALONE: alone}
    if given.again:
        return found
    found = {"noisy": lambda noisy, noise: noisy} | found
    return found if given.no_bm3d else found | {"bm3d": bm3d_of}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--count", type=int)
    parser.add_argument("--crop", type=int)
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--quality", default="balanced")
    parser.add_argument("--no-bm3d", action="store_true")
    parser.add_argument("--again", action="store_true", help="only ours")
    given = parser.parse_args()
    rows: list[dict[str, object]] = []
    if given.again:
        with (common.RESULTS / "noise_correlated.csv").open() as file:
            old = list(csv.DictReader(file))
        rows += [row for row in old if row["method"] not in (GIVEN, ALONE) or row["kind"] not in given.kinds]
    for number, (name, image) in enumerate(pictures(given).items()):
        for kind in given.kinds:
            spread = kernel(kind, image.shape)
            noisy, noise = noisy_of(image, spread, number), cosparse.Correlated(SIGMA, kernel=spread)
            for method, work in methods_of(given).items():
                started = time.process_time()
                result = np.clip(work(noisy, noise), 0, 255)
                rows.append({
                    "kind": kind, "image": name, "shape": "x".join(map(str, image.shape)), "method": method,
                    "psnr": f"{cosparse.psnr(image, result, data_range=255):.3f}",
                    "cpu_seconds": f"{time.process_time() - started:.2f}",
                })  # fmt: skip
        means(rows, "kind")
        if not given.train:
            common.write_csv("noise_correlated", rows)


if __name__ == "__main__":
    main()
