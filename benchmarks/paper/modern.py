"""Where the method stands today: the averages over BSD68, and the paper's five images one by one.

    python benchmarks/paper/modern.py [--quality best] [--sigma 25] [--bm3d] [--count 10]

Noise of σ = 15, 25 and 50, float and unquantised; image number i has the seed --seed + i. `prior` is ours without the
second pass over groups of similar patches. Beside ours stand the figures the methods' authors and later papers report;
--bm3d runs PyPI's bm3d on the same noise too. The network-free ones among them are K-SVD, FoE, BM3D, EPLL and opt-MRF.
Writes benchmarks/results/modern.csv.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cells
import common
import numpy as np
from denoising import cell

SIGMAS = (15, 25, 50)
PUBLISHED = {
    "K-SVD": (30.87, 28.28, 25.17),
    "FoE": (30.99, 28.40, 25.35),
    "BM3D": (31.08, 28.57, 25.62),
    "EPLL": (31.21, 28.68, 25.67),
    "opt-MRF": (31.18, 28.66, 25.70),
    "WCRR-NN": (31.21, 28.68, None),
    "TNRD": (31.42, 28.92, 25.97),
    "DnCNN": (31.73, 29.23, 26.23),
}
COLUMNS = ("set", "sigma", "image", "method", "psnr", "ssim", "published_psnr", "quality", "seed", "version")
NAMES = ("set", "sigma", "image", "method", "quality", "seed")


def main(argv: Sequence[str] | None = None) -> list[dict[str, Any]]:
    parser = cells.parser(__doc__)
    parser.add_argument("--sigma", nargs="+", type=int, choices=SIGMAS, default=list(SIGMAS))
    parser.add_argument("--bm3d", action="store_true", help="run PyPI's bm3d on the same noise")
    parser.add_argument("--count", type=int, default=68, help="take only the first so many images of BSD68")
    args = cells.parse(parser, argv)
    args.images = None
    operator = cells.chosen_operator(args)
    files = sorted((common.DATA / "bsd68").glob("*.png"))[: 1 if args.quick else args.count]
    sets = {"bsd68": {file.stem: common.read_grey(file) for file in files}}
    if args.quick:
        sets["bsd68"] = {name: image[:128, :128].copy() for name, image in sets["bsd68"].items()}
    sets["paper"] = cells.pictures(args, common.DENOISING)
    work = []
    for where, images in sets.items():
        for sigma in args.sigma:
            for method in (*cells.OURS, *(["bm3d"] if args.bm3d else [])):
                for i, (name, image) in enumerate(images.items()):
                    seed = args.seed + (i if where == "bsd68" else 0)
                    made = cell(name, image, sigma, method, args.quality, seed, operator)
                    work.append(cells.Cell({"set": where, **made.row}, made.key, made.work))
    rows = cells.compute("modern", work, folder="denoising")
    whole = not args.quick and len(files) == 68
    quoted = [
        {"set": "bsd68", "sigma": sigma, "image": "mean", "method": f"paper {method}",
         "published_psnr": figures[SIGMAS.index(sigma)]}
        for method, figures in PUBLISHED.items()
        for sigma in args.sigma
        if whole and figures[SIGMAS.index(sigma)] is not None
    ]  # fmt: skip
    rows = [{**dict.fromkeys(COLUMNS, ""), **row} for row in rows]
    full = rows + [{**dict.fromkeys(COLUMNS, ""), **row} for row in quoted]
    ordered = [{column: row[column] for column in COLUMNS} for row in full]
    path = cells.write_rows(args.output, "modern", ordered, NAMES)
    report(rows, args, len(files), repr(operator))
    cells.console.print(f"written: {path}")
    return rows


def report(rows: list[dict[str, Any]], args: Any, count: int, about: str) -> None:
    """The averages beside the published ones, then the five images."""
    methods = list(dict.fromkeys(row["method"] for row in rows))

    def mean(where: str, sigma: int, method: str, key: str, image: str | None = None) -> float:
        return float(np.mean([
            row[key] for row in rows
            if (row["set"], row["sigma"], row["method"]) == (where, sigma, method)
            and image in (None, row["image"])
        ]))  # fmt: skip

    lines: list[list[str]] = [
        [
            method,
            "here",
            *(cells.pair(mean("bsd68", s, method, "psnr"), mean("bsd68", s, method, "ssim")) for s in args.sigma),
        ]
        for method in methods
    ]
    lines.append([])
    for method, figures in PUBLISHED.items():
        shown = [figures[SIGMAS.index(s)] for s in args.sigma]
        lines.append([method, "published", *("" if figure is None else f"{figure:.2f}     " for figure in shown)])
    cells.show(
        f"BSD68, mean of {count} images, dB and SSIM; {args.quality}; {about}",
        ["method", "source", *(f"σ={sigma}" for sigma in args.sigma)],
        lines,
        "" if count == 68 else "the published figures are means of all 68 images",
    )
    images = list(dict.fromkeys(row["image"] for row in rows if row["set"] == "paper"))
    cells.show(
        "The paper's images, dB",
        ["σ", "method", *images, "mean"],
        [
            [str(s), m, *(mean("paper", s, m, "psnr", image) for image in images), mean("paper", s, m, "psnr")]
            for s in args.sigma
            for m in methods
        ],
    )


if __name__ == "__main__":
    main()
