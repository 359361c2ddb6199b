"""Noise found in a picture alone, beside the truth.

    python benchmarks/noise/estimation.py [levels] [clean] [photons] [--count 2] [--quality fast] [--again]

levels: white noise of 0 to 50 on training photographs, ours beside the finest wavelets (scikit-image's
`estimate_sigma`). clean: what is left of small training photographs without noise, denoised with nothing given.
photons: gain and read noise on the paper's five images and every 4th of BSD68, and what it costs to denoise by them
instead of by the true ones; --again takes what these reach from the file as it is. Writes
benchmarks/results/noise_levels.csv, noise_clean.csv and noise_photons.csv.
"""

from __future__ import annotations

import argparse
import csv

import numpy as np
from pictures import common, reported
from skimage.restoration import estimate_sigma as finest_wavelets

import cosparse

SIGMAS = (0, 2, 5, 10, 15, 25, 50)
PHOTONS = ((1.0, 5.0), (2.0, 10.0), (4.0, 10.0), (8.0, 15.0))  # gain and read noise of values on 0..255


def levels(count: int | None) -> None:
    images = common.validation_images(every=8, first=3)[:count]
    rows = []
    for sigma in SIGMAS:
        noisy = [common.add_noise(image, sigma, seed) for seed, image in enumerate(images)]
        for method, estimate in {
            "finest wavelets": finest_wavelets,
            "flat blocks": lambda image: cosparse.estimate_noise(image, "gaussian", data_range=255).sigma,
        }.items():
            errors = np.array([estimate(image) for image in noisy]) - sigma
            rows.append({
                "sigma": sigma, "method": method, "images": len(images), "bias": f"{errors.mean():.3f}",
                "rms_error": f"{np.sqrt(np.mean(errors**2)):.3f}", "least": f"{errors.min():.3f}",
                "largest": f"{errors.max():.3f}",
            })  # fmt: skip
            print(*rows[-1].values(), flush=True)
    print(common.write_csv("noise_levels", rows))


def clean(count: int | None, quality: str) -> None:
    rows = []
    for number, image in enumerate(common.validation_images(every=4, first=3)[:count]):
        found = cosparse.estimate_noise(image, data_range=255)
        kept = cosparse.psnr(
            image, cosparse.denoise(image, noise=found, data_range=255, quality=quality), data_range=255
        )
        rows.append({
            "image": number, "noise": str(found), "confidence": f"{found.confidence:.2f}", "psnr": f"{kept:.2f}",
        })  # fmt: skip
    reached = np.array([float(row["psnr"]) for row in rows])
    print(f"{len(rows)} clean photographs: {np.sum(reached > 45)} keep 45 dB, the worst {reached.min():.1f} dB")
    print(common.write_csv("noise_clean", rows))


def before() -> dict[tuple[float, str], float]:
    """What the true gain and read noise reach, by gain and image, in the file as it is."""
    with (common.RESULTS / "noise_photons.csv").open() as file:
        return {(float(row["gain"]), row["image"]): float(row["true_psnr"]) for row in csv.DictReader(file)}


def photons(count: int | None, quality: str, again: bool) -> None:
    rows, known = [], before() if again else {}
    for gain, read in PHOTONS:
        for seed, (name, image) in enumerate(reported(count).items()):
            truth = cosparse.PoissonGaussian(gain, read)
            noisy = truth.sample(image, seed)
            found = cosparse.estimate_noise(noisy, "poisson-gaussian", data_range=255)
            auto = cosparse.estimate_noise(noisy, data_range=255)

            def reach(noise: cosparse.Noise, noisy: np.ndarray = noisy, image: np.ndarray = image) -> float:
                result = cosparse.denoise(noisy, noise=noise, data_range=255.0, quality=quality)
                return float(cosparse.psnr(image, result, data_range=255))

            reached = [known[gain, name] if again else reach(truth), reach(found)]
            reached.append(reached[1] if type(auto) is type(found) else reach(auto))
            gains = (
                found if isinstance(found, cosparse.PoissonGaussian) else cosparse.PoissonGaussian(1e-9, found.sigma)
            )
            rows.append({
                "gain": gain, "read": read, "image": name, "found_gain": f"{gains.gain:.3f}",
                "found_read": f"{gains.read:.3f}", "found_offset": f"{gains.offset:.2f}", "chosen": type(auto).__name__,
                "confidence": f"{found.confidence:.2f}",
                **{f"{way}_psnr": f"{v:.3f}" for way, v in zip(("true", "found", "auto"), reached, strict=True)},
            })  # fmt: skip
            print(*rows[-1].values(), flush=True)
    for gain, read in PHOTONS:
        of = [row for row in rows if (row["gain"], row["read"]) == (gain, read)]
        errors = {
            f"found_{name}": np.mean([abs(float(row[f"found_{name}"]) / row[name] - 1) for row in of])
            for name in ("gain", "read")
        }
        cost = [
            np.mean([float(row["true_psnr"]) - float(row[f"{way}_psnr"]) for row in of]) for way in ("found", "auto")
        ]
        print(
            f"gain {gain}, read {read}: gain off by {errors['found_gain']:.1%}, read noise by "
            f"{errors['found_read']:.1%}; {cost[0]:.3f} dB below the true ones, {cost[1]:.3f} with nothing given"
        )
    print(common.write_csv("noise_photons", rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", default=["levels", "clean", "photons"])
    parser.add_argument("--count", type=int, help="take only the first so many pictures")
    parser.add_argument("--quality", default="fast", help="of the denoising")
    parser.add_argument("--again", action="store_true", help="not with the true gain and read noise")
    given = parser.parse_args()
    common.need_data()
    if "levels" in given.what:
        levels(given.count)
    if "clean" in given.what:
        clean(given.count, given.quality)
    if "photons" in given.what:
        photons(given.count, given.quality, given.again)


if __name__ == "__main__":
    main()
