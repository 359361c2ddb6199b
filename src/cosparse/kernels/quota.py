"""The share of the processors that Linux lets this process have: the CPU quota of its control groups.

A container started with two of 64 cores sees all 64; its quota says how much time they give it.
"""

from __future__ import annotations

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
        folders = list(_folders(groups, mounts, root))
    except (OSError, ValueError):
        return None  # not Linux, or not as it is written there today
    shares = [share for folder in folders for share in (_v2(folder), _v1(folder)) if share]
    return max(1, math.ceil(min(shares))) if shares else None


def _folders(groups: list[str], mounts: list[str], root: Path) -> Iterator[Path]:
    """The folders of the groups that the process is in, from its own up to where they are mounted."""
    own = {}  # by controller, "" for version 2
    for line in groups:
        _, controllers, name = line.split(":", 2)
        own.update(dict.fromkeys(controllers.split(","), PurePosixPath(name)))
    for line in mounts:
        before, _, after = line.partition(" - ")
        start, point = (PurePosixPath(field) for field in before.split()[3:5])
        kind, _, options = after.split(" ", 2)
        controller = {"cgroup2": "", "cgroup": "cpu"}.get(kind)
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


def _read(file: Path) -> str:
    try:
        return file.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""
