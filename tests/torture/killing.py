"""Promise 2: whatever ends a run, its outputs are absent or complete, and running again ends with the same bytes."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from torture.children import LONGEST, emptied, environment, finish, function
from torture.frame import Impossible, Promise, Run

promise = Promise(
    2, "Kill -9 at any moment: every output is absent or complete, running again ends with the same bytes"
)
NAMES = ("learning", "refining", "batch", "tiles", "tiles to TIFF")


def executed(run: Run, what: str, name: str, *arguments: object, **variables: str) -> None:
    """Have it done in a process of its own; its counts are ours."""
    folder = emptied(run.folder / f"{what}-{name}".replace(" ", "-").replace(".", "-"))
    # It watches over each of its own processes, of which there may be a hundred.
    command, env = function(what, name, folder, run.seed, *arguments), environment(**variables)
    done = finish(command, env=env, code=None, longest=LONGEST if run.short else 10 * LONGEST)
    if "Impossible" in done.stderr:
        raise Impossible(done.stderr.strip().splitlines()[-1].partition(": ")[2])
    run.hold(done.returncode == 0, f"{what}, {name}: {done.stderr[-4000:]}")
    for counted, number in json.loads(done.stdout.splitlines()[-1]).items():
        run.count(f"{name}: {counted}", number)


@promise.part()
def kills(run: Run) -> None:
    """Kill -9 at random moments of learning, refining, batch repair and repair by tiles."""
    for name in NAMES if not run.short else NAMES[:4]:
        executed(run, "executioner.kill", name, run.times(3, 50))


@promise.part()
def every_write(run: Run) -> None:
    """Kill -9 before each write to the disk in turn."""
    for name in NAMES if not run.short else ("batch", "tiles"):
        executed(run, "executioner.kill_at_every_write", name, run.times(4, 60))


@promise.part()
def signals(run: Run) -> None:
    """Ctrl-C, SIGTERM and SIGHUP: a clean end in words, no temporary file, and taken up again."""
    for name in ("learning", "refining", "batch"):
        executed(run, "executioner.signals", name, run.times(3, 30))


@promise.part(long_only=True)
def full_disk(run: Run) -> None:
    """A disk with any number of bytes left: an end in words, nothing half done; with room, the same bytes."""
    for name in ("learning", "batch", "tiles", "tiles to TIFF"):
        executed(run, "disks.full_disk", name, run.times(2, 12))


@promise.part(long_only=True)
def read_only(run: Run) -> None:
    """A disk that may not be written: refused in words."""
    for name in ("learning", "refining", "batch", "tiles"):
        executed(run, "disks.read_only", name)


@promise.part()
def failing_disk(run: Run) -> None:
    """A disk that gives EIO from some write on: an end in words; on one that works, the same bytes."""
    library = compiled(run)
    for name in ("learning", "refining", "batch", "tiles") if not run.short else ("batch",):
        executed(run, "disks.failing_disk", name, run.times(3, 20), LD_PRELOAD=library)


@promise.part(long_only=True)
def jumping_clock(run: Run) -> None:
    """The time of day jumps by years: the same bytes. Not of tiles: Dask's own waiting goes by the time of day."""
    library = compiled(run)
    for name in ("learning", "refining", "batch"):
        executed(run, "disks.jumping_clock", name, LD_PRELOAD=library)


@promise.part(long_only=True)
def uploads(run: Run) -> None:
    """The page is killed while pictures are sent to it: the next one clears up, and takes them."""
    executed(run, "disks.uploads", "page", run.times(2, 50))


def compiled(run: Run) -> str:
    """The stand-in for a disk and a clock, as a library."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise Impossible("no C compiler is found, to make the disk that fails")
    library = run.folder / "faulty.so"
    source = Path(__file__).with_name("faulty.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"], check=True)
    return str(library)
