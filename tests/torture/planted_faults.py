"""Promise 10."""

from __future__ import annotations

import subprocess
import sys

from torture import planting
from torture.children import TESTS, environment
from torture.frame import Impossible, Promise, Run

promise = Promise(10, "Mutation testing: of small faults planted in the core, the quick tests find 85 %")


@promise.part(markers=())
def slips(run: Run) -> None:
    """Each planted fault is valid Python that differs from the source, and is put where it belongs."""
    every = planting.places()
    run.hold(len({planting.key(place) for place in every}) == len(every), "two faults of one name")
    for number in run.rng(10).choice(len(every), run.times(25, 500), replace=False):
        module, one, _ = every[int(number)]
        source = (planting.SOURCE / module).read_text(encoding="utf-8")
        faulty = one.planted(source)
        run.hold(faulty != source and one.before in source, f"{module}:{one.line}: changes nothing")
        compile(faulty, module, "exec")
        run.count("faults that are valid Python")
    run.count("places in the core", len(every))


@promise.part(long_only=True)
def found(run: Run) -> None:
    """Of 120 faults, chosen by the seed evenly over all places, the quick tests find 85 %."""
    try:
        import coverage  # noqa: F401
    except ImportError:
        raise Impossible("coverage is not installed: it says which tests run which line") from None
    of = ["--map", str(run.folder / "lines.json"), "--seed", str(run.seed)]
    for words in (["map"], ["try", "--count", str(run.times(0, 120))], ["counts"]):
        command = [sys.executable, "-m", "torture.planting", *words, *of]
        done = subprocess.run(command, cwd=TESTS.parent, env=environment(), capture_output=True, text=True, check=False)
    rows = planting.of_sample(planting.read(), run.seed)
    for package in planting.PACKAGES:
        part = [row for row in rows if row["module"].startswith(package)]
        run.count(f"faults planted in {package}", len(part))
        run.count(f"found in {package}", sum(row["outcome"] in planting.FOUND for row in part))
    run.count("equivalent", sum(map(planting.equivalent, rows)))
    run.hold(done.returncode == 0, done.stdout[-500:] + done.stderr[-500:])
