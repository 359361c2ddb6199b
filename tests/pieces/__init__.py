"""What the pieces of the core give, one by one, on small pictures: kept in golden.npz, so that no number moves unseen.

The tests of each module say what its results must be like. They leave room for constants that were chosen by
measurement, which would not be missed at half or twice their size: these pieces hold the results themselves, as near as
another processor comes to them. A piece that has moved on purpose is written again by

    PYTHONPATH=tests python -m pieces          (part of `make golden`)

which prints by how much each has moved: look at it before you commit it.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

GOLDEN = Path(__file__).with_name("golden.npz")
WHOLE = 60  # numbers: larger arrays are kept by so many of theirs, spread evenly, and by sums over all
# How far another processor may be off, of the largest number of an array: at most, and the root of the mean square.
# A minimisation of many iterations enlarges what rounding leaves open (docs/promises.md, section 8); a search that ends
# at a tolerance may end elsewhere within it.
Tolerance = tuple[float, float]
STEPPED = (1e-6, 1e-6)
CLOSE = (1e-5, 1e-5)
NEAR = (1e-4, 1e-4)
MINIMISED = (3e-4, 1e-4)
FITTED = (3e-3, 3e-3)

Piece = Callable[[], Any]
PIECES: dict[str, tuple[Piece, Tolerance]] = {}


def piece(tolerance: Tolerance = CLOSE) -> Callable[[Piece], Piece]:
    """Registers a function without arguments, by the names of its file and its own."""

    def registered(function: Piece) -> Piece:
        PIECES[f"{function.__module__.rpartition('.')[2]}.{function.__name__}"] = function, tolerance
        return function

    return registered


def numbers(value: Any) -> Iterator[NDArray[Any]]:
    """All numbers within a value, as arrays; what is said in words counts by its length."""
    if isinstance(value, dict):
        value = list(value.values())
    if dataclasses.is_dataclass(value):
        value = [getattr(value, field.name) for field in dataclasses.fields(value)]
    if sparse.issparse(value):
        value = value.toarray()
    if value is None or callable(value):
        yield np.array(np.nan)
    elif isinstance(value, enum.Enum):
        yield np.array(list(type(value)).index(value))
    elif isinstance(value, str):
        yield np.array(len(value))
    elif isinstance(value, slice):
        yield np.array([value.start, value.stop])
    elif isinstance(value, list | tuple):
        for one in value:
            yield from numbers(one)
    else:
        yield np.asarray(value)


def summary(array: NDArray[Any]) -> NDArray[np.float64]:
    """Its numbers, or if they are many some of them and three sums over all."""
    if np.iscomplexobj(array):
        array = np.stack([array.real, array.imag])
    flat = array.astype(float).ravel()
    if flat.size > WHOLE:
        waves = np.cos(np.arange(flat.size) * 0.7)  # tells apart what sums alone would not
        sums = [np.mean(flat), np.sqrt(np.mean(flat**2)), flat @ waves / np.sqrt(flat.size)]
        flat = np.concatenate([sums, flat[np.linspace(0, flat.size - 1, WHOLE).astype(int)]])
    return np.asarray(flat.astype(np.float32), float)  # as it is kept


def found(name: str) -> list[NDArray[np.float64]]:
    """What a piece gives now."""
    arrays = list(numbers(PIECES[name][0]()))
    return [*map(summary, arrays), np.array([side for array in arrays for side in array.shape], float)]


def kept() -> dict[str, list[NDArray[np.float64]]]:
    """What all gave when they were written."""
    with np.load(GOLDEN) as file:
        sizes, every = (
            dict(zip(file["names"].tolist(), file["counts"].tolist(), strict=True)),
            file["numbers"].astype(float),
        )
        lengths = iter(file["lengths"].tolist())
    place, golden = 0, {}
    for name, count in sizes.items():
        golden[name] = []
        for length in (next(lengths) for _ in range(count)):
            golden[name].append(every[place : place + length])
            place += length
    return golden


def off(one: list[NDArray[np.float64]], other: list[NDArray[np.float64]], tolerance: Tolerance) -> float:
    """How many times further two are apart than they may be; infinite if they are not of one kind."""
    if [len(array) for array in one] != [len(array) for array in other]:
        return float("inf")
    worst = 0.0
    for a, b in zip(one, other, strict=True):
        if not np.array_equal(np.isfinite(a), np.isfinite(b)):
            return float("inf")
        there = np.isfinite(a)
        if not np.array_equal(a[~there], b[~there], equal_nan=True):
            return float("inf")
        apart = np.abs(a[there] - b[there]) / max(float(np.abs(b[there]).max(initial=0.0)), 1e-12)
        worst = max(worst, float(apart.max(initial=0.0)) / tolerance[0])
        if apart.size > WHOLE // 2:
            worst = max(worst, float(np.sqrt(np.mean(apart**2))) / tolerance[1])
    return worst


def write() -> None:
    """Keep what all give now."""
    before = kept() if GOLDEN.exists() else {}
    after = {name: found(name) for name in sorted(PIECES)}
    for name, arrays in after.items():
        moved = off(arrays, before[name], PIECES[name][1]) if name in before else None
        if moved is None or moved > 1:
            print(f"{name}: {'new' if moved is None else f'moved by {moved:.2g} times what it may'}")
    np.savez_compressed(
        GOLDEN,
        names=np.array(list(after)),
        counts=np.array([len(arrays) for arrays in after.values()]),
        lengths=np.array([len(array) for arrays in after.values() for array in arrays]),
        numbers=np.concatenate([array for arrays in after.values() for array in arrays]).astype(np.float32),
    )
