"""A run that can be interrupted and taken up again bit for bit: its state in a file, written whole or not at all.

A state is a frozen dataclass. Its arrays, and those of the dataclasses and dicts in it, are kept as they are; its
numbers and tuples of numbers as JSON, which gives back every bit of a float.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray

from cosparse.identity import described, differing, digest
from cosparse.io.disk import save_file, shown_name
from cosparse.io.tensors import packed

log = logging.getLogger(__name__)

FORMAT = "cosparse-checkpoint-3"
SECONDS = 5.0  # between two writes of a run that goes on

Arrays = dict[str, NDArray[Any]]
S = TypeVar("S")


class Resumable(Generic[S]):
    """A run and where it is: `state` is its latest.

        with Resumable(path, State, "step", lambda: {"rate": rate, "images": images}, begin) as run:
            while run.state.step < steps:
                run.reached(advance(run.state))

    It begins with the state in the file `path`, of the dataclass `kind`, or where there is no file with what `begin`
    gives. `asked` says what the run is of (see :func:`cosparse.identity.described`): the file of another is refused.
    `unit` is the field that counts how far the run is. The file is written every few seconds, at the end, on Ctrl-C and
    where the program is told to end (`SystemExit`).
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        kind: type[S],
        unit: str,
        asked: Callable[[], Mapping[str, Any]],
        begin: Callable[[], S],
    ) -> None:
        self.path, self.unit = None if path is None else Path(path), unit
        self.asked = {} if self.path is None else described(**asked())
        found = None if self.path is None else _read(self.path, kind, self.asked)
        self.state: S = begin() if found is None else found
        self._written = time.monotonic()
        if found is not None:
            log.info("continuing from %s at %s", path, self._where())

    def reached(self, state: S) -> None:
        """The run has come to this state; every few seconds it is written."""
        self.state = state
        if time.monotonic() - self._written > SECONDS:
            self._write()

    def __enter__(self) -> Resumable[S]:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.path is None or not isinstance(error, KeyboardInterrupt | SystemExit | None):
            return
        self._write()
        if isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt(
                f"stopped at {self._where()}; {self.path} keeps the state, the same call continues from it"
            ) from None

    def _where(self) -> str:
        return f"{self.unit} {getattr(self.state, self.unit)}"

    def _write(self) -> None:
        self._written = time.monotonic()
        if self.path is None:
            return
        arrays, numbers = _packed(self.state)
        metadata = {"format": FORMAT, "settings": json.dumps(self.asked, sort_keys=True), "state": json.dumps(numbers)}
        metadata["digest"] = _digest(arrays, metadata)
        save_file(self.path, packed(arrays, metadata), f"checkpoint: {shown_name(self.path)}")


def _read(path: Path, kind: type[S], asked: Mapping[str, Any]) -> S | None:
    """The state at `path`; None if there is no file. Those of another run are refused."""
    from safetensors import SafetensorError, safe_open

    if not path.parent.is_dir():  # said now, not after the work is done
        raise ValueError(f"checkpoint: {path} cannot be written, the folder {path.parent} does not exist")
    if path.is_dir():
        raise ValueError(f"checkpoint: {path} is a folder; name a file in it")
    if not path.exists():
        return None
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != FORMAT:
                raise ValueError(f"its format is {metadata.get('format')!r}, expected {FORMAT!r}")
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            if metadata.pop("digest", None) != _digest(arrays, metadata):
                raise ValueError("it is damaged: its numbers are not those that were written")
            others = differing(json.loads(metadata["settings"]), asked)
            if not others:
                return _unpacked(kind, arrays, json.loads(metadata["state"]))
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError) as problem:
        raise ValueError(f"checkpoint: {path} is not a checkpoint ({problem})") from problem
    raise ValueError(
        f"checkpoint: {path} belongs to another run; it differs in {', '.join(others)}. "
        "Remove the file to start anew, or give the arguments it was made with"
    )


def _digest(arrays: Arrays, metadata: Mapping[str, str]) -> str:
    """By which a state is known that was damaged on the disk: a run must not go on from one it was never in."""
    names = sorted(arrays)
    return digest([arrays[name] for name in names], json.dumps([names, metadata], sort_keys=True))


def _packed(state: object) -> tuple[Arrays, dict[str, Any]]:
    """The arrays of a state, those within a part of it by both names ("best.log_weights"), and its numbers."""
    arrays: Arrays = {}
    numbers = {}
    for name, value in vars(state).items():
        parts = vars(value) if dataclasses.is_dataclass(value) else value
        if isinstance(parts, dict):
            arrays |= {f"{name}.{part}": np.ascontiguousarray(array) for part, array in parts.items()}
        elif isinstance(value, np.ndarray):
            arrays[name] = np.ascontiguousarray(value)
        else:
            numbers[name] = value
    return arrays, described(**numbers)


def _unpacked(kind: type[S], arrays: Arrays, numbers: Mapping[str, Any]) -> S:
    """The state that was packed."""
    values = {name: _tuples(value) for name, value in numbers.items()}
    for name, array in arrays.items():
        whole, _, part = name.partition(".")
        if part:
            values.setdefault(whole, {})[part] = array
        else:
            values[whole] = array
    hints = get_type_hints(kind)
    for name, value in values.items():
        if dataclasses.is_dataclass(hints[name]):
            values[name] = hints[name](**value)
        elif hasattr(hints[name], "_make"):  # a named tuple
            values[name] = hints[name]._make(value)
    return kind(**values)


def _tuples(value: Any) -> Any:
    """JSON's lists as the tuples they were."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
