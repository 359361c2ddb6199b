"""A picture larger than memory, repaired on a local cluster: speed, memory, and the ratio to a single process.

    python benchmarks/cluster/picture.py                20,000 x 20,000 pixels; writes results/cluster_picture.csv
    python benchmarks/cluster/picture.py --side 3000    smaller; writes nothing

The single process is `cosparse.denoise` with all its threads on a part that fits in memory, before and after the run:
on a shared machine only the ratio means much. As many worker processes of one thread as there are cores.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
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


def single(path: Path, sigma: float, quality: str, side: int) -> float:
    """Megapixels a second of the task in this process, with all its threads."""
    import zarr

    part = zarr.open_array(path, mode="r")[:side, :side]
    cosparse.denoise(part[:64, :64], sigma, quality=quality)  # compiled
    begin = time.perf_counter()
    cosparse.denoise(part, sigma, quality=quality)
    return part.size / 1e6 / (time.perf_counter() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", type=int, default=FULL)
    parser.add_argument("--tile", type=int, default=1024)
    parser.add_argument("--quality", default="balanced")
    parser.add_argument("--noise", type=float, default=8.0, help="grey levels of 255")
    parser.add_argument("--folder", type=Path, default=Path("cluster-benchmark"), help="removed at the end")
    given = parser.parse_args()
    given.folder.mkdir(exist_ok=True)
    source, target = given.folder / f"{given.side}.zarr", given.folder / "out.zarr"
    cores, part = available_cores(), min(2048, given.side)
    with cluster.connect() as client:
        made.make_picture(client, source, given.side, given.noise)
        before = single(source, given.noise * 257, given.quality, part)
        with made.Watch(client) as watch:
            begin = time.perf_counter()
            report = cluster.repair_picture(
                "denoise", source.resolve(), target.resolve(), tile=given.tile, quality=given.quality, client=client,
                force=True, callback=lambda done, total: print(f"\r{done} of {total} tiles", end="", file=sys.stderr),
            )  # fmt: skip
            seconds = time.perf_counter() - begin
        after = single(source, given.noise * 257, given.quality, part)
    speed, alone = given.side**2 / 1e6 / seconds, (before + after) / 2
    rows = [
        ("picture", f"{given.side} x {given.side} uint16, {report.tiles} tiles of {given.tile}, {given.quality}", ""),
        ("workers", cores, "processes of one thread"),
        ("noise found", report.sigma / 257, "grey levels"),
        ("time", seconds, "s"),
        ("speed on the cluster", speed, "megapixels/s"),
        ("speed of a single process, before", before, "megapixels/s"),
        ("speed of a single process, after", after, "megapixels/s"),
        ("ratio per core to a single process (target 0.8)", speed / alone, ""),
        *((f"peak memory, {name} (target 1500)", peak / 1e6, "MB") for name, peak in watch.peak.items()),
    ]
    table = [
        {"figure": name, "value": round(v, 3) if isinstance(v, float | np.floating) else v, "unit": unit}
        for name, v, unit in rows
    ]
    print()
    for row in table:
        print(f"{row['figure']:50} {row['value']} {row['unit']}")
    if given.side == FULL:
        print(common.write_csv("cluster_picture", table))
    shutil.rmtree(given.folder)


if __name__ == "__main__":
    main()
