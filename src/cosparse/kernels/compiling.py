"""Compiling the kernels, and keeping what was compiled for the next process.

Numba by itself keeps it beside the sources, or fails where nothing can be written there nor at home; and it knows a
function by its own file alone, so that code inlined from an edited neighbour would live on. Here it is kept in a
folder whose name is a digest of all the kernels' sources: in `NUMBA_CACHE_DIR` if that is set, else among the user's
caches, else in a temporary folder, else not at all. Compiled code is run, so it must be no one else's: a folder into
which another user could write is not used.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numba

_log = logging.getLogger(__name__)

# NaN and infinity keep their meaning, for `fused._seen`.
_MATHS = {"reassoc", "nsz", "contract", "arcp"}
# The division check of Python would keep the elementwise loop from being vectorised.
_njit = numba.njit(nogil=True, fastmath=_MATHS, error_model="numpy")
# A part of a kernel, compiled within it. Compiled apart it would be there twice, rounded differently, and which of the
# two runs would depend on whether this process compiled it or another.
inlined = numba.njit(inline="always")

KEPT = 8  # folders of other sources or of another Numba: a developer has several checkouts
_OURS = re.compile(r"kernels-[0-9a-f]{16}")


def compiled(function: Callable[..., Any]) -> Any:
    """A kernel: compiled by Numba at its first call, without the GIL, and kept if it can be."""
    dispatcher = _njit(function)
    folder = cache_folder()
    if folder is not None and hasattr(dispatcher, "_cache"):  # it has none if NUMBA_DISABLE_JIT is set
        try:
            dispatcher._cache = _cache_class(folder)(function)
        except Exception as problem:  # Numba's insides are not as they were
            _log.warning("%s is compiled anew in each process: %s", function.__name__, problem)
    return dispatcher


@cache
def cache_folder() -> Path | None:
    """Where compiled kernels of these sources are kept; None where there is no such place."""
    try:
        name = f"kernels-{source_digest(Path(__file__).parent)}"
    except OSError as problem:  # as in a zip: what was compiled from could not be told
        _log.warning("kernels are compiled anew in each process, as their sources cannot be read: %s", problem)
        return None
    for root in _roots():
        folder = _prepared(root / name)
        if folder is not None:
            return folder
    _log.warning("kernels are compiled anew in each process: no folder for them can be written; set NUMBA_CACHE_DIR")
    return None


def source_digest(kernels: Path) -> str:
    """A digest of all that a kernel may be compiled from: every file beside it, the penalties' codes, Numba."""
    files = sorted(kernels.glob("*.py"))
    if not files:
        raise FileNotFoundError(f"no sources in {kernels}")
    state = hashlib.blake2b(numba.__version__.encode(), digest_size=8)
    for file in (*files, kernels.parent / "penalty.py"):
        content = file.read_bytes()
        state.update(f"\n{file.name} {len(content)}\n".encode() + content)
    return state.hexdigest()


def _roots() -> Iterator[Path]:
    """The folders for all our compiled code that may be used, best first."""
    chosen = getattr(numba.config, "CACHE_DIR", "")
    if chosen:
        root = Path(chosen) / "cosparse"
        yield root
        _log.info("NUMBA_CACHE_DIR: cannot write to %s", root)
    caches = _user_caches()
    if caches is not None and _mine(_existing(caches)) and _private(caches / "cosparse"):
        yield caches / "cosparse"
    temporary = _temporary()
    if temporary is not None and _private(temporary):
        _log.info("compiled kernels are kept in %s, as the user's cache folder cannot be written", temporary)
        yield temporary


def _user_caches() -> Path | None:
    """The folder of the user's caches, as the system has it; None without a home."""
    home, chosen = Path(os.path.expanduser("~")), os.environ.get("XDG_CACHE_HOME", "")
    if sys.platform not in ("win32", "darwin") and os.path.isabs(chosen):
        return Path(chosen)
    if not home.is_absolute() or not os.path.isdir(home):
        return None
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    return home / "Library" / "Caches" if sys.platform == "darwin" else home / ".cache"


