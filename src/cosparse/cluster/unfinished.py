"""Where a repair by tiles writes: a target that may be replaced or not, and the folder of its tiles until it is whole.

Only what we made is ever removed or replaced.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from cosparse.cluster.connection import FULL
from cosparse.cluster.layout import Index
from cosparse.cluster.sources import TIFF
from cosparse.cluster.tiles import Found
from cosparse.identity import differing
from cosparse.io.atomic import replacing
from cosparse.reconstruction.prior import Region

log = logging.getLogger(__name__)

FORMAT = "cosparse-tiles-2"
RECORD = "job.json"
# What we put into OUT.part, and in which order it is removed; nothing else is. The record last: a run that is killed
# meanwhile leaves a folder that is known to be ours.
OURS = ("done", "pages", "fresh.zarr", "replaced.zarr", RECORD)


class Unfinished:
    """The folder OUT.part beside a target OUT: what was asked for, what was found out about pages, finished tiles.

    With a `level`, the tiles are the array of that name in a group.
    """

    def __init__(self, goal: Path, level: str = "") -> None:
        self.goal, self.folder, self.level = goal, goal.with_name(goal.name + ".part"), level
        self.store = self.folder / "tiles.zarr"

    @property
    def pixels(self) -> Path:
        """The array of the tiles."""
        return self.store / self.level

    def begin(self, asked: dict[str, Any], force: bool) -> None:
        """A new folder, or that of an earlier run of the same; tiles of another are forgotten if forced to."""
        saved = self.saved()
        if saved is not None:
            others = differing(saved["job"], asked) if saved.get("format") == FORMAT else ["version"]
            if others and not force:
                raise FileExistsError(
                    f"{self.folder}: holds tiles of another repair, which differs in {', '.join(others)}; "
                    "remove it, or pass force=True (--force)"
                )
            if others:
                self.clear()
                saved = None
        with self.explained(kept=False):
            self.folder.mkdir(exist_ok=True)
            if saved is None:
                self._write(RECORD, {"format": FORMAT, "job": asked})
            # Also of an earlier run: it may have been killed as it began.
            for name in ("done", "pages"):
                (self.folder / name).mkdir(exist_ok=True)

    def saved(self) -> Any:
        """What an earlier run wrote of itself; None if there is none or the folder is empty.

        Anything else of that name is refused: it is not ours.
        """
        if not self.folder.exists() and not self.folder.is_symlink():
            return None
        if self.folder.is_dir():
            with contextlib.suppress(OSError, ValueError, AttributeError):
                saved = json.loads((self.folder / RECORD).read_text())
                if saved.get("format") == FORMAT or {"job", "found", "paths"} <= set(saved):  # or of older versions
                    return saved
            if all(entry.name.startswith(f".{RECORD}.") for entry in self.folder.iterdir()):
                return None
        raise FileExistsError(
            f"{self.folder}: is where unfinished tiles would be kept, but was not made by cosparse; move it away, "
            "or name another target"
        )

    def done(self) -> set[str]:
        """The marks of finished tiles; none if the tiles are gone, as after a run that was killed at its very end."""
        if not self.store.exists():
            return set()
        return {name for name in os.listdir(self.folder / "done") if not name.startswith(".")}

    def page(self, number: int) -> Found | None:
        """What was found out about a page by an earlier run."""
        place = self.folder / f"pages/{number}.json"
        return Found(**json.loads(place.read_text())) if place.exists() else None

    def keep_page(self, number: int, found: Found) -> None:
        """Keep what was found out about a page for a later run."""
        with self.explained(kept=False):
            self._write(f"pages/{number}.json", vars(found))

    def create(self, **array: Any) -> None:
        """An empty zarr array for the tiles, if there is none yet; marks of tiles that were in another are removed."""
        import zarr

        for half in self.store.rglob("*.partial"):  # what zarr was writing when an earlier run was killed
            half.unlink()
        if not self.store.exists():
            with self.explained(kept=False):
                for mark in (self.folder / "done").iterdir():
                    mark.unlink()
                if self.level:
                    kind = array.pop("zarr_format")
                    group = zarr.open_group(self.folder / "fresh.zarr", mode="w", zarr_format=kind)
                    group.create_array(self.level, **array)
                else:
                    zarr.create_array(self.folder / "fresh.zarr", overwrite=True, **array)
                os.replace(self.folder / "fresh.zarr", self.store)

    def set_aside(self) -> None:
        """Move what is to be replaced out of the way; removed with the folder."""
        _remove(self.folder / "replaced.zarr")  # of a run that was killed
        os.replace(self.goal, self.folder / "replaced.zarr")

    def clear(self) -> None:
        """Remove the folder, or at least what we put there."""
        _remove(self.folder / "fresh.zarr")
        if self.store.exists():  # under a name that is never gone on from: half of it may be left
            os.replace(self.store, self.folder / "fresh.zarr")
        _remove(self.store)
        for name in [*(entry.name for entry in self.folder.iterdir() if entry.name.startswith(f".{RECORD}.")), *OURS]:
            _remove(self.folder / name)
        try:
            self.folder.rmdir()
        except OSError:
            log.warning("%s: holds what is not cosparse's, and is left there", self.folder)

    @contextlib.contextmanager
    def explained(self, kept: bool = True) -> Iterator[None]:
        """Full disks and lost workers in words that say what to do, and whether finished tiles are kept."""
        from distributed import KilledWorker

        more = f"; the finished tiles are kept in {self.folder}, the same call goes on from them" if kept else ""
        try:
            yield
        except KilledWorker as problem:
            raise RuntimeError(
                f"{self.goal}: workers died again and again over one tile, perhaps for lack of memory; "
                f"use smaller tiles{more}"
            ) from problem
        except OSError as problem:
            if problem.errno is None or (problem.errno not in FULL and problem.filename is not None):
                raise
            if problem.errno not in FULL:  # a disk that fails says no more than that
                raise OSError(
                    f"{self.goal}: cannot be written, or its source not read ({os.strerror(problem.errno)}); "
                    f"check the disks and run again{more}"
                ) from problem
            raise OSError(
                f"{self.goal}: cannot be written ({os.strerror(problem.errno)}); make room and run again{more}"
            ) from problem

    def _write(self, name: str, content: dict[str, Any]) -> None:
        with replacing(self.folder / name) as temporary:
            temporary.write_text(json.dumps(content))


def _remove(place: Path) -> None:
    """A file, a folder and all in it, or a link and not what it leads to; or nothing."""
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


def write_tile(pixels: NDArray[Any], store: str, mark: str, page: Index, region: Region) -> None:
    """A tile's pixels into an array, and then the file that marks that they are all there; a task."""
    import zarr

    array: Any = zarr.open_array(store, mode="r+")
    array[(*page, *region)] = pixels
    with replacing(Path(mark)) as temporary:
        temporary.touch()


