"""How fast an operator is learned, in what memory, and how near the machine's limit.

    python benchmarks/speed/learning.py            everything, some minutes; writes the CSV file
    python benchmarks/speed/learning.py --quick    the same on little data; writes nothing

Needs the training images (COSPARSE_DATA, default ../shared/data beside the repository) and
pymanopt. Whatever is compared is measured in this one run, the two sides taking turns. Seconds are
of the wall clock; on a machine that others use as well, the CPU seconds and the ratios say more.

Converged means: an iteration lowered the objective by less than a given fraction of it
(`Settings.decrease_tolerance`). The paper's rule, a step shorter than 1e-4, was not met in 600
iterations on 200,000 patches: steps there are still near 1e-2, while the objective moves by 5e-7.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import numpy as np
from numba import njit
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from cosparse import Penalty, Settings, Stop, learn_operator, sample_patches
from cosparse.kernels import fused
from cosparse.kernels.threads import available_cores, one_blas_thread, spread
from cosparse.learning.objective import Objective, PatchSparsity, coherence_barrier, rank_penalty
from cosparse.operator import cosine_atoms
from cosparse.optimize import Oblique, conjugate_gradient

REPOSITORY = Path(__file__).resolve().parents[2]
RESULTS = REPOSITORY / "benchmarks" / "results" / "learning_speed.csv"

# The reference setting of DESIGN.md.
PENALTY, KAPPA, MU, ROWS = Penalty.log(5e3), 1280.0, 0.0945, 128
LOOSE, TIGHT = 1e-6, 1e-7  # the two tolerances that are reported as converged


@dataclass(frozen=True)
class Sizes:
    """How much of everything."""

    reference: int = 50_000
    iterations: int = 400
    large: int = 200_000
    limit: int = 1000  # iterations, for the run to convergence
    versus: int = 50_000
    versus_iterations: int = 120
    versus_seconds: float = 400.0
    repeats: int = 15


QUICK = Sizes(4_000, 60, 16_000, 60, 4_000, 40, 20.0, 5)


@dataclass
class Report:
    """The rows of the table and of the CSV file."""

    rows: list[tuple[str, float, str, str]] = field(default_factory=list)

    def add(self, quantity: str, value: float, unit: str, target: str = "") -> None:
        self.rows.append((quantity, value, unit, target))
        print(f"  {quantity}: {value:.4g} {unit}" + (f"   (target {target})" if target else ""))

    def show(self) -> None:
        table = Table(title="Learning an analysis operator")
        table.add_column("quantity")
        table.add_column("value", justify="right")
        table.add_column("unit")
        table.add_column("target")
        for quantity, value, unit, target in self.rows:
            table.add_row(quantity, f"{value:.4g}", unit, target)
        Console().print(table)

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["quantity", "value", "unit", "target"])
            writer.writerows((q, f"{v:.6g}", u, t) for q, v, u, t in self.rows)


def learn(patches, settings, callback=None):
    return learn_operator(patches, ROWS, penalty=PENALTY, kappa=KAPPA, mu=MU, settings=settings, callback=callback)


def reference_setting(report: Report, patches: np.ndarray, sizes: Sizes) -> None:
    """(a) A fixed number of iterations on the patches of the paper's images."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = learn(patches, Settings(iterations=sizes.iterations, step_tolerance=0))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    name = f"{len(patches):,} patches, {result.iterations} iterations"
    report.add(f"{name}: time", wall, "s", "15")
    report.add(f"{name}: CPU time", cpu, "s")
    report.add(f"{name}: evaluations", result.evaluations, "")
    report.add(f"{name}: objective", result.objective, "")
    report.add(f"{name}: condition", result.operator.condition, "")
    report.add(f"{name}: coherence", result.operator.coherence, "")