def _temporary() -> Path | None:
    """A folder of the user's own beside the temporary files; None if others could take it away."""
    try:
        place = Path(tempfile.gettempdir())
        mode = place.stat().st_mode
        here = place.samefile(os.curdir)
    except OSError:
        return None
    if not hasattr(os, "geteuid"):
        return place / "cosparse"
    sticky = bool(mode & stat.S_ISVTX)
    # Python takes the working folder where there is no temporary one: that is no place for ours.
    if not sticky and (here or mode & 0o022):
        return None
    return place / f"cosparse-{os.geteuid()}"


def _existing(path: Path) -> Path:
    return next(folder for folder in (path, *path.parents) if os.path.exists(folder))


def _mine(folder: Path) -> bool:
    """Whose it is: as root in another's home, say, we would leave what its owner cannot use."""
    return not hasattr(os, "geteuid") or folder.stat().st_uid == os.geteuid()


def _private(root: Path) -> bool:
    """Make the folder if it is not there; whether it is this user's, and no one else may write to it."""
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = root.stat()
        # A link among the temporary files may be anyone's; one at home is the user's.
        if root.is_symlink() and hasattr(os, "geteuid") and root.lstat().st_uid != os.geteuid():
            return False
        return _mine(root) and (os.name == "nt" or not found.st_mode & 0o022)
    except OSError:
        return False


def _prepared(folder: Path) -> Path | None:
    """The folder, made if need be and marked as used; None if it cannot be written.

    One that was filled beforehand will do though nothing can be added to it, as in a container's image.
    """
    try:
        fresh = not folder.exists()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            return folder if any(folder.glob("*.nbi")) else None
        os.utime(folder)
    except OSError:
        return None
    if fresh:
        _forget(folder)
    return folder


def _forget(current: Path) -> None:
    """Remove the longest unused folders beside this one. A process that still uses one compiles again."""

    def age(folder: Path) -> float:
        try:
            return -folder.stat().st_mtime
        except OSError:  # another process was faster
            return 0.0

    found = [path for path in current.parent.iterdir() if _OURS.fullmatch(path.name) and path != current]
    for folder in sorted(found, key=age)[KEPT - 1 :]:
        with contextlib.suppress(OSError):  # rmdir leaves a folder in which something is not ours
            for file in folder.iterdir():
                if re.search(r"\.nb[ic](\.tmp\.\w+)?$", file.name):
                    file.unlink(missing_ok=True)
            folder.rmdir()


@cache
def _cache_class(folder: Path) -> Any:
    """Numba's cache of one function, in that folder, and never a reason to fail."""
    caching: Any = import_module("numba.core.caching")

    class Place(caching._CacheLocator):
        def __init__(self, function: Any, file: str) -> None:
            self._py_file = file
            self._line = function.__code__.co_firstlineno

        @classmethod
        def from_function(cls, function: Any, file: str) -> Place:
            return cls(function, file)

        def get_cache_path(self) -> str:
            return str(folder)

        def get_source_stamp(self) -> str:
            return folder.name

        def get_disambiguator(self) -> str:
            return str(self._line)

    class Results(caching.CompileResultCacheImpl):
        _locator_classes = [Place]  # noqa: RUF012 - as Numba has it

    class Kept(caching.FunctionCache):
        _impl_class = Results

        def load_overload(self, *arguments: Any) -> Any:
            try:
                return super().load_overload(*arguments)
            except Exception as problem:  # a file cut short, say
                _log.info("compiled kernel not read: %s", problem)
                return None

        def save_overload(self, *arguments: Any) -> None:
            try:
                super().save_overload(*arguments)
            except Exception as problem:  # a full disk, a folder that is gone or may only be read
                _log.info("compiled kernel not kept: %s", problem)

        def _index_key(self, *arguments: Any) -> Any:
            # Also where NUMBA_CACHE_LOCATOR_CLASSES puts it beside code of other sources.
            return (*super()._index_key(*arguments), folder.name)

    return Kept
