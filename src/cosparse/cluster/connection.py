"""A Dask cluster to work on: reached within seconds or refused, and of the same cosparse everywhere."""

from __future__ import annotations

import contextlib
import errno
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from cosparse._version import __version__
from cosparse.kernels.threads import available_cores, on_this_thread

if TYPE_CHECKING:
    from distributed import Client, Future

Value = TypeVar("Value")
PATIENCE = 120.0  # seconds without any worker after which a run ends
# On one machine Dask's own watch over its processes takes from the work: 0.1 of a core with two workers, 0.04 so.
_QUIET = {"distributed.worker.profile.enabled": False, "distributed.admin.tick.interval": "1s"}
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # what the system says of a full disk
WAIT = 10.0  # seconds for a scheduler to answer and for a first worker to be there


def need_dask() -> None:
    """Say what to install where it is not there."""
    missing = [name for name in ("dask", "distributed", "zarr") if find_spec(name) is None]
    if missing:
        raise ImportError(
            f"cosparse.cluster: {missing[0]} is not installed; install it with: pip install 'cosparse[cluster]'"
        )


@contextlib.contextmanager
def connect(scheduler: str | None = None, *, workers: int | None = None, wait: float = WAIT) -> Iterator[Client]:
    """A `distributed.Client` of the scheduler at an address, or of a local cluster that ends with it.

    Parameters
    ----------
    scheduler : str, optional
        Address, as "tcp://10.0.0.5:8786". None or "local": worker processes on this machine.
    workers : int, optional
        Of a local cluster: how many processes of one thread each; by default one a core.
    wait : float
        Seconds until a scheduler that does not answer, or has no workers, is an error.
    """
    need_dask()
    import dask
    from distributed import Client, LocalCluster

    if scheduler in (None, "local"):
        count = available_cores() if workers is None else workers
        with (
            dask.config.set(_QUIET),
            LocalCluster(
                n_workers=count, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", silence_logs=50
            ) as cluster,
            Client(cluster) as client,
        ):
            yield client
        return
    try:
        client = Client(scheduler, timeout=wait)
    except (OSError, TimeoutError) as problem:
        raise ConnectionError(
            f"scheduler: {scheduler} does not answer; check the address, and that `dask scheduler` runs there"
        ) from problem
    except ValueError as problem:
        raise ValueError(f"scheduler: {scheduler!r} is not an address ({problem}); write tcp://HOST:8786") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=wait)
        except TimeoutError:
            raise ConnectionError(
                f"scheduler: {scheduler} has no workers; start some with: dask worker {scheduler}"
            ) from None
        check_workers(client)
        yield client


@contextlib.contextmanager
def using(client: Client | None) -> Iterator[Client]:
    """The given client, looked at, or a local cluster for as long as it is needed."""
    if client is None:
        with connect() as own:
            yield own
        return
    need_dask()
    if getattr(client, "asynchronous", False):
        raise ValueError("client: is asynchronous; pass one made without asynchronous=True")
    check_workers(client)
    yield client


def check_workers(client: Client) -> None:
    """Refuse workers on which another cosparse, or none, is installed."""

    def installed() -> str:  # nested, so that it is sent whole: a worker may have nothing to import it from
        try:
            import cosparse
        except ImportError:
            return "none"
        return str(cosparse.__version__)

    others = {worker: found for worker, found in client.run(installed).items() if found != __version__}
    if others:
        shown = ", ".join(f"{worker} has {found}" for worker, found in list(others.items())[:5])
        raise RuntimeError(
            f"workers: this is cosparse {__version__}, but {shown}"
            f"{' and others' if len(others) > 5 else ''}; install the same version everywhere"
        )


@contextlib.contextmanager
def while_staffed(client: Client, futures: Callable[[], list[Future[Any]]]) -> Iterator[None]:
    """Cancel what is waited for in this block, and say why, if the cluster has been without workers for too long.

    Dask itself would wait for ever, in case others come. A scheduler that is lost is said to be so too.
    """
    from distributed.comm.core import CommClosedError

    ended, deserted = threading.Event(), threading.Event()

    def staffed() -> bool:
        try:
            return client.status != "running" or bool(client.nthreads())
        except Exception:  # it is closing, or has lost its scheduler: then Dask itself does not wait on
            return True

    def look() -> None:
        since = time.monotonic()
        while not ended.wait(min(5.0, PATIENCE)):
            if staffed():
                since = time.monotonic()
            elif time.monotonic() - since > PATIENCE:
                deserted.set()
                client.cancel(futures(), force=True)
                return

    watch = threading.Thread(target=look, daemon=True)
    watch.start()
    try:
        yield
    except Exception as problem:
        if deserted.is_set():
            raise ConnectionError(
                f"workers: all are gone, and none has come back for {PATIENCE:.0f} s; start others and run again"
            ) from problem
        if isinstance(problem, (CancelledError, CommClosedError)):  # so Dask says it, of every future waited for
            raise ConnectionError(
                "scheduler: the connection to it is lost; once it runs again, run again to go on from what is done"
            ) from problem
        raise
    finally:
        ended.set()


def may_pass(problem: BaseException) -> bool:
    """Whether to try again after an error: what is wrong with the picture, the call or a full disk, stays so."""
    return not isinstance(problem, ValueError | TypeError) and getattr(problem, "errno", None) not in FULL


def outcome_of(future: Future[Any]) -> Any:
    """What a future that `as_completed` gave has come to: its value, or its exception; raises if it was cancelled.

    Not by `as_completed(with_results=True)`: it forgets a future whose value it fetches when the scheduler is lost, and
    waits for it for ever.
    """
    return future.exception() if future.status == "error" else future.result()


def gathered(client: Client, futures: Future[Any] | list[Future[Any]]) -> Any:
    """What a future, or a list of them, gives."""
    with while_staffed(client, lambda: futures if isinstance(futures, list) else [futures]):
        return client.gather(futures)


def on_worker(version: str, work: Callable[..., Value], *arguments: Any) -> Value:
    """`work` as a task: one thread, since the worker runs as many tasks as it may use threads.

    Also asks for the version again, for workers that have joined since :func:`check_workers`.
    """
    if version != __version__:
        raise RuntimeError(
            f"workers: asked by cosparse {version}, but this worker has {__version__}; install the same everywhere"
        )
    with on_this_thread():
        return work(*arguments)
