"""What a run is of: the one place that decides whether two runs are the same.

Everything that can be resumed (learning, refining, repairs by tiles, many files) keeps a plain record of what it was
asked for, made by :func:`described`, and goes on from what it finds only if :func:`differing` names nothing. Operators
and arrays are known by their content, files by where they are, how large, and when they were last written.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np


def described(**parts: Any) -> dict[str, Any]:
    """What a run is of, as plain as JSON: everything that has a digest by that, arrays by their content.

    >>> described(task="upscale", sigma=np.float32(2), sides=(3, 4))
    {'task': 'upscale', 'sigma': 2.0, 'sides': [3, 4]}
    """
    return {name: _plain(value) for name, value in parts.items()}


def differing(saved: Any, asked: Mapping[str, Any]) -> list[str]:
    """The names of all that is not the same in two records; of what one of them does not know, too.

    >>> differing({"task": "denoise", "sigma": 5}, {"task": "denoise", "sigma": 6, "weight": 1.0})
    ['sigma', 'weight']
    """
    if not isinstance(saved, Mapping):
        return list(asked)
    names = [*asked, *(name for name in saved if name not in asked)]
    return [name for name in names if (name in saved) != (name in asked) or saved[name] != asked[name]]


def digest(arrays: Iterable[Any], *words: str) -> str:
    """A name for the content of arrays, their shapes and types, and of some words."""
    found = hashlib.blake2b(digest_size=16)
    for array in map(np.asarray, arrays):
        found.update(f"{array.dtype.str}{array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    for word in words:
        found.update(f"{len(word)}:{word}".encode())
    return found.hexdigest()


def stored(path: str | os.PathLike[str]) -> str:
    """A name for a file, or a folder and all in it, as it is now: changes when anything there is written.

    By place, sizes and times, not by content: a picture may be larger than memory, and a zarr array a million files.
    """
    place = os.path.realpath(path)
    return digest([], place, *(f"{name} {size} {time}" for name, size, time in sorted(_files(place))))


def _files(place: str) -> Iterator[tuple[str, int, int]]:
    """Name, size, and time of the last change in nanoseconds: of the file, or of all below the folder."""
    if not os.path.isdir(place):
        found = os.stat(place)
        yield os.path.basename(place), found.st_size, found.st_mtime_ns
        return
    with os.scandir(place) as entries:
        for entry in entries:
            if entry.is_dir():
                for name, size, time in _files(entry.path):
                    yield f"{entry.name}/{name}", size, time
            else:
                found = entry.stat()
                yield entry.name, found.st_size, found.st_mtime_ns


def _plain(value: Any) -> Any:
    """A value as JSON would give it back."""
    if hasattr(value, "digest"):
        return value.digest()
    if isinstance(value, np.ndarray):
        return digest([value])
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Path):
        return os.fspath(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)
