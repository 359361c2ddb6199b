"""Promise 5."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import numpy as np

from torture.children import TESTS, environment, finish
from torture.frame import Impossible, Promise, Run

promise = Promise(5, "Memory is asked for before it is taken: a task knows its peak, and refuses what is not there")

BENCHMARK = TESTS.parent / "benchmarks" / "memory.py"
# A picture of which the machine has room for the pixels, and not for the work.
_REFUSED = """
import resource, sys
import numpy as np, cosparse
from cosparse.reconstruction import memory
image = np.full((2000, 2000), 100, np.uint8)
cosparse.denoise(image[:64, :64], 10)
memory.memory_left = lambda: 150_000_000
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for task in (
    lambda: cosparse.denoise(image, 10), lambda: cosparse.inpaint(image, np.eye(2000, dtype=bool)),
    lambda: cosparse.upscale(image, 2), lambda: cosparse.deblur(image, np.ones((3, 3)), sigma=2),
    lambda: cosparse.deblock(image, [np.full((8, 8), 9)]),
):
    try:
        task()
    except MemoryError as words:
        assert "MB of memory, and 150 MB are free" in str(words), words
    else:
        sys.exit("it was begun")
print(1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before))
"""


@promise.part()
def refused(run: Run) -> None:
    """Every task refuses what would not fit, and has taken nothing by then."""
    taken = int(finish([sys.executable, "-c", _REFUSED], env=environment()).stdout)
    run.hold(taken < 30_000_000, f"{taken:,} bytes were taken by tasks that refused")
    run.count("tasks refused", 5)


@promise.part()
def peaks(run: Run) -> None:
    """What tasks take at their peak, each in a process of its own, is no more than they ask for."""
    benchmark = _benchmark()
    small = [{**case, "side": 256} for case in benchmark.cases()[:2]]
    shares = []
    for case in small if run.short else benchmark.cases():
        taken, asked = benchmark.measured(case), benchmark.asked(case)
        run.hold(taken <= asked, f"{case} took {taken:,} bytes and asked for {asked:,}")
        shares.append(taken / asked)
        run.count("peaks measured")
    run.count("% of what is asked for is taken, at most", round(100 * max(shares)))
    run.count("% on average", round(100 * float(np.mean(shares))))


def _benchmark() -> ModuleType:
    if not sys.platform.startswith("linux") or not BENCHMARK.exists():
        raise Impossible("peaks are measured on Linux, from a checkout")
    spec = importlib.util.spec_from_file_location("memory_benchmark", BENCHMARK)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
