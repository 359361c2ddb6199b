"""Promise 7."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from torture.frame import Impossible, Promise, Run

promise = Promise(7, "The cluster under faults: the same bytes, or a clear end from which it goes on")

SIDE, TILE = 448, 96
WAIT = 300.0  # seconds for a cluster, only to fail instead of hanging
SOAK = 120.0  # minutes
FORGETFUL = {  # Dask's own diary of what it did, which would hide what ours leaves behind
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__DIAGNOSTICS__COMPUTATIONS__MAX_HISTORY": "1",
    "DASK_DISTRIBUTED__ADMIN__LOG_LENGTH": "100",
    "DASK_DISTRIBUTED__ADMIN__LOW_LEVEL_LOG_LENGTH": "100",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__LOG_LENGTH": "100",
}
SPANS = 20
MAY_GROW = 60_000_000  # bytes of a worker or the scheduler, beyond what it had after the first rounds
# What a run that was disturbed may end with; each says what to do.
CLEAR = (ConnectionError, RuntimeError, OSError)


@promise.part(markers=())
def liars(run: Run) -> None:
    """A worker of another version is refused, and so are unfinished tiles of other data or another request."""
    try:
        from cosparse.cluster.connection import on_worker
        from cosparse.cluster.unfinished import Unfinished
    except ImportError as missing:
        raise Impossible(f"needs cosparse[cluster] ({missing})") from None
    with contextlib.suppress(RuntimeError):
        run.hold(on_worker("0.0.1", len, []) != 0, "work of another version was done")
    run.count("other versions refused")
    first = {"version": "1", "task": "denoise", "source": "a", "sigma": 5.0}
    Unfinished(run.folder / "out.zarr").begin(first, force=False)
    for other in ({"version": "2"}, {"source": "b"}, {"sigma": 6.0}, {"task": "deblur"}):
        try:
            Unfinished(run.folder / "out.zarr").begin({**first, **other}, force=False)
        except FileExistsError as words:
            run.hold(next(iter(other)) in str(words), f"does not say what differs: {words}")
            run.count("other requests refused")
            continue
        run.hold(False, f"went on from tiles of another request: {other}")


@promise.part(long_only=True)
def waves(run: Run) -> None:
    """Workers are killed in waves, and others come."""
    for number in range(run.times(1, 5)):
        with _cluster(run.folder / f"waves-{number}", 3) as processes:
            rng, struck = run.rng(7, number), 0

            def strike(done: int, processes: Any = processes, rng: Any = rng) -> None:
                nonlocal struck
                if rng.random() < 0.4:
                    living = [one for one in processes.processes[1:] if one.poll() is None]
                    for victim in living[: int(rng.integers(1, 3))]:
                        victim.kill()
                        processes.worker()
                        struck += 1

            _disturbed(run, processes, f"waves-{number}", strike)
            run.count("workers killed", struck)


@promise.part(long_only=True)
def scheduler(run: Run) -> None:
    """The scheduler is killed; the run ends in words, and goes on with another."""
    for number in range(run.times(1, 3)):
        folder = run.folder / f"scheduler-{number}"
        with _cluster(folder, 2) as processes:

            def strike(done: int, processes: Any = processes, when: int = 3 + 4 * number) -> None:
                if done == when:
                    processes.processes[0].kill()

            another = partial(_cluster, folder / "again", 2)
            _disturbed(run, processes, f"scheduler-{number}", strike, again=another)
            run.count("schedulers killed")


@promise.part(long_only=True)
def cut(run: Run) -> None:
    """The network between the scheduler and all others is silent for a minute, then back."""
    for number, seconds in enumerate([60.0 * run.repetitions] * run.times(1, 1)):
        folder = run.folder / f"cut-{number}"
        with _cluster(folder, 0) as processes, Wire(_port(processes.address)) as wire:
            for _ in range(2):
                _worker(processes, wire.address)

            def strike(done: int, wire: Wire = wire, seconds: float = seconds) -> None:
                if done == 4:
                    wire.cut(seconds)

            _disturbed(run, processes, f"cut-{number}", strike, address=wire.address)
            run.count("seconds of silence", round(seconds))


@promise.part(long_only=True)
def full_disk(run: Run) -> None:
    """The disk on which tiles and the workers' own files lie is full; with more room it goes on."""
    disk = run.folder / "disk"
    disk.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if made.returncode or not os.path.ismount(disk):
        raise Impossible("a small disk cannot be mounted: needs root, and a system that lets it")
    try:
        with _cluster(run.folder / "full", 2, local=disk) as processes:

            def room() -> contextlib.AbstractContextManager[Any]:
                subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
                return contextlib.nullcontext(processes)

            ended = _disturbed(run, processes, "full", lambda done: None, again=room, target=disk / "full.zarr")
            run.hold("make room" in ended, f"a full disk was not said to be so: {ended!r}")
            run.count("full disks")
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False)


