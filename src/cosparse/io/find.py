"""The image files that paths, folders and patterns name."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from cosparse.io.disk import PathLike, shown_name
from cosparse.io.formats import READ_ONLY, UNREAD, readable


def find_images(paths: PathLike | Iterable[PathLike]) -> list[Path]:
    """List the image files that `paths` name: files, folders (searched through) and patterns.

    A file is taken whatever its suffix; folders and patterns give the suffixes that can be read only
    (those of HEIC if its decoder is installed), sorted, without hidden files. Each file appears once.
    What is passed over in a folder, :func:`unread_files` tells.

    Raises
    ------
    FileNotFoundError
        A path does not exist.
    ValueError
        A folder or a pattern holds no image.
    """
    found: dict[Path, None] = {}
    inside: Iterable[Path]
    for given in [paths] if isinstance(paths, str | os.PathLike) else paths:
        path, shown = Path(given), shown_name(given)
        if path.is_dir():
            kind, inside = "folder", path.rglob("*")
        elif path.exists():
            found[path] = None
            continue
        elif glob.has_magic(str(path)):
            kind, inside = "pattern", map(Path, glob.iglob(str(path), recursive=True))
        else:
            raise FileNotFoundError(f"{shown}: no such file or folder; check the path")
        depth = len(path.parts) if kind == "folder" else -1  # the folder given may itself be hidden
        images = _visible(inside, depth, readable)
        if not images:
            raise ValueError(f"{shown}: this {kind} holds no PNG, JPEG, BMP or TIFF image, nor another that is read")
        found.update(dict.fromkeys(images))
    return list(found)


def unread_files(folder: PathLike) -> list[Path]:
    """List the files of a folder that look like pictures, by their suffix, but that :func:`find_images` leaves out.

    :data:`cosparse.io.formats.UNREAD` says why, suffix by suffix; HEIC is left out where its decoder is not installed
    (``pip install 'cosparse[heic]'``). Sorted, without hidden files; empty if it is not a folder.
    """
    path = Path(folder)
    if not path.is_dir():
        return []
    return _visible(path.rglob("*"), len(path.parts), lambda end: end in UNREAD | READ_ONLY and not readable(end))


def _visible(paths: Iterable[Path], depth: int, wanted: Callable[[str], bool]) -> list[Path]:
    """The files with wanted suffixes, sorted, without those that are hidden below `depth`."""
    return sorted(
        p
        for p in paths
        if wanted(p.suffix.lower()) and not any(part.startswith(".") for part in p.parts[depth:]) and p.is_file()
    )
