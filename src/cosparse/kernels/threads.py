"""The threads that the fused kernels run on.

A pool of our own over kernels that release the GIL, instead of Numba's threading layers: those abort on
concurrent use or do not survive a fork. Work is cut into bands by its size alone, never by the number of
threads, and the bands' results are added in order: the same bytes come out whatever the machine.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from operator import index
from typing import Any, TypeVar

import threadpoolctl
from threadpoolctl import ThreadpoolController

from cosparse.kernels.quota import cpu_quota

Item = TypeVar("Item")
Value = TypeVar("Value")


_quota = cache(cpu_quota)


def available_cores() -> int:
    """Cores the caller may use: those of the process, or fewer in :func:`limit_threads`."""
    limit = _limit.get()
    return _process_cores() if limit is None else min(limit, _process_cores())


def _process_cores() -> int:
    """What COSPARSE_NUM_THREADS says; else as many as affinity and CPU quota (of a container, say) allow."""
    wanted = os.environ.get("COSPARSE_NUM_THREADS", "").strip()
    if wanted:
        if not (wanted.isascii() and wanted.isdigit() and int(wanted) > 0):
            raise ValueError(f"COSPARSE_NUM_THREADS: must be a whole number of at least 1, got {wanted!r}; or unset it")
        return int(wanted)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, _quota() or cores)


class _Threads:
    """The pool and the count of those inside :func:`one_blas_thread`."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.pool: ThreadPoolExecutor | None = None
        self.size = 0
        self.inside = 0
        self.limiter: object | None = None


_threads = _Threads()
_alone: ContextVar[bool] = ContextVar("alone", default=False)
_limit: ContextVar[int | None] = ContextVar("limit", default=None)


@contextmanager
def limit_threads(n: int) -> Iterator[None]:
    """Let cosparse use at most `n` threads for what is called in this block; results are the same to the bit.

    It holds for the thread (or asyncio task) that enters the block and for no other. Inside another limit the smaller
    one holds. A cluster started in it has at most `n` workers.

    Parameters
    ----------
    n : int
        At least 1, which keeps everything on the calling thread.

    Returns
    -------
    context manager

    Examples
    --------
    >>> import numpy as np, cosparse
    >>> with cosparse.limit_threads(1):
    ...     clean = cosparse.denoise(np.full((16, 16), 0.5), sigma=0.1, quality="fast")
    """
    try:
        wanted = index(n)
    except TypeError:
        wanted = 0
    if wanted < 1 or isinstance(n, bool):
        raise ValueError(f"n: must be a whole number of at least 1, got {n!r}")
    outer = _limit.get()
    token = _limit.set(wanted if outer is None else min(wanted, outer))
    try:
        yield
    finally:
        _limit.reset(token)


@contextmanager
def on_this_thread() -> Iterator[None]:
    """Keep the kernels to the thread that calls them: for a caller who runs one task on every core already."""
    token = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(token)


def _free_blas() -> None:
    """Let this thread set the limit, whichever set it last.

    From 3.8 on, threadpoolctl lets one thread alone command OpenBLAS and silently ignores the others until
    that one gives it up. Here the first caller in sets the limit and the last one out lifts it, perhaps on
    another thread; our lock keeps them apart.
    """
    controller: Any = getattr(threadpoolctl, "OpenBLASController", None)
    if hasattr(controller, "clear_controlling_thread"):
        controller.clear_controlling_thread(force=True)


def _before_fork() -> None:
    # No other thread is between setting a limit and noting what was there before.
    _threads.lock.acquire()


def _after_fork() -> None:
    _threads.lock.release()


def _in_child() -> None:
    # It inherits the pool without its threads, and the limit without those who would lift it.
    global _threads
    limiter, inside = _threads.limiter, _threads.inside
    _threads = _Threads()
    _quota.cache_clear()  # it may be moved to a group of its own
    if inside and limiter is not None:
        _free_blas()
        limiter.restore_original_limits()  # type: ignore[attr-defined]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)


def spread(work: Callable[[Item], Value], items: Iterable[Item]) -> list[Value]:
    """`work` on every item, on all cores (on the caller's alone in :func:`on_this_thread`); results in order.

    Inside `work` it goes on serially: the cores are taken, and a pool waiting for itself would never end.
    """
    items = list(items)
    if len(items) <= 1 or _alone.get() or (cores := available_cores()) == 1:
        return [work(item) for item in items]
    with _threads.lock:
        if _threads.pool is None:
            _threads.size = _process_cores()
            _threads.pool = ThreadPoolExecutor(_threads.size, thread_name_prefix="cosparse")
        pool, size = _threads.pool, _threads.size

    def one(item: Item) -> Value:
        with on_this_thread():
            return work(item)

    return list(pool.map(one, items)) if cores >= size else _on_some(pool, cores, one, items)


def _on_some(pool: ThreadPoolExecutor, count: int, work: Callable[[Item], Value], items: list[Item]) -> list[Value]:
    """As `pool.map`, but on `count` of its threads, each of which takes the next item when it is done with one."""
    left = deque(enumerate(items))
    results: dict[int, Value] = {}

    def take() -> None:
        while True:
            try:
                place, item = left.popleft()
            except IndexError:
                return
            results[place] = work(item)

    takers = [pool.submit(take) for _ in range(min(count, len(items)))]
    try:
        for taker in takers:
            taker.result()
    finally:
        left.clear()  # after an error, or Ctrl-C, nothing more is begun
    return [results[place] for place in range(len(items))]


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread while our own threads share out the work.

    Callers may overlap in time: the first one in sets the limit, the last one out puts back what was
    there before, so nothing of the caller's settings is lost.
    """
    threads = _threads
    with threads.lock:
        if threads.inside == 0:
            # Numba's np.dot loads this BLAS at its first call; the controller sees only what is loaded. It looks
            # again every time, as a library loaded since then may have brought a BLAS of its own.
            import scipy.linalg.cython_blas  # noqa: F401

            _free_blas()
            threads.limiter = ThreadpoolController().limit(limits=1, user_api="blas")
        threads.inside += 1
    try:
        yield
    finally:
        if threads is _threads:  # a child forked in between has counted from zero again
            with threads.lock:
                threads.inside -= 1
                if threads.inside == 0 and threads.limiter is not None:
                    _free_blas()
                    threads.limiter.restore_original_limits()  # type: ignore[attr-defined]
                    threads.limiter = None
                    _free_blas()
