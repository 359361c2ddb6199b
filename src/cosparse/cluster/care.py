"""What a repair by tiles checks beforehand, writes as it goes, and says when it cannot."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cosparse.cluster.tiles import TASKS
from cosparse.files import replacing

_NEEDED = {"upscale": ("factor",), "deblur": ("kernel",)}
_ALLOWED = {"denoise": ("grouping",), "inpaint": ("grouping",), "deblur": ("border",)}
_COMMON = ("sigma", "operator", "weight", "quality", "data_range")


def check(task: str, source: Any, mask: Any, options: dict[str, Any]) -> None:
    """Before any work."""
    if task == "reconstruct" or options.get("border") == "periodic":
        asked = "reconstruct" if task == "reconstruct" else "border='periodic'"
        raise ValueError(
            f"{asked}: every measurement depends on the whole picture, so that tiles cannot be repaired one by one; "
            f"use cosparse.{task} on a picture that fits in memory"
        )
    if task not in TASKS:
        raise ValueError(f"task: expected one of {', '.join(TASKS)}, got {task!r}")
    unknown = set(options) - {*_COMMON, *_NEEDED.get(task, ()), *_ALLOWED.get(task, ())}
    if unknown:
        raise TypeError(f"{task} has no option {', '.join(sorted(unknown))}")
    missing = [name for name in _NEEDED.get(task, ()) if options.get(name) is None]
    if missing:
        raise TypeError(f"{missing[0]}: {task} needs it")
    if (mask is not None) != (task == "inpaint"):
        raise ValueError("mask: inpaint needs one, and nothing else takes one")
    if not (source.ndim == 2 or (source.ndim == 3 and source.shape[2] <= 4)) or 0 in source.shape:
        raise ValueError(f"source: expected (h, w) or (h, w, 1 to 4 channels), got shape {tuple(source.shape)}")


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
        if problem.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise OSError(
            f"{goal}: cannot be written ({os.strerror(problem.errno)}); make room and run again{kept}"
        ) from problem


def write_tile(pixels: Any, part: str, place: tuple[int, int], region: tuple[slice, slice]) -> None:
    """A tile's pixels, and then the mark that they are all there."""
    import zarr

    zarr.open_array(Path(part) / "tiles.zarr", mode="r+")[region] = pixels
    with replacing(Path(part) / "done" / f"{place[0]}.{place[1]}") as temporary:
        temporary.touch()
