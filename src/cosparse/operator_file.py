"""Operators in files: safetensors with a few words of metadata, never anything that could run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cosparse.io.atomic import replacing
from cosparse.penalty import Penalty
from cosparse.trained_steps import LARGE, TrainedSteps, in_bytes, of_bytes

if TYPE_CHECKING:
    from cosparse.operator import AnalysisOperator

FORMAT = "cosparse-operator-1"
UNIT = ".unit"  # beside an array in bytes


def write(operator: AnalysisOperator, path: str | os.PathLike[str]) -> None:
    """Write the operator, whole or not at all; arrays of trained steps by their task and name ("denoise.atoms")."""
    from safetensors.numpy import save

    metadata = {
        "format": FORMAT,
        "patch_shape": json.dumps(operator.patch_shape),
        "provenance": json.dumps(dict(operator.provenance), sort_keys=True),
        **operator.penalty.to_metadata(),
    }
    arrays = {"matrix": _halved(operator.matrix), "weights": operator.weights, "scale": operator.scale}
    if operator.exponents is not None:
        arrays["exponents"] = operator.exponents
    for task, steps in operator.steps.items():
        arrays |= _stored(task, steps)
    if operator.steps:
        numbers = {task: {"stride": one.stride, "sigma": one.sigma} for task, one in operator.steps.items()}
        metadata["steps"] = json.dumps(numbers, sort_keys=True)
    blob = save(arrays, metadata)
    with replacing(path) as temporary:
        temporary.write_bytes(blob)


def read(kind: type[AnalysisOperator], path: Path) -> AnalysisOperator:
    """What :func:`write` wrote; anything else is a ValueError that names the file."""
    from safetensors import SafetensorError, safe_open

    if path.is_dir():
        raise IsADirectoryError(f"{path}: is a folder, not an operator file")
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such operator file")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != FORMAT:
                raise ValueError(f"its format is {metadata.get('format')!r}, this version reads {FORMAT!r}")
            height, width = json.loads(metadata["patch_shape"])
            return kind(
                file.get_tensor("matrix"),
                (height, width),
                Penalty.from_metadata(metadata),
                file.get_tensor("weights"),
                json.loads(metadata["provenance"]),
                **{name: file.get_tensor(name) for name in ("scale", "exponents") if name in file.keys()},  # noqa: SIM118
                steps={
                    task: _steps(file, task, **rest) for task, rest in json.loads(metadata.get("steps", "{}")).items()
                },
            )
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise ValueError(f"{path}: not a cosparse operator file ({problem})") from problem


def _halved(array: NDArray[Any]) -> NDArray[Any]:
    """The array in half precision, if that is all it has."""
    half = array.astype(np.float16)
    return half if np.array_equal(half, array) else array


def _stored(task: str, steps: TrainedSteps) -> dict[str, NDArray[Any]]:
    """The arrays of steps by their names in a file: large ones that were rounded for it in bytes, with their units."""
    found: dict[str, NDArray[Any]] = {}
    for name, array in steps.arrays().items():
        if name in LARGE:
            multiples, unit = in_bytes(name, array)
            if np.array_equal(of_bytes(name, multiples, unit), array):
                found |= {f"{task}.{name}": multiples, f"{task}.{name}{UNIT}": _halved(unit)}
                continue
        found[f"{task}.{name}"] = _halved(array)
    return found


def _steps(file: Any, task: str, stride: int, sigma: tuple[float, float]) -> TrainedSteps:
    there = {
        name.removeprefix(f"{task}."): file.get_tensor(name)
        for name in file.keys()  # noqa: SIM118
        if name.startswith(f"{task}.")
    }
    units = {name: there.pop(name + UNIT) for name in LARGE if name + UNIT in there}
    arrays = {name: of_bytes(name, array, units[name]) if name in units else array for name, array in there.items()}
    return TrainedSteps(stride=stride, sigma=sigma, **arrays)