def to_convergence(report: Report, patches: np.ndarray, sizes: Sizes) -> None:
    """(b) Until an iteration changes next to nothing; both tolerances from one run."""
    wall, cpu = time.perf_counter(), time.process_time()
    loose = []

    def watch(progress):
        previous = watch.objective
        watch.objective = progress.objective
        if not loose and previous - progress.objective < LOOSE * progress.objective:
            seconds = time.perf_counter() - wall, time.process_time() - cpu
            loose.append((*seconds, progress.iteration, progress.objective))

    watch.objective = np.inf
    settings = Settings(iterations=sizes.limit, step_tolerance=0, decrease_tolerance=TIGHT)
    result = learn(patches, settings, watch)
    tight = (time.perf_counter() - wall, time.process_time() - cpu, result.iterations, result.objective)
    ended = "iteration limit" if result.stop is Stop.ITERATIONS else f"decrease below {TIGHT:.0e}"
    for what, found in ((f"decrease below {LOOSE:.0e}", loose), (ended, [tight])):
        for seconds, cpu_seconds, iterations, objective in found:
            name = f"{len(patches):,} patches, {what}"
            report.add(f"{name}: time", seconds, "s", "60")
            report.add(f"{name}: CPU time", cpu_seconds, "s")
            report.add(f"{name}: iterations", iterations, "")
            report.add(f"{name}: objective", objective, "")
    print(f"  ended because {result.stop.value}; {result.operator}")


class Reached(Exception):
    """The rival has arrived at our objective."""


class NumpyCost:
    """The same objective in plain NumPy and float64, for pymanopt.

    A value computes no gradient, and the patches are taken into the zero-mean basis once. As one
    writes it, value and gradient are two functions that know nothing of each other; `sharing`, as a
    careful user would, lets the gradient at a point reuse all that the value there has computed.
    """

    def __init__(self, patches: np.ndarray, basis: np.ndarray, sharing: bool) -> None:
        self.patches = patches.astype(float) @ basis.T
        self.sharing = sharing
        self.target = -np.inf
        self.values = 0
        self.point: np.ndarray | None = None

    def value(self, x: np.ndarray) -> float:
        self.values += 1
        self.point, self.responses = x.copy(), self.patches @ x.T
        self.inside = 1 + PENALTY.nu * self.responses**2  # the log penalty, written out
        value = float(np.log(self.inside).sum()) / len(self.patches)
        (rank, self.rank), (barrier, self.barrier) = rank_penalty(x), coherence_barrier(x)
        value += KAPPA * rank + MU * barrier
        if value <= self.target:
            raise Reached
        return value

    def gradient(self, x: np.ndarray) -> np.ndarray:
        if not (self.sharing and self.point is not None and np.array_equal(x, self.point)):
            self.responses = self.patches @ x.T
            self.inside = 1 + PENALTY.nu * self.responses**2
            self.rank, self.barrier = rank_penalty(x)[1], coherence_barrier(x)[1]
        slope = 2 * PENALTY.nu * self.responses / self.inside
        gradient = slope.T @ self.patches / len(self.patches)
        return gradient + KAPPA * self.rank + MU * self.barrier


def versus_pymanopt(report: Report, patches: np.ndarray, sizes: Sizes) -> None:
    """(c) The same start, the same cost, until the same objective."""
    import pymanopt
    from pymanopt.optimizers import ConjugateGradient

    basis = cosine_atoms(8, 8)
    start = Oblique().random_point(ROWS, len(basis), np.random.default_rng(0))
    settings = Settings(iterations=sizes.versus_iterations, step_tolerance=0)

    def ours() -> tuple[float, float, float, int]:
        begun, cpu = time.perf_counter(), time.process_time()
        objective = Objective(PatchSparsity(patches), PENALTY, KAPPA, MU, basis)
        with one_blas_thread():
            result = conjugate_gradient(objective, Oblique(), start, settings)
        seconds = time.perf_counter() - begun, time.process_time() - cpu
        return *seconds, result.value, result.evaluations

    def theirs(cost: NumpyCost) -> tuple[float, float, bool]:
        manifold = pymanopt.manifolds.Oblique(len(basis), ROWS)  # unit columns: transposed

        @pymanopt.function.numpy(manifold)
        def value(x):
            return cost.value(np.ascontiguousarray(x.T))

        @pymanopt.function.numpy(manifold)
        def gradient(x):
            return cost.gradient(np.ascontiguousarray(x.T)).T

        problem = pymanopt.Problem(manifold, value, euclidean_gradient=gradient)
        optimizer = ConjugateGradient(
            max_iterations=10**6, max_time=sizes.versus_seconds, min_gradient_norm=0, min_step_size=0, verbosity=0
        )
        begun, cpu = time.perf_counter(), time.process_time()
        try:
            optimizer.run(problem, initial_point=start.T)
            reached = False
        except Reached:
            reached = True
        return time.perf_counter() - begun, time.process_time() - cpu, reached

    costs = {sharing: NumpyCost(patches, basis, sharing) for sharing in (False, True)}
    value, gradient = Objective(PatchSparsity(patches), PENALTY, KAPPA, MU, basis)(start)
    assert abs(value / costs[True].value(start) - 1) < 1e-5, "not the same cost"
    for cost in costs.values():
        gap = np.linalg.norm(gradient - cost.gradient(start)) / np.linalg.norm(gradient)
        assert gap < 1e-5, "not the same gradient"

    # More threads of BLAS can be slower on a busy machine: the rival may have it either way.
    rivals = {
        "pymanopt, 1 BLAS thread": (False, 1),
        "pymanopt sharing work, 1 BLAS thread": (True, 1),
        "pymanopt sharing work, BLAS threads on all cores": (True, available_cores()),
    }
    mine, times = [ours()], {}
    target = mine[0][2]
    for who, (sharing, threads) in rivals.items():
        costs[sharing].target, costs[sharing].values = target, 0
        with threadpool_limits(threads, user_api="blas"):
            times[who] = (*theirs(costs[sharing]), costs[sharing].values)
        mine.append(ours())
    wall, cpu = median(run[0] for run in mine), median(run[1] for run in mine)
    name = f"{len(patches):,} patches to objective {target:.2f}"
    report.add(f"{name}: cosparse", wall, "s")
    report.add(f"{name}: cosparse, CPU time", cpu, "s")
    report.add(f"{name}: cosparse, evaluations", mine[0][3], "")
    for who, (seconds, cpu_seconds, reached, values) in times.items():
        report.add(f"{name}: {who}{'' if reached else ' (gave up)'}", seconds, "s")
        report.add(f"{name}: {who}, CPU time", cpu_seconds, "s")
        report.add(f"{name}: {who}, values computed", values, "")
    plain = times["pymanopt, 1 BLAS thread"][0]
    report.add("times faster than pymanopt", plain / wall, "x", "10")
    best = min(run[0] for run in times.values())
    report.add("times faster than the fastest of these", best / wall, "x")


