"""One command over many files: a bad one is noted, the others are done."""

from __future__ import annotations

import io
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

from cosparse.cli.console import UsageProblem, complain, json_line, reason
from cosparse.cli.on_cluster import outcomes
from cosparse.cli.options import Repair
from cosparse.cli.progress import Bar, Tally, Weight
from cosparse.cli.reading import in_range_of, read_picture, working
from cosparse.cli.targets import Job, Plan, plan, tell_unread, why_unread
from cosparse.io.disk import shown_name
from cosparse.io.formats import SUFFIXES
from cosparse.io.picture import Picture, losses, read_image, write_image
from cosparse.metrics import psnr
from cosparse.reconstruction import Progress

Array = NDArray[Any]
EXIST = "exist"
WHITE = {"uint8": 255, "uint16": 65535}  # known by the type; that of other files is said


@dataclass(frozen=True)
class Done:
    """A repaired image: pixels, the picture to write them like, noise on 0..255.

    One noise for every page of a stack, or one for all.
    """

    pixels: Array
    like: Picture
    sigmas: tuple[float, ...]
    before: Array | None = None


Work = Callable[[Picture, Job, Callable[[Progress], object]], Done]


@dataclass
class Count:
    """What became of the inputs."""

    done: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """As the last line of a batch."""
        skips = [f"{number} skipped ({why})" for why, number in self.skipped.items()] or ["0 skipped"]
        hint = "; --force replaces what exists" if EXIST in self.skipped else ""
        return f"{self.done} done, {', '.join(skips)}, {len(self.problems)} failed{hint}"


def run(options: Repair, word: str, work: Work, *, factor: int = 1, opaque: bool = False) -> None:
    """Plan, repair, write, report; raises Exit(1) if anything failed."""
    planned = plan(options.paths, options.output, word, options.format)
    if options.json and any(job.target is None for job in planned.jobs):
        raise UsageProblem("--json and the image would both go to standard output; name OUT")
    references = _references(options.reference)
    count = Count()
    for given, problem in planned.problems:
        count.problems.append(problem)
        _report(options, {"input": given, "error": problem})
    jobs = _left(options, planned, count)
    for path in planned.unread:
        _report(options, {"input": shown_name(path), "skipped": why_unread(path)})
    if kinds := tell_unread(planned.unread):
        count.skipped[f"{', '.join(kinds)} cannot be read"] = len(planned.unread)
    total = len(planned.jobs) + len(planned.problems)
    there = dict.fromkeys(jobs)
    try:
        with Bar(len(jobs)) as bar:
            for job, record in _ended(options, jobs, work, references, bar, word, factor, opaque):
                del there[job]
                if isinstance(record, Exception):
                    count.problems.append(_named(job, reason(record)))
                    _report(options, {"input": job.name, "error": count.problems[-1]})
                else:
                    count.done += 1
                    _report(options, record)
                    _tell(options, record, bar)
                if options.scheduler is not None:
                    ended = count.done + len(count.problems) - len(planned.problems)
                    bar.update(ended / len(jobs), f"{count.done} done, {len(count.problems)} failed")
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"stopped; {count.done} of {total} done") from None
    _skip(options, list(there), count)
    for problem in count.problems:
        complain(problem)
    if total > 1 or count.skipped:
        complain(str(count))
    if count.problems:
        raise typer.Exit(1)


def _left(options: Repair, planned: Plan, count: Count) -> list[Job]:
    """The jobs without those whose result is there: asked again, a batch goes on where it was.

    A single picture whose OUT exists is a mistake instead, see :func:`_check_target`. With a cluster the output folder
    remembers what was asked for, and :func:`outcomes` leaves out only what is of the same run.
    """
    if options.force or options.scheduler or not planned.many:
        return planned.jobs
    _skip(options, [job for job in planned.jobs if job.done], count)
    return [job for job in planned.jobs if not job.done]


def _skip(options: Repair, jobs: list[Job], count: Count) -> None:
    """Results that are there already."""
    for job in jobs:
        count.skipped[EXIST] += 1
        _report(options, {"input": job.name, "output": job.result, "skipped": "exists"})


