"""The options that commands share, and what they hold once parsed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import typer

from cosparse.cli.console import UsageProblem
from cosparse.cli.reading import checked_range
from cosparse.io.formats import SUFFIXES
from cosparse.operator import AnalysisOperator, load_operator


class Quality(StrEnum):
    """How long to work."""

    fast = "fast"
    balanced = "balanced"
    best = "best"


Paths = Annotated[list[str], typer.Argument(metavar="IN", show_default=False, hidden=True)]
Output = Annotated[str | None, typer.Option("--output", "-o", metavar="OUT", help="OUT; then all paths are IN.")]
Operator = Annotated[str, typer.Option("--operator", metavar="NAME|FILE", help="The prior to repair with.")]
Weight = Annotated[
    float | None,
    typer.Option("--weight", metavar="NUMBER", help="Factor on the operator's weights, instead of automatic."),
]
Level = Annotated[Quality, typer.Option("--quality", metavar="fast|balanced|best", help="How much effort.")]
Grouping = Annotated[
    bool,
    typer.Option("--grouping/--no-grouping", help="Similar patches help each other (default).", show_default=False),
]
Format = Annotated[
    str | None,
    typer.Option("--format", metavar="png|tif|jpg|bmp", help="Of the result; else as OUT or IN."),
]
Reference = Annotated[
    str | None,
    typer.Option("--reference", metavar="FILE", help="The true image (or a folder): print dB."),
]
DataRange = Annotated[
    float | None,
    typer.Option("--data-range", metavar="NUMBER", help="Value of white; for float and 16-bit files."),
]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace files that exist.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON line per file.")]
Scheduler = Annotated[
    str | None,
    typer.Option("--scheduler", metavar="ADDRESS", help="Of a Dask cluster; or: local."),
]
Tile = Annotated[
    int | None,
    typer.Option("--tile", metavar="PIXELS", help="Repair by tiles: TIFF or zarr.", min=1),
]
EstimatedSigma = Annotated[
    float | None,
    typer.Option("--sigma", metavar="NUMBER", help="Noise, on a scale of 0..255; estimated if left out."),
]
NoSigma = Annotated[
    float,
    typer.Option("--sigma", metavar="NUMBER", help="Noise to remove, on 0..255."),
]


@dataclass(frozen=True)
class Repair:
    """What all repairs have in common."""

    paths: list[str]
    output: str | None
    operator: AnalysisOperator
    weight: float | None
    quality: str
    format: str | None
    reference: str | None
    force: bool
    json: bool
    scheduler: str | None = None
    tile: int | None = None
    data_range: float | None = None
    extra: str = ""  # what the task has beside, for telling one run from another


def gather(
    paths: list[str],
    output: str | None,
    operator: str,
    weight: float | None,
    quality: Quality,
    format: str | None,
    reference: str | None,
    force: bool,
    json: bool,
    sigma: float | None,
    scheduler: str | None = None,
    tile: int | None = None,
    data_range: float | None = None,
    **extra: object,
) -> Repair:
    """Check the options once, before any work."""
    if sigma is not None and not (math.isfinite(sigma) and sigma >= 0):
        raise UsageProblem(f"--sigma {sigma:g}: must be a number that is not negative")
    if weight is not None and not (math.isfinite(weight) and weight > 0):
        raise UsageProblem(f"--weight {weight:g}: must be a positive number")
    if format is not None and "." + format.lower().lstrip(".") not in SUFFIXES:
        raise UsageProblem(f"--format {format}: unknown; use png, jpg, bmp or tif")
    return Repair(
        paths, output, find_operator(operator), weight, quality.value,
        format and format.lower().lstrip("."), reference, force, json,
        scheduler, tile, checked_range(data_range), repr({"sigma": sigma, **extra}),
    )  # fmt: skip


def find_operator(name: str) -> AnalysisOperator:
    """A shipped operator or one in a file."""
    try:
        return load_operator(name)
    except (OSError, ValueError) as error:
        raise UsageProblem(str(error)) from error
