"""Table I: five images, five noise levels, ours and its rivals beside the published figures.

    python benchmarks/paper/denoising.py [--quality best] [--images lena] [--sigma 5] [--methods ours]

The noise is float and unquantised, from numpy.random.default_rng(seed). Results are clipped to 0..255,
not rounded. `prior` is ours without the second pass over groups of similar patches.
Writes benchmarks/results/denoising.csv.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cells
import common
import numpy as np
from tables import PaperTable

import cosparse
from cosparse.baselines import denoisers

SIGMAS = (5, 10, 20, 25, 30)
METHODS = ("noisy", "ours", "prior", *denoisers)
TABLE = PaperTable(
    "denoising",
    ("sigma",),
    ("GOAL", "TV", "FoE", "AOL", "K-SVD", "BM3D"),
    {
        **dict.fromkeys(cells.OURS, "GOAL"),
        **dict.fromkeys(("tv_skimage", "finite_differences"), "TV"),
        "fields_of_experts": "FoE",
        "ksvd": "K-SVD",
        "bm3d": "BM3D",
    },
    allowed=0.2,
    beaten=("TV", "FoE", "AOL"),
)


def cell(name: str, image: np.ndarray, sigma: float, method: str, quality: str, seed: int, operator: Any) -> cells.Cell:
    """One method on one image."""
    noisy = common.add_noise(image, sigma, seed)
    row, key = cells.described(method, quality, seed, operator)
    row = {"sigma": sigma, "image": name, **row}

    def repair() -> np.ndarray:
        if method == "noisy":
            return noisy
        if method in cells.OURS:
            return cosparse.denoise(
                noisy, sigma, operator=operator, quality=quality, grouping=method == "ours", data_range=255
            )
        return denoisers[method](noisy, sigma)

    return cells.Cell(row, ["denoise", key, sigma, noisy, image], lambda: cells.quality_of(image, repair()))


def main(argv: Sequence[str] | None = None) -> list[dict[str, Any]]:
    parser = cells.parser(__doc__, images=common.DENOISING, methods=METHODS)
    parser.add_argument("--sigma", nargs="+", type=int, default=list(SIGMAS))
    args = cells.parse(parser, argv)
    operator = cells.chosen_operator(args)
    images = cells.pictures(args, common.DENOISING)
    work = [
        cell(name, image, sigma, method, args.quality, args.seed, operator)
        for method in cells.chosen_methods(args, METHODS)
        for sigma in args.sigma
        for name, image in images.items()
    ]
    return TABLE.finish(cells.compute("denoising", work), args, repr(operator))


if __name__ == "__main__":
    main()