@promise.part(long_only=True)
def soak(run: Run) -> None:
    """Two hours of tiles and files; neither scheduler nor workers grow."""
    try:
        import psutil
    except ImportError:
        raise Impossible("psutil is not installed") from None
    from cosparse import cluster
    from cosparse.io.picture import write_image

    source, expected = _source(run)
    end, first = time.monotonic() + 60 * SOAK * run.repetitions, dict[int, int]()
    for number in range(6):
        write_image(
            run.folder / f"in-{number}.png", np.asarray(source[:64, number * 40 : number * 40 + 64]).astype(np.uint8)
        )
    with _cluster(run.folder / "soak", 2, **FORGETFUL) as processes, processes.wait() as client:
        rounds = 0
        while time.monotonic() < end or rounds < 4:
            target = run.folder / f"soak-{rounds}.zarr"
            _repaired(source, target, client)
            run.hold(_same(target, expected), f"round {rounds} gave other bytes")
            shutil.rmtree(target)
            files = [(run.folder / f"in-{i}.png", run.folder / f"out-{rounds}-{i}.png") for i in range(6)]
            report = cluster.repair_files("denoise", files, client=client, sigma=10, quality="fast")
            run.hold(report.done == 6, f"files failed: {report.errors}")
            for _, done in files:
                done.unlink()
            rounds += 1
            run.count("rounds")
            client.run_on_scheduler(_forget_spans)
            client.run(_forget_keys)
            now = {one.pid: psutil.Process(one.pid).memory_info().rss for one in processes.processes}
            first = now if rounds == 3 else first
            for pid, size in now.items():
                grown = size - first.get(pid, size)
                run.hold(grown < MAY_GROW, f"a process grew by {grown:,} bytes within {rounds} rounds")
        run.counts["bytes grown at most"] = max(now[pid] - size for pid, size in first.items())


# -- how ----------


def _source(run: Run) -> tuple[Any, np.ndarray]:
    """A picture on disk that differs from place to place, and what an undisturbed run makes of it."""
    import zarr

    rows, columns = np.mgrid[:SIDE, :SIDE]
    image = 120 + 60 * np.sin(rows / 9) * np.cos(columns / 13) + 10 * run.rng(7).standard_normal((SIDE, SIDE))
    array = zarr.create_array(
        str(run.folder / "in.zarr"), data=image.astype(np.float32), chunks=(TILE, TILE), overwrite=True
    )
    target = run.folder / "whole.zarr"
    if not target.exists():
        with _cluster(run.folder / "undisturbed", 2) as processes, processes.wait() as client:
            _repaired(array, target, client)
    return array, np.asarray(zarr.open_array(str(target), mode="r")[:])


def _repaired(source: Any, target: Path, client: Any, tell: Callable[[int], None] | None = None) -> int:
    from cosparse import cluster

    client.wait_for_workers(1, timeout=WAIT)
    report = cluster.repair_picture(
        "denoise", source, target, client=client, tile=TILE, sigma=10, quality="fast", data_range=255.0,
        callback=None if tell is None else lambda done, total: tell(done),
    )  # fmt: skip
    return report.resumed


def _forget_keys() -> None:
    """Empties a cache that Dask fills with the last 100,000 keys."""
    import dask.utils

    dask.utils.key_split.cache_clear()


def _forget_spans(dask_scheduler: Any) -> None:
    """Takes from Dask's scheduler what it keeps for good: a span for each computation, with all groups of its keys."""
    _forget_keys()
    kept = dask_scheduler.extensions["spans"]
    for old in list(kept.spans)[:-SPANS]:  # the workers still tell of the last ones
        del kept.spans[old]
    for listed in (kept.root_spans, *kept.spans_search_by_name.values(), *kept.spans_search_by_tag.values()):
        del listed[:-SPANS]
    for span in kept.spans.values():
        span.groups.clear()


