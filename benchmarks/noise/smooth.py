"""Noise that was smoothed after it came, with nothing given.

    python benchmarks/noise/smooth.py [--pictures 4]
    python benchmarks/noise/smooth.py table

Training photographs in white noise under a Gaussian of some width: denoised with nothing given, by the one level that
`estimate_noise(..., "gaussian")` finds, and by the best of several levels (quality "fast"). Writes
benchmarks/results/noise_smooth.csv. `table` prints what src/cosparse/reconstruction/smooth_noise.py compares with: the
levels that are found in the bands of flat pictures in such noise.
"""

from __future__ import annotations

import argparse

import numpy as np
from pictures import common
from scipy.ndimage import gaussian_filter

import cosparse
from cosparse.reconstruction.flat_blocks import BANDS, band_energies, band_level, blocks_of, coefficients, mosaic
from cosparse.reconstruction.smooth_noise import FOUND

WIDTHS = (0.4, 0.5, 0.6, 0.8, 1.1, 1.5)
SIGMAS = (6, 12, 25)
FACTORS = (0.6, 1, 1.3, 1.7, 2.2)  # times the noise: the levels that the best is chosen from
MARGIN = 20  # pixels
LEAST = 0.015  # of the noise: less than a fifth of a grey level in noise of 13, which rounding hides


def smoothed(shape: tuple[int, ...], width: float, sigma: float, seed: int) -> np.ndarray:
    """Noise of level sigma."""
    white = np.random.default_rng(seed).standard_normal([side + 2 * MARGIN for side in shape])
    noise = gaussian_filter(white, width)[MARGIN:-MARGIN, MARGIN:-MARGIN]
    return sigma * noise / noise.std()


def table() -> None:
    """Means over three pictures."""
    for width, *_ in FOUND:
        found = []
        for seed in range(3):
            noisy = np.float32(128 + smoothed((260, 260), width, 13, seed))
            energies = band_energies(coefficients(blocks_of(mosaic(noisy))))
            found.append([band_level(energies, band).sigma / 13 for band in range(len(BANDS))])
        print(f"{width:.1f}", *(f"{max(level, LEAST):.3f}" for level in np.mean(found, axis=0)))


def row(number: int, truth: np.ndarray, width: float, sigma: float) -> dict[str, object]:
    noisy = (truth + smoothed(truth.shape, width, sigma, number)).astype(np.float32)

    def reached(**noise: object) -> float:
        result = cosparse.denoise(noisy, data_range=255, quality="fast", **noise)
        return cosparse.psnr(truth, result, data_range=255)

    found, white = (cosparse.estimate_noise(noisy, model, data_range=255) for model in ("auto", "gaussian"))
    best = max(reached(sigma=factor * sigma) for factor in FACTORS)
    return {
        "width": width, "sigma": sigma, "picture": number, "found": type(found).__name__,
        "found_sigma": f"{found.sigma:.2f}" if hasattr(found, "sigma") else "",
        "nothing_given": f"{reached(noise=found):.3f}", "one_level": f"{reached(noise=white):.3f}",
        "best_level": f"{best:.3f}",
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=["table"])
    parser.add_argument("--pictures", type=int, default=4)
    given = parser.parse_args()
    if given.what == "table":
        return table()
    common.need_data()
    pictures = [image.astype(float) for image in common.validation_images(67)[: given.pictures]]
    rows = []
    for width in WIDTHS:
        for sigma in SIGMAS:
            rows += [row(number, truth, width, sigma) for number, truth in enumerate(pictures)]
            tail = rows[-len(pictures) :]
            said = {name: np.mean([float(str(one[name])) for one in tail]) for name in list(tail[0])[-3:]}
            print(f"width {width}, noise {sigma}:", *(f"{name} {mean:.2f}" for name, mean in said.items()), flush=True)
    common.write_csv("noise_smooth", rows)
    return None


if __name__ == "__main__":
    main()
