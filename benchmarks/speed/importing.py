"""How long it takes to import cosparse: the least of several new processes, less that of Python alone.

    python benchmarks/speed/importing.py [--times 7]

Writes benchmarks/results/import_time.csv: processor seconds, which other work on the machine changes least.
"""

from __future__ import annotations

import argparse
import csv
import resource
import subprocess
import sys
import time
from pathlib import Path

RESULT = Path(__file__).resolve().parents[1] / "results" / "import_time.csv"
STATEMENTS = {
    "import cosparse": "import cosparse",
    "from cosparse import denoise": "from cosparse import denoise",
    "the command line": "from cosparse.cli import main",
    "import numpy": "import numpy",
    "import skimage.restoration": "import skimage.restoration",
}


def taken(code: str, times: int) -> tuple[float, float]:
    """The least processor and wall-clock seconds of a new process that runs this."""
    found = []
    for _ in range(times):
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - started
        found.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall))
    return min(processor for processor, _ in found), min(wall for _, wall in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=7)
    times = parser.parse_args().times
    alone = taken("pass", times)
    rows = []
    for name, code in STATEMENTS.items():
        processor, wall = (whole - own for whole, own in zip(taken(code, times), alone, strict=True))
        rows.append((name, f"{processor:.3f}"))
        print(f"{name}: {processor:.3f} s of a processor, {wall:.3f} s by the clock")
    with open(RESULT, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("what", "processor_seconds"), *rows])


if __name__ == "__main__":
    main()
