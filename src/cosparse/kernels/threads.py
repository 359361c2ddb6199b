"""The threads that the fused kernels run on.

A pool of our own over kernels that release the GIL, instead of Numba's threading layers: those abort on
concurrent use or do not survive a fork. Work is cut into bands by its size alone, never by the number of
threads, and the bands' results are added in order: the same bytes come out whatever the machine.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import threadpoolctl
from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Value = TypeVar("Value")


def available_cores() -> int:
    """Cores this process may use (fewer than the machine has inside a container or a Dask worker)."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Threads:
    """The pool and the count of those inside :func:`one_blas_thread`."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.pool: ThreadPoolExecutor | None = None
        self.inside = 0
        self.limiter: object | None = None


_threads = _Threads()
_alone: ContextVar[bool] = ContextVar("alone", default=False)


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
    if len(items) <= 1 or _alone.get() or available_cores() == 1:
        return [work(item) for item in items]
    with _threads.lock:
        if _threads.pool is None:
            _threads.pool = ThreadPoolExecutor(available_cores(), thread_name_prefix="cosparse")
        pool = _threads.pool

    def one(item: Item) -> Value:
        with on_this_thread():
            return work(item)

    return list(pool.map(one, items))


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
