"""Repairs on a Dask cluster: very many files, or one picture tile by tile."""

from __future__ import annotations

import ast
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from cosparse._version import __version__
from cosparse.cli.console import UsageProblem, json_line, stderr
from cosparse.cli.mask_option import lazy_mask
from cosparse.cli.options import Repair
from cosparse.cli.progress import Bar
from cosparse.cli.targets import Job, split

TILE = 1024


@contextmanager
def connected(scheduler: str | None) -> Iterator[Any]:
    """The cluster's client; what cannot be reached is said in one line."""
    from cosparse import cluster

    _need_extra()
    with cluster.connect(scheduler) as client:
        yield client


def _need_extra() -> None:
    from cosparse.cluster.connection import need_dask

    try:
        need_dask()
    except ImportError as error:
        raise UsageProblem(str(error).removeprefix("cosparse.cluster: ")) from error


def outcomes(options: Repair, jobs: list[Job], work: Callable[[Job], Any], word: str) -> Iterator[tuple[Job, Any]]:
    """Every job with its record or exception, from the cluster's workers; without those done by an earlier run."""
    from cosparse import cluster

    if any(job.source is None or job.target is None for job in jobs):
        raise UsageProblem("--scheduler: a cluster cannot see standard input or output; name files")
    with connected(options.scheduler) as client:
        record, left = _undone(options, jobs, word)
        # The workers have another current folder; in what is reported, files keep the names they were given.
        given = {os.path.abspath(job.target or ""): job for job in left}
        ours = {name for name, job in given.items() if record is not None and record.ours(str(job.target))}

        def renewing(job: Job) -> Any:
            return _renewed(job, work) if str(job.target) in ours else work(job)

        for job, outcome in cluster.each(client, renewing, _begun(record, map(_absolute, left))):
            own = given[str(job.target)]
            if isinstance(outcome, dict):
                outcome |= {"input": own.name, "output": own.result}
            elif record is not None:
                record.failed(str(job.target))
            yield own, outcome


def _absolute(job: Job) -> Job:
    assert job.source and job.target
    return replace(job, source=Path(os.path.abspath(job.source)), target=Path(os.path.abspath(job.target)))


def _begun(record: Any, jobs: Iterator[Job]) -> Iterator[Job]:
    """The jobs, each noted when its turn comes."""
    for job in jobs:
        if record is not None:
            record.begin(str(job.source), str(job.target))
        yield job


def _renewed(job: Job, work: Callable[[Job], Any]) -> Any:
    """A job whose target is an older result of the same run: that is replaced when the new one is whole."""
    assert job.target
    beside = job.target.with_name(f".{job.target.stem}.{secrets.token_hex(4)}{job.target.suffix}")
    try:
        outcome = work(replace(job, target=beside))
        os.replace(beside, job.target)
    finally:
        beside.unlink(missing_ok=True)
    return outcome


def _undone(options: Repair, jobs: list[Job], word: str) -> tuple[Any, list[Job]]:
    """A folder remembers what was asked for and done: asked again, only what is not there or has changed is done."""
    from cosparse.cluster.record import Record

    _, out = split(options.paths, options.output)
    if options.force or out is None or len(jobs) < 2:
        return None, jobs
    asked = vars(replace(options, paths=[], output=None, json=False, scheduler=None))
    asked |= ast.literal_eval(asked.pop("extra") or "{}")
    try:
        record = Record(Path(out) / f".cosparse-{word}.json", version=__version__, **asked)
    except FileExistsError as other:
        stderr().print(str(other), soft_wrap=True, markup=False)
        return None, jobs  # what exists is then an error of each file, as ever
    return record, [job for job in jobs if not record.done(str(job.source), str(job.target))]


def by_tiles(options: Repair) -> bool:
    """Whether tiles are meant: said so, or one of the paths is a zarr array."""
    return options.tile is not None or any(map(in_zarr, [*options.paths, options.output or ""]))


def in_zarr(path: str) -> bool:
    """Whether a path names a zarr array or something in one; it need not exist."""
    return any(part.endswith(".zarr") for part in Path(path).parts)


def run_tiles(
    options: Repair,
    task: str,
    word: str,
    *,
    sigma: float | None = None,
    mask: tuple[str, float, int] | None = None,
    data_range: float | None = None,
    **extra: Any,
) -> None:
    """One picture in, one out; `mask` is what --mask, --tolerance and --grow say, `data_range` --data-range."""
    from cosparse import cluster
    from cosparse.cluster.layout import layout_of
    from cosparse.cluster.sources import OnDisk, as_dask, value_range

    _need_extra()
    inputs, out = split(options.paths, options.output)
    if len(inputs) != 1:
        raise UsageProblem("by tiles one picture is repaired at a time; give one IN and OUT")
    if options.reference or options.format:
        raise UsageProblem("--reference, --format: not by tiles; leave them out, and end OUT with .tif or .zarr")
    source = Path(inputs[0])
    target = Path(out) if out else source.with_name(f"{source.stem}.{word}{source.suffix}")
    started = time.perf_counter()
    picture = OnDisk(source.resolve(), shown=source)
    with connected(options.scheduler) as client, Bar(1) as bar:
        bar.begin(source.name)
        layout = layout_of(picture)
        span = value_range(client, picture, layout) if data_range is None else float(data_range)
        if mask is not None:
            from dask.array.core import normalize_chunks

            chunks = layout.chunks(normalize_chunks(options.tile or TILE, layout.size))
            seen = as_dask(picture, chunks)
            seen = seen[..., :-1] if layout.alpha else seen
            coloured = layout.channels is not None and seen.shape[-1] == 3
            if layout.channels is not None and not coloured:
                seen = seen[..., 0]
            extra["mask"] = lazy_mask(*mask, seen, span, coloured)
        if sigma is not None:
            extra["sigma"] = sigma * span / 255.0
        report = cluster.repair_picture(
            task, picture, target.resolve(), tile=options.tile or TILE, client=client, force=options.force,
            callback=lambda done, total: bar.update(done / total, f"{done} of {total} tiles"),
            operator=options.operator, weight=options.weight, quality=options.quality, data_range=span, **extra,
        )  # fmt: skip
    seconds, level = time.perf_counter() - started, report.sigma * 255.0 / span
    if options.json:
        json_line({
            "input": str(source), "output": str(target), "sigma": level, "data_range": span, "pages": report.pages,
            "layout": report.layout, "tiles": report.tiles, "resumed": report.resumed, "overlap": report.overlap,
            "seconds": seconds, **({"notes": report.lost} if report.lost else {}),
        })  # fmt: skip
        return
    if bar.shown:
        kept = f" ({report.resumed} from an earlier run)" if report.resumed else ""
        ranged = f" of {span:g}" if picture.dtype.kind == "f" else ""
        stderr().print(
            f"{source} -> {target}: {report.layout}{ranged}, {report.tiles} tiles{kept}, sigma {level:.3g}, "
            f"{seconds:.0f} s",
            soft_wrap=True,
        )
    for line in report.lost:
        stderr().print(f"{target}: {line}", soft_wrap=True, markup=False)