@njit(nogil=True, error_model="numpy")
def _bare_chunk(atoms, patches, piece):  # pragma: no cover - compiled
    """What `fused._patch_chunk` does, without anything between the two products."""
    k = atoms.shape[0]
    buffer = np.empty(k * fused.CHUNK_TILE, np.float32)
    for start in range(0, patches.shape[0], fused.CHUNK_TILE):
        tile = patches[start : start + fused.CHUNK_TILE]
        v = buffer[: k * tile.shape[0]].reshape(k, tile.shape[0])
        np.dot(atoms, tile.T, v)
        np.dot(v, tile, piece)


def fraction_of_the_limit(report: Report, patches: np.ndarray, sizes: Sizes) -> None:
    """(d) The two matrix products alone, same tiles, same chunks, same threads, taking turns."""
    basis = cosine_atoms(8, 8)
    atoms = Oblique().random_point(ROWS, len(basis), np.random.default_rng(0)) @ basis
    atoms = np.ascontiguousarray(atoms, np.float32)
    weights = np.ones(ROWS, np.float32)

    def bare_chunk(start: int) -> None:
        _bare_chunk(atoms, patches[start : start + fused.CHUNK], np.empty_like(atoms))

    def bare() -> None:
        with one_blas_thread():
            spread(bare_chunk, range(0, len(patches), fused.CHUNK))

    def whole() -> None:
        fused.patch_sparsity(atoms, weights, patches, PENALTY.code, PENALTY.nu, PENALTY.p, PENALTY.square)

    times: dict[str, list[float]] = {"bare": [], "whole": []}
    bare(), whole()
    for _ in range(sizes.repeats):
        for name, work in (("bare", bare), ("whole", whole)):
            begun = time.perf_counter()
            work()
            times[name].append(time.perf_counter() - begun)
    pairs = zip(times["bare"], times["whole"], strict=True)
    report.add(f"{len(patches):,} patches: value and gradient", median(times["whole"]), "s")
    report.add(f"{len(patches):,} patches: two bare products", median(times["bare"]), "s")
    report.add("fraction of the limit", median(b / w for b, w in pairs), "", "0.5")


MEMORY = """
import sys
import numpy as np
import cosparse
def peak():
    # VmHWM, not getrusage: that one is inherited from the parent.
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
patches = np.load(sys.argv[1])
before = peak()
cosparse.learn_operator(patches, 128, penalty=cosparse.Penalty.log(5e3), kappa=1280.0, mu=0.0945,
                        settings=cosparse.Settings(iterations=8), checkpoint=sys.argv[2])
print(peak() - patches.nbytes, peak() - before)
"""

