"""Quality against processor time: cosparse and every denoiser for CPUs that can be had, in one run.

    python benchmarks/speed/frontier.py prepare [--into FOLDER]       makes the rivals' environments (some GB)
    python benchmarks/speed/frontier.py run [--count 68] [--turns 5]  measures; writes results/frontier.csv, the figure
    python benchmarks/speed/frontier.py run --only cosparse           ours anew, the rivals' rows stay as they are
    python benchmarks/speed/frontier.py draw                          the figure and the ratios from the CSV

Time: processor seconds, user and system, of one call on a 512x512 picture (scikit-image's camera, noise of 25), after a
warm-up, on one thread of one core; the median of turns in which all methods follow each other, so that the machine's
moods hit all alike. Quality: mean PSNR over BSD68 at the same noise, of every fourth picture unless --count says
more; image number i has the noise of seed i, as in paper/modern.py. What is not installed is left out, and said.
Finished pictures are kept in .benchmarks-cache/, as by the scripts of paper/.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "paper"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import cells
import common
import frontier_figure
import frontier_worker
from frontier_methods import ENVIRONMENTS, METHODS, PYTHONS, Method

from cosparse.operator import chosen_operator

SIGMA = 25.0
WORKER = Path(__file__).resolve().parent / "frontier_worker.py"
FOLDER = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "cosparse-rivals"
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS", "COSPARSE_NUM_THREADS"), "1"
)
NAMES = ("method", "setting")
WARMING = 128  # side of the corner that a method is warmed with

say = partial(cells.console.print, soft_wrap=True, markup=False, highlight=False)


# -- environments


def python(version: str | None) -> str:
    """An interpreter of that version, if there is one: on the path or among pyenv's."""
    if version is None:
        return sys.executable
    pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    found = [*map(str, pyenv), shutil.which(f"python{version}")]
    return next((place for place in found if place), sys.executable)


def prepare(into: Path) -> None:
    """Make the environments; a package that cannot be installed is said and left out."""
    for name, packages in ENVIRONMENTS.items():
        folder = into / name
        if not interpreter(into, name).exists():
            subprocess.run([python(PYTHONS.get(name)), "-m", "venv", str(folder)], check=True)
        for package in ("numpy", *packages):
            command = [str(interpreter(into, name)), "-m", "pip", "install", "--quiet", package]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            reason = done.stderr.strip().splitlines()[-1:] if done.returncode else []
            say(f"{name}: {package} {'left out: ' + ' '.join(reason) if done.returncode else 'is there'}")


def interpreter(into: Path, environment: str) -> Path:
    return into / environment / "bin" / "python"


# -- workers


