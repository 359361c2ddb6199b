"""The operators that a viewer's widgets know: the shipped one, those that were learned there, and opened files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary, WeakMethod

from cosparse.operator import AnalysisOperator

SHIPPED = "shipped"


class Shelf:
    """Operators by name; whoever shows their names is told of new ones."""

    def __init__(self) -> None:
        self.operators: dict[str, AnalysisOperator | None] = {SHIPPED: None}
        self._told: list[WeakMethod[Callable[[], object]]] = []

    @property
    def names(self) -> list[str]:
        """In the order in which they came."""
        return list(self.operators)

    def add(self, name: str, operator: AnalysisOperator) -> str:
        """Keep an operator; returns its name, which is another if that one is taken by another operator."""
        number, free = 2, name
        while free in self.operators and self.operators[free] != operator:
            free, number = f"{name} {number}", number + 1
        self.operators[free] = operator
        for told in list(self._told):
            tell = told()
            if tell is None:
                self._told.remove(told)
            else:
                tell()
        return free

    def open(self, path: str | Path) -> str:
        """Keep the operator of a file; returns its name."""
        return self.add(Path(path).stem, AnalysisOperator.load(path))

    def tell(self, method: Callable[[], object]) -> None:
        """Call a method whenever there is a new operator, as long as its object lives."""
        self._told.append(WeakMethod(method))


_shelves: WeakKeyDictionary[Any, Shelf] = WeakKeyDictionary()


def shelf_of(viewer: Any) -> Shelf:
    """That of a viewer, for as long as it lives."""
    found = _shelves.get(viewer)
    if found is None:
        found = _shelves[viewer] = Shelf()
    return found