def _ended(
    options: Repair,
    jobs: list[Job],
    work: Work,
    references: Callable[[Job], Picture] | None,
    bar: Bar,
    word: str,
    factor: int,
    opaque: bool,
) -> Iterator[tuple[Job, dict[str, Any] | Exception]]:
    """Every job with its record, or the exception it ended with: one after the other, or as a cluster's workers end."""
    if not jobs:
        return iter(())
    if options.scheduler is None:
        return _in_turn(jobs, lambda job: _one(options, job, work, references, bar, factor, opaque), bar)

    def alone(job: Job) -> dict[str, Any]:
        return _one(options, job, work, references, Bar(0), factor, opaque)

    bar.begin(f"{len(jobs)} files")
    return outcomes(options, jobs, alone, word)


def _in_turn(
    jobs: list[Job], one: Callable[[Job], dict[str, Any]], bar: Bar
) -> Iterator[tuple[Job, dict[str, Any] | Exception]]:
    """Every job with its record, or the exception it ended with."""
    for job in jobs:
        bar.begin(job.name)
        try:
            record: dict[str, Any] | Exception = one(job)
        except Exception as error:
            record = error
        yield job, record


def _one(
    options: Repair,
    job: Job,
    work: Work,
    references: Callable[[Job], Picture] | None,
    bar: Bar,
    factor: int,
    opaque: bool,
) -> dict[str, Any]:
    started = time.perf_counter()
    _check_target(job, options.force)
    source = sys.stdin.buffer if job.source is None else job.source
    picture = read_picture(source, options.data_range, name=job.name)
    if opaque and picture.alpha is not None and _format(options, job, picture) in ("jpeg", "bmp"):
        kept = replace(picture, alpha=None)  # all of it will be opaque: nothing is lost
    else:
        kept = picture
    _check_format(options, job, kept)
    truth = references(job) if references else None
    if truth is not None:
        _check_reference(picture, truth, factor)
        if options.data_range and truth.pixels.dtype == picture.pixels.dtype:  # of the truth too, if it is such a file
            truth = replace(truth, data_range=picture.data_range)
    tally = Tally(None if truth is None else working(in_range_of(picture, truth)), bar)
    done = work(picture, job, tally)
    like = replace(done.like, alpha=None) if kept.alpha is None else done.like
    _write(options, job, done.pixels, like)
    record = {
        "input": job.name,
        "output": job.result,
        "type": picture.pixels.dtype.name,
        "data_range": picture.data_range,
        "sigma": float(np.mean(done.sigmas)),
        **_weights(tally.weights, len(done.sigmas) > 1),
        "iterations": tally.iterations,
        "energy": tally.energy,
        "seconds": time.perf_counter() - started,
    }
    if len(done.sigmas) > 1:
        record["sigmas"] = done.sigmas
    if notes := [*picture.notes, *losses(like, _format(options, job, like))]:
        record["notes"] = notes
    if truth is not None:
        record["psnr"] = _psnr(truth, replace(picture, pixels=done.pixels))
        before = picture.pixels if done.before is None else done.before
        if before.shape == truth.pixels.shape and not np.isnan(before).any():
            record["psnr_before"] = _psnr(truth, replace(picture, pixels=before))
    return record


def _weights(used: list[Weight], apart: bool) -> dict[str, Any]:
    """The weight of all pages, or None and that of each."""
    same = used[0] if used and used.count(used[0]) == len(used) else None
    differ = len(used) > 1 and used.count(used[0]) < len(used)
    return {"weight": same, **({"weights": used} if apart or differ else {})}


def _psnr(truth: Picture, picture: Picture) -> float:
    return psnr(working(truth), working(in_range_of(truth, picture)), data_range=255)


def _report(options: Repair, record: dict[str, Any]) -> None:
    if options.json:
        json_line(record)


