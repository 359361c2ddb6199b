"""The options that commands share, each with the check of its value, and what a repair is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

from cosparse.cli.console import UsageProblem
from cosparse.cli.mask_option import MaskOption
from cosparse.io.formats import SUFFIXES
from cosparse.operator import AnalysisOperator, load_operator
from cosparse.reconstruction.request import Task


class Quality(StrEnum):
    """How long to work."""

    fast = "fast"
    balanced = "balanced"
    best = "best"


def must(be: str, holds: Callable[[Any], bool]) -> Callable[[typer.CallbackParam, Any], Any]:
    """The check of an option's value, before any work: a usage problem says what it must be."""

    def check(option: typer.CallbackParam, value: Any) -> Any:
        if value is not None and not holds(value):
            shown = f"{value:g}" if isinstance(value, float) else value
            raise UsageProblem(f"{option.opts[0]} {shown}: must {be}")
        return value

    return check


def _known_format(value: str | None) -> str | None:
    name = value and value.lower().lstrip(".")
    if name is not None and "." + name not in SUFFIXES:
        raise UsageProblem(f"--format {value}: unknown; use png, jpg, bmp or tif")
    return name


_positive = must("be a positive number", lambda value: 0 < value < float("inf"))
_level = must("be a number that is not negative", lambda value: 0 <= value < float("inf"))

Paths = Annotated[list[str], typer.Argument(metavar="IN", show_default=False, hidden=True)]
Output = Annotated[str | None, typer.Option("--output", "-o", metavar="OUT", help="OUT; then all paths are IN.")]
Operator = Annotated[str, typer.Option("--operator", metavar="NAME|FILE", help="The prior to repair with.")]
Weight = Annotated[
    float | None,
    typer.Option("--weight", metavar="NUMBER", help="Weight of the prior, instead of automatic.", callback=_positive),
]
Level = Annotated[Quality, typer.Option("--quality", metavar="fast|balanced|best", help="How much effort.")]
Grouping = Annotated[
    bool,
    typer.Option("--grouping/--no-grouping", help="Similar patches help each other (default).", show_default=False),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format", metavar="png|tif|jpg|bmp", help="Of the result; else as OUT or IN.", callback=_known_format
    ),
]
Reference = Annotated[
    str | None, typer.Option("--reference", metavar="FILE", help="The true image (or a folder): print dB.")
]
DataRange = Annotated[
    float | None,
    typer.Option(
        "--data-range", metavar="NUMBER", help="Value of white; for float and 16-bit files.", callback=_positive
    ),
]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace files that exist.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON line per file.")]
Scheduler = Annotated[str | None, typer.Option("--scheduler", metavar="ADDRESS", help="Of a Dask cluster; or: local.")]
Tile = Annotated[int | None, typer.Option("--tile", metavar="PIXELS", help="Repair by tiles: TIFF or zarr.", min=1)]
EstimatedSigma = Annotated[
    float | None,
    typer.Option(
        "--sigma", metavar="NUMBER", help="Noise, on a scale of 0..255; estimated if left out.", callback=_level
    ),
]
NoSigma = Annotated[
    float, typer.Option("--sigma", metavar="NUMBER", help="Noise to remove, on 0..255.", callback=_level)
]


@dataclass(frozen=True, kw_only=True)
class Shared:
    """The options that all repairs have, as on the command line."""

    paths: Paths
    output: Output = None
    operator: Operator = "default"
    weight: Weight = None
    quality: Level = Quality.balanced
    format: Format = None
    reference: Reference = None
    force: Force = False
    data_range: DataRange = None
    scheduler: Scheduler = None
    tile: Tile = None
    json: Json = False


@dataclass(frozen=True, kw_only=True)
class Repair(Shared):
    """All that a command asks for.

    Attributes
    ----------
    prior : AnalysisOperator
        That which `operator` names.
    sigma : float or None
        The noise on 0..255; None: estimated.
    mask : MaskOption or None
        How the task's mask is made, if it needs one.
    own : mapping
        The other options that only this task has, as :func:`cosparse.repair.repair` takes them.
    """

    task: Task
    prior: AnalysisOperator
    sigma: float | None
    mask: MaskOption | None = None
    own: Mapping[str, Any]


def find_operator(name: str) -> AnalysisOperator:
    """A shipped operator or one in a file."""
    try:
        return load_operator(name)
    except (OSError, ValueError) as error:
        raise UsageProblem(str(error)) from error
