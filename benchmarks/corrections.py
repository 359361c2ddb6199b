"""What the trained corrections of inpainting and upscaling gain, picture by picture.

    python benchmarks/corrections.py                       the shipped operator beside "default", which has none
    python benchmarks/corrections.py --operator mine.safetensors --tasks inpaint
    python benchmarks/corrections.py turns                 at "best": the steps once, and as the mean of four turns

Two sets that nothing was trained on: photographs of 180x180 held out of BSD's 400 (number 209 and every 20th after it),
and larger, smoother ones, 240x240 of scikit-image's camera and chelsea and of the right sides of the paper's four
training images. Without noise; PSNR in dB, of upscaling without a border of the factor. Writes
benchmarks/results/corrections.csv or corrections_turned.csv.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
import skimage.data
from common import DATA, need_data, validation_images, write_csv

import cosparse
from cosparse.io.picture import read_grey
from cosparse.reconstruction import correction, measurement

MISSING = (20, 50, 80, 90)
FACTORS = (2, 3, 4)


def pictures() -> dict[str, list[np.ndarray]]:
    """The two sets."""
    bundled = [
        skimage.data.camera()[40:280, 40:280],
        skimage.color.rgb2gray(skimage.data.chelsea())[40:280, 40:280] * 255,
    ]
    sides = [read_grey(file)[-260:-20, -240:] for file in sorted((DATA / "train" / "goal").glob("*.png"))]
    larger = [np.ascontiguousarray(image, np.float32) for image in (*bundled, *sides)]
    return {"photographs": validation_images(20, 209)[:8], "larger": larger}


def inpainted(image: np.ndarray, percent: int, operator: object, quality: Any = "balanced") -> float:
    """dB with so many pixels missing."""
    gaps = np.random.default_rng(percent).random(image.shape) < percent / 100
    found = cosparse.inpaint(np.where(gaps, 0, image), gaps, operator=operator, quality=quality, data_range=255.0)
    return float(cosparse.psnr(image, found, data_range=255.0))


def enlarged(image: np.ndarray, factor: int, operator: object, quality: Any = "balanced") -> float:
    """dB of a picture that was reduced by the usual kernel."""
    height, width = (side // factor * factor for side in image.shape)
    truth = np.ascontiguousarray(image[:height, :width])
    small = measurement.reduction(factor, truth.shape).forward(truth).reshape(height // factor, -1)
    found = cosparse.upscale(small, factor, operator=operator, quality=quality, data_range=255.0)
    inside = (slice(factor, -factor),) * 2
    return float(cosparse.psnr(truth[inside], found[inside], data_range=255.0))


def turns() -> None:
    """What the mean of four turns gains over one, on five pictures of each set."""
    every, rows = correction.turns_of, []
    for task, measure, amounts in (("inpaint", inpainted, MISSING), ("upscale", enlarged, FACTORS)):
        for amount in amounts:
            for name, images in pictures().items():
                found = []
                for taken in (lambda steps, _: [steps], every):
                    correction.turns_of = taken
                    found.append(np.array([measure(image, amount, "staged", "best") for image in images[:5]]))
                once, turned = found
                rows.append({
                    "task": task, "amount": amount, "pictures": name, "once": f"{once.mean():.3f}",
                    "turned": f"{turned.mean():.3f}", "least gain": f"{(turned - once).min():.3f}",
                })  # fmt: skip
                print(*rows[-1].values(), sep="\t", flush=True)
    write_csv("corrections_turned", rows)


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operator", default="staged")
    parser.add_argument("--tasks", nargs="+", default=["inpaint", "upscale"])
    args = parser.parse_args()
    need_data()
    rows = []
    for task, measure, amounts in (("inpaint", inpainted, MISSING), ("upscale", enlarged, FACTORS)):
        for amount in amounts if task in args.tasks else ():
            for name, images in pictures().items():
                before, after = (
                    np.array([measure(image, amount, operator) for image in images])
                    for operator in ("default", args.operator)
                )
                rows.append({
                    "task": task, "amount": amount, "pictures": name, "energy": f"{before.mean():.3f}",
                    "corrected": f"{after.mean():.3f}", "least gain": f"{(after - before).min():.3f}",
                })  # fmt: skip
                print(*rows[-1].values(), sep="\t", flush=True)
    if args.operator == "staged" and len(args.tasks) == 2:
        write_csv("corrections", rows)


if __name__ == "__main__":
    turns() if sys.argv[1:] == ["turns"] else main()
