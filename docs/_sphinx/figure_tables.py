"""Tables of figures, read from the CSV files under benchmarks/results when the pages are built.

    ```{figures} frontier.csv
    :columns: method = program, psnr = dB (.2f), cpu_seconds = processor seconds (.3g)
    :where: kind = BM3D
    :sort: -psnr
    ```

or, with the mean of a value for every pair of two others:

    ```{figures} noise_poisson.csv
    :rows: method = method
    :across: peak
    :value: psnr (.2f)
    ```
"""

from __future__ import annotations

import csv
import re
from pathlib import Path
from statistics import fmean
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results"
Row = dict[str, str]
OPTIONS = ("columns", "where", "sort", "rows", "across", "value", "names", "caption")


def column(text: str) -> tuple[str, str, str]:
    """'psnr = dB (.2f)' -> the CSV's name, the title and the format."""
    name, _, rest = (part.strip() for part in text.partition("="))
    form = re.search(r"\(([^()]*)\)$", rest or name)
    title = (rest or name)[: form.start()].strip() if form else rest or name
    return (re.sub(r"\s*\([^()]*\)$", "", name) if not rest else name), title, form[1] if form else ""


def shown(value: Any, form: str) -> str:
    try:
        return format(float(value), form) if form and value != "" else str(value)
    except ValueError:
        return str(value)


def order(value: str) -> tuple[int, float, str]:
    """Numbers by size, before words."""
    try:
        return (0, float(value), "")
    except ValueError:
        return (1, 0.0, value)


class Figures(SphinxDirective):
    """The directive."""

    required_arguments = 1
    option_spec = dict.fromkeys(
        ("columns", "where", "sort", "rows", "across", "value", "names", "caption"), directives.unchanged
    )

    def run(self) -> list[nodes.Node]:
        path = RESULTS / self.arguments[0]
        self.env.note_dependency(str(path))
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        for condition in filter(None, self.options.get("where", "").split(";")):
            name, _, wanted = (part.strip() for part in condition.partition("="))
            if name not in rows[0]:
                raise self.error(f"{path.name} has no column {name!r}")
            rows = [row for row in rows if row[name] in [one.strip() for one in wanted.split("|")]]
        if not rows:
            raise self.error(f"{path.name}: no row is left")
        pairs = filter(None, self.options.get("names", "").split(";"))
        names = dict(re.split(r"\s*=\s*", pair.strip(), maxsplit=1) for pair in pairs)
        head, body = self.pivot(rows) if "rows" in self.options else self.plain(rows)
        return [self.table(head, [[names.get(cell, cell) for cell in line] for line in body])]

    def plain(self, rows: list[Row]) -> tuple[list[str], list[list[str]]]:
        wanted = [column(text) for text in self.options["columns"].split(",")]
        self.known(rows, *(name for name, _, _ in wanted))
        by = self.options.get("sort", "")
        if by:
            rows = sorted(rows, key=lambda row: order(row[by.lstrip("-")]), reverse=by.startswith("-"))
        return [title for _, title, _ in wanted], [[shown(row[name], form) for name, _, form in wanted] for row in rows]

    def pivot(self, rows: list[Row]) -> tuple[list[str], list[list[str]]]:
        side, title, _ = column(self.options["rows"])
        across, prefix, _ = column(self.options["across"])
        value, _, form = column(self.options["value"])
        self.known(rows, side, across, value)
        heads = sorted({row[across] for row in rows}, key=order)
        body = []
        for label in dict.fromkeys(row[side] for row in rows):
            own = [row for row in rows if row[side] == label and row[value]]
            cells = [[float(row[value]) for row in own if row[across] == head] for head in heads]
            body.append([label, *(shown(fmean(cell), form) if cell else "" for cell in cells)])
        return [title, *(f"{prefix} {head}".strip() if prefix != across else head for head in heads)], body

    def known(self, rows: list[Row], *names: str) -> None:
        for name in names:
            if name not in rows[0]:
                raise self.error(f"{self.arguments[0]} has no column {name!r}; it has {', '.join(rows[0])}")

    def table(self, head: list[str], body: list[list[str]]) -> nodes.table:
        table = nodes.table()
        if "caption" in self.options:
            table += nodes.title("", self.options["caption"])
        group = nodes.tgroup(cols=len(head))
        group.extend(nodes.colspec(colwidth=1) for _ in head)
        group += nodes.thead("", self.row(head))
        group += nodes.tbody("", *map(self.row, body))
        table += group
        return table

    def row(self, cells: list[str]) -> nodes.row:
        return nodes.row("", *(nodes.entry("", nodes.paragraph("", cell)) for cell in cells))


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("figures", Figures)
    return {"parallel_read_safe": True}
