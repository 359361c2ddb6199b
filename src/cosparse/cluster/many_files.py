"""Very many pictures: each is a task, tried again if it fails; a bad one is noted and the others are done."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cosparse._version import __version__
from cosparse.cluster.connection import may_pass, on_worker, outcome_of, using, while_staffed
from cosparse.cluster.record import Record
from cosparse.io.picture import read_image, write_image
from cosparse.operator import chosen_operator
from cosparse.reconstruction.tasks import TASKS
from cosparse.repair import repair

if TYPE_CHECKING:
    from distributed import Client

RETRIES = 2
AHEAD = 4  # tasks known to the scheduler for every thread: a million at once would fill its memory


def each(
    client: Client, work: Callable[[Any], Any], items: Iterable[Any], *, retries: int = RETRIES
) -> Iterator[tuple[Any, Any]]:
    """Every item with what `work` gave for it on some worker, or the exception it ended with, as they come.

    A ValueError is the item's own fault and final, and so is a full disk; anything else, as a disk that does not answer
    or a worker that died, is tried again. Only a few items are underway at a time, and those whose worker died come
    last, one by one.
    """
    from distributed import KilledWorker

    suspects = []
    for item, outcome in _underway(client, work, items, retries, AHEAD * max(1, sum(client.nthreads().values()))):
        if isinstance(outcome, KilledWorker):
            suspects.append(item)
        else:
            yield item, outcome
    # Whoever was on a worker when it died is blamed; alone, only those who kill one do so again.
    yield from _underway(client, work, suspects, retries, 1)


def _underway(
    client: Client, work: Callable[[Any], Any], items: Iterable[Any], retries: int, window: int
) -> Iterator[tuple[Any, Any]]:
    """As :func:`each`, so many at a time."""
    from distributed import as_completed

    waiting, underway = iter(items), {}
    ready: Any = as_completed(loop=client.loop)
    shared = client.submit(lambda: work, pure=False)  # sent once to each worker, not along with every item

    def submit() -> None:
        for item in waiting:
            future = client.submit(_attempt, __version__, shared, item, retries=retries, pure=False)
            underway[future.key] = item
            ready.add(future)
            return

    try:
        for _ in range(window):
            submit()
        with while_staffed(client, lambda: list(ready.futures)):
            for future in ready:
                yield underway.pop(future.key), outcome_of(future)
                submit()
    finally:
        client.cancel(list(ready.futures), force=True)


def _attempt(version: str, work: Callable[[Any], Any], item: Any) -> Any:
    try:
        return on_worker(version, work, item)
    except Exception as problem:
        if may_pass(problem):
            raise
        return problem


@dataclass(frozen=True)
class FileReport:
    """How many files were repaired now, were there from an earlier run, and what went wrong with the others."""

    done: int
    skipped: int
    errors: dict[str, str]


def repair_files(
    task: str,
    files: Iterable[tuple[str | os.PathLike[str], str | os.PathLike[str]]],
    *,
    record: str | os.PathLike[str] | None = None,
    retries: int = RETRIES,
    client: Client | None = None,
    callback: Callable[[str, Exception | None], object] | None = None,
    **options: Any,
) -> FileReport:
    """Denoise, upscale, deblur or deblock many image files, each on one thread of some worker.

    Parameters
    ----------
    files : iterable of (source, target)
        Paths that the workers see; folders of targets are made. Read as it is needed, so it may be long.
    record : path, optional
        A small file that keeps what was asked for and which files were begun. With it a run can be repeated: what it
        has made is taken as done, unless the source has changed since, then it is made again. A record of other options
        is refused. A target that exists and is not in the record is an error of that file.
    retries : int
        How often a file is tried again after an error that may pass.
    callback : callable, optional
        Called with every finished source, and its exception or None.
    **options
        Those of the task but `data_range` and `channel_axis`, which are the file's. `sigma` is on a scale of 0..255.
    """
    if task not in TASKS or task == "inpaint":
        raise ValueError(f"task: expected denoise, upscale, deblur or deblock, got {task!r}; masks differ by file")
    operator = chosen_operator(options.pop("operator", None))
    asked = {name: value for name, value in options.items() if name != "max_memory"}  # which changes no result
    kept = None if record is None else Record(record, version=__version__, task=task, operator=operator, **asked)
    done, skipped, errors = 0, 0, {}

    def pending() -> Iterator[tuple[str, str, bool]]:
        nonlocal skipped
        for source, target in files:
            if kept is not None and kept.done(source, target):
                skipped += 1
                continue
            replace = kept is not None and kept.ours(target)
            if kept is not None:
                kept.begin(source, target)
            yield os.fspath(source), os.fspath(target), replace

    def work(item: tuple[str, str, bool]) -> None:
        _repair_file(task, *item, operator=operator, **options)

    with using(client) as own:
        for (source, target, _), outcome in each(own, work, pending(), retries=retries):
            problem = outcome if isinstance(outcome, Exception) else None
            if problem is None:
                done += 1
            else:
                errors[source] = str(problem) or type(problem).__name__
                if kept is not None:
                    kept.failed(target)
            if callback is not None:
                callback(source, problem)
    return FileReport(done, skipped, errors)


def _repair_file(task: str, source: str, target: str, replace: bool, **options: Any) -> None:
    if os.path.exists(target) and not replace:
        raise ValueError(f"{target}: exists; remove it, or give the record of the run that made it")
    found = repair(read_image(source), task, **options).picture
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    write_image(target, found.pixels, like=found)
