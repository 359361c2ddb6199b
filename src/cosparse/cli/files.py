"""Which files to read, and where each result goes."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cosparse.cli.console import UsageProblem
from cosparse.codecs import SUFFIXES
from cosparse.codecs.disk import shown_name
from cosparse.images import find_images

WORDS = ("denoised", "inpainted", "upscaled", "deblurred")  # photo.png -> photo.denoised.png


@dataclass(frozen=True)
class Job:
    """One image to repair.

    `source` None is standard input, `target` None standard output. `place` is the path below the
    folder that was given (or the bare name), by which masks and references in folders are found.
    """

    source: Path | None
    target: Path | None
    place: Path

    @property
    def name(self) -> str:
        """As the user knows the input."""
        return "standard input" if self.source is None else shown_name(self.source)

    @property
    def result(self) -> str:
        """As the user knows the output."""
        return "-" if self.target is None else shown_name(self.target)


def plan(
    paths: Sequence[str], output: str | None, word: str, format: str | None
) -> tuple[list[Job], list[str]]:
    """The jobs that paths and output ask for, and what could not be found."""
    inputs, out = split(paths, output)
    inputs = [one for given in inputs for one in _listed(given)]
    folder = _is_folder(inputs, out)
    jobs: dict[str, Job] = {}
    problems: list[str] = []
    for given in inputs:
        if given == "-":
            target = (
                None if out is None else _target(None, Path("stdin"), out, folder, word, format)
            )
            jobs["-"] = Job(None, target, Path("stdin"))
            continue
        try:
            found = find_images(given)
        except (OSError, ValueError) as error:
            problems.append(str(error))
            continue
        root = Path(given) if Path(given).is_dir() else None
        if root or _is_pattern(given):
            found = _originals(found, out if folder else None)
        for source in found:
            place = source.relative_to(root) if root else Path(source.name)
            jobs.setdefault(
                os.path.realpath(source),
                Job(source, _target(source, place, out, folder, word, format), place),
            )
    _refuse_clashes(list(jobs.values()))
    return list(jobs.values()), problems


def split(paths: Sequence[str], output: str | None) -> tuple[list[str], str | None]:
    """Inputs and output: the last of several paths is OUT, unless it can only be one more input."""
    *inputs, last = paths
    if output is not None:
        return list(paths), output
    if not inputs or (len(inputs) > 1 and Path(last).is_file()):
        return list(paths), None
    return inputs, last


def _listed(given: str) -> list[str]:
    """@FILE is the paths in a text file, one a line."""
    if not given.startswith("@") or Path(given).exists():
        return [given]
    try:
        lines = Path(given[1:]).read_text().splitlines()
    except (OSError, UnicodeError) as error:
        raise UsageProblem(f"{given}: no list of paths can be read there ({error})") from error
    return [line for line in lines if line.strip()]


def _is_pattern(given: str) -> bool:
    return glob.has_magic(given) and not Path(given).exists()


def _is_folder(inputs: list[str], out: str | None) -> bool:
    """Whether OUT is a folder."""
    many = len(inputs) > 1 or Path(inputs[0]).is_dir() or _is_pattern(inputs[0])
    if out is None:
        return False
    if out == "-":
        if many:
            raise UsageProblem("several images cannot go to standard output; name a folder as OUT")
        return False
    if Path(out).is_dir() or out.endswith(("/", os.sep)):
        return True
    if many and (Path(out).exists() or Path(out).suffix.lower() in SUFFIXES):
        raise UsageProblem(
            f"{shown_name(out)}: for several inputs OUT must be a folder; name one, "
            "or check that all inputs exist"
        )
    return many


def _originals(found: list[Path], out: str | None) -> list[Path]:
    """Without the results of earlier runs: names we gave, and files in the output folder."""

    def earlier(path: Path) -> bool:
        stem, _, word = path.stem.rpartition(".")
        if word in WORDS and any(path.with_name(stem + end).exists() for end in SUFFIXES):
            return True
        return out is not None and Path(out).resolve() in path.resolve().parents

    kept = [path for path in found if not earlier(path)]
    return kept or found


def _target(
    source: Path | None, place: Path, out: str | None, folder: bool, word: str, format: str | None
) -> Path | None:
    ending = place.suffix if place.suffix.lower() in SUFFIXES else ".png"
    if format:
        ending = "." + format
    if out == "-":
        return None
    if out is None:
        return source.with_name(f"{source.stem}.{word}{ending}") if source else None
    if folder:
        return Path(out) / place.with_suffix(ending)
    kind = SUFFIXES.get(Path(out).suffix.lower())
    if kind is None and format is None:
        raise UsageProblem(
            f"{shown_name(out)}: its name does not say a format; end it with .png, .jpg, .tif or "
            ".bmp, with / for a folder, or add --format"
        )
    if kind and format and kind != SUFFIXES["." + format]:
        raise UsageProblem(f"{shown_name(out)}: contradicts --format {format}; leave one out")
    return Path(out)


def _refuse_clashes(jobs: list[Job]) -> None:
    taken: dict[Path, Job] = {}
    for job in jobs:
        if job.target is None:
            continue
        other = taken.setdefault(job.target, job)
        if other is not job:
            raise UsageProblem(
                f"{job.name} and {other.name} would both be written to {job.result}; "
                "repair them one by one, or give the folder that holds both"
            )