def _tell(options: Repair, record: dict[str, Any], bar: Bar) -> None:
    """What was lost, and unless --json has it a line of figures.

    dB were asked for, so they are printed even where no one watches.
    """
    if "notes" in record:
        note = f"{record['input']}: {'; '.join(record['notes'])}"
        bar.say(f"cosparse: {note}") if bar.shown else complain(note)
    if options.json:
        return
    sigmas = record.get("sigmas", [record["sigma"]])
    noise = " to ".join(dict.fromkeys(f"{end(sigmas):.3g}" for end in (min, max)))
    white = "" if record["data_range"] == WHITE.get(record["type"]) else f", range {record['data_range']:g}"
    figures = f"sigma {noise}{white}, {record['seconds']:.1f} s"
    if "psnr" in record:
        before = f"{record['psnr_before']:.2f} -> " if "psnr_before" in record else ""
        figures = f"{before}{record['psnr']:.2f} dB, {figures}"
    line = f"{record['input']} -> {record['output']}: {figures}"
    if bar.shown:
        bar.say(line)
    elif "psnr" in record:
        print(line, file=sys.stderr if record["output"] == "-" else sys.stdout, flush=True)


def _named(job: Job, text: str) -> str:
    """Every complaint begins with a file's name."""
    text = text.removeprefix("image: ")
    return text if text.startswith((job.name, job.result + ":")) else f"{job.name}: {text}"


def _check_target(job: Job, force: bool) -> None:
    """Before any work: may the result be written?"""
    target = job.target
    if target is None:
        if sys.stdout.isatty():
            raise ValueError("will not write an image to the terminal; name OUT, or redirect")
        return
    if target.is_dir():
        raise ValueError(f"{job.result}: is a folder; name a file in it")
    if target.exists() and not force:
        raise ValueError(f"{job.result}: exists; add --force to replace it, or name another OUT")
    parent = target.parent
    while not parent.exists() and parent != parent.parent:
        parent = parent.parent
    if not parent.is_dir():
        raise ValueError(f"{job.result}: {parent} is not a folder; name another OUT")
    if not os.access(parent, os.W_OK):
        raise ValueError(f"{job.result}: may not be written; change the permissions of {parent}")


def _format(options: Repair, job: Job, picture: Picture) -> str:
    ending = options.format or ("" if job.target is None else job.target.suffix.lstrip("."))
    kind = SUFFIXES.get("." + ending.lower(), picture.format)
    return kind if kind in SUFFIXES.values() else "png"  # what is only read, as WebP


def _check_format(options: Repair, job: Job, picture: Picture) -> None:
    """Before any work: can the format hold such an image? One pixel of it tells."""
    corner = (slice(0, 2),) * len(picture.leading) + (slice(0, 1), slice(0, 1))
    alpha = None if picture.alpha is None else picture.alpha[corner]
    small = replace(picture, alpha=alpha)
    try:
        kind = _format(options, job, picture)
        write_image(io.BytesIO(), picture.pixels[corner], like=small, format=kind)
    except ValueError as error:
        text = str(error).removeprefix("image: ")
        raise ValueError(f"{job.result}: {text}" if job.target else text) from error


def _write(options: Repair, job: Job, pixels: Array, like: Picture) -> None:
    kind = _format(options, job, like)
    if job.target is None:
        write_image(sys.stdout.buffer, pixels, like=like, format=kind)
        sys.stdout.buffer.flush()
        return
    job.target.parent.mkdir(parents=True, exist_ok=True)
    write_image(job.target, pixels, like=like, format=kind)


def _references(given: str | None) -> Callable[[Job], Picture] | None:
    """The true images to compare with: one for all, or of the same name in a folder."""
    if given is None:
        return None
    path = Path(given)
    if path.is_dir():
        path = path.absolute()  # workers of a cluster have another current folder
        return lambda job: read_image(path / job.place)
    try:
        shared = read_image(path)
    except (OSError, ValueError) as error:
        raise UsageProblem(f"--reference: {error}") from error
    return lambda job: shared


def _check_reference(picture: Picture, truth: Picture, factor: int) -> None:
    shape = list(picture.pixels.shape)
    first = len(picture.leading)
    shape[first : first + 2] = [side * factor for side in shape[first : first + 2]]
    if tuple(shape) != truth.pixels.shape:
        raise ValueError(
            f"the result has shape {tuple(shape)}, the reference {truth.pixels.shape}; give the true image of this one"
        )
