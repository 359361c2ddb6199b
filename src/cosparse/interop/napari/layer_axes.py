"""How the axes of a layer are read: which two are rows and columns, which is of colours; along all others are pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np


@dataclass(frozen=True)
class LayerAxes:
    """The axes of an array: lengths, names where a layer has some, and what they are.

    >>> axes = LayerAxes((5, 2, 480, 640), ("t", "c", "y", "x"), (2, 3))
    >>> print(axes)
    10 planes of 480 x 640 pixels (t, c)
    >>> print(axes.reading(colours=1))
    5 planes of 480 x 640 pixels (t), 2 channels each
    """

    shape: tuple[int, ...]
    names: tuple[str, ...]  # one for each axis; empty where none is known
    plane: tuple[int, int]  # rows and columns
    colours: int | None = None
    rgb: bool = False  # whether the layer itself says that the last axis is of colours

    @property
    def pages(self) -> tuple[int, ...]:
        """The axes that count planes."""
        return tuple(axis for axis in range(len(self.shape)) if axis not in (*self.plane, self.colours))

    @property
    def alpha(self) -> bool:
        """Whether the last colour is transparency."""
        return self.rgb and self.shape[-1] == 4

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns of a plane."""
        return self.shape[self.plane[0]], self.shape[self.plane[1]]

    def __str__(self) -> str:
        count = math.prod(self.shape[axis] for axis in self.pages)
        along = ", ".join(self.called(axis) for axis in self.pages)
        planes = "a plane" if not self.pages else f"{count} plane{'s' * (count != 1)}"
        coloured = "" if self.colours is None else f", {self._channels()}"
        height, width = self.size
        return f"{planes} of {height} x {width} pixels{f' ({along})' if along else ''}{coloured}"

    def _channels(self) -> str:
        assert self.colours is not None
        count = self.shape[self.colours] - self.alpha
        words = "red, green and blue together" if count == 3 else f"{count} channels each"
        return words + " and transparency" * self.alpha

    def called(self, axis: int) -> str:
        """An axis by its name, or its number."""
        return self.names[axis] or f"axis {axis}"

    def described(self, axis: int) -> str:
        """An axis with its length."""
        return f"{self.called(axis)} ({self.shape[axis]})"

    def reading(self, *, plane: tuple[int, int] | None = None, colours: int | None = None) -> LayerAxes:
        """Read another way."""
        plane = self.plane if plane is None else plane
        if self.rgb:
            colours = len(self.shape) - 1
        if colours is not None and colours in plane:
            raise ValueError(f"colours: {self.called(colours)} is of rows or columns; choose another axis")
        return replace(self, plane=plane, colours=colours)

    def planes(self) -> list[tuple[int, int]]:
        """All pairs of axes that could be rows and columns, the likeliest first."""
        pairs = combinations(range(len(self.shape) - self.rgb), 2)
        others = [pair for pair in pairs if set(pair) != set(self.plane)]
        return [self.plane, *others[::-1]]

    def arranged(self, array: Any) -> Any:
        """Of a NumPy or Dask array: pages first, then rows and columns, then colours."""
        return array.transpose(self._order())

    def restored(self, array: Any) -> Any:
        """The reverse, of an array of the same number of axes."""
        return array.transpose(np.argsort(self._order()).tolist())

    def _order(self) -> tuple[int, ...]:
        return (*self.pages, *self.plane, *(() if self.colours is None else (self.colours,)))

    def at(self, step: Sequence[int]) -> tuple[slice, ...]:
        """Where the one plane is that a viewer shows at a step of its axes, as slices of the array."""
        found = [slice(None)] * len(self.shape)
        for axis in self.pages:
            at = min(max(int(step[axis]), 0), self.shape[axis] - 1)
            found[axis] = slice(at, at + 1)
        return tuple(found)

    def of_mask(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """How to turn a mask of that shape: one for each plane, or for all; refuses others by what would fit."""
        order = [axis for axis in self._order() if axis != self.colours]
        counted = sorted(order)  # a mask has no axis of colours
        each = tuple(self.shape[axis] for axis in counted)
        if shape == each:
            return tuple(counted.index(axis) for axis in order)
        turned = self.plane[0] > self.plane[1]
        if shape == (self.size[::-1] if turned else self.size):
            return (1, 0) if turned else (0, 1)
        raise ValueError(f"mask: has shape {shape}, and the layer's planes {each}; they must agree, or be {self.size}")


def axes_of(shape: tuple[int, ...], labels: Sequence[str], rgb: bool) -> LayerAxes:
    """As a layer says: its axes' labels, and whether the last is of colours; else the last two are rows and columns.

    >>> axes_of((640, 480, 12), ("x", "y", "z"), False).plane
    (1, 0)
    >>> axes_of((12, 480, 640), ("-3", "-2", "-1"), False).plane
    (1, 2)
    """
    count = len(shape) - rgb
    if count < 2:
        raise ValueError(f"layer: has the shape {shape}, and a picture has rows and columns; choose another")
    names = tuple("" if label.lstrip("-").isdigit() else label for label in map(str, labels))
    names = names if len(names) == count else ("",) * count
    small = [name.lower() for name in names]
    plane = (small.index("y"), small.index("x")) if "y" in small and "x" in small else (count - 2, count - 1)
    return LayerAxes(tuple(shape), (*names, *[""] * rgb), plane, count if rgb else None, rgb)