def _same(target: Path, expected: np.ndarray) -> bool:
    import zarr

    return np.array_equal(zarr.open_array(str(target), mode="r")[:], expected)


def _disturbed(
    run: Run,
    processes: Any,
    name: str,
    strike: Callable[[int], None],
    *,
    again: Callable[[], contextlib.AbstractContextManager[Any]] | None = None,
    address: str = "",
    target: Path | None = None,
) -> str:
    """A repair that is struck at ends with the bytes of an undisturbed one, or in words, and then goes on to them."""
    from distributed import Client

    source, expected = _source(run)
    goal, ended = target or run.folder / f"{name}.zarr", ""
    for attempt in range(6):
        with contextlib.ExitStack() as stack:
            now = processes if again is None or not attempt else stack.enter_context(again())
            client = stack.enter_context(Client(address, timeout=WAIT) if address else now.wait())
            began = time.monotonic()
            try:
                resumed = _repaired(source, goal, client, strike if attempt == 0 else None)
            except CLEAR as words:
                ended = ended or f"{type(words).__name__}: {words}"
                print(f"   {name} ended with {type(words).__name__}: {words}", flush=True)
                run.hold(
                    str(words) and not goal.exists(),
                    f"{name}: {type(words).__name__} {words!r}, target {goal.exists()}",
                )
                run.count("clear ends")
                run.counts["seconds to a clear end"] = max(
                    run.counts.get("seconds to a clear end", 0), round(time.monotonic() - began)
                )
                if again is None:
                    processes.worker() if not address else _worker(processes, address)
                continue
            run.hold(_same(goal, expected), f"{name}: other bytes than an undisturbed run")
            run.hold(not goal.with_name(goal.name + ".part").exists(), f"{name}: unfinished tiles were left")
            run.count("same bytes")
            run.count("tiles gone on from", resumed)
            return ended
    run.hold(False, f"{name}: did not end after six attempts; first {ended}")
    return ended


@contextlib.contextmanager
def _cluster(folder: Path, workers: int, local: Path | None = None, **settings: str) -> Iterator[Any]:
    """A scheduler and workers, processes of their own on loopback, with settings of Dask's as it reads them."""
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise Impossible("needs cosparse[cluster]") from None
    from dask_processes import Processes

    while folder.exists():  # another cluster of that name was here
        folder = folder.with_name(folder.name + "-")
    folder.mkdir(parents=True)
    with patch.dict(os.environ, {"DASK_TEMPORARY_DIRECTORY": str(local or folder), **settings}):
        processes = Processes(folder)
        try:
            for _ in range(workers):
                processes.worker()
            end = time.monotonic() + WAIT
            while not processes.file.exists():
                if time.monotonic() > end:
                    raise Impossible("no scheduler came up")
                time.sleep(0.1)
            yield processes
        finally:
            processes.end()


def _worker(processes: Any, address: str) -> None:
    """One that knows the scheduler by another address."""
    from dask_processes import dask_process

    processes.processes.append(dask_process("worker", address, "--nthreads", 1, "--no-nanny", "--no-dashboard"))


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])


class Wire:
    """A port on loopback that leads to another, and can be silent."""

    def __init__(self, port: int) -> None:
        self.port, self._silent, self._ended = port, 0.0, False
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self._listening.getsockname()[1]}"
        self._lines: list[socket.socket] = []

    def __enter__(self) -> Wire:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._ended = True
        for line in (self._listening, *self._lines):
            line.close()

    def cut(self, seconds: float) -> None:
        """Nothing goes through for so long."""
        self._silent = time.monotonic() + seconds

    def _accept(self) -> None:
        while not self._ended:
            with contextlib.suppress(OSError):
                line, _ = self._listening.accept()
                other = socket.create_connection(("127.0.0.1", self.port))
                self._lines += [line, other]
                threading.Thread(target=self._carry, args=(line, other), daemon=True).start()

    def _carry(self, line: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), line, other:
            while not self._ended:
                if time.monotonic() < self._silent:
                    time.sleep(0.05)
                    continue
                for one in select.select([line, other], [], [], 0.2)[0]:
                    part = one.recv(65536)
                    if not part:
                        return
                    (other if one is line else line).sendall(part)