def check_target(goal: Path, force: bool) -> None:
    """Refuse to write where something is that may not be replaced: with `force`, a picture of the same kind may."""
    if goal.suffix.lower() not in (".zarr", *TIFF):
        raise ValueError(f"target: {goal} does not say what to write; end it with .zarr or .tif")
    if goal.exists() and not force:
        raise FileExistsError(f"{goal}: exists; pass force=True (--force) to replace it")
    if goal.suffix.lower() in TIFF and goal.is_dir():
        raise FileExistsError(f"{goal}: is a folder, which is never replaced; name another target")
    if goal.suffix.lower() == ".zarr" and goal.exists() and not (_is_zarr_array(goal) or _is_plain_group(goal)):
        kinds = "not a zarr array, nor an OME-Zarr group with nothing beside its picture"
        raise FileExistsError(f"{goal}: is {kinds}, and only such are replaced; name another target")
    if not goal.parent.is_dir():
        raise FileNotFoundError(f"{goal}: the folder {goal.parent} does not exist; create it first")


def _is_zarr_array(folder: Path) -> bool:
    """Whether a folder is an array and no group of them."""
    if (folder / ".zarray").is_file():
        return True
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return bool(json.loads((folder / "zarr.json").read_text()).get("node_type") == "array")
    return False


def _is_plain_group(folder: Path) -> bool:
    """Whether a folder is an OME-Zarr group that holds the levels of one picture, no labels and no other file."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        modern = (folder / "zarr.json").is_file()
        said = json.loads((folder / ("zarr.json" if modern else ".zattrs")).read_text())
        said = said["attributes"]["ome"] if modern else said
        levels = {str(level["path"]) for picture in said["multiscales"] for level in picture["datasets"]}
        return {entry.name for entry in folder.iterdir()} <= levels | {"zarr.json", ".zattrs", ".zgroup", ".zmetadata"}
    return False
