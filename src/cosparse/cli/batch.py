"""One command over many files: a bad one is noted, the others are done."""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

from cosparse.cli.console import UsageProblem, complain, json_line, reason
from cosparse.cli.files import Job, plan
from cosparse.cli.options import Repair
from cosparse.cli.progress import Bar, Tally
from cosparse.cli.spread import outcomes
from cosparse.images import Picture, read_image, to_working, write_image
from cosparse.metrics import psnr
from cosparse.reconstruction import Progress

Array = NDArray[Any]


@dataclass(frozen=True)
class Done:
    """A repaired image: pixels, the picture they came from, noise and weight on 0..255.

    One noise and weight for every page of a stack, or one for all.
    """

    pixels: Array
    like: Picture
    sigmas: tuple[float, ...]
    weights: tuple[float, ...]
    before: Array | None = None


Work = Callable[[Picture, Job, Callable[[Progress], object]], Done]


def run(options: Repair, word: str, work: Work, *, factor: int = 1, opaque: bool = False) -> None:
    """Plan, repair, write, report; raises Exit(1) if anything failed."""
    jobs, problems = plan(options.paths, options.output, word, options.format)
    if options.json and any(job.target is None for job in jobs):
        raise UsageProblem("--json and the image would both go to standard output; name OUT")
    references = _references(options.reference)
    total = len(jobs) + len(problems)
    for problem in problems:
        _report(options, {"error": problem})
    done = 0
    try:
        with Bar(len(jobs)) as bar:
            if options.scheduler is None:
                ended = _in_turn(jobs, lambda job: _one(options, job, work, references, bar, factor, opaque), bar)
            else:

                def alone(job: Job) -> dict[str, Any]:
                    return _one(options, job, work, references, Bar(0), factor, opaque)

                ended = outcomes(options, jobs, alone, word)
                bar.begin(f"{len(jobs)} files")
            for number, (job, record) in enumerate(ended, 1):
                if isinstance(record, Exception):
                    problems.append(_named(job, reason(record)))
                    _report(options, {"input": job.name, "error": problems[-1]})
                else:
                    done += 1
                    _report(options, record)
                    if not options.json:
                        _tell(record, bar)
                if options.scheduler is not None:
                    bar.update(number / len(jobs), f"{done} done, {number - done} failed")
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"stopped; {done} of {total} done") from None
    if problems:
        if total > 1:
            complain(f"{len(problems)} of {total} failed:")
        for problem in problems:
            complain(problem)
        raise typer.Exit(1)


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
    picture = read_image(sys.stdin.buffer.read(), name=job.name) if job.source is None else read_image(job.source)
    if opaque and picture.alpha is not None and _format(options, job, picture) in ("jpeg", "bmp"):
        kept = replace(picture, alpha=None)  # all of it will be opaque: nothing is lost
    else:
        kept = picture
    _check_format(options, job, kept)
    truth = references(job) if references else None
    if truth is not None:
        _check_reference(picture, truth, factor)
    tally = Tally(None if truth is None else _working(truth), bar)
    done = work(picture, job, tally)
    like = replace(done.like, alpha=None) if kept.alpha is None else done.like
    _write(options, job, done.pixels, like)
    record = {
        "input": job.name,
        "output": job.result,
        "sigma": float(np.mean(done.sigmas)),
        "weight": float(np.mean(done.weights)),
        "iterations": tally.iterations,
        "energy": tally.energy,
        "seconds": time.perf_counter() - started,
    }
    if len(done.sigmas) > 1:
        record |= {"sigmas": done.sigmas, "weights": done.weights}
    if truth is not None:
        result = replace(picture, pixels=done.pixels)
        record["psnr"] = psnr(_working(truth), _working(result), data_range=255)
        before = picture.pixels if done.before is None else done.before
        if before.shape == truth.pixels.shape and not np.isnan(before).any():
            start = _working(replace(picture, pixels=before))
            record["psnr_before"] = psnr(_working(truth), start, data_range=255)
    return record


def _working(picture: Picture) -> NDArray[np.float32]:
    return to_working(picture.pixels, data_range=picture.data_range)


def _report(options: Repair, record: dict[str, Any]) -> None:
    if options.json:
        json_line(record)


def _tell(record: dict[str, Any], bar: Bar) -> None:
    """A line for people; dB were asked for, so they are printed even where no one watches."""
    sigmas = record.get("sigmas", [record["sigma"]])
    noise = " to ".join(dict.fromkeys(f"{end(sigmas):.3g}" for end in (min, max)))
    figures = f"sigma {noise}, {record['seconds']:.1f} s"
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
    from cosparse.codecs import SUFFIXES

    ending = options.format or ("" if job.target is None else job.target.suffix.lstrip("."))
    return SUFFIXES.get("." + ending.lower(), picture.format)


def _check_format(options: Repair, job: Job, picture: Picture) -> None:
    """Before any work: can the format hold such an image? One pixel of it tells."""
    corner = (slice(0, 2),) * picture.stack + (slice(0, 1), slice(0, 1))
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
    first = int(picture.stack)
    shape[first : first + 2] = [side * factor for side in shape[first : first + 2]]
    if tuple(shape) != truth.pixels.shape:
        raise ValueError(
            f"the result has shape {tuple(shape)}, the reference {truth.pixels.shape}; "
            "give the true image of this one"
        )
