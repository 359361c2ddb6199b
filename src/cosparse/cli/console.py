"""What the command line says, and where: results on stdout, the rest on stderr."""

from __future__ import annotations

import json
import math
import os
import sys
import traceback
from typing import Any

from rich.console import Console


class UsageProblem(Exception):
    """The command as given cannot work; says what to do. Exit code 2."""


class Debug:
    """Whether to show tracebacks; set once by :func:`cosparse.cli.main`."""

    on = False


def terminal() -> bool:
    """Whether a person watches stderr, so that progress is worth drawing."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def stderr() -> Console:
    """For progress and notes."""
    return Console(stderr=True, highlight=False)


def stdout() -> Console:
    """For results that people read. Wide when not a terminal, so that nothing is cut."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else 120)


def complain(message: str) -> None:
    """One line on stderr."""
    print("cosparse: " + " ".join(message.split()), file=sys.stderr)


def reason(error: BaseException) -> str:
    """An exception as part of a line; the traceback too if asked for."""
    if Debug.on:
        traceback.print_exception(error)
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return "not enough memory; use a smaller image, or --quality fast"
    if isinstance(error, (ValueError, OSError, UsageProblem)):
        return text or type(error).__name__
    return f"unexpected {type(error).__name__}: {text}; please report what --debug shows"


def json_line(record: dict[str, Any]) -> None:
    """One machine-readable line on stdout; what is not a finite number becomes null."""
    print(json.dumps({key: _plain(value) for key, value in record.items()}), flush=True)


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value
