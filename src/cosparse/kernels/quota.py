"""The share of the machine that Linux lets this process have: the limits of its control groups.

A container started with two of 64 cores sees all 64; its quota says how much time they give it. Likewise of memory.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from pathlib import Path, PurePosixPath


def cpu_quota(root: Path = Path("/")) -> int | None:
    """Cores' worth of time that this process may use, rounded up; None without a limit.

    The least of its own control group and all groups above it, in both versions of control groups.
    """
    try:
        groups = (root / "proc/self/cgroup").read_text().splitlines()
        mounts = (root / "proc/self/mountinfo").read_text().splitlines()
        folders = list(_folders(groups, mounts, root, "cpu"))
    except (OSError, ValueError):
        return None  # not Linux, or not as it is written there today
    shares = [share for folder in folders for share in (_v2(folder), _v1(folder)) if share]
    return max(1, math.ceil(min(shares))) if shares else None


def memory_left(root: Path = Path("/")) -> int | None:
    """Bytes that this process can still take before the machine or one of its control groups has none left.

    What files occupy in memory counts as free, since the system gives it up when asked. None where it cannot be told.
    """
    try:
        left = [int(_fields(root / "proc/meminfo")["MemAvailable:"]) * 1024]
        groups = (root / "proc/self/cgroup").read_text().splitlines()
        mounts = (root / "proc/self/mountinfo").read_text().splitlines()
        folders = list(_folders(groups, mounts, root, "memory"))
    except (OSError, ValueError, KeyError):
        return None  # not Linux, or not as it is written there today
    for folder in folders:
        for limit, used in (("max", "current"), ("limit_in_bytes", "usage_in_bytes")):
            with contextlib.suppress(OSError, ValueError):  # no limit, or that of the other version
                most = int((folder / f"memory.{limit}").read_text())
                taken = int((folder / f"memory.{used}").read_text())
                cached = _fields(folder / "memory.stat")
                files = sum(int(cached.get(name, 0)) for name in ("active_file", "inactive_file"))
                left.append(most - max(taken - files, 0))
    return max(0, min(left))


def _folders(groups: list[str], mounts: list[str], root: Path, kind: str) -> Iterator[Path]:
    """The folders of the groups of a kind that the process is in, from its own up to where they are mounted."""
    own = {}  # by controller, "" for version 2
    for line in groups:
        _, controllers, name = line.split(":", 2)
        own.update(dict.fromkeys(controllers.split(","), PurePosixPath(name)))
    for line in mounts:
        before, _, after = line.partition(" - ")
        start, point = (PurePosixPath(field) for field in before.split()[3:5])
        system, _, options = after.split(" ", 2)
        controller = {"cgroup2": "", "cgroup": kind}.get(system)
        if controller not in own or (controller and controller not in options.split(",")):
            continue
        path, folder = own[controller], root / point.relative_to("/")
        # A container may see its own group alone, mounted as the top, under the name it has outside.
        inside = path.relative_to(start) if path.is_relative_to(start) else PurePosixPath()
        if ".." in inside.parts:
            inside = PurePosixPath()
        yield from (folder / part for part in (inside, *inside.parents))


def _v2(folder: Path) -> float | None:
    return _share(_read(folder / "cpu.max").split())


def _v1(folder: Path) -> float | None:
    return _share([_read(folder / f"cpu.cfs_{name}_us") for name in ("quota", "period")])


def _share(fields: list[str]) -> float | None:
    """Quota over period; "max" or -1 is none."""
    try:
        quota, period = (int(field) for field in fields)
    except ValueError:
        return None
    return quota / period if quota > 0 and period > 0 else None


def _fields(file: Path) -> dict[str, str]:
    """Lines of a name and a number, as of /proc/meminfo."""
    lines = (line.split() for line in file.read_text().splitlines())
    return {fields[0]: fields[1] for fields in lines if len(fields) > 1}


def _read(file: Path) -> str:
    try:
        return file.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""
