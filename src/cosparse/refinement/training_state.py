"""The state of a training run, and its file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.checkpoint import read, write
from cosparse.refinement.parameters import RATES, Parameters

Arrays = dict[str, NDArray[np.float64]]
FORMAT = "cosparse-refinement-1"


@dataclass(frozen=True)
class State:
    """Everything the next step depends on, and what is to be reported at the end."""

    parameters: Parameters
    first: Arrays  # Adam's running means of the gradient
    second: Arrays  # and of its square
    step: int
    dropped: int
    losses: tuple[float, ...]
    best: Parameters
    validations: tuple[tuple[int, float], ...]

    @classmethod
    def begin(cls, parameters: Parameters) -> State:
        """Before the first step."""
        zeros = {name: np.zeros_like(getattr(parameters, name)) for name in RATES}
        return cls(parameters, zeros, zeros, 0, 0, (), parameters, ())


def save(path: str | os.PathLike[str], state: State, settings: dict[str, Any]) -> None:
    """Write the state and what it belongs to."""
    arrays = {"counts": np.array([state.step, state.dropped]), "losses": np.array(state.losses, float)}
    arrays["validations"] = np.array(state.validations, float).reshape(-1, 2)
    for name in RATES:
        arrays[f"now.{name}"] = np.ascontiguousarray(getattr(state.parameters, name))
        arrays[f"best.{name}"] = np.ascontiguousarray(getattr(state.best, name))
        arrays[f"first.{name}"] = np.ascontiguousarray(state.first[name])
        arrays[f"second.{name}"] = np.ascontiguousarray(state.second[name])
    write(path, arrays, FORMAT, settings)


def load(path: str | os.PathLike[str], settings: dict[str, Any]) -> State | None:
    """The state saved at `path`; None if there is no file. One of another run is refused."""
    return read(path, FORMAT, settings, _state)


def _state(arrays: Mapping[str, NDArray[Any]]) -> State:
    def named(kind: str) -> Arrays:
        return {name: arrays[f"{kind}.{name}"] for name in RATES}

    step, dropped = (int(number) for number in arrays["counts"])
    return State(
        parameters=Parameters(**named("now")),
        first=named("first"),
        second=named("second"),
        step=step,
        dropped=dropped,
        losses=tuple(arrays["losses"].tolist()),
        best=Parameters(**named("best")),
        validations=tuple((int(at), float(value)) for at, value in arrays["validations"]),
    )