COLD = """
import time
begun = time.perf_counter()
import cosparse
imported = time.perf_counter() - begun
import numpy as np
rng = np.random.default_rng(0)
atoms = rng.standard_normal((128, 64)).astype(np.float32)
weights, patches = np.ones(128, np.float32), rng.standard_normal((512, 64)).astype(np.float32)
image = rng.random((32, 32)).astype(np.float32)
begun = time.perf_counter()
from cosparse.kernels import fused  # what the kernel needs is part of its first call
fused.patch_sparsity(atoms, weights, patches, 0, 1.0, 0.0, False)
learning = time.perf_counter() - begun
begun = time.perf_counter()
fused.image_sparsity(atoms, weights, image, (8, 8), (1, 1), 0, 1.0, 0.0)
print(imported, learning, time.perf_counter() - begun)
"""


def child(script: str, *arguments: str, **environment: str) -> list[float]:
    """The numbers that another Python prints."""
    path = os.pathsep.join([str(REPOSITORY / "src"), os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env={**os.environ, "PYTHONPATH": path, **environment},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [float(word) for word in run.stdout.split()]


def memory(report: Report, patches: np.ndarray) -> None:
    """(e) The whole process at its largest, less the patches; a checkpoint is written as well."""
    if not Path("/proc/self/status").exists():
        print("  skipped: only Linux tells a process its peak")
        return
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "patches.npy", patches)
        above, more = child(MEMORY, str(Path(folder) / "patches.npy"), str(Path(folder) / "run"))
    name = f"{len(patches):,} patches ({patches.nbytes / 1e6:.0f} MB): peak memory above the data"
    report.add(f"{name}, interpreter and libraries included", above / 1e6, "MB", "400")
    report.add(f"{name}, by learning alone", more / 1e6, "MB")


def cold_start(report: Report, sizes: Sizes) -> None:
    """(f) Imports, and the first kernel calls ever and in later processes."""
    with tempfile.TemporaryDirectory() as folder:
        ever = child(COLD, NUMBA_CACHE_DIR=folder)
        later = [child(COLD, NUMBA_CACHE_DIR=folder) for _ in range(min(sizes.repeats, 5))]
    report.add("import cosparse", median(times[0] for times in later), "s", "1")
    for number, kernel in ((1, "learning"), (2, "image")):
        report.add(f"first call ever of the {kernel} kernel", ever[number], "s", "6")
        name = f"first call in a later process of the {kernel} kernel"
        report.add(name, median(times[number] for times in later), "s", "1")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="little data, nothing written")
    parser.add_argument("--parts", default="abcdef", help="which of (a) to (f), say --parts ac")
    parser.add_argument("--out", type=Path, help=f"CSV file (default, for a full run, {RESULTS})")
    options = parser.parse_args()
    sizes = QUICK if options.quick else Sizes()
    full = not options.quick and options.parts == "abcdef"
    out = options.out or (RESULTS if full else None)

    data = Path(os.environ.get("COSPARSE_DATA", REPOSITORY.parent / "shared" / "data"))
    images = data / "train" / "goal"
    if not images.is_dir():
        sys.exit(f"skipped: no training images at {images}; set COSPARSE_DATA to where they are")

    def patches(count: int) -> np.ndarray:
        return sample_patches(images, count=count)

    large = patches(sizes.large)
    report = Report()
    report.add("cores", available_cores(), "")
    report.add("load average at the start", os.getloadavg()[0], "")
    learn(large[:1000], Settings(iterations=2))  # compile, or load what was compiled
    parts = {
        "a": ("the reference setting", lambda: reference_setting(report, patches(sizes.reference), sizes)),
        "b": ("to convergence", lambda: to_convergence(report, large, sizes)),
        "c": ("beside pymanopt", lambda: versus_pymanopt(report, patches(sizes.versus), sizes)),
        "d": ("how near the limit", lambda: fraction_of_the_limit(report, large, sizes)),
        "e": ("memory", lambda: memory(report, large)),
        "f": ("cold starts", lambda: cold_start(report, sizes)),
    }
    for letter in options.parts:
        title, run = parts[letter]
        print(f"({letter}) {title}")
        run()
    report.add("load average at the end", os.getloadavg()[0], "")
    report.show()
    if out is not None:
        report.write(out)
        print(f"written to {out}")


if __name__ == "__main__":
    main()
