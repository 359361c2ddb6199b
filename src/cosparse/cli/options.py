"""The options that commands share, each with the check of its value, and what a repair is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from typer import Argument, CallbackParam, Option

from cosparse.cli.console import UsageProblem
from cosparse.cli.mask_option import MaskOption
from cosparse.cli.noise_option import NoiseOption
from cosparse.io.formats import SUFFIXES
from cosparse.operator import STAGED, AnalysisOperator, load_operator
from cosparse.reconstruction.request import Task


class Quality(StrEnum):
    """How long to work."""

    fast = "fast"
    balanced = "balanced"
    best = "best"


def must(be: str, holds: Callable[[Any], bool]) -> Callable[[CallbackParam, Any], Any]:
    """The check of an option's value, before any work: a usage problem says what it must be."""

    def check(option: CallbackParam, value: Any) -> Any:
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


def _memory(value: str | None) -> str | None:
    if value is not None:
        memory_bytes(value)
    return value


def memory_bytes(text: str) -> float:
    """A size of memory as bytes.

    >>> memory_bytes("1.5GB"), memory_bytes("64 MiB")
    (1500000000.0, 67108864.0)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([kmgt]?)(i?)b?", text.strip().lower())
    if found is None:
        raise UsageProblem(f"--max-memory {text}: is no size; give 500MB or 4GB, say")
    return float(found[1]) * float((1024 if found[3] else 1000) ** " kmgt".index(found[2] or " "))


def _number(help: str, check: Callable[[CallbackParam, Any], Any]) -> Any:
    return Option(metavar="NUMBER", help=help, callback=check)


_positive = must("be a positive number", lambda value: 0 < value < float("inf"))
_level = must("be a number that is not negative", lambda value: 0 <= value < float("inf"))

Paths = Annotated[list[str], Argument(metavar="IN", show_default=False, hidden=True)]
Output = Annotated[str | None, Option("--output", "-o", metavar="OUT", help="OUT; then all paths are IN.")]
Operator = Annotated[str, Option(metavar="NAME|FILE", help="The prior to repair with.")]
Weight = Annotated[float | None, _number("Factor on the operator's own weights.", _positive)]
Level = Annotated[Quality, Option(metavar="fast|balanced|best", help="How much effort.")]
Grouping = Annotated[bool, Option(help="Similar patches help each other (default).", show_default=False)]
Format = Annotated[
    str | None, Option(metavar="png|tif|jpg|bmp", help="Of the result; else as OUT or IN.", callback=_known_format)
]
Reference = Annotated[str | None, Option(metavar="FILE", help="The true image (or a folder): print dB.")]
DataRange = Annotated[float | None, _number("Value of white; for float and 16-bit files.", _positive)]
Force = Annotated[bool, Option("--force", "-f", help="Replace files that exist.")]
Json = Annotated[bool, Option("--json", help="Print one JSON line per file.")]
Scheduler = Annotated[str | None, Option(metavar="ADDRESS", help="Of a Dask cluster; or: local.")]
Tile = Annotated[int | None, Option(metavar="PIXELS", help="Repair by tiles: TIFF or zarr.", min=1)]
Kind = Annotated[str | None, Option("--noise", metavar="KIND", help="poisson:GAIN[:READ], map:FILE: docs/noise.md.")]
_strength = must("lie in 0..10", lambda value: 0 <= value <= 10)
Luma = Annotated[float, _number("Luma noise to remove, 0..2.", _strength)]
Chroma = Annotated[float, _number("Chroma noise to remove.", _strength)]
MaxMemory = Annotated[  # not in the help, which is one screen: docs/command-line.md
    str | None, Option(metavar="SIZE", help="500MB, 4GB: refuse to take more.", callback=_memory, hidden=True)
]
EstimatedSigma = Annotated[float | None, _number("Noise on 0..255; estimated if left out.", _level)]
NoSigma = Annotated[float, _number("Noise to remove, on 0..255.", _level)]


@dataclass(frozen=True, kw_only=True)
class Shared:
    """The options that all repairs have, as on the command line."""

    paths: Paths
    output: Output = None
    operator: Operator = STAGED
    weight: Weight = None
    quality: Level = Quality.balanced
    noise: Kind = None
    luma: Luma = 1.0
    chroma: Chroma = 1.0
    format: Format = None
    reference: Reference = None
    force: Force = False
    data_range: DataRange = None
    scheduler: Scheduler = None
    tile: Tile = None
    max_memory: MaxMemory = None
    json: Json = False


@dataclass(frozen=True, kw_only=True)
class Repair(Shared):
    """All that a command asks for."""

    task: Task
    prior: AnalysisOperator  # that which `operator` names
    sigma: float | None  # the noise on 0..255; None: estimated
    mask: MaskOption | None = None  # how the task's mask is made, if it needs one
    noise_kind: NoiseOption | None = None  # what `noise` says
    own: Mapping[str, Any]  # the options that only this task has, as :func:`cosparse.repair.repair` takes them

    @property
    def memory(self) -> dict[str, Any]:
        """What `max_memory` says, as the library takes it; nothing if it was left out."""
        return {} if self.max_memory is None else {"max_memory": memory_bytes(self.max_memory)}


def find_operator(name: str) -> AnalysisOperator:
    """A shipped operator or one in a file."""
    try:
        return load_operator(name)
    except (OSError, ValueError) as error:
        raise UsageProblem(str(error)) from error
