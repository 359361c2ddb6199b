"""Upscaling on BSD68: the gain over bicubic interpolation, beside those published for A+ and SRCNN.

    python benchmarks/bsd68_upscaling.py [--every 4] [--factors 2 3 4] [--quality best]

Each picture is cropped to a multiple of the factor, reduced by the antialiased bicubic kernel in float (as Pillow does,
to rounding), and enlarged by interpolation and by `cosparse.upscale`, which is told the kernel. A border of the factor
does not count; results are clipped to 0..255, not rounded. The published gains are those on the sister set B100 (the
luma of 100 other pictures of the same collection). Only for reporting: nothing was chosen on these pictures. Writes
benchmarks/results/bsd68_upscaling.csv.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from common import DATA, need_data, read_grey, write_csv

import cosparse
from cosparse.reconstruction.measurement import reduction
from cosparse.reconstruction.start import enlarge

PUBLISHED = {"A+": {2: 1.65, 3: 1.08, 4: 0.86}, "SRCNN": {2: 1.80, 3: 1.20, 4: 0.94}}


def enlarged(name: str, image: np.ndarray, factor: int, quality: str) -> dict[str, Any]:
    """One picture: dB of interpolation and of ours."""
    height, width = (side // factor * factor for side in image.shape)
    truth = np.ascontiguousarray(image[:height, :width])
    small = reduction(factor, truth.shape, "bicubic").forward(truth)
    ours = cosparse.upscale(small, factor, kernel="bicubic", quality=quality, data_range=255)
    inside = (slice(factor, -factor), slice(factor, -factor))
    before, after = (
        cosparse.psnr(truth[inside], found[inside].clip(0, 255), data_range=255)
        for found in (enlarge(small, factor), ours)
    )
    figures = {"bicubic": round(before, 3), "ours": round(after, 3), "gain": round(after - before, 3)}
    return {"factor": factor, "image": name, **figures, "quality": quality, "version": cosparse.__version__}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--factors", nargs="+", type=int, choices=(2, 3, 4), default=[2, 3, 4])
    parser.add_argument("--every", type=int, default=1, help="take every so many-th picture")
    parser.add_argument("--quality", choices=("fast", "balanced", "best"), default="balanced")
    args = parser.parse_args()
    need_data()
    images = {file.stem: read_grey(file) for file in sorted((DATA / "bsd68").glob("*.png"))[:: args.every]}
    rows = []
    for factor in args.factors:
        own = [enlarged(name, image, factor, args.quality) for name, image in images.items()]
        rows += own
        bicubic, ours, gain = (np.mean([row[key] for row in own]) for key in ("bicubic", "ours", "gain"))
        others = ", ".join(f"{method} {gains[factor]:+.2f}" for method, gains in PUBLISHED.items())
        print(f"x{factor}: bicubic {bicubic:.2f}, ours {ours:.2f}, {gain:+.2f} dB; on B100 {others}", flush=True)
    print(f"{len(images)} pictures; written: {write_csv('bsd68_upscaling', rows)}")


if __name__ == "__main__":
    main()
