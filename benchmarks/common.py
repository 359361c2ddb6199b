"""What the benchmark scripts share: where the data are, and how results are written."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import numpy as np

from cosparse.io.picture import read_grey

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("COSPARSE_DATA", ROOT.parent / "shared" / "data"))
RESULTS = ROOT / "benchmarks" / "results"

DENOISING = ("lena", "barbara", "man", "boat", "couple")
INPAINTING = ("lena", "boat", "man")
UPSCALING = ("face", "august", "barbara", "lena", "man", "boat", "couple")


def need_data() -> None:
    """Say clearly what is missing."""
    if not DATA.is_dir():
        raise SystemExit(f"{DATA}: no such folder; set COSPARSE_DATA to the folder with test/ and train/")


def test_image(name: str) -> np.ndarray:
    """One of the paper's test images, float32 on 0..255."""
    return read_grey(DATA / "test" / f"{name}.png")


def validation_images(every: int = 20, first: int = 7) -> list[np.ndarray]:
    """Training photographs held out of learning: parameters are chosen on these and on nothing else."""
    files = sorted((DATA / "train" / "bsd400").glob("*.png"))
    return [read_grey(file) for file in files[first::every]]


def add_noise(image: np.ndarray, sigma: float, seed: int = 0) -> np.ndarray:
    """Float, unquantised white Gaussian noise."""
    noise = np.random.default_rng(seed).standard_normal(image.shape)
    return (image + sigma * noise).astype(np.float32)


def write_csv(name: str, rows: list[dict[str, Any]]) -> Path:
    """Rows of a table to benchmarks/results/NAME.csv."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path
