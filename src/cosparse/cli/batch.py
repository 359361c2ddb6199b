"""One command over many files: a bad one is noted, the others are done."""

from __future__ import annotations

import io
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import typer

from cosparse.cli.console import (
    UsageProblem,
    check_standard_output,
    complain,
    json_line,
    reason,
    standard_input,
    write_bytes,
)
from cosparse.cli.forecast import forecast
from cosparse.cli.mask_option import Maker
from cosparse.cli.on_cluster import Figures, Outcome, outcomes
from cosparse.cli.options import Repair
from cosparse.cli.progress import Bar, Tally, Weight
from cosparse.cli.reading import in_range_of, read_picture
from cosparse.cli.targets import Input, Targets, find_targets, tell_unread, why_unread
from cosparse.io.disk import shown_name
from cosparse.io.formats import SUFFIXES
from cosparse.io.masks import Mask
from cosparse.io.picture import Picture, losses, read_image, write_image
from cosparse.io.values import default_range
from cosparse.jpeg import Jpeg
from cosparse.metrics import psnr
from cosparse.reconstruction.start import enlarged_side
from cosparse.repair import Repaired, bicubic, repair

EXIST = "exist"
WHITE = {"uint8": 255, "uint16": 65535}  # known by the type; that of other files is said


@dataclass
class Count:
    """What became of the inputs; with --json each is reported at once."""

    json: bool
    done: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """As the last line of a batch."""
        skips = [f"{number} skipped ({why})" for why, number in self.skipped.items()] or ["0 skipped"]
        hint = "; --force replaces what exists" if EXIST in self.skipped else ""
        return f"{self.done} done, {', '.join(skips)}, {len(self.problems)} failed{hint}"

    def report(self, record: Figures) -> None:
        """One input's line of JSON, if it is wanted."""
        if self.json:
            json_line(record)

    def fail(self, name: str, problem: str) -> None:
        """An input that could not be repaired."""
        self.problems.append(problem)
        self.report({"input": name, "error": problem})

    def skip(self, images: Iterable[Input]) -> None:
        """Results that are there already."""
        for image in images:
            self.skipped[EXIST] += 1
            self.report({"input": image.name, "output": image.result, "skipped": "exists"})


def run(options: Repair) -> None:
    """Plan, repair, write, report; raises Exit(1) if anything failed."""
    # The workers of a cluster have another current folder.
    mask = None if options.mask is None else options.mask.maker(absolute=options.scheduler is not None)
    planned = find_targets(options.paths, options.output, options.task.word, options.format)
    if options.json and any(image.target is None for image in planned.inputs):
        raise UsageProblem("--json and the image would both go to standard output; name OUT")
    work = FileRepair(options, mask, _references(options.reference))
    count = Count(options.json)
    for given, problem in planned.problems:
        count.fail(given, problem)
    images = _left(options, planned, count)
    for path in planned.unread:
        count.report({"input": shown_name(path), "skipped": why_unread(path)})
    if kinds := tell_unread(planned.unread):
        count.skipped[f"{', '.join(kinds)} cannot be read"] = len(planned.unread)
    total = len(planned.inputs) + len(planned.problems)
    there = dict.fromkeys(images)
    try:
        with Bar(len(images)) as bar:
            for image, outcome in _ended(work, images, bar):
                del there[image]
                if isinstance(outcome, Exception):
                    count.fail(image.name, _named(image, reason(outcome)))
                else:
                    count.done += 1
                    count.report(outcome)
                    _print(outcome, bar, figures=not options.json)
                if options.scheduler is not None:
                    ended = count.done + len(count.problems) - len(planned.problems)
                    bar.update(ended / len(images), f"{count.done} done, {len(count.problems)} failed")
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"stopped; {count.done} of {total} done") from None
    count.skip(there)
    for problem in count.problems:
        complain(problem)
    if total > 1 or count.skipped:
        complain(str(count))
    if count.problems:
        raise typer.Exit(1)


def _left(options: Repair, planned: Targets, count: Count) -> list[Input]:
    """The inputs without those whose result is there: asked again, a batch goes on where it was.

    A single picture whose OUT exists is a mistake instead, see :func:`_check_target`. With a cluster the output folder
    remembers what was asked for, and :func:`outcomes` leaves out only what is of the same run.
    """
    if options.force or options.scheduler or not planned.many:
        return planned.inputs
    count.skip(image for image in planned.inputs if image.done)
    return [image for image in planned.inputs if not image.done]


