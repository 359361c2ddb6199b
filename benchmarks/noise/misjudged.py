"""What a wrongly told noise level costs: trained steps beside the energy, without the second pass.

    python benchmarks/noise/misjudged.py [--count 10]

White noise of 25 told as less and as more, and noise of 12.75 saved as JPEG at quality 75 and 90. Training photographs
that were held out of the steps' training, number 9 and every twentieth after it. Writes
benchmarks/results/noise_misjudged.csv.
"""

from __future__ import annotations

import argparse
import io

import numpy as np
from pictures import common
from PIL import Image

import cosparse

CASES = [
    *((25.0, told, None) for told in (15.0, 20.0, 25.0, 30.0, 40.0)),
    *((12.75, told, quality) for quality in (90, 75) for told in (8.0, 12.75, 18.0)),
]


def as_jpeg(noisy: np.ndarray, quality: int) -> np.ndarray:
    file = io.BytesIO()
    Image.fromarray(np.rint(noisy).clip(0, 255).astype(np.uint8)).save(file, "JPEG", quality=quality)
    return np.asarray(Image.open(file), np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10)
    count = parser.parse_args().count
    images = common.validation_images(first=9)[:count]
    rows = []
    for sigma, told, quality in CASES:
        row = {"sigma": f"{sigma:g}", "jpeg": quality or "", "told": f"{told:g}"}
        for name in ("staged", "default"):
            reached = []
            for seed, image in enumerate(images):
                noisy = common.add_noise(image, sigma, seed)
                noisy = noisy if quality is None else as_jpeg(noisy, quality)
                result = cosparse.denoise(noisy, told, operator=name, grouping=False, data_range=255)
                reached.append(cosparse.psnr(image, result, data_range=255))
            row["steps" if name == "staged" else "energy"] = f"{np.mean(reached):.2f}"
        rows.append(row)
        print(*row.values(), flush=True)
    print(common.write_csv("noise_misjudged", rows))


if __name__ == "__main__":
    main()
