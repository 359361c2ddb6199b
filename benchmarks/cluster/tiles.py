"""How far the result of tiles is from the whole picture's: against the overlap, and where steps come from samples.
Beside it the peak memory of a worker.

    python benchmarks/cluster/tiles.py                        writes results/cluster_tiles.csv
    python benchmarks/cluster/tiles.py --only "upscale x2"    some cases, whose rows are replaced there

The pictures are put together from scikit-image's photographs. Differences in grey levels of 255, root mean square.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from skimage import data
from skimage.color import rgb2gray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import common
import made

import cosparse
from cosparse import cluster
from cosparse.cluster.large_picture import TiledRepair, Tiling
from cosparse.cluster.sampling import Sampling
from cosparse.reconstruction import measurement

Case = tuple[str, str, np.ndarray, dict[str, Any]]


def grey(image: np.ndarray) -> np.ndarray:
    return rgb2gray(image) * 255


def scene() -> np.ndarray:
    """512 x 768 pixels, of two photographs."""
    return np.hstack([data.camera(), grey(data.astronaut())[:, :256]]).astype(np.float32)


def large() -> np.ndarray:
    """3072 x 3456 pixels, of five photographs nine times over: workers share it to find its steps."""
    left = np.vstack([data.camera(), grey(data.astronaut())])
    coffee = np.pad(grey(data.coffee()), ((0, 0), (0, 40)), mode="symmetric")
    cat = np.pad(grey(data.chelsea()), ((0, 0), (0, 189)), mode="symmetric")
    right = np.vstack([coffee, cat, grey(data.rocket())[:324, :640]])
    one = np.hstack([left, right]).astype(np.float32)
    return np.block([[one[:: 1 - 2 * (i % 2), :: 1 - 2 * (j % 2)] for j in range(3)] for i in range(3)])


def huge() -> np.ndarray:
    """6144 x 6912 pixels: four times that, each square of 512 lit differently; samples are a small part of it."""
    one = large()
    whole = np.block([[one, one[:, ::-1]], [one[::-1], one[::-1, ::-1]]])
    rng = np.random.default_rng(7)
    contrast = rng.uniform(0.3, 1.0, (12, 14))
    light = rng.uniform(0, 255 * (1 - contrast))
    height, width = whole.shape
    spread = [np.kron(each, np.ones((512, 512), np.float32))[:height, :width] for each in (contrast, light)]
    return (whole * spread[0] + spread[1]).astype(np.float32)


def noisy(image: np.ndarray, sigma: float) -> np.ndarray:
    return common.add_noise(image, sigma)


def cases(clean: np.ndarray, fewer: bool) -> Iterator[Case]:
    """Name, task, pixels and options of each row of the table; of a large picture fewer, which take minutes each."""
    for sigma in (25, 50) if fewer else (5, 15, 25, 50):
        yield f"denoise, noise {sigma}", "denoise", noisy(clean, sigma), {"sigma": float(sigma)}
    for percent in (50,) if fewer else (50, 90):
        gaps = np.random.default_rng(1).random(clean.shape) < percent / 100
        yield f"inpaint, {percent} % missing", "inpaint", clean, {"mask": gaps}
    few = np.random.default_rng(1).random(clean.shape) < 0.3
    yield "inpaint, 30 % missing, noise 5", "inpaint", noisy(clean, 5), {"mask": few, "sigma": 5.0}
    yield "upscale x2", "upscale", clean[::2, ::2].copy(), {"factor": 2}
    kernel = measurement.gaussian_kernel(2.0)
    blurred = measurement.blur(kernel, clean.shape).matvec(clean.ravel()).reshape(clean.shape)
    yield "deblur, Gaussian of 2, noise 2", "deblur", noisy(blurred, 2), {"kernel": kernel, "sigma": 2.0}


def tiled(task: str, pixels: np.ndarray, options: dict, client: Any, how: Tiling) -> tuple[int, np.ndarray]:
    """The overlap, and the result by tiles."""
    import zarr

    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder) / f"{name}.zarr" for name in ("in", "mask", "out")}
        given = {key: value for key, value in options.items() if key != "mask"}
        for name, array in (("in", pixels), ("mask", options.get("mask"))):
            if array is not None:
                zarr.create_array(paths[name], data=array, chunks=(512, 512))
        mask = paths["mask"] if "mask" in options else None
        given["data_range"] = 255.0
        report = TiledRepair(task, paths["in"], mask, paths["out"], how, given).run(client, force=False)
        return report.overlap, zarr.open_array(paths["out"], mode="r")[:]


def which(row: dict[str, Any]) -> tuple[str, ...]:
    """What a row of the table is about."""
    return row["case"], row["picture"], row["steps from"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cases whose name holds this")
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    samples = f"{Sampling().samples} samples"
    with cluster.connect() as client:
        for clean, tile, quality, ways in (
            (scene(), 256, "balanced", [(16, 0, "the whole"), (None, 0, "the whole")]),
            (large(), 1024, "fast", [(None, math.inf, "the whole, in parts"), (None, 0, samples)]),
            (huge(), 1024, "fast", [(None, 0, samples)]),
        ):
            size = f"{clean.size / 1e6:.2g} megapixels"
            for name, task, pixels, options in cases(clean, fewer=clean.size > Sampling().whole):
                options["quality"] = quality
                if given.only not in f"{name}, {size}":
                    continue
                arguments = {key: value for key, value in options.items() if key != "mask"}
                mask = (options["mask"],) if "mask" in options else ()
                whole = getattr(cosparse, task)(pixels, *mask, data_range=255.0, **arguments)
                for wanted, held, steps in ways:
                    how = Tiling(tile, wanted, sampling=Sampling(held=held))
                    with made.Watch(client) as watch:
                        overlap, result = tiled(task, pixels, options, client, how)
                    apart = float(np.sqrt(np.mean((result - whole) ** 2)))
                    rows.append(
                        {"case": name, "picture": size, "quality": quality, "steps from": steps, "overlap": overlap,
                         "grey levels": round(apart, 4), "MB a worker, peak": round(watch.largest("worker") / 1e6)}
                    )  # fmt: skip
                    print(rows[-1], flush=True)
    if given.only:
        measured = {which(row) for row in rows}
        with (common.RESULTS / "cluster_tiles.csv").open() as file:
            rows += [row for row in csv.DictReader(file) if which(row) not in measured]
    print(common.write_csv("cluster_tiles", rows))


if __name__ == "__main__":
    main()
