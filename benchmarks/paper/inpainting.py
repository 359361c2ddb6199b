"""Table II: three images with 90, 80, 50 and 20 % of the pixels missing, beside the published figures.

    python benchmarks/paper/inpainting.py [--quality best] [--images lena] [--missing 90] [--methods ours]

Missing is where numpy.random.default_rng(seed).random(shape) < percent / 100. Results are clipped to
0..255, not rounded. `prior` is ours without the second pass over groups of similar patches. Biharmonic
inpainting is left out where a hole is too large for it. Writes benchmarks/results/inpainting.csv.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cells
import common
import numpy as np
from tables import PaperTable

import cosparse
from cosparse.baselines import inpainters, limit
from cosparse.reconstruction.start import interpolate

MISSING = (90, 80, 50, 20)
METHODS = ("linear", *cells.OURS, *inpainters)
TABLE = PaperTable(
    "inpainting",
    ("missing_percent",),
    ("GOAL", "FoE", "Zhou2012"),
    {**dict.fromkeys(cells.OURS, "GOAL"), "fields_of_experts": "FoE", "beta_process": "Zhou2012"},
    allowed=0.2,
)


def missing(shape: tuple[int, ...], percent: float, seed: int) -> np.ndarray:
    """True where a pixel is missing."""
    return np.random.default_rng(seed).random(shape) < percent / 100


def cell(
    name: str, image: np.ndarray, percent: float, method: str, quality: str, seed: int, operator: Any
) -> cells.Cell:
    """One method on one image."""
    mask = missing(image.shape, percent, seed)
    damaged = np.where(mask, 0, image).astype(np.float32)
    row, key = cells.described(method, quality, seed, operator)
    row = {"missing_percent": percent, "image": name, **row}

    def repair() -> np.ndarray:
        if method == "linear":
            return interpolate(damaged, mask)
        if method in cells.OURS:
            return cosparse.inpaint(
                damaged, mask, operator=operator, quality=quality, grouping=method == "ours", data_range=255
            )
        return inpainters[method](damaged, mask)

    return cells.Cell(row, ["inpaint", key, mask, image], lambda: cells.quality_of(image, repair()))


def main(argv: Sequence[str] | None = None) -> list[dict[str, Any]]:
    parser = cells.parser(__doc__, images=common.INPAINTING, methods=METHODS)
    parser.add_argument("--missing", nargs="+", type=int, default=list(MISSING), help="percent")
    args = cells.parse(parser, argv)
    operator = cells.chosen_operator(args)
    images = cells.pictures(args, common.INPAINTING)
    work = [
        cell(name, image, percent, method, args.quality, args.seed, operator)
        for method in cells.chosen_methods(args, METHODS)
        for percent in args.missing
        for name, image in images.items()
        if method not in inpainters or image.size * percent / 100 <= limit(method)
    ]
    return TABLE.finish(cells.compute("inpainting", work), args, repr(operator))


if __name__ == "__main__":
    main()
