"""The state of a run on disk: written whole or not at all, taken up again bit for bit."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cosparse.identity import described, differing
from cosparse.io.atomic import replacing
from cosparse.optimize import State, Step

FORMAT = "cosparse-checkpoint-2"
_SCALARS = ("value", "norm", "square", "slope", "guess", "change")
_COUNTS = ("iteration", "evaluations")
_ARRAYS = ("point", "base", "gradient", "direction")

Arrays = Mapping[str, NDArray[Any]]
Built = TypeVar("Built")


def save(path: str | os.PathLike[str], state: State, settings: dict[str, Any]) -> None:
    """Write the state of a learning run and what it belongs to (settings, data digest, random state)."""
    arrays = {name: np.ascontiguousarray(getattr(state, name)) for name in _ARRAYS}
    arrays["values"] = np.array(state.values)
    arrays["steps"] = np.array([state.beta, *state.step], float)  # None becomes NaN
    arrays["scalars"] = np.array([getattr(state, name) for name in _SCALARS])
    arrays["counts"] = np.array([getattr(state, name) for name in _COUNTS])
    write(path, arrays, FORMAT, settings)


def load(path: str | os.PathLike[str], settings: dict[str, Any]) -> State | None:
    """The state saved at `path`; None if there is no file. One of another run is refused."""
    return read(path, FORMAT, settings, _state)


def _state(arrays: Arrays) -> State:
    fields: dict[str, Any] = {name: arrays[name] for name in _ARRAYS}
    fields |= zip(_SCALARS, arrays["scalars"].tolist(), strict=True)
    fields |= zip(_COUNTS, arrays["counts"].tolist(), strict=True)
    steps: list[Any] = [None if number != number else number for number in arrays["steps"].tolist()]
    return State(**fields, beta=steps[0], step=Step(*steps[1:]), values=tuple(arrays["values"].tolist()))


def write(path: str | os.PathLike[str], arrays: Arrays, kind: str, settings: dict[str, Any]) -> None:
    """Write a run's arrays and the settings they belong to."""
    from safetensors.numpy import save as serialise

    blob = serialise(dict(arrays), {"format": kind, "settings": json.dumps(described(**settings), sort_keys=True)})
    with replacing(path) as temporary:
        temporary.write_bytes(blob)


def read(
    path: str | os.PathLike[str], kind: str, settings: dict[str, Any], build: Callable[[Arrays], Built]
) -> Built | None:
    """What `build` makes of the arrays at `path`; None if there is no file. Those of another run are refused."""
    from safetensors import SafetensorError, safe_open

    path = Path(path)
    if not path.parent.is_dir():  # said now, not after the work is done
        raise ValueError(f"checkpoint: {path} cannot be written, the folder {path.parent} does not exist")
    if path.is_dir():
        raise ValueError(f"checkpoint: {path} is a folder; name a file in it")
    if not path.exists():
        return None
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != kind:
                raise ValueError(f"its format is {metadata.get('format')!r}, expected {kind!r}")
            saved = json.loads(metadata["settings"])
            state = build({name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118
    except (SafetensorError, ValueError, KeyError, TypeError) as problem:
        raise ValueError(f"checkpoint: {path} is not a checkpoint ({problem})") from problem
    others = differing(saved, described(**settings))
    if others:
        raise ValueError(
            f"checkpoint: {path} belongs to another run; it differs in {', '.join(others)}. "
            "Remove the file to start anew, or give the arguments it was made with"
        )
    return state
