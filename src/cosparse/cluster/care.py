"""What a repair by tiles checks beforehand, writes as it goes, and says when it cannot."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cosparse.cluster.connection import FULL
from cosparse.cluster.layout import Page, named
from cosparse.cluster.sources import TIFF
from cosparse.io.atomic import replacing
from cosparse.reconstruction.prior import Region
from cosparse.reconstruction.tasks import TASKS

log = logging.getLogger(__name__)

_COMMON = ("sigma", "operator", "weight", "quality", "data_range", "bounds")

FORMAT = "cosparse-tiles-2"
RECORD = "job.json"
OURS = (RECORD, "done", "pages", "tiles.zarr", "fresh.zarr", "replaced.zarr")  # in OUT.part; nothing else is removed


def check(task: str, mask: Any, options: dict[str, Any]) -> None:
    """Before any work."""
    if task == "reconstruct" or options.get("border") == "periodic":
        asked = "reconstruct" if task == "reconstruct" else "border='periodic'"
        raise ValueError(
            f"{asked}: every measurement depends on the whole picture, so that tiles cannot be repaired one by one; "
            f"use cosparse.{task} on a picture that fits in memory"
        )
    if task not in TASKS:
        raise ValueError(f"task: expected one of {', '.join(TASKS)}, got {task!r}")
    unknown = set(options) - {*_COMMON, *TASKS[task].needs, *TASKS[task].takes}
    if unknown:
        raise TypeError(f"{task} has no option {', '.join(sorted(unknown))}")
    missing = [name for name in TASKS[task].needs if options.get(name) is None]
    if missing:
        raise TypeError(f"{missing[0]}: {task} needs it")
    if (mask is not None) != (task == "inpaint"):
        raise ValueError("mask: inpaint needs one, and nothing else takes one")


def check_target(goal: Path, force: bool) -> None:
    """Refuse to write where something is that may not be replaced: with `force`, a picture of the same kind may."""
    if goal.suffix.lower() not in (".zarr", *TIFF):
        raise ValueError(f"target: {goal} does not say what to write; end it with .zarr or .tif")
    if goal.exists() and not force:
        raise FileExistsError(f"{goal}: exists; pass force=True (--force) to replace it")
    if goal.suffix.lower() in TIFF and goal.is_dir():
        raise FileExistsError(f"{goal}: is a folder, which is never replaced; name another target")
    if goal.suffix.lower() == ".zarr" and goal.exists() and not _is_zarr_array(goal):
        raise FileExistsError(f"{goal}: is not a zarr array, and only such are replaced; name another target")
    if not goal.parent.is_dir():
        raise FileNotFoundError(f"{goal}: the folder {goal.parent} does not exist; create it first")


def _is_zarr_array(folder: Path) -> bool:
    """Whether a folder is an array and no group of them."""
    if (folder / ".zarray").is_file():
        return True
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return bool(json.loads((folder / "zarr.json").read_text()).get("node_type") == "array")
    return False


def begun(part: Path) -> Any:
    """What an earlier run wrote of itself into the folder of its tiles; None if there is none or it is empty.

    Anything else of that name is refused: it is not ours.
    """
    if not part.exists() and not part.is_symlink():
        return None
    if part.is_dir():
        with contextlib.suppress(OSError, ValueError, AttributeError):
            saved = json.loads((part / RECORD).read_text())
            if saved.get("format") == FORMAT or {"job", "found", "paths"} <= set(saved):  # or that of older versions
                return saved
        if all(entry.name.startswith(f".{RECORD}.") for entry in part.iterdir()):
            return None
    raise FileExistsError(
        f"{part}: is where unfinished tiles would be kept, but was not made by cosparse; move it away, "
        "or name another target"
    )


def cleared(part: Path) -> None:
    """Without the folder of unfinished tiles, or at least without what we put there."""
    for name in [*OURS, *(entry.name for entry in part.iterdir() if entry.name.startswith(f".{RECORD}."))]:
        place = part / name
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)
    try:
        part.rmdir()
    except OSError:
        log.warning("%s: holds what is not cosparse's, and is left there", part)


@contextlib.contextmanager
def naming(source: Any) -> Iterator[None]:
    """Errors about the pixels name the file that they are in."""
    try:
        yield
    except ValueError as problem:
        first, _, rest = str(problem).partition(": ")
        if first not in ("image", "source") or named(source) == "source":
            raise
        raise ValueError(f"{named(source)}: {rest}") from problem


@contextlib.contextmanager
def explained(goal: Path, part: Path | None = None) -> Iterator[None]:
    """Full disks and lost workers in words that say what to do."""
    from distributed import KilledWorker

    kept = f"; the finished tiles are kept in {part}, the same call goes on from them" if part else ""
    try:
        yield
    except KilledWorker as problem:
        raise RuntimeError(
            f"{goal}: workers died again and again over one tile, perhaps for lack of memory; use smaller tiles{kept}"
        ) from problem
    except OSError as problem:
        if problem.errno not in FULL:
            raise
        raise OSError(
            f"{goal}: cannot be written ({os.strerror(problem.errno)}); make room and run again{kept}"
        ) from problem


def write_tile(pixels: Any, part: str, mark: str, page: Page, region: Region) -> None:
    """A tile's pixels, and then the mark that they are all there."""
    import zarr

    store: Any = zarr.open_array(Path(part) / "tiles.zarr", mode="r+")
    store[(*page, *region)] = pixels
    with replacing(Path(part) / "done" / mark) as temporary:
        temporary.touch()
