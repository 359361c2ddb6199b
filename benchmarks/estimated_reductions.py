"""Can a small picture's own spectrum tell by which kernel it was made small?

    python benchmarks/estimated_reductions.py [--every 8]     writes results/estimated_reductions.csv

Training photographs are reduced by each kernel that `cosparse.upscale` knows by name. Each small picture's spectrum
(the mean over blocks) is compared with what a large picture, whose power falls with some power of the frequency, would
have left of it after each reduction, what is folded over included: Whittle's likelihood, the best amplitude and
exponent for each kernel. The kernel of the greatest is what would be assumed. Prints how often it is the true one,
and the regret: how many dB that assumption loses, from results/reductions.csv, beside always assuming the default; for
pictures made by all kernels as often, and for those made by the default.
"""

from __future__ import annotations

import argparse
import csv

import numpy as np
from common import RESULTS, need_data, validation_images, write_csv

from cosparse.reconstruction.measurement import REDUCTIONS, USUAL, reduction

EXPONENTS = np.arange(0.8, 2.01, 0.1)
LEAST = 0.1  # cycles a pixel: below, pictures differ more than kernels do
BLOCK = {2: 32, 3: 24, 4: 24}  # pixels of the small picture


def response(kernel: str, factor: int, count: int) -> np.ndarray:
    """The power that a reduction lets through along one axis, at the frequencies of the large picture."""
    A = reduction(factor, (9 * factor, count * factor), kernel)
    point = np.zeros(A.data_shape, np.float32)
    point[4, count // 2] = 1
    return np.abs(np.fft.fft(A.adjoint_image(point).sum(axis=0))) ** 2


def models(kernel: str, factor: int, count: int) -> list[np.ndarray]:
    """Spectra of small pictures, one for each exponent: what passes, folded over."""
    passed = response(kernel, factor, count)
    along = np.fft.fftfreq(count * factor) * factor
    radius = np.maximum(np.hypot(along[:, None], along), 0.5 / count)
    large = (np.outer(passed, passed) * radius ** (-2 * exponent) for exponent in EXPONENTS)
    return [power.reshape(factor, count, factor, count).sum(axis=(0, 2)) for power in large]


def spectrum(image: np.ndarray, count: int) -> np.ndarray:
    """The mean power of blocks that overlap by half."""
    line = np.hanning(count + 2)[1:-1]
    window, found = np.outer(line, line), []
    for i in range(0, image.shape[0] - count + 1, count // 2):
        for j in range(0, image.shape[1] - count + 1, count // 2):
            block = image[i : i + count, j : j + count]
            found.append(np.abs(np.fft.fft2((block - np.average(block, weights=window)) * window)) ** 2)
    return np.mean(found, axis=0)


def unlikely(power: np.ndarray, model: np.ndarray) -> float:
    """Whittle's -log likelihood, a frequency, with the amplitude that suits best."""
    along = np.fft.fftfreq(len(power))
    seen = np.hypot(along[:, None], along) > LEAST
    amplitude = np.mean(power[seen] / model[seen])
    return float(np.mean(np.log(amplitude * model[seen])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=8, help="take every so many-th photograph")
    args = parser.parse_args()
    need_data()
    with (RESULTS / "reductions.csv").open(newline="") as file:
        regret = {(row["factor"], row["made_by"], row["assumed"]): float(row["regret"]) for row in csv.DictReader(file)}
    images, rows = validation_images(args.every, first=0), []
    for factor, count in BLOCK.items():
        each = {kernel: models(kernel, factor, count) for kernel in REDUCTIONS}
        for made_by in REDUCTIONS:
            for image in images:
                large = image[: image.shape[0] // factor * factor, : image.shape[1] // factor * factor]
                small = reduction(factor, large.shape, made_by).forward(np.ascontiguousarray(large))
                power = spectrum(small, count)
                told = min(each, key=lambda kernel: min(unlikely(power, model) for model in each[kernel]))
                lost = {"regret": regret[str(factor), made_by, told], "default": regret[str(factor), made_by, USUAL]}
                rows.append({"factor": factor, "made_by": made_by, "estimated": told, **lost})
        for name, made in ((f"all, x{factor}", REDUCTIONS), (f"{USUAL}, x{factor}", (USUAL,))):
            own = [row for row in rows if row["factor"] == factor and row["made_by"] in made]
            right = np.mean([row["estimated"] == row["made_by"] for row in own])
            means = [np.mean([row[key] for row in own]) for key in ("regret", "default")]
            print(
                f"made by {name}: {right:.0%} right, regret {means[0]:.3f} dB, of the default {means[1]:.3f}",
                flush=True,
            )
    print(f"written: {write_csv('estimated_reductions', rows)}")


if __name__ == "__main__":
    main()
