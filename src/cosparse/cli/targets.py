"""Which files to read, and where each result goes."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cosparse.cli.console import UsageProblem, complain
from cosparse.io.disk import shown_name
from cosparse.io.find import find_images, unread_files
from cosparse.io.formats import READ_ONLY, SUFFIXES, UNREAD
from cosparse.io.heif import ASK
from cosparse.reconstruction.tasks import TASKS

NAMED = 5  # files of a kind that are named
OME = (".tif", ".tiff", ".zarr")  # before which .ome says more
WORDS = tuple(task.word for task in TASKS.values())  # photo.png -> photo.denoised.png


@dataclass(frozen=True)
class Input:
    """An image to repair, and where its result goes.

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

    @property
    def done(self) -> bool:
        """Whether the result is there already. A picture is no result of its own: see `denoise photos photos`."""
        if self.target is None or not self.target.is_file():
            return False
        return self.source is None or not os.path.samefile(self.source, self.target)


@dataclass(frozen=True)
class Targets:
    """What paths and output ask for.

    `problems` are what was asked for and cannot be done, each with the reason; `unread` the pictures in folders that no
    decoder reads; `many` says whether several pictures were asked for, one or none though they may be.
    """

    inputs: list[Input]
    problems: list[tuple[str, str]]
    unread: list[Path]
    many: bool


def find_targets(paths: Sequence[str], output: str | None, word: str, format: str | None) -> Targets:
    """The inputs that paths and output ask for, and what cannot be found or read."""
    named, out = split(paths, output)
    named = [one for given in named for one in _listed(given)]
    many = len(named) > 1 or Path(named[0]).is_dir() or _is_pattern(named[0])
    folder = _is_folder(many, out)
    inputs: dict[str, Input] = {}
    problems: list[tuple[str, str]] = []
    unread: dict[Path, None] = {}
    for given in named:
        if given == "-":
            place = Path("stdin")
            inputs["-"] = Input(None, _target(None, place, out, folder, word, format), place)
            continue
        unread.update(dict.fromkeys(unread_files(given)))
        try:
            found = find_images(given)
        except (OSError, ValueError) as error:
            problems.append((given, str(error)))
            continue
        root = Path(given) if Path(given).is_dir() else None
        if root or _is_pattern(given):
            found = _originals(found, out if folder else None)
        for source in found:
            place = source.relative_to(root) if root else Path(source.name)
            target = _target(source, place, out, folder, word, format)
            inputs.setdefault(os.path.realpath(source), Input(source, target, place))
    _refuse_clashes(list(inputs.values()), format)
    return Targets(list(inputs.values()), problems, list(unread), many)


def why_unread(path: Path) -> str:
    """Why a file that looks like a picture is left out.

    >>> why_unread(Path("a.CR2"))
    'camera raw: develop it to TIFF first'
    """
    suffix = path.suffix.lower()
    return UNREAD.get(suffix) or f"{READ_ONLY[suffix].upper()} needs a decoder; {ASK}"


def tell_unread(unread: list[Path]) -> list[str]:
    """Name the pictures that cannot be read, in a line for each kind; returns their suffixes."""
    kinds: dict[str, list[Path]] = {}
    for path in unread:
        kinds.setdefault(path.suffix.lower(), []).append(path)
    for files in kinds.values():
        names = ", ".join(shown_name(path) for path in files[:NAMED])
        more = f" and {len(files) - NAMED} more" if len(files) > NAMED else ""
        complain(f"skipped {names}{more} ({why_unread(files[0])})")
    return list(kinds)


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
    if not (found := [line for line in lines if line.strip()]):
        raise UsageProblem(f"{given}: lists no path")
    return found


def _is_pattern(given: str) -> bool:
    return glob.has_magic(given) and not Path(given).exists()


def _is_folder(many: bool, out: str | None) -> bool:
    """Whether OUT is a folder."""
    if out is None:
        return False
    if out == "-":
        if many:
            raise UsageProblem("several images cannot go to standard output; name a folder as OUT")
        return False
    if Path(out).is_dir() or out.endswith(("/", os.sep)):
        return True
    if many and (Path(out).exists() or Path(out).suffix.lower() in SUFFIXES):
        hint = "name one, or check that all inputs exist"
        raise UsageProblem(f"{shown_name(out)}: for several inputs OUT must be a folder; {hint}")
    return many


def _originals(found: list[Path], out: str | None) -> list[Path]:
    """Without the results of earlier runs: names we gave, and files in the output folder."""

    def earlier(path: Path) -> bool:
        stem, ome = _stem(path)
        stem, _, word = stem.rpartition(".")
        if word in WORDS and any(path.with_name(stem + ome + end).exists() for end in (*SUFFIXES, *READ_ONLY)):
            return True
        return out is not None and Path(out).resolve() in path.resolve().parents

    kept = [path for path in found if not earlier(path)]
    return kept or found


def beside(source: Path, word: str, ending: str) -> Path:
    """Where a result goes if nothing was said.

    >>> print(beside(Path("photo.jpg"), "denoised", ".png"), beside(Path("cells.ome.tif"), "denoised", ".tif"))
    photo.denoised.png cells.denoised.ome.tif
    """
    stem, ome = _stem(source)
    return source.with_name(f"{stem}.{word}{ome if ending.lower() in OME else ''}{ending}")


def _stem(path: Path) -> tuple[str, str]:
    """A name without its ending, and what of that says that a file is OME's: cells.ome.tif."""
    stem = path.stem
    is_ome = path.suffix.lower() in OME and stem.lower().endswith(".ome")
    return (stem[:-4], stem[-4:]) if is_ome else (stem, "")


def _ending(place: Path) -> str:
    """Of the result, if nothing was said: as the source, or .png where that cannot be written."""
    return place.suffix if place.suffix.lower() in SUFFIXES else ".png"


def _target(
    source: Path | None, place: Path, out: str | None, folder: bool, word: str, format: str | None
) -> Path | None:
    ending = "." + format if format else _ending(place)
    if out == "-":
        return None
    if out is None:
        return beside(source, word, ending) if source else None
    if folder:
        return Path(out) / place.with_suffix(ending)
    kind = SUFFIXES.get(Path(out).suffix.lower())
    if kind is None and format is None:
        hint = "end it with .png, .jpg, .tif or .bmp, with / for a folder, or add --format"
        raise UsageProblem(f"{shown_name(out)}: its name does not say a format; {hint}")
    if kind and format and kind != SUFFIXES["." + format]:
        raise UsageProblem(f"{shown_name(out)}: contradicts --format {format}; leave one out")
    return Path(out)


def _refuse_clashes(inputs: list[Input], format: str | None) -> None:
    taken: dict[Path, Input] = {}
    for image in inputs:
        other = image if image.target is None else taken.setdefault(image.target, image)
        if other is not image:
            both = f"{image.name} and {other.name} would both be written to {image.result}"
            raise UsageProblem(f"{both}; {_apart(image, other, format)}")


def _apart(image: Input, other: Input, format: str | None) -> str:
    """How two results of one name can both be had."""
    if image.place == other.place:  # from different folders
        return "repair them one by one, or give the folder that holds both"
    leave = "leave --format out, or " if format and _ending(image.place) != _ending(other.place) else ""
    return leave + "repair one of them by itself, with another OUT"
