"""Learning from patches on local clusters of one and two workers: time of an evaluation, bytes sent, memory.

    python benchmarks/cluster/learning.py                   10 million patches; writes results/cluster_learning.csv
    python benchmarks/cluster/learning.py --patches 2000000 fewer; writes nothing

An evaluation is one value and gradient of the data term for 128 atoms of 8x8; an iteration of learning takes 1.1 to 1.4
of them. The two clusters take turns, so that both see the same load of the machine; processor seconds hardly depend on
it. Bytes are all that went over the loopback device during an evaluation; other programs that use it add to them, so
the least of the turns counts. From them, and from the client's and scheduler's processor seconds, we take off what
passes in as much time when nothing is done: workers report every half second. What a partition costs besides its
patches is seen from very small ones.
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
from cosparse.cluster.worker_patches import PARTITION, ClusterPatches

FULL = 10_000_000
TURNS = 3
WORKERS = (1, 2)
SMALL, MANY = 4096, 512  # patches in a very small partition, and how many such
# The projection's: patches, workers, how many times larger a partition is, and iterations with evaluations of each.
FUTURE, MACHINES, LARGER, ITERATIONS, EACH = 10_000_000_000, 100, 8, 400, 1.25


def sent() -> int:
    """Bytes over loopback so far."""
    return psutil.net_io_counters(pernic=True)["lo"].bytes_sent


class Site:
    """A cluster, the patches on it, and what evaluations of some of them took."""

    def __init__(self, stack: ExitStack, source: Path, patches: int, workers: int) -> None:
        self.workers = workers
        self.client = stack.enter_context(cluster.connect(workers=workers))
        self.watch = stack.enter_context(made.Watch(self.client))
        begin = time.perf_counter()
        self.patches = cluster.sample_patches(source.resolve(), count=patches, client=self.client)
        self.sampling = time.perf_counter() - begin

    def rest(self, seconds: float = 5.0) -> None:
        """See what bytes and processor seconds a second pass while nothing is done."""
        traffic, used = sent(), self.watch.used("client")
        time.sleep(seconds)
        self.traffic, self.idle = (sent() - traffic) / seconds, (self.watch.used("client") - used) / seconds

    def some(self, partitions: int) -> ClusterPatches:
        """The first partitions of the patches."""
        return ClusterPatches(self.client, self.patches._partitions[:partitions], self.patches.columns)


def evaluate(site: Site, patches: ClusterPatches) -> tuple[float, float, float, float]:
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
        max(site.watch.used("client") - rest - site.idle * seconds, 0.0),
        max(sent() - traffic - site.traffic * seconds, 0.0),
    )


def measure(sites: list[Site], held: list[ClusterPatches], partitions: int, kind: str) -> list[dict]:
    """The figures of one size on each cluster."""
    for site, patches in zip(sites, held, strict=True):
        site.rest()
        evaluate(site, patches)  # compiled
    turns = [[evaluate(*pair) for pair in zip(sites, held, strict=True)] for _ in range(TURNS)]
    rows = []
    for site, patches, figures in zip(sites, held, zip(*turns, strict=True), strict=True):
        seconds, work, rest, traffic = zip(*figures, strict=True)
        rows.append({
            "kind": kind, "patches": patches.count, "workers": site.workers, "partitions": partitions,
            "evaluation s": median(seconds), "processor s, workers": median(work),
            "processor s, client and scheduler": median(rest), "bytes": min(traffic),
        })  # fmt: skip
    return rows


def projection(rows: list[dict]) -> dict:
    """From processor seconds a patch on the workers, and what each of very many partitions costs between them."""
    workers, between, small = "processor s, workers", "processor s, client and scheduler", rows[-1]
    large = rows[:-1]
    slope = float(np.polyfit([row["patches"] for row in large], [row[workers] for row in large], 1)[0])
    serial, traffic = (small[name] / small["partitions"] for name in (between, "bytes"))
    parts = -(-FUTURE // (LARGER * PARTITION))
    # Nothing of the scheduler's work is taken to overlap with the workers'.
    return {
        "kind": f"projected, partitions {LARGER} times as large", "patches": FUTURE, "workers": MACHINES,
        "partitions": parts, "evaluation s": slope * FUTURE / MACHINES + serial * parts, workers: slope * FUTURE,
        between: serial * parts, "bytes": traffic * parts,
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
        parts = -(-given.patches // PARTITION)
        for count in sorted({max(1, parts // share) for share in (8, 4, 2, 1)}):
            rows += measure(sites, [site.some(count) for site in sites], count, "measured")
            print(*rows[-len(sites) :], sep="\n", flush=True)
        last = sites[-1]
        small = cluster.sample_patches(source.resolve(), count=SMALL * MANY, partition=SMALL, client=last.client)
        extra = measure([last], [small], MANY, "measured, small partitions")
    for row, site in zip(rows[-len(sites) :], sites, strict=True):
        peak = site.watch.largest("worker")
        share = site.patches.count * 256 / site.workers
        row |= {"MB a worker, patches": share / 1e6, "MB a worker, peak": peak / 1e6, "sampling s": site.sampling}
    rows += extra
    future = projection(rows)
    rows.append(future)
    print(*rows[-4:], sep="\n")
    print(f"{ITERATIONS} iterations: {ITERATIONS * EACH * future['evaluation s'] / 3600:.1f} hours")
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = [{name: round(v, 4) if isinstance(v := row.get(name, ""), float) else v for name in names} for row in rows]
    if given.patches == FULL:
        print(common.write_csv("cluster_learning", table))
    shutil.rmtree(given.folder)


if __name__ == "__main__":
    main()
