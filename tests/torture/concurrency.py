"""Promise 1: the same bytes from many places at once, and any of them may be stopped."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import shutil
import subprocess
import threading
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
from forks import blas_threads, forking
from threadpoolctl import threadpool_limits

from torture import calls
from torture.children import environment, finish, function
from torture.frame import Impossible, Promise, Run

promise = Promise(1, "Concurrency: every public function gives the same bytes from many places at once")
NAMES = list(calls.CALLS)
FEW = list(calls.SHORT)
PATIENCE = 1800.0  # seconds until a pool counts as hung: all calls ten times over take minutes, on a busy machine many
THREADS = 8


def hold_same(run: Run, found: list[dict[str, str]], expected: dict[str, str], where: str) -> None:
    """Every place gave what one call alone gives."""
    for one in found:
        run.hold(not (wrong := calls.differing(one, expected)), f"{where}: other bytes of {', '.join(wrong)}")
        run.count("calls with the same bytes", len(one))


@promise.part(markers=())
def eight_threads(run: Run) -> None:
    """Eight threads at once, each with all functions in another order; the caller's BLAS threads are put back."""
    missing = calls.public_functions() - {name.partition(".")[0] for name in NAMES}
    run.hold(not missing, f"public functions that are not tried: {missing}")
    expected = calls.digests(NAMES)
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        for _ in range(run.times(1, 20)):
            together = threading.Barrier(THREADS)

            def caller(number: int, together: threading.Barrier = together) -> dict[str, str]:
                together.wait(60)
                return calls.digests(NAMES, 3 * number)

            with ThreadPoolExecutor(THREADS) as pool:
                hold_same(run, list(pool.map(caller, range(THREADS))), expected, "eight threads")
        run.hold(blas_threads() == before, "BLAS has another number of threads than before")


@promise.part()
def other_processes(run: Run) -> None:
    """Forked and spawned processes, and processes forked while other threads are at work."""
    for method in ("fork", "spawn", "in_the_middle"):
        if method.replace("in_the_middle", "fork") not in multiprocessing.get_all_start_methods():
            continue
        # In a fresh process: servers of other tests have threads of their own, which may not survive a fork.
        done = finish(function(f"concurrency.{method}", run.times(0, 10)), longest=2 * PATIENCE)
        run.count("calls with the same bytes", int(done.stdout))


def fork(times: str) -> None:
    """A pool of forked processes."""
    _pool("fork", int(times))


def spawn(times: str) -> None:
    """A pool of spawned ones."""
    _pool("spawn", int(times))


def _names(times: int) -> list[str]:
    """Of the long form all, of the short one, which is 0 times, a few."""
    return NAMES if times else FEW


def _pool(method: str, times: int) -> None:
    names, tasks = _names(times), 2 * max(1, times)
    expected = calls.digests(names)  # our own pool of threads is running when it forks
    with forking(), multiprocessing.get_context(method).Pool(2) as pool:
        found = pool.map_async(calls.digests, [names] * tasks).get(PATIENCE)
    assert found == [expected] * tasks, f"{method}: other bytes"
    assert calls.digests(names) == expected
    print(len(found) * len(names))


def in_the_middle(times: str) -> None:
    """Other threads hold the pool and the BLAS limit at the moment of the fork."""
    names, tries = _names(int(times)), max(1, int(times))
    expected = calls.digests(names)
    before = blas_threads()
    enough = threading.Event()

    def keep_busy() -> list[dict[str, str]]:
        found = []
        while not enough.is_set():
            found.append(calls.digests(names))
        return found

    with ThreadPoolExecutor(2) as callers:
        running = [callers.submit(keep_busy) for _ in range(2)]
        try:
            for _ in range(tries):
                with forking(), multiprocessing.get_context("fork").Pool(2) as pool:
                    assert pool.map_async(calls.digests, [names] * 2).get(PATIENCE) == [expected] * 2
        finally:
            enough.set()
        assert all(found == expected for one in running for found in one.result())
    assert blas_threads() == before
    print(2 * tries * len(names))


@promise.part()
def joblib(run: Run) -> None:
    """Inside joblib, by its processes (loky) and by its threads."""
    try:
        from joblib import Parallel, delayed
    except ImportError as absent:
        raise Impossible("joblib is not installed; scikit-learn brings it") from absent
    names = FEW if run.short else NAMES
    expected = calls.digests(names)
    tasks = run.times(2, 12)
    for backend in ("loky", "threading"):
        paths = {"PYTHONPATH": environment()["PYTHONPATH"]}
        kept = {name: os.environ.get(name) for name in paths}
        os.environ.update(paths)  # loky's processes import this package
        try:
            found = Parallel(n_jobs=2, backend=backend)(delayed(calls.digests)(names, n) for n in range(tasks))
        finally:
            for name, value in kept.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})
        hold_same(run, found, expected, f"joblib's {backend}")
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True)


