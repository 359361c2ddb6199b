"""What the command line says, and where: results on stdout, the rest on stderr."""

from __future__ import annotations

import json
import math
import os
import sys
import traceback
from typing import Any, BinaryIO

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


def standard_input() -> BinaryIO:
    """To read a picture from; a person who types is none."""
    if sys.stdin is None or sys.stdin.closed:
        raise ValueError("standard input: is closed; pipe a picture into it, or name IN")
    if sys.stdin.isatty():
        raise ValueError("standard input: is the terminal; pipe a picture into it, or name IN")
    return sys.stdin.buffer


def check_standard_output() -> None:
    """Refuse to write a picture where none can go."""
    if sys.stdout is None or sys.stdout.closed:
        raise ValueError("standard output: is closed; name OUT, or redirect")
    if sys.stdout.isatty():
        raise ValueError("will not write an image to the terminal; name OUT, or redirect")


def write_bytes(data: bytes) -> None:
    """All of it to stdout, which without a buffer (PYTHONUNBUFFERED) may take a part at a time."""
    left = memoryview(data)
    while left:
        left = left[sys.stdout.buffer.write(left) :]
    sys.stdout.buffer.flush()


def complain(message: str) -> None:
    """One line on stderr."""
    print("cosparse: " + " ".join(message.split()), file=sys.stderr)


def reason(error: BaseException) -> str:
    """An exception as part of a line; the traceback too if asked for."""
    if Debug.on:
        traceback.print_exception(error)
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        from cosparse.reconstruction.memory import TooLargeError

        own = isinstance(error, TooLargeError)  # what the system says names an array of ours, or nothing
        return text if own else "not enough memory; use a smaller image, or --quality fast"
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
