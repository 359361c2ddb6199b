"""Operators in files: safetensors with a few words of metadata, never anything that could run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cosparse.io.disk import save_file, shown_name
from cosparse.io.tensors import packed
from cosparse.penalty import Penalty
from cosparse.trained_steps import LARGE, TrainedSteps, in_bytes, of_bytes

if TYPE_CHECKING:
    from cosparse.operator import AnalysisOperator

FORMAT = "cosparse-operator-1"
HEADER = 4 << 20  # bytes: far more than any provenance needs
LARGEST = 1e4  # number of an operator; those that are shipped have none over 400
UNIT = ".unit"  # beside an array in bytes


def write(operator: AnalysisOperator, path: str | os.PathLike[str]) -> None:
    """Write the operator, whole or not at all; arrays of trained steps by their task and name ("denoise.atoms")."""
    metadata = {
        "format": FORMAT,
        "patch_shape": json.dumps(operator.patch_shape),
        "provenance": json.dumps(dict(operator.provenance), sort_keys=True),
        **operator.penalty.to_metadata(),
        "digest": operator.digest(),
    }
    arrays = {"matrix": _halved(operator.matrix), "weights": operator.weights, "scale": operator.scale}
    if operator.exponents is not None:
        arrays["exponents"] = operator.exponents
    for task, steps in operator.steps.items():
        arrays |= _stored(task, steps)
    if operator.steps:
        numbers = {
            task: {"stride": one.stride, "sigma": one.sigma} | ({"planes": one.planes} if one.planes > 1 else {})
            for task, one in operator.steps.items()
        }
        metadata["steps"] = json.dumps(numbers, sort_keys=True)
    save_file(Path(path), packed(arrays, metadata), shown_name(path))


def read(kind: type[AnalysisOperator], path: Path) -> AnalysisOperator:
    """What :func:`write` wrote; anything else is a ValueError that names the file."""
    from safetensors import SafetensorError, safe_open

    if path.is_dir():
        raise IsADirectoryError(f"{path}: is a folder, not an operator file")
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such operator file")
    try:
        with path.open("rb") as start:
            header = int.from_bytes(start.read(8), "little")
        if header > HEADER:
            raise ValueError(f"its header claims {header} bytes, and none has over {HEADER}")
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != FORMAT:
                raise ValueError(f"its format is {metadata.get('format')!r}, this version reads {FORMAT!r}")
            height, width = json.loads(metadata["patch_shape"])
            _check_types(file)
            found = kind(
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
            # Files of earlier versions do not say it.
            if metadata.get("digest", found.digest()) != found.digest():
                raise ValueError("it is damaged: its numbers are not those that were saved; copy it again")
            _check_sizes(found)
            return found
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as problem:
        raise ValueError(f"{path}: not a cosparse operator file ({problem})") from problem


def _check_types(file: Any) -> None:
    """Refuse numbers of types that are never written, whatever they would be read as; bytes need a unit."""
    names = set(file.keys())
    for name in names:
        kind = file.get_slice(name).get_dtype()
        if kind not in ("F16", "F32") and not (kind == "I8" and name + UNIT in names):
            raise ValueError(f"{name} is {kind}, where numbers are F32 or F16")


def _check_sizes(operator: AnalysisOperator) -> None:
    """Refuse numbers that no operator has, and that would leave the range of single precision in a repair."""
    arrays = {"matrix": operator.matrix, "scale": operator.scale, "exponents": operator.exponents}
    for task, steps in operator.steps.items():
        arrays |= {f"{task}.{name}": array for name, array in steps.arrays().items()}
    for name, array in arrays.items():
        if array is not None and np.abs(array).max() > LARGEST:
            raise ValueError(f"{name} holds {np.abs(array).max():g}, and no operator has over {LARGEST:g}")
    heaviness = float((operator.weights[:, None] * operator.atoms.astype(float) ** 2).sum())
    if not 1e-12 < heaviness < 1e12:
        raise ValueError(f"weights: atoms weigh {heaviness:g} together; they are all but silent, or drown everything")
    if not 1e-12 < operator.penalty.nu < 1e12:
        raise ValueError(f"penalty: nu is {operator.penalty.nu:g}, which no operator has")


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


def _steps(file: Any, task: str, stride: int, sigma: tuple[float, float], planes: int = 1) -> TrainedSteps:
    there = {
        name.removeprefix(f"{task}."): file.get_tensor(name)
        for name in file.keys()  # noqa: SIM118
        if name.startswith(f"{task}.")
    }
    units = {name: there.pop(name + UNIT) for name in LARGE if name + UNIT in there}
    arrays = {name: of_bytes(name, array, units[name]) if name in units else array for name, array in there.items()}
    return TrainedSteps(stride=stride, sigma=sigma, planes=planes, **arrays)
