"""Repairs on a Dask cluster: very many files, or one picture tile by tile."""

from __future__ import annotations

import logging
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cosparse._version import __version__
from cosparse.cli.console import Debug, UsageProblem, json_line, stderr
from cosparse.cli.options import Repair
from cosparse.cli.progress import Bar
from cosparse.cli.targets import Input, beside, split

if TYPE_CHECKING:
    from cosparse.cluster.layout import Layout
    from cosparse.cluster.record import Record

Figures = dict[str, Any]  # of one repair, as --json prints them
Outcome = Figures | Exception
TILE = 1024


def connected(scheduler: str | None) -> AbstractContextManager[Any]:
    """The cluster's client; what cannot be reached is said in one line."""
    from cosparse import cluster

    _need_extra()
    import distributed  # noqa: F401  (sets the levels of its logs)

    if not Debug.on:  # of a scheduler that is lost it would show how it looked for it, and how it was told to stop
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    return cluster.connect(scheduler)


def _need_extra() -> None:
    from cosparse.cluster.connection import need_dask

    try:
        need_dask()
    except ImportError as error:
        raise UsageProblem(str(error).removeprefix("cosparse.cluster: ")) from error


def outcomes(options: Repair, images: list[Input], work: Callable[[Input], Figures]) -> Iterator[tuple[Input, Outcome]]:
    """Every input with what came of it, from the cluster's workers; without those done by an earlier run."""
    from cosparse import cluster

    if any(image.source is None or image.target is None for image in images):
        raise UsageProblem("--scheduler: a cluster cannot see standard input or output; name files")
    with connected(options.scheduler) as client:
        record, left = _undone(options, images)
        # The workers have another current folder; in what is reported, files keep the names they were given.
        given = {os.path.abspath(image.target or ""): image for image in left}
        ours = {name for name, image in given.items() if record is not None and record.ours(str(image.target))}

        def renewing(image: Input) -> Figures:
            return _renewed(image, work) if str(image.target) in ours else work(image)

        for image, outcome in cluster.each(client, renewing, _begun(record, left)):
            own = given[str(image.target)]
            if isinstance(outcome, dict):
                outcome |= {"input": own.name, "output": own.result}
            elif record is not None:
                record.failed(str(image.target))
            yield own, outcome


def _begun(record: Record | None, images: list[Input]) -> Iterator[Input]:
    """The inputs with absolute paths, each noted when its turn comes."""
    for image in images:
        assert image.source and image.target
        source, target = os.path.abspath(image.source), os.path.abspath(image.target)
        if record is not None:
            record.begin(source, target)
        yield replace(image, source=Path(source), target=Path(target))


def _renewed(image: Input, work: Callable[[Input], Figures]) -> Figures:
    """Where the target is an older result of the same run: that is replaced when the new one is whole."""
    assert image.target
    beside = image.target.with_name(f".{image.target.stem}.{secrets.token_hex(4)}{image.target.suffix}")
    try:
        figures = work(replace(image, target=beside))
        os.replace(beside, image.target)
    finally:
        beside.unlink(missing_ok=True)
    return figures


def _undone(options: Repair, images: list[Input]) -> tuple[Record | None, list[Input]]:
    """A folder remembers what was asked for and done: asked again, only what is not there or has changed is done."""
    from cosparse.cluster.record import Record

    _, out = split(options.paths, options.output)
    if options.force or out is None or len(images) < 2:
        return None, images
    try:
        record = Record(
            Path(out) / f".cosparse-{options.task.word}.json", version=__version__, operator=options.prior,
            weight=options.weight, quality=options.quality.value, format=options.format, reference=options.reference,
            data_range=options.data_range, sigma=options.sigma, mask=options.mask, noise=options.noise,
            luma=options.luma, chroma=options.chroma, **options.own,
        )  # fmt: skip
    except FileExistsError as other:
        stderr().print(str(other), soft_wrap=True, markup=False)
        return None, images  # what exists is then an error of each file, as ever
    return record, [image for image in images if not record.done(str(image.source), str(image.target))]


def by_tiles(options: Repair) -> bool:
    """Whether tiles are meant: said so, or one of the paths is zarr."""
    return options.tile is not None or any(map(in_zarr, [*options.paths, options.output or ""]))


def in_zarr(path: str) -> bool:
    """Whether a path names a zarr array or something in one; it need not exist."""
    return any(part.endswith(".zarr") for part in Path(path).parts)


def run_tiles(options: Repair) -> None:
    """One picture in, one out."""
    from cosparse import cluster
    from cosparse.cluster.layout import layout_of
    from cosparse.cluster.sources import OnDisk, value_range

    _need_extra()
    inputs, out = split(options.paths, options.output)
    if len(inputs) != 1:
        raise UsageProblem("by tiles one picture is repaired at a time; give one IN and OUT")
    if options.reference or options.format:
        raise UsageProblem("--reference, --format: not by tiles; leave them out, and end OUT with .tif or .zarr")
    if "source" in options.own:
        raise UsageProblem("--source: a tile sees only what is about it; leave it out, or repair the picture whole")
    source, tile = Path(inputs[0]), options.tile or TILE
    target = Path(out) if out else beside(source, options.task.word, source.suffix)
    started = time.perf_counter()
    picture = OnDisk(source.resolve(), shown=source)
    with connected(options.scheduler) as client, Bar(1) as bar:
        bar.begin(source.name)
        layout = layout_of(picture)
        span = options.data_range or value_range(client, picture, layout)
        own = dict(options.own)
        if options.mask is not None:
            own["mask"] = options.mask.lazy(*_seen(picture, layout, tile), span)
        if options.noise_kind is not None:
            own["noise"] = options.noise_kind.model(span)
        elif options.sigma is not None:
            own["sigma"] = options.sigma * span / 255.0
        report = cluster.repair_picture(
            options.task.name, picture, target.resolve(), tile=tile, client=client, force=options.force,
            callback=lambda done, total: bar.update(done / total, f"{done} of {total} tiles"),
            operator=options.prior, weight=options.weight, quality=options.quality.value, data_range=span,
            luma=options.luma, chroma=options.chroma, **options.memory, **own,
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
        figures = f"{report.layout}{ranged}, {report.tiles} tiles{kept}, sigma {level:.3g}, {seconds:.0f} s"
        stderr().print(f"{source} -> {target}: {figures}", soft_wrap=True)
    for line in report.lost:
        stderr().print(f"{target}: {line}", soft_wrap=True, markup=False)


def _seen(picture: Any, layout: Layout, tile: int) -> tuple[Any, bool]:
    """A picture as a Dask array in tiles, without transparency, and whether it has three colours."""
    from dask.array.core import normalize_chunks

    from cosparse.cluster.sources import as_dask

    values = as_dask(picture, layout.chunks(normalize_chunks(tile, layout.size)))
    values = values[..., :-1] if layout.alpha else values
    coloured = layout.channels is not None and values.shape[-1] == 3
    return values if coloured or layout.channels is None else values[..., 0], coloured
