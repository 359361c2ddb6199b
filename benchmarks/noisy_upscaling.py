"""Noisy pictures enlarged: denoised first by trained steps, or both at once by the energy.

    python benchmarks/noisy_upscaling.py

Photographs held out of training (every 40th of BSD's 400, from number 9), reduced by the bicubic kernel, with noise of
several kinds; PSNR in dB without a border of the factor. Writes benchmarks/results/noisy_upscaling.csv.
"""

from __future__ import annotations

import numpy as np
from common import need_data, validation_images, write_csv

import cosparse
from cosparse.reconstruction import measurement

KINDS = {
    "white 5": cosparse.Gaussian(5),
    "white 15": cosparse.Gaussian(15),
    "white 30": cosparse.Gaussian(30),
    "photons, 30 at most": cosparse.PoissonGaussian(255 / 30, 2),
    "streaks 15": cosparse.Correlated(15, kernel=np.ones((1, 9))),
}


def main() -> None:
    """Measure every kind of noise at x2 and x3."""
    need_data()
    rows = []
    for factor in (2, 3):
        for name, noise in KINDS.items():
            reached = []
            for number, image in enumerate(validation_images(40, 9)):
                height, width = (side // factor * factor for side in image.shape)
                truth = np.ascontiguousarray(image[:height, :width], np.float32)
                small = measurement.reduction(factor, truth.shape).forward(truth).reshape(height // factor, -1)
                noisy = noise.sample(small, np.random.default_rng(number)).astype(np.float32)
                each = [
                    cosparse.upscale(noisy, factor, noise=noise, operator=operator, data_range=255)
                    for operator in ("default", "staged")
                ]
                inside = (slice(factor, -factor),) * 2
                reached.append([cosparse.psnr(truth[inside], one[inside], data_range=255) for one in each])
            both, first = np.mean(reached, axis=0)
            rows.append(
                {"factor": factor, "noise": name, "both at once": f"{both:.3f}", "denoised first": f"{first:.3f}"}
            )
            print(*rows[-1].values(), sep="\t", flush=True)
    write_csv("noisy_upscaling", rows)


if __name__ == "__main__":
    main()
