"""Learning from patches on a local cluster: time of an evaluation against patches and workers, bytes sent, memory.

    python benchmarks/cluster/learning.py                   10 million patches; writes results/cluster_learning.csv
    python benchmarks/cluster/learning.py --patches 200000  fewer; writes nothing

An evaluation is one value and gradient of the data term for 128 atoms of 8x8; an iteration of learning takes 1.1 to 1.4
of them. Bytes are all that went over the loopback device meanwhile, so other programs that use it add to them.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path
from statistics import median

import numpy as np
import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import common
import made

import cosparse
from cosparse import cluster
from cosparse.cluster.training import PARTITION

FULL = 10_000_000
TURNS = 5


def sent() -> int:
    """Bytes over loopback so far."""
    return psutil.net_io_counters(pernic=True)["lo"].bytes_sent


def measure(source: Path, patches: int, workers: int) -> dict:
    """The figures of one size on so many workers."""
    atoms = np.random.default_rng(0).standard_normal((128, 64))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    penalty = cosparse.Penalty.log()
    with cluster.connect(workers=workers) as client, made.Watch(client) as watch:
        begin = time.perf_counter()
        found = cluster.sample_patches(source.resolve(), count=patches, client=client)
        sampling = time.perf_counter() - begin
        found(atoms, penalty)  # compiled, and every worker has what it needs
        seconds, traffic = [], []
        for _ in range(TURNS):
            begin, bytes_before = time.perf_counter(), sent()
            found(atoms, penalty)
            seconds.append(time.perf_counter() - begin)
            traffic.append(sent() - bytes_before)
    peak = max(value for name, value in watch.peak.items() if name.startswith("worker"))
    return {
        "patches": found.count, "workers": workers, "partitions": -(-patches // PARTITION), "sampling s": sampling,
        "evaluation s": median(seconds), "bytes": median(traffic), "peak MB a worker": peak / 1e6,
    }  # fmt: skip


def projection(rows: list[dict], patches: float, workers: int) -> dict:
    """From the measured seconds a patch on one worker, and seconds and bytes a partition."""
    one, two = ([row for row in rows if row["workers"] == count] for count in (1, 2))
    # seconds = a·patches + b, over the sizes
    a, _ = np.polyfit([row["patches"] for row in one], [row["evaluation s"] for row in one], 1)
    # What a second worker falls short of halving the time is charged to the partitions, which the scheduler handles.
    extra = [max(row["evaluation s"] - a * row["patches"] / 2, 0.0) / row["partitions"] for row in two]
    traffic = max(row["bytes"] / row["partitions"] for row in rows)
    partition = 8 * PARTITION
    parts = patches / partition
    return {
        "patches": int(patches), "workers": workers, "partitions": round(parts), "sampling s": "",
        "evaluation s": float(a * patches / workers + median(extra) * parts), "bytes": traffic * parts,
        "peak MB a worker": patches / workers * 256 / 1e6,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--patches", type=int, default=FULL)
    parser.add_argument("--side", type=int, default=8000, help="of the picture that patches are sampled from")
    parser.add_argument("--folder", type=Path, default=Path("cluster-benchmark"), help="removed at the end")
    given = parser.parse_args()
    given.folder.mkdir(exist_ok=True)
    source = given.folder / f"learn-{given.side}.zarr"
    with cluster.connect() as client:
        made.make_picture(client, source, given.side, 2.0)
    rows = []
    for patches in (given.patches // 8, given.patches // 4, given.patches // 2, given.patches):
        for workers in (1, 2):
            rows.append({"kind": "measured", **measure(source, patches, workers)})
            print(rows[-1], flush=True)
    rows.append({"kind": "projected, partitions 8 times as large", **projection(rows, 1e10, 100)})
    print(rows[-1])
    for row in rows:
        row.update({name: round(v, 3) for name, v in row.items() if isinstance(v, float)})
    if given.patches == FULL:
        print(common.write_csv("cluster_learning", rows))
    shutil.rmtree(given.folder)


if __name__ == "__main__":
    main()