def _ended(work: FileRepair, images: list[Input], bar: Bar) -> Iterator[tuple[Input, Outcome]]:
    """Every input with what came of it: one after the other, or as a cluster's workers end."""
    if images and work.options.scheduler is not None:
        bar.begin(f"{len(images)} files")
        yield from outcomes(work.options, images, work)
        return
    for image in images:
        bar.begin(image.name)
        try:
            outcome: Outcome = work(image, bar)
        except Exception as error:
            if image.target is None and isinstance(error, BrokenPipeError):
                raise  # who reads has enough
            outcome = error
        yield image, outcome


def _named(image: Input, text: str) -> str:
    """Every complaint begins with a file's name."""
    text = text.removeprefix("image: ")
    return text if text.startswith((image.name, image.result + ":")) else f"{image.name}: {text}"


@dataclass(frozen=True)
class FileRepair:
    """Repairs one input after another: reads, repairs, writes, and returns a record of it."""

    options: Repair
    mask: Maker | None
    references: Callable[[Input], Picture] | None

    def __call__(self, image: Input, bar: Bar | None = None) -> Figures:
        """On a cluster there is no bar."""
        options, started = self.options, time.perf_counter()
        _check_target(image, options.force)
        source = standard_input() if image.source is None else image.source
        picture = read_picture(source, options.data_range, name=image.name)
        kind = _format(options, image, picture)
        given = _opaque(picture, kind) if options.mask and options.mask.transparent else picture
        _check_format(image, given, kind)
        truth = self._truth(image, picture)
        tally = Tally(None if truth is None else in_range_of(picture, truth).working, bar or Bar(0))
        mask = None if self.mask is None else self.mask(picture, image.place)
        if bar is not None and bar.shown and (said := forecast(given, partial(self._part, mask))):
            bar.say(f"{image.name}: {said}")
        found = self._repair(given, mask, tally)
        _write(image, found.picture, kind)
        sigmas = found.sigmas if options.sigma is None or options.noise else (options.sigma,)
        record = {
            "input": image.name,
            "output": image.result,
            "type": picture.pixels.dtype.name,
            "data_range": picture.data_range,
            "sigma": float(np.mean(sigmas)),
            **_weights(tally.weights, len(sigmas) > 1),
            "iterations": tally.iterations,
            "energy": tally.energy,
            "seconds": time.perf_counter() - started,
        }
        if len(sigmas) > 1:
            record["sigmas"] = sigmas
        if kinds := list(dict.fromkeys(map(repr, found.kinds))):
            record["noise"] = kinds[0] if len(kinds) == 1 else kinds
        if found.jpeg is not None:
            record["jpeg"] = _compressed(found.jpeg)
        if notes := [*picture.notes, *found.notes, *losses(found.picture, kind)]:
            record["notes"] = notes
        if truth is not None:
            record["psnr"] = _psnr(truth, found.picture)
            before = replace(picture, pixels=bicubic(picture, self._factor)) if self._factor > 1 else picture
            if not np.isnan(before.pixels).any():
                record["psnr_before"] = _psnr(truth, before)
        return record

    def _repair(self, picture: Picture, mask: Mask | None, callback: Tally | None) -> Repaired:
        options = self.options
        return repair(
            picture, options.task.name, sigma=options.sigma, operator=options.prior, weight=options.weight,
            quality=options.quality.value, callback=callback, luma=options.luma, chroma=options.chroma,
            noise=options.noise_kind and options.noise_kind.model(picture.data_range),
            **options.own, **options.memory, **({} if mask is None else {"mask": mask}),
        )  # fmt: skip

    def _part(self, mask: Mask | None, part: Picture, place: tuple[slice, slice]) -> None:
        """A part of a picture, to see how long it takes; one without anything to fill in takes no time."""
        own = None if mask is None else (mask if mask.ndim == 2 else mask[(0,) * (mask.ndim - 2)])[place]
        if own is None or not own.all():
            smooth = {name: value for name, value in self.options.own.items() if name not in ("fill", "source", "seed")}
            if own is not None:
                smooth["fill"] = "smooth"  # as a part says nothing of wide holes
            plain = replace(self, options=replace(self.options, own=smooth))
            plain._repair(part, own, None)

    @property
    def _factor(self) -> float:
        """How many times larger results are."""
        return float(self.options.own.get("factor", 1))

    def _truth(self, image: Input, picture: Picture) -> Picture | None:
        """What the result is compared with."""
        if self.references is None:
            return None
        truth, (height, width, *colours) = self.references(image), picture.pages.shape[1:]
        sides = (enlarged_side(side, self._factor) for side in (height, width))
        shape = (*picture.leading, *sides, *colours)
        if shape != truth.pixels.shape:
            text = f"the result has shape {shape}, the reference {truth.pixels.shape}"
            raise ValueError(f"{text}; give the true image of this one")
        if self.options.data_range and truth.pixels.dtype == picture.pixels.dtype:  # said of such files
            return replace(truth, data_range=picture.data_range)
        return truth


