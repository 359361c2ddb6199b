"""The pictures that all noise benchmarks report on: the paper's five, and every 4th of BSD68."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import common


def reported(count: int | None = None) -> dict[str, np.ndarray]:
    """By name, float32 on 0..255; the first so many of each set."""
    common.need_data()
    found = {name: common.test_image(name) for name in common.DENOISING[:count]}
    files = sorted((common.DATA / "bsd68").glob("*.png"))[::4][:count]
    return found | {f"bsd68/{file.stem}": common.read_grey(file) for file in files}


def means(rows: list[dict[str, object]], by: str) -> None:
    """Print the mean PSNR of every method, a line each value of a column."""
    methods = list(dict.fromkeys(row["method"] for row in rows))
    print(f"{by:>12}", *(f"{method:>24}" for method in methods))
    for value in dict.fromkeys(row[by] for row in rows):
        of = {
            method: [float(str(row["psnr"])) for row in rows if row[by] == value and row["method"] == method]
            for method in methods
        }
        print(f"{value:>12}", *(f"{np.mean(of[method]):24.2f}" if of[method] else f"{'':24}" for method in methods))
