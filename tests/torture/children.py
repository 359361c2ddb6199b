"""Processes that promises start, watch and kill, and what they leave on the disk."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import cosparse
from torture.frame import Broken

TESTS = Path(__file__).resolve().parents[1]
LONGEST = 600.0  # seconds until a child is taken for hung


def environment(**more: str) -> dict[str, str]:
    """That of a child which imports this cosparse and this package; one thread, as many children run."""
    paths = os.pathsep.join([str(TESTS), str(Path(cosparse.__file__).parents[1])])
    return {**os.environ, "PYTHONPATH": paths, "COSPARSE_NUM_THREADS": "1", **more}


def cosparse_program(*arguments: object) -> list[str]:
    """The command line of the program."""
    return [sys.executable, "-m", "cosparse", *map(str, arguments)]


def function(name: str, *arguments: object) -> list[str]:
    """The command line that calls `module.function` of this package with texts."""
    module, _, one = name.rpartition(".")
    code = f"import sys; from torture.{module} import {one}; {one}(*sys.argv[1:])"
    return [sys.executable, "-c", code, *map(str, arguments)]


def finish(
    command: list[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    code: int | None = 0,
    longest: float = LONGEST,
) -> subprocess.CompletedProcess[str]:
    """Run a child to its end. Another exit code than expected is a broken promise; None takes any."""
    try:
        done = subprocess.run(
            command, env=env or environment(), cwd=cwd, text=True, capture_output=True, timeout=longest
        )
    except subprocess.TimeoutExpired as late:
        raise Broken(f"hung for {longest:.0f} s: {command}") from late
    if code is not None and done.returncode != code:
        raise Broken(f"ended with {done.returncode}, expected {code}: {command}\n{done.stdout}\n{done.stderr}")
    return done


def signalled(
    command: list[str],
    after: float,
    how: int = signal.SIGKILL,
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> tuple[int, str]:
    """Start a child, and after so many seconds send it a signal; its exit code (negative: the signal's) and stderr.

    The whole group is sent it, as a terminal does: workers of the child go with it.
    """
    with subprocess.Popen(
        command,
        env=env or environment(),
        cwd=cwd,
        text=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as child:
        try:
            _, errors = child.communicate(timeout=after)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, how)
            try:
                _, errors = child.communicate(timeout=60)
            except subprocess.TimeoutExpired as late:
                os.killpg(child.pid, signal.SIGKILL)
                raise Broken(f"did not end within 60 s of signal {how}: {command}") from late
    return child.returncode, errors


def duration(command: list[str], *, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> float:
    """How long an undisturbed run takes: kills are spread over that time."""
    began = time.monotonic()
    finish(command, env=env, cwd=cwd)
    return time.monotonic() - began


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by its name there."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def emptied(folder: Path) -> Path:
    """The folder, there and empty."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