def _opaque(picture: Picture, kind: str) -> Picture:
    """A picture of which all will be opaque, so that nothing is lost where transparency cannot be written."""
    if picture.alpha is None or kind in ("jpeg", "bmp"):
        return replace(picture, alpha=None)
    return replace(picture, alpha=np.full_like(picture.alpha, default_range(picture.alpha)))


def _compressed(jpeg: Jpeg) -> Figures:
    """How a JPEG was taken to be compressed."""
    steps = jpeg.quantization[0].astype(int).tolist()
    return {"quality": jpeg.quality, "subsampling": jpeg.subsampling, "orientation": jpeg.orientation, "steps": steps}


def _weights(used: list[Weight], apart: bool) -> Figures:
    """The weight of all pages, or None and that of each."""
    differ = any(weight != used[0] for weight in used)
    weight = used[0] if used and not differ else None
    return {"weight": weight, **({"weights": used} if apart or differ else {})}


def _psnr(truth: Picture, picture: Picture) -> float:
    return psnr(truth.working, in_range_of(truth, picture).working, data_range=255)


def _print(record: Figures, bar: Bar, figures: bool) -> None:
    """What was lost, and a line of `figures` unless --json has them.

    dB were asked for, so they are printed even where no one watches.
    """
    if "notes" in record:
        note = f"{record['input']}: {'; '.join(record['notes'])}"
        bar.say(f"cosparse: {note}") if bar.shown else complain(note)
    if not figures:
        return
    sigmas = record.get("sigmas", [record["sigma"]])
    noise = " to ".join(dict.fromkeys(f"{end(sigmas):.3g}" for end in (min, max)))
    white = "" if record["data_range"] == WHITE.get(record["type"]) else f", range {record['data_range']:g}"
    gain = ""
    if "psnr" in record:
        before = f"{record['psnr_before']:.2f} -> " if "psnr_before" in record else ""
        gain = f"{before}{record['psnr']:.2f} dB, "
    taken = f"quality {record['jpeg']['quality']}" if "jpeg" in record else f"sigma {noise}"
    line = f"{record['input']} -> {record['output']}: {gain}{taken}{white}, {record['seconds']:.1f} s"
    if bar.shown:
        bar.say(line)
    elif "psnr" in record:
        print(line, file=sys.stderr if record["output"] == "-" else sys.stdout, flush=True)


def _check_target(image: Input, force: bool) -> None:
    """Before any work: may the result be written?"""
    target = image.target
    if target is None:
        check_standard_output()
        return
    if target.is_dir():
        raise ValueError(f"{image.result}: is a folder; name a file in it")
    if target.exists() and not force:
        raise ValueError(f"{image.result}: exists; add --force to replace it, or name another OUT")
    parent = next((folder for folder in target.parents if folder.exists()), target.parent)
    if not parent.is_dir():
        raise ValueError(f"{image.result}: {parent} is not a folder; name another OUT")
    if not os.access(parent, os.W_OK):
        raise ValueError(f"{image.result}: may not be written; change the permissions of {parent}")


def _format(options: Repair, image: Input, picture: Picture) -> str:
    ending = options.format or ("" if image.target is None else image.target.suffix.lstrip("."))
    kind = SUFFIXES.get("." + ending.lower(), picture.format)
    return kind if kind in SUFFIXES.values() else "png"  # what is only read, as WebP


def _check_format(image: Input, picture: Picture, kind: str) -> None:
    """Before any work: can the format hold such an image? One pixel of it tells."""
    corner = (slice(0, 2),) * len(picture.leading) + (slice(0, 1), slice(0, 1))
    alpha = None if picture.alpha is None else picture.alpha[corner]
    try:
        write_image(io.BytesIO(), picture.pixels[corner], like=replace(picture, alpha=alpha), format=kind)
    except ValueError as error:
        text = str(error).removeprefix("image: ")
        raise ValueError(f"{image.result}: {text}" if image.target else text) from error


def _write(image: Input, picture: Picture, kind: str) -> None:
    if image.target is None:
        held = io.BytesIO()
        write_image(held, picture.pixels, like=picture, format=kind)
        write_bytes(held.getvalue())
        return
    image.target.parent.mkdir(parents=True, exist_ok=True)
    write_image(image.target, picture.pixels, like=picture, format=kind)


def _references(given: str | None) -> Callable[[Input], Picture] | None:
    """The true images to compare with: one for all, or of the same name in a folder."""
    if given is None:
        return None
    path = Path(given)
    if path.is_dir():
        path = path.absolute()  # workers of a cluster have another current folder
        return lambda image: read_image(path / image.place)
    try:
        shared = read_image(path)
    except (OSError, ValueError) as error:
        raise UsageProblem(f"--reference: {error}") from error
    return lambda image: shared
