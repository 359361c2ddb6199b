"""Learning from patches on local clusters of one and two workers: time of an evaluation, bytes sent, memory.

    python benchmarks/cluster/learning.py                   10 million patches; writes results/cluster_learning.csv
    python benchmarks/cluster/learning.py --patches 2000000 fewer; writes nothing

An evaluation is one value and gradient of the data term for 128 atoms of 8x8; an iteration of learning takes 1.1 to 1.4
of them. The two clusters take turns, so that both see the same load of the machine; processor seconds hardly depend on
it. Bytes are all that went over the loopback device during an evaluation, less what goes over it when nothing is done
(workers report every half second); other programs that use it add to them, so the least of the turns counts.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from contextlib import ExitStack
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
from cosparse.cluster.training import PARTITION, ClusterPatches

FULL = 10_000_000
TURNS = 3
WORKERS = (1, 2)
# The projection's: patches, workers, how many times larger a partition is, and iterations with evaluations of each.
FUTURE, MACHINES, LARGER, ITERATIONS, EACH = 10_000_000_000, 100, 8, 400, 1.25


def sent() -> int:
    """Bytes over loopback so far."""
    return psutil.net_io_counters(pernic=True)["lo"].bytes_sent


def idle(seconds: float = 5.0) -> float:
    """Bytes a second over loopback while nothing is done."""
    before = sent()
    time.sleep(seconds)
    return (sent() - before) / seconds


class Site:
    """A cluster, the patches on it, and what evaluations of some of them took."""

    def __init__(self, stack: ExitStack, source: Path, patches: int, workers: int) -> None:
        self.workers = workers
        self.client = stack.enter_context(cluster.connect(workers=workers))
        self.watch = stack.enter_context(made.Watch(self.client))
        begin = time.perf_counter()
        self.patches = cluster.sample_patches(source.resolve(), count=patches, client=self.client)
        self.sampling = time.perf_counter() - begin

    def some(self, partitions: int) -> ClusterPatches:
        """The first partitions of the patches."""
        return ClusterPatches(self.client, self.patches._partitions[:partitions], self.patches.columns)


def evaluate(site: Site, patches: ClusterPatches, quiet: float) -> tuple[float, float, float, float]:
    """Seconds, processor seconds of the workers and of client and scheduler, and bytes of one evaluation."""
    atoms = np.random.default_rng(0).standard_normal((128, 64))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    begin, traffic = time.perf_counter(), sent()
    work, rest = site.watch.used("worker"), site.watch.used("client")
    patches(atoms, cosparse.Penalty.log())
    seconds = time.perf_counter() - begin
    return (
        seconds,
        site.watch.used("worker") - work,
        site.watch.used("client") - rest,
        max(sent() - traffic - quiet * seconds, 0.0),
    )


def measure(sites: list[Site], partitions: int, quiet: float) -> list[dict]:
    """The figures of one size on each cluster."""
    held = [site.some(partitions) for site in sites]
    for site, patches in zip(sites, held, strict=True):
        evaluate(site, patches, quiet)  # compiled
    turns = [[evaluate(*pair, quiet) for pair in zip(sites, held, strict=True)] for _ in range(TURNS)]
    rows = []
    for site, patches, figures in zip(sites, held, zip(*turns, strict=True), strict=True):
        seconds, work, rest, traffic = zip(*figures, strict=True)
        rows.append({
            "kind": "measured", "patches": patches.count, "workers": site.workers, "partitions": partitions,
            "evaluation s": median(seconds), "processor s, workers": median(work),
            "processor s, client and scheduler": median(rest), "bytes": min(traffic),
        })  # fmt: skip
    return rows


def projection(rows: list[dict]) -> dict:
    """From processor seconds a patch on the workers, and processor seconds and bytes a partition between them."""
    workers, patches = "processor s, workers", [row["patches"] for row in rows]
    slope = float(np.polyfit(patches, [row[workers] for row in rows], 1)[0])
    largest = [row for row in rows if row["patches"] == max(patches)]
    serial, traffic = (
        max(row[name] / row["partitions"] for row in largest) for name in ("processor s, client and scheduler", "bytes")
    )
    parts = -(-FUTURE // (LARGER * PARTITION))
    # Nothing of the scheduler's work is taken to overlap with the workers'.
    return {
        "kind": f"projected, partitions {LARGER} times as large", "patches": FUTURE, "workers": MACHINES,
        "partitions": parts, "evaluation s": slope * FUTURE / MACHINES + serial * parts, workers: slope * FUTURE,
        "processor s, client and scheduler": serial * parts, "bytes": traffic * parts,
        "MB a worker, patches": FUTURE / MACHINES * 256 / 1e6,
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
    rows: list[dict] = []
    with ExitStack() as stack:
        sites = [Site(stack, source, given.patches, workers) for workers in WORKERS]
        quiet, parts = idle(), -(-given.patches // PARTITION)
        for share in (8, 4, 2, 1):
            rows += measure(sites, max(1, parts // share), quiet)
            print(*rows[-len(sites) :], sep="\n", flush=True)
    for row, site in zip(rows[-len(sites) :], sites, strict=True):
        peak = max(value for name, value in site.watch.peak.items() if name.startswith("worker"))
        share = site.patches.count * 256 / site.workers
        row |= {"MB a worker, patches": share / 1e6, "MB a worker, peak": peak / 1e6, "sampling s": site.sampling}
    future = projection(rows)
    rows.append(future)
    print(*rows[-3:], sep="\n")
    print(f"{ITERATIONS} iterations: {ITERATIONS * EACH * future['evaluation s'] / 3600:.1f} hours")
    names = list(dict.fromkeys(name for row in (rows[0], rows[-2], future) for name in row))
    table = [
        {name: round(v, 4) if isinstance(v := row.get(name, ""), float) else v for name in names} for row in rows
    ]
    if given.patches == FULL:
        print(common.write_csv("cluster_learning", table))
    shutil.rmtree(given.folder)


if __name__ == "__main__":
    main()
