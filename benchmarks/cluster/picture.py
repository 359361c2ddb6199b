"""A picture larger than memory, repaired on a local cluster: speed, memory, and the ratio to a single process.

    python benchmarks/cluster/picture.py                20,000 x 20,000; writes results/cluster_picture_QUALITY.csv
    python benchmarks/cluster/picture.py --side 3000    smaller; writes nothing
    python benchmarks/cluster/picture.py --one-pass     without denoising's second pass

As many worker processes of one thread as there are cores. The single process is `cosparse.denoise` with all its threads
on parts of the same picture. It takes turns with the cluster, whose workers are suspended meanwhile: on a shared
machine a ratio means something only if both sides saw the same load. Processor seconds hardly depend on the load.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import common
import made

import cosparse
from cosparse import cluster
from cosparse.kernels.threads import available_cores

FULL = 20_000
PART = 1024  # side of what the single process repairs in a turn
TURNS = 20


def single(path: Path, sigma: float, options: dict, turn: int) -> tuple[float, float, float]:
    """Megapixels, seconds and processor seconds of the task in the process that runs this, with all its threads."""
    import zarr

    picture = zarr.open_array(path, mode="r")
    side = min(PART, picture.shape[0])
    top, left = np.random.default_rng(turn).integers(0, picture.shape[0] - side + 1, 2)
    cosparse.denoise(picture[:64, :64], sigma, **options)  # compiled
    begin, used = time.perf_counter(), time.process_time()
    cosparse.denoise(picture[top : top + side, left : left + side], sigma, **options)
    return side**2 / 1e6, time.perf_counter() - begin, time.process_time() - used


class Turns:
    """A callback of the repair that lets the single process have its turns."""

    def __init__(self, watch: made.Watch, pool: ProcessPoolExecutor, *arguments: object) -> None:
        self.watch, self.pool, self.arguments = watch, pool, arguments
        self.figures: list[tuple[float, float, float]] = []
        self.away = 0.0
        self.latest = 0
        self.used: list[float] = []  # processor seconds of the cluster, at each tile

    def __call__(self, done: int, total: int) -> None:
        print(f"\r{done} of {total} tiles", end="", file=sys.stderr, flush=True)
        self.used.append(self.watch.used())
        if done * TURNS // total == self.latest:
            return
        self.latest = done * TURNS // total
        begin = time.perf_counter()
        with self.watch.suspended():
            self.figures.append(self.pool.submit(single, *self.arguments, self.latest).result())
        self.away += time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", type=int, default=FULL)
    parser.add_argument("--tile", type=int, default=1024)
    parser.add_argument("--quality", default="balanced")
    parser.add_argument("--one-pass", action="store_true", help="grouping=False")
    parser.add_argument("--noise", type=float, default=8.0, help="grey levels of 255")
    parser.add_argument("--folder", type=Path, default=Path("cluster-benchmark"), help="removed at the end")
    given = parser.parse_args()
    given.folder.mkdir(exist_ok=True)
    source, target = (given.folder / name for name in (f"{given.side}.zarr", "out.zarr"))
    spawn = multiprocessing.get_context("spawn")
    load = os.getloadavg()[0]
    with cluster.connect() as client, ProcessPoolExecutor(1, mp_context=spawn) as pool:
        made.make_picture(client, source, given.side, given.noise)
        options = {"quality": given.quality, "grouping": not given.one_pass}
        arguments = (source, given.noise * 257, options)
        pool.submit(single, *arguments, 0).result()  # compiled
        with made.Watch(client) as watch:
            turns = Turns(watch, pool, *arguments)
            begin, clock, used = time.perf_counter(), time.time(), watch.used()
            report = cluster.repair_picture(
                "denoise", source.resolve(), target.resolve(), tile=given.tile, client=client, force=True,
                callback=turns, **options,
            )  # fmt: skip
            seconds, used = time.perf_counter() - begin - turns.away, watch.used() - used
    pixels = given.side**2 / 1e6
    parts, waited, spent = np.sum(turns.figures, axis=0)
    tiles = (turns.used[-1] - turns.used[0]) / (len(turns.used) - 1) * report.tiles
    ratio, square = "ratio to a single process, per core", f"{given.side} x {given.side} uint16"
    quality = given.quality + ", one pass" * given.one_pass
    rows = [
        ("picture", f"{square}, {report.tiles} tiles of {given.tile}, {quality}", "", ""),
        ("overlap", report.overlap, "pixels", ""),
        ("workers", available_cores(), "processes of one thread", ""),
        ("load average at the start", load, "", ""),
        ("noise found", report.sigma / 257, "grey levels", given.noise),
        ("time", seconds, "s", ""),
        ("time until noise and steps were known", made.written(target) - clock, "s", ""),
        ("speed on the cluster", pixels / seconds, "megapixels/s", ""),
        (f"speed of a single process, {len(turns.figures)} turns in between", parts / waited, "megapixels/s", ""),
        (ratio, pixels / seconds / (parts / waited), "", 0.8),
        ("processor time on the cluster, all processes", used / pixels, "s/megapixel", ""),
        ("of it for the tiles, the rest before the first", tiles / pixels, "s/megapixel", ""),
        ("processor time of a single process", spent / parts, "s/megapixel", ""),
        (f"{ratio}, by processor time", spent / parts / (used / pixels), "", 0.8),
        *((f"peak memory, {name}", peak / 1e6, "MB", 1500) for name, peak in watch.peak.items()),
    ]
    table = [
        {"quantity": name, "value": round(v, 3) if isinstance(v, float | np.floating) else v, "unit": unit, "target": t}
        for name, v, unit, t in rows
    ]
    print()
    for row in table:
        print(f"{row['quantity']:55} {row['value']} {row['unit']}")
    if given.side == FULL:
        print(common.write_csv(f"cluster_picture_{given.quality}" + "_one_pass" * given.one_pass, table))
    shutil.rmtree(given.folder)


if __name__ == "__main__":
    main()
