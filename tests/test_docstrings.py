"""What help() and an editor show: every public function says all it takes, what it returns, and gives an example."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import cosparse

FUNCTIONS = [name for name in cosparse.__all__ if inspect.isfunction(getattr(cosparse, name))]
CLASSES = [name for name in cosparse.__all__ if inspect.isclass(getattr(cosparse, name))]
SOURCES = Path(cosparse.__file__).parent


def sections(text: str) -> dict[str, str]:
    """The underlined parts of a docstring."""
    parts = re.split(r"^([A-Z]\w+)\n-+\n", inspect.cleandoc(text), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def described(part: str) -> set[str]:
    """The names at the margin of a section."""
    heads = re.findall(r"^(\*{0,2}\w[^:\n]*?)(?: : .*)?$", part, flags=re.MULTILINE)
    return {name.strip("* ") for head in heads for name in head.split(",")}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_described_whole(name):
    function = getattr(cosparse, name)
    found = sections(function.__doc__)
    assert {"Parameters", "Returns", "Examples"} <= found.keys() and ">>>" in found["Examples"]
    assert set(inspect.signature(function).parameters) == described(found["Parameters"])


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_says_what_it_holds(name):
    kind = getattr(cosparse, name)
    fields = {field for field in getattr(kind, "__dataclass_fields__", {}) if not field.startswith("_")}
    text = sections(kind.__doc__)
    assert fields - {"view"} <= described(text.get("Parameters", "") + "\n" + text.get("Attributes", ""))


def test_equations_have_the_numbers_that_the_printed_paper_shows():
    """Not the names that only its source has."""
    for path in SOURCES.rglob("*.py"):
        assert not re.search(r"Eqs?\. \([a-z_]+", path.read_text()), path
