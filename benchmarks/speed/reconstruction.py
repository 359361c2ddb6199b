"""How fast and in what memory an image is repaired.

    python benchmarks/speed/reconstruction.py            everything; writes benchmarks/results/reconstruction.csv
    python benchmarks/speed/reconstruction.py --quick    smaller pictures, fewer turns; writes nothing

Whatever is compared takes turns in this one run: on a shared machine only the ratios mean much. Needs the `bench` extra
for bm3d. Runs on scikit-image's camera (512 x 512) with noise of standard deviation 25.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common

import cosparse
from cosparse.kernels import fused
from cosparse.kernels.reference import positions
from cosparse.kernels.threads import one_blas_thread, spread
from cosparse.penalty import LOG

SIGMA = 25.0


def picture() -> np.ndarray:
    from skimage.data import camera

    return camera().astype(np.float32)


def turns(count: int, **work: Callable[[], object]) -> dict[str, float]:
    """Median seconds of each, taken in turns after one warming call."""
    times: dict[str, list[float]] = {name: [] for name in work}
    for turn in range(count + 1):
        for name, call in work.items():
            begin = time.perf_counter()
            call()
            if turn:
                times[name].append(time.perf_counter() - begin)
    return {name: median(values) for name, values in times.items()}


def against_bm3d(noisy: np.ndarray, truth: np.ndarray, count: int) -> list[dict]:
    import bm3d

    results: dict[str, np.ndarray] = {}

    def ours(quality: str) -> Callable[[], object]:
        def call() -> None:
            results[quality] = cosparse.denoise(noisy, SIGMA, data_range=255, quality=quality)

        return call

    def theirs() -> None:
        results["bm3d"] = bm3d.bm3d(noisy, SIGMA)

    qualities = ("fast", "balanced", "best")
    seconds = turns(count, **{q: ours(q) for q in qualities}, bm3d=theirs)
    rows = []
    for name, target in (("fast", 15), ("balanced", 8), ("best", None), ("bm3d", None)):
        psnr = cosparse.psnr(truth, np.clip(results[name], 0, 255), data_range=255)
        rows.append(row(f"denoise {name}: time", seconds[name], "s"))
        rows.append(row(f"denoise {name}: PSNR", psnr, "dB"))
        if name != "bm3d":
            rows.append(row(f"denoise {name}: times faster than bm3d", seconds["bm3d"] / seconds[name], "x", target))
    return rows


def against_blas(image: np.ndarray, count: int) -> list[dict]:
    """The fused prior against its two matrix products alone, same tiles, same bands, same threads."""
    operator = cosparse.load_operator("default")
    atoms, weights = operator.matrix, operator.weights
    transposed = np.ascontiguousarray(atoms.T)
    rows, columns = (positions(side, 1) for side in image.shape)
    n, k = atoms.shape[1], atoms.shape[0]

    def band(first: int) -> None:
        patches, back = np.ones((fused.TILE, n), np.float32), np.empty((fused.TILE, n), np.float32)
        responses = np.empty((fused.TILE, k), np.float32)
        for _ in range(0, min(fused.BAND, rows - first) * columns, fused.TILE):
            np.dot(patches, transposed, responses)
            np.dot(responses, atoms, back)

    def bare() -> None:
        with one_blas_thread():
            spread(band, range(0, rows, fused.BAND))

    def prior() -> None:
        fused.image_sparsity(atoms, weights, image, (8, 8), (1, 1), LOG, 0.1, 0.0)

    seconds = turns(count, bare=bare, prior=prior)
    return [
        row("prior, value and gradient, stride 1: time", seconds["prior"], "s"),
        row("its two matrix products alone: time", seconds["bare"], "s"),
        row("fraction of the limit", seconds["bare"] / seconds["prior"], "", 0.85),
    ]


def growth(image: np.ndarray, sides: list[int], count: int) -> list[dict]:
    """Seconds a megapixel for pictures of several sizes."""
    noise = np.random.default_rng(0)
    pictures = {}
    for side in sides:
        tiled = np.tile(image, (-(-side // image.shape[0]),) * 2)[:side, :side]
        pictures[side] = (tiled + SIGMA * noise.standard_normal(tiled.shape)).astype(np.float32)
    operator = cosparse.load_operator("default")

    def call(side: int) -> Callable[[], object]:
        weights = operator.weights
        return lambda: fused.image_sparsity(operator.matrix, weights, pictures[side], (8, 8), (2, 2), LOG, 0.1, 0.0)

    seconds = turns(count, **{str(side): call(side) for side in sides})
    per_pixel = {side: seconds[str(side)] / side**2 * 1e6 for side in sides}
    smallest, largest = sides[0], sides[-1]
    rows = [row(f"prior at {side} x {side}: time a megapixel", per_pixel[side], "s") for side in sides]
    ratio = per_pixel[largest] / per_pixel[smallest]
    return [*rows, row(f"time a pixel, {largest}² over {smallest}²", ratio, "x", 1.15)]


MEMORY = """
import sys
import numpy as np
import cosparse
side = int(sys.argv[1])
image = np.random.default_rng(0).random((side, side), np.float32)
def peak():  # of this process alone: getrusage would count what its parent held before the exec
    return int(next(l for l in open("/proc/self/status") if l.startswith("VmHWM")).split()[1]) / 1024
cosparse.denoise(image[:64, :64], 0.1)
before = peak()
cosparse.denoise(image, 0.1)
print(before, peak())
"""


def memory(sides: list[int]) -> list[dict]:
    """Peak resident memory of a process that denoises one float32 picture."""
    peaks = {}
    for side in sides:
        out = subprocess.run(
            [sys.executable, "-c", MEMORY, str(side)], capture_output=True, text=True, check=True
        ).stdout
        peaks[side] = float(out.split()[1])
    small, large = sides[0], sides[-1]
    growth = (peaks[large] - peaks[small]) * 2**20 / (large**2 - small**2)
    return [
        row(f"peak memory, {small} x {small}", peaks[small], "MB", 300),
        row(f"memory a pixel beyond that, up to {large} x {large}", growth, "bytes", 40),
    ]


def row(quantity: str, value: float, unit: str, target: float | None = None) -> dict:
    return {"quantity": quantity, "value": f"{value:.4g}", "unit": unit, "target": "" if target is None else target}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    truth = picture()[: 128 if args.quick else 512, : 128 if args.quick else 512]
    noisy = common.add_noise(truth, SIGMA)
    count = 1 if args.quick else 5
    rows = [
        *against_blas(noisy, 2 if args.quick else 15),
        *against_bm3d(noisy, truth, count),
        *growth(truth, [128, 256] if args.quick else [256, 512, 1024, 2048], count),
        *memory([256, 512] if args.quick else [512, 1024, 2048]),
    ]
    table = Table("quantity", "value", "unit", "target")
    for line in rows:
        table.add_row(*(str(value) for value in line.values()))
    Console().print(table)
    if not args.quick:
        print(common.write_csv("reconstruction", rows))


if __name__ == "__main__":
    main()