@promise.part(markers=("slow", "dask"))
def dask_worker(run: Run) -> None:
    """Inside the workers of a Dask cluster, two threads each."""
    try:
        import distributed
    except ImportError as absent:
        raise Impossible("Dask is not installed") from absent
    del distributed
    done = finish(function("concurrency.in_dask", run.times(0, 6)))
    run.count("calls with the same bytes", int(done.stdout))


def in_dask(times: str) -> None:
    """Two workers of two threads, which do all of it several times."""
    from distributed import Client, LocalCluster

    names, tasks = _names(int(times)), 4 * max(1, int(times))
    expected = calls.digests(names)
    with LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None) as cluster, Client(cluster) as client:
        found = client.gather(client.map(calls.digests, [names] * tasks, list(range(tasks)), pure=False))
    assert all(one == expected for one in found), "other bytes inside a worker of Dask"
    print(len(found) * len(names))


@promise.part(markers=())
def event_loop(run: Run) -> None:
    """In a running event loop, as in a notebook: called from a coroutine, and in threads beside it."""
    expected = calls.digests(NAMES)

    async def cells() -> list[dict[str, str]]:
        found = [calls.digests(NAMES)]  # a cell that blocks
        found += await asyncio.gather(*(asyncio.to_thread(calls.digests, NAMES, n) for n in range(4)))
        return found

    for _ in range(run.times(1, 10)):
        with ThreadPoolExecutor(1) as aside:  # this thread may have a loop already: a browser's
            hold_same(run, aside.submit(asyncio.run, cells()).result(), expected, "an event loop")


@promise.part(long_only=True)
def free_threaded(run: Run) -> None:
    """Eight threads of a Python without the global lock, where one is found with all that cosparse needs."""
    named = os.environ.get("COSPARSE_FREE_THREADED")
    found = named or shutil.which("python3.14t") or shutil.which("python3.13t")
    if found is None:
        raise Impossible("no python3.14t or python3.13t on PATH, and COSPARSE_FREE_THREADED names none")
    try:
        subprocess.run([found, "-c", "import numba, scipy, skimage"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as absent:
        raise Impossible(f"{found} has no Numba, SciPy or scikit-image") from absent
    code = "import sys; assert not sys._is_gil_enabled(); from torture.concurrency import without_a_lock as w; w()"
    done = finish([found, "-c", code])
    run.count("calls with the same bytes", int(done.stdout))


def without_a_lock() -> None:
    """As :func:`eight_threads`, in a process of its own."""
    expected = calls.digests(NAMES)
    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(lambda number: calls.digests(NAMES, 3 * number), range(2 * THREADS)))
    assert all(one == expected for one in found), "other bytes without the global lock"
    print(len(found) * len(NAMES))


class Cancelled(Exception):
    """What a callback raises here."""


@promise.part(markers=())
def cancelled(run: Run) -> None:
    """Threads that are stopped at a random callback, by True or by an exception, beside others that are not."""
    expected = calls.digests(NAMES)
    before = blas_threads()
    rng = run.rng()
    for _ in range(run.times(1, 25)):
        names = [str(name) for name in rng.permutation(calls.CALLBACKS)]
        with ThreadPoolExecutor(THREADS) as pool:
            stopped = [pool.submit(_stop, name, int(rng.integers(12)), bool(rng.random() < 0.5)) for name in names]
            whole: list[Future[dict[str, str]]] = [pool.submit(calls.digests, NAMES, n) for n in range(2)]
            for one in stopped:
                run.count(one.result())
            hold_same(run, [one.result() for one in whole], expected, "beside threads that were stopped")
    run.hold(blas_threads() == before, "BLAS has another number of threads than before")
    hold_same(run, [calls.digests(NAMES)], expected, "after threads that were stopped")


def _stop(name: str, at: int, politely: bool) -> str:
    """Stop a call at a callback; what came of it is finite."""
    seen = iter(range(10**9))

    def callback(progress: object) -> bool:
        if next(seen) < at:
            return False
        if politely:
            return True
        raise Cancelled

    try:
        found = calls.CALLS[name](callback=callback)
    except Cancelled:
        return "stopped by an exception"
    assert all(np.isfinite(array).all() for array in found), f"{name}, stopped at callback {at}, is not finite"
    return "stopped by True, or done before" if politely else "done before its callback raised"
