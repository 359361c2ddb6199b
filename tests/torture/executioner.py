"""A process that has everything loaded, and forks one after the other to be interrupted: a start costs nothing."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from torture.victims import VICTIMS, forked

PATIENCE = 300.0  # seconds until a process counts as hung
WRITING = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "os.utime")
Counts = Counter[str]


class Scaffold:
    """A victim, its folder, and what it leaves when nobody disturbs it."""

    def __init__(self, name: str, folder: Path, log: Path | None = None) -> None:
        warnings.simplefilter("ignore")  # of forks beside threads
        load()
        self.name, self.victim, self.folder = name, VICTIMS[name], folder / "place"
        self.log = log or folder / "log"
        self.fresh()
        began = time.monotonic()
        self.finish()
        self.seconds = time.monotonic() - began
        self.whole = self.victim.found(self.folder)
        assert set(self.whole) == set(self.victim.outputs), f"undisturbed it wrote {sorted(self.whole)}"

    def fresh(self) -> None:
        """Nothing but the inputs."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        self.victim.prepare(self.folder)

    def start(self, before: Callable[[], None] = lambda: None) -> int:
        """A process at work."""

        def work() -> int:
            before()
            return self.victim.work(self.folder)

        return forked(work, self.log)

    def finish(self) -> None:
        """Work to the end."""
        code = ended(self.start(), PATIENCE)
        assert code == 0, f"{self.name} ended with {code}: {self.log.read_text()[-3000:]}"

    def hold_whole(self, where: str) -> None:
        """Every output is as if nobody had disturbed it."""
        found = self.victim.found(self.folder)
        for name, files in self.whole.items():
            assert name in found, f"{where}: {name} is not there after running again"
            assert found[name] == files, f"{where}: {name} has other bytes after running again"

    def hold_absent_or_complete(self, where: str) -> None:
        """No output is half there; what else is there is hidden, or known to be unfinished."""
        for name, files in self.victim.found(self.folder).items():
            assert files == self.whole[name], f"{where}: {name} is there, but is not complete"


def load() -> None:
    """Everything that a victim imports or compiles, so that none of them waits for it; no thread is started."""
    import distributed
    import zarr

    import cosparse.cli.app
    from torture import calls

    del distributed, zarr, cosparse
    calls.digests(["denoise.fast", "denoise", "learn_operator", "refine_operator"])


def ended(process: int, within: float) -> int | None:
    """The exit code of a process (negative: the signal's); None if it has not ended in so many seconds."""
    descriptor = os.pidfd_open(process)
    try:
        if not select.select([descriptor], [], [], within)[0]:
            return None
    finally:
        os.close(descriptor)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def stop(process: int, how: int) -> int:
    """Send a signal, and wait for the end of it."""
    os.kill(process, how)
    code = ended(process, PATIENCE)
    if code is None:
        os.kill(process, signal.SIGKILL)
        ended(process, PATIENCE)
        raise AssertionError(f"did not end within {PATIENCE:.0f} s of signal {how}")
    return code


def kill(name: str, folder: str, seed: str, kills: str) -> None:
    """Kill -9 at random moments: several times in a row, then the work is brought to its end and compared."""
    scaffold, rng, counts = Scaffold(name, Path(folder)), np.random.default_rng(int(seed)), Counter[str]()
    while counts["kills"] < int(kills):
        scaffold.fresh()
        for _ in range(int(rng.integers(1, 6))):
            process = scaffold.start()
            after = scaffold.seconds * float(rng.random())
            where = f"{name}, killed after {after:.3f} of {scaffold.seconds:.3f} s"
            code = ended(process, after)
            if code is None:
                code = stop(process, signal.SIGKILL)
            if code == -signal.SIGKILL:
                counts["kills"] += 1
            else:
                assert code == 0, f"{name} ended with {code}: {scaffold.log.read_text()[-3000:]}"
            scaffold.hold_absent_or_complete(where)
            if code == 0 or counts["kills"] == int(kills):
                break
        scaffold.finish()
        scaffold.hold_whole(where)
        counts["runs taken up again, with the same bytes"] += 1
    tell(counts)


def kill_at_every_write(name: str, folder: str, seed: str, most: str) -> None:
    """Kill -9 just before every file that is opened for writing, renamed, made or removed, each in turn."""
    scaffold, counts, place = Scaffold(name, Path(folder)), Counter[str](), 0
    rng = np.random.default_rng(int(seed))
    events = _events(scaffold)
    places = sorted(rng.choice(events, min(events, int(most)), replace=False)) if events else []
    for place in map(int, places):
        scaffold.fresh()
        code = ended(scaffold.start(lambda place=place: _die_at(scaffold.folder, place)), PATIENCE)
        where = f"{name}, killed before its write {place} of {events}"
        assert code in (0, -signal.SIGKILL), f"{where}: ended with {code}: {scaffold.log.read_text()[-3000:]}"
        counts["kills before a write"] += code != 0
        scaffold.hold_absent_or_complete(where)
        scaffold.finish()
        scaffold.hold_whole(where)
    tell(counts)


def _events(scaffold: Scaffold) -> int:
    """How many writes an undisturbed run makes."""
    scaffold.fresh()
    told = scaffold.folder.parent / "events"
    code = ended(scaffold.start(lambda: _die_at(scaffold.folder, 10**9, told)), PATIENCE)
    assert code == 0, scaffold.log.read_text()[-3000:]
    return int(told.read_text())


def _die_at(folder: Path, place: int, told: Path | None = None) -> None:
    """Kill this process before its write of that number below the folder; or note how many there were."""
    seen = 0

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal seen
        if event not in WRITING or not arguments or str(folder) not in str(arguments[0]):
            return
        if event == "open" and not (isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)):
            return
        if seen == place:
            os.kill(os.getpid(), signal.SIGKILL)
        seen += 1
        if told is not None:
            with open(told, "w") as file:
                file.write(str(seen))

    sys.addaudithook(hook)


def signals(name: str, folder: str, seed: str, times: str) -> None:
    """Ctrl-C, SIGTERM and SIGHUP at random moments: a clean end, no temporary file, then taken up again."""
    scaffold, rng, counts = Scaffold(name, Path(folder)), np.random.default_rng(int(seed)), Counter[str]()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # behind a shell, or by nohup, these were ignored
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    for number in range(int(times)):
        how = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[number % 3]
        scaffold.fresh()
        inputs = set(scaffold.folder.rglob("*"))
        process = scaffold.start()
        after = scaffold.seconds * float(rng.uniform(0.1, 1))
        code = ended(process, after)
        if code is None:
            code = stop(process, how)
            said = scaffold.log.read_text()
            where = f"{name}, {how.name} after {after:.3f} of {scaffold.seconds:.3f} s, ended with {code}"
            if code == -how:  # before the program heeded it
                assert set(scaffold.folder.rglob("*")) == inputs, where
                continue
            assert code in (0, 128 + how), f"{where}: {said[-3000:]}"
            assert "Traceback" not in said, f"{where}: {said[-3000:]}"
            left = [
                path
                for path in set(scaffold.folder.rglob("*")) - inputs
                if path.name.endswith(".part") and path.is_file()
            ]
            assert not left, f"{where}: left {left}"
            counts[how.name] += code != 0
            scaffold.hold_absent_or_complete(where)
        scaffold.finish()
        scaffold.hold_whole(name)
    tell(counts)


def tell(counts: Counts) -> None:
    """For the process that waits."""
    print(json.dumps(counts))
