"""A folder for what visitors upload, and for as long as the page runs; those of pages that were killed are removed.

`kill -9` leaves such a folder behind, and other people's pictures in it: the next page clears it away. A folder is
known to be in use by a lock, which the system takes back from whoever dies.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

if sys.platform != "win32":  # there a folder in use cannot be told from one that is not
    import fcntl

PREFIX = "cosparse-studio-"
LOCK = "in-use"


@contextlib.contextmanager
def own_folder() -> Iterator[Path]:
    """A new temporary folder, removed at the end; first, those that killed pages of this user left."""
    sweep(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder, open(Path(folder, LOCK), "w") as lock:
        if sys.platform != "win32":
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield Path(folder)


def sweep(place: Path) -> None:
    """Remove the folders in `place` that a killed page of this user left there; never through a link."""
    if sys.platform == "win32":
        return
    for folder in place.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            with open(folder / LOCK) as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # of one that runs this fails
                shutil.rmtree(folder)
