"""How far a repair is off when only roundings differ: on another processor, and for inputs that differ in a last bit.

    python benchmarks/rounding.py            measures all cases anew: rounding.csv

Each repair of a picture of 192 by 192 pixels is made three times: as it is; by kernels, BLAS and NumPy that use no
vector extension after SSE3 ("processor"); and with one unit in the last place of single precision added to or taken off
every pixel by chance ("last bits"). If that moves the result as far as another processor does, it is the minimisation
that enlarges roundings, and no order of its sums would help. Differences are in grey levels of 255; "reports" is how
often a repair told of its progress, which shows whether one of the two took other steps.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from skimage import data

import cosparse
from cosparse.reconstruction import measurement

RESULTS = Path(__file__).with_name("results") / "rounding.csv"
COLUMNS = ["repair", "against", "largest", "root_mean_square", "reports", "reports_of_other"]
# No instruction of the vector extensions that Numba, OpenBLAS and NumPy would choose.
PLAIN = {
    "NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": "", "OPENBLAS_CORETYPE": "Prescott",
    "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR X86_V4 X86_V3 "
    "AVX2 FMA3 F16C AVX XOP FMA4",
}  # fmt: skip
SIDE = 192
Image = NDArray[np.float32]
Repair = Callable[[Image, Callable[[object], None]], NDArray[np.float32]]
CLEAN = (data.camera()[100 : 100 + SIDE, 180 : 180 + SIDE] / 255).astype(np.float32)
NOISY = np.float32(CLEAN + np.random.default_rng(0).normal(0, 0.1, CLEAN.shape))
MISSING = np.random.default_rng(1).random(CLEAN.shape) < 0.7
KERNEL = measurement.gaussian_kernel(1.6).astype(float)
REPAIRS: dict[str, tuple[Image, Repair]] = {
    "denoise, fast": (NOISY, lambda x, tell: cosparse.denoise(x, 0.1, quality="fast", callback=tell)),
    "denoise, balanced": (NOISY, lambda x, tell: cosparse.denoise(x, 0.1, callback=tell)),
    "denoise, by an energy": (NOISY, lambda x, tell: cosparse.denoise(x, 0.1, operator="default", callback=tell)),
    "inpaint, 70 % missing": (CLEAN, lambda x, tell: cosparse.inpaint(x, MISSING, callback=tell)),
    "upscale by 2": (CLEAN[::2, ::2].copy(), lambda x, tell: cosparse.upscale(x, 2, callback=tell)),
    "upscale by 3": (CLEAN[::3, ::3].copy(), lambda x, tell: cosparse.upscale(x, 3, callback=tell)),
    "deblur": (NOISY, lambda x, tell: cosparse.deblur(x, KERNEL, sigma=0.1, callback=tell)),
}


def made(name: str, change: Callable[[Image], Image] = np.copy) -> tuple[NDArray[np.float32], int]:
    """What a repair gives of a picture that was changed first, and how often it told of its progress."""
    image, repair = REPAIRS[name]
    told: list[object] = []
    return np.asarray(repair(change(image), told.append), np.float32), len(told)


def last_bits(image: Image) -> Image:
    """Every pixel one unit in the last place up or down."""
    up = np.random.default_rng(2).random(image.shape) < 0.5
    return np.nextafter(image, np.where(up, np.inf, -np.inf).astype(np.float32))


def write_all(path: str) -> None:
    """Every repair as it is, to a file: what the child does that has another processor."""
    found = {name: made(name) for name in REPAIRS}
    arrays = {f"image {name}": image for name, (image, _) in found.items()}
    np.savez(path, **arrays, reports=[count for _, count in found.values()])  # type: ignore[arg-type]


def main() -> None:
    """Measure, print, and write the table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plain.npz"
        environment = {**os.environ, **PLAIN, "NUMBA_CACHE_DIR": f"{folder}/cache"}
        subprocess.run([sys.executable, __file__, str(path)], env=environment, check=True)
        plain = dict(np.load(path))
    rows = []
    for number, name in enumerate(REPAIRS):
        image, reports = made(name)
        others = {
            "processor": (plain[f"image {name}"], int(plain["reports"][number])),
            "last bits": made(name, last_bits),
        }
        for against, (other, count) in others.items():
            off = 255 * np.abs(image.astype(float) - other)
            rows.append([name, against, f"{off.max():.1e}", f"{np.sqrt(np.mean(off**2)):.1e}", reports, count])
            print(*rows[-1], sep=", ", flush=True)
    with RESULTS.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows(rows)


if __name__ == "__main__":
    write_all(sys.argv[1]) if len(sys.argv) > 1 else main()