@dataclass
class Worker:
    """A process of frontier_worker.py in one environment, and a folder to hand it pictures in."""

    process: subprocess.Popen[str]
    folder: Path

    @classmethod
    def start(cls, program: str, folder: Path) -> Worker:
        # A rival's libraries are its own: what this process was told to find where is none of its business.
        own = program == sys.executable
        environment = {key: value for key, value in os.environ.items() if own or key != "PYTHONPATH"}
        process = subprocess.Popen(
            [program, "-W", "ignore", str(WORKER)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment | ONE_THREAD,
        )  # fmt: skip
        return cls(process, folder)

    def ask(self, job: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"error": f"the process ended with code {self.process.wait()}"}

    def denoise(self, method: Method, noisy: np.ndarray) -> tuple[np.ndarray, float]:
        """The result, and the processor seconds that it took."""
        picture, result = self.folder / "noisy.npy", self.folder / "result.npy"
        np.save(picture, noisy)
        job = {"method": method.name, "setting": method.setting, "sigma": SIGMA}
        said = self.ask({**job, "picture": str(picture), "result": str(result)})
        if "error" in said:
            raise RuntimeError(said["error"])
        return np.load(result, allow_pickle=False), float(said["cpu"])

    def stop(self) -> None:
        with self.process:  # closes its input, at whose end it stops, and waits
            pass


class Stand:
    """All methods that are here, each with its worker, warmed, and its version."""

    def __init__(self, methods: Iterable[Method], into: Path, noisy: np.ndarray, stack: ExitStack) -> None:
        self.workers: dict[Method, Worker] = {}
        self.versions: dict[Method, str] = {}
        started: dict[str, Worker] = {}
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        corner = np.ascontiguousarray(noisy[:WARMING, :WARMING])
        for method in methods:
            own = interpreter(into, method.environment)
            program = str(own) if method.environment and own.exists() else sys.executable
            if program not in started:
                started[program] = Worker.start(program, folder)
                stack.callback(started[program].stop)
            worker = started[program]
            version = worker.ask({"packages": [method.package]}).get(method.package)
            try:
                if version is None and method.name != "cosparse":
                    raise RuntimeError(f"{method.package} is not installed; `frontier.py prepare` brings it")
                worker.denoise(method, corner)
            except RuntimeError as problem:
                say(f"{method.title} is left out: {problem}")
                continue
            self.workers[method] = worker
            self.versions[method] = f"{method.package} {version}" if method.kind != "ours" else our_version(method)


def our_version(method: Method) -> str:
    return cells.our_version(chosen_operator(method.setting.get("operator")))


# -- measuring


def pictures(count: int) -> dict[str, tuple[int, np.ndarray]]:
    """So many of BSD68, evenly chosen: by name, the number and the picture."""
    common.need_data()
    files = list(enumerate(sorted((common.DATA / "bsd68").glob("*.png"))))
    return {file.stem: (i, common.read_grey(file)) for i, file in files[:: max(1, len(files) // count)][:count]}


@cache
def known() -> dict[tuple[str, str, str], float]:
    """PSNR by version, picture and seed of rivals that paper/modern.py has measured on the same noise."""
    rows = cells.read_rows(common.RESULTS, "modern")
    return {
        (row["version"], row["image"], row["seed"]): float(row["psnr"])
        for row in rows
        if row["set"] == "bsd68" and float(row["sigma"]) == SIGMA and row["method"] not in cells.OURS and row["psnr"]
    }


def cell(method: Method, stand: Stand, name: str, number: int, image: np.ndarray) -> cells.Cell:
    """The PSNR of one picture, computed once."""
    noisy, version = common.add_noise(image, SIGMA, number), stand.versions[method]
    source = inspect.getsource(frontier_worker.METHODS[method.name])
    key = ["frontier", version, source, method.setting, SIGMA, noisy, image]

    def work() -> dict[str, float]:
        there = known().get((version, name, str(number)))
        if there is not None:
            return {"psnr": there}
        return cells.quality_of(image, stand.workers[method].denoise(method, noisy)[0])

    return cells.Cell({"method": method.name, "setting": method.label, "image": name}, key, work)


def qualities(stand: Stand, images: dict[str, tuple[int, np.ndarray]]) -> dict[Method, float]:
    """Mean PSNR of each method."""
    work = [cell(m, stand, name, number, image) for m in stand.workers for name, (number, image) in images.items()]
    found = [float(row["psnr"]) for row in cells.compute("frontier", work)]
    means = np.reshape(found, (len(stand.workers), len(images))).mean(1)
    return dict(zip(stand.workers, map(float, means), strict=True))


def times(stand: Stand, noisy: np.ndarray, turns: int) -> dict[Method, float]:
    """Median processor seconds of each method, all taking turns."""
    taken: dict[Method, list[float]] = {method: [] for method in stand.workers}
    for worker in stand.workers.values():
        pin(worker)
    for turn in range(turns):
        say(f"times, turn {turn + 1} of {turns}")
        for method, worker in stand.workers.items():
            taken[method].append(worker.denoise(method, noisy)[1])
    return {method: median(seconds) for method, seconds in taken.items()}


def pin(worker: Worker) -> None:
    """Keep all threads of a worker to one core, the same for all workers, where the system lets it."""
    threads = Path(f"/proc/{worker.process.pid}/task")
    if threads.is_dir() and hasattr(os, "sched_setaffinity"):
        for thread in threads.iterdir():
            os.sched_setaffinity(int(thread.name), {max(os.sched_getaffinity(0))})


def measure(args: argparse.Namespace) -> list[dict[str, Any]]:
    """A row for each method that was asked for and is here."""
    from skimage.data import camera

    truth = camera().astype(np.float32)
    if args.quick:
        truth = np.ascontiguousarray(truth[64 : 64 + cells.QUICK, 192 : 192 + cells.QUICK])
    noisy = common.add_noise(truth, SIGMA)
    images = {"camera": (0, truth)} if args.quick else pictures(args.count)
    subset = f"{len(images)} of 68" if not args.quick else "corner of camera"
    chosen = [method for method in METHODS if not args.only or method.name in args.only]
    with ExitStack() as stack:
        stand = Stand(chosen, args.rivals, noisy, stack)
        decibels = qualities(stand, images)
        seconds = times(stand, noisy, args.turns)
    return [
        {"method": m.name, "setting": m.label, "kind": m.kind, "version": stand.versions[m], "licence": m.licence,
         "cpu_seconds": f"{seconds[m]:.4g}", "psnr": f"{decibels[m]:.3f}", "subset": subset}
        for m in stand.workers
    ]  # fmt: skip


# -- reporting


def report(rows: Sequence[dict[str, str]]) -> None:
    """The table, the ratios to PyPI's bm3d, and who lies on or above our curve."""
    cells.show(
        f"one thread, 512x512, σ = {SIGMA:g}; dB: BSD68, {rows[0]['subset']}",
        ["method", "setting", "CPU s", "dB", "licence", "version"],
        [
            [row["method"], row["setting"], row["cpu_seconds"], row["psnr"], row["licence"], row["version"]]
            for row in sorted(rows, key=lambda row: float(row["cpu_seconds"]))
        ],
    )
    seconds = {(row["method"], row["setting"]): float(row["cpu_seconds"]) for row in rows}
    for quality in ("fast", "balanced", "best"):
        if ("bm3d", "") in seconds and ("cosparse", quality) in seconds:
            ratio = seconds["bm3d", ""] / seconds["cosparse", quality]
            say(f"CPU of PyPI's bm3d over cosparse {quality}: {ratio:.1f}")
    for row in frontier_figure.above(rows):
        say(f"on or above our curve: {row['method']} {row['setting']} ({row['cpu_seconds']} s, {row['psnr']} dB)")


def main(argv: Sequence[str] | None = None) -> list[dict[str, str]]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["prepare", "run", "draw"])
    parser.add_argument("--into", "--rivals", type=Path, default=FOLDER, dest="rivals", help=f"default {FOLDER}")
    parser.add_argument("--count", type=int, default=17, help="pictures of BSD68 (default every fourth)")
    parser.add_argument("--turns", type=int, default=3, help="calls that a time is the median of")
    parser.add_argument("--only", nargs="+", choices=sorted({m.name for m in METHODS}), metavar="METHOD", default=None)
    parser.add_argument("--quick", action="store_true", help="a corner of one picture: only shows it runs")
    parser.add_argument("--output", type=Path, default=None, help="folder of the CSV (default benchmarks/results)")
    args = parser.parse_args(argv)
    if args.command == "prepare":
        prepare(args.rivals)
        return []
    output = args.output or (cells.CACHE / "quick" if args.quick else common.RESULTS)
    if args.command == "run":
        path = cells.write_rows(output, "frontier", measure(args), NAMES)
        say(f"written: {path}")
    rows = cells.read_rows(output, "frontier")
    if len({row["subset"] for row in rows}) > 1:
        raise SystemExit("frontier.csv: dB of different subsets of BSD68 do not compare; run all with one --count")
    report(rows)
    figure = output / "frontier.png" if args.output or args.quick else common.ROOT / "docs" / "images" / "frontier.png"
    frontier_figure.draw(rows, figure)
    say(f"drawn: {figure}")
    return rows


if __name__ == "__main__":
    main()
