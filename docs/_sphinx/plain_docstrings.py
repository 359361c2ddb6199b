"""Docstrings as the sources have them: a formula or a piece of code that stands indented is shown as it is."""

from __future__ import annotations

from typing import Any

SECTIONS = {"Parameters", "Returns", "Attributes", "Yields", "Raises", "References", "Examples", "Methods", "Warns"}


def literal(lines: list[str]) -> list[str]:
    """With `::` before each indented block of the free text, which reStructuredText would take for a quotation."""
    done: list[str] = []
    free, inside = True, False
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if following and set(following) == {"-"} and line == line.lstrip():
            free = line.strip() not in SECTIONS
        begins = line.startswith("    ") and not inside and number and not lines[number - 1].strip()
        if line.strip():
            inside = line.startswith("    ")
        if free and begins:
            before = next((earlier for earlier in reversed(done) if earlier.strip()), "")
            directive = before.lstrip().startswith((".. ", "- ", "* ")) or before.endswith("::")
            if not directive and not line.lstrip().startswith(">>>"):
                done += ["::", ""]
        done.append(line)
    return done


def process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = literal(lines)


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", process, priority=100)  # before numpydoc reads the sections
    return {"parallel_read_safe": True}
