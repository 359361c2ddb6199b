"""Open and save files with errors that name the file and say what to do."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import BinaryIO

from cosparse.io.atomic import replacing
from cosparse.io.decoded import one_line

PathLike = str | os.PathLike[str]


def shown_name(name: object) -> str:
    """Return a file's name as one line, whatever characters it has."""
    text = os.fsdecode(name) if isinstance(name, bytes | os.PathLike) else str(name)
    return text if text.isprintable() else ascii(text)


def open_file(path: PathLike, shown: str) -> BinaryIO:
    """Open to read."""
    try:
        if os.path.isdir(path):  # Windows would say that permission is denied
            raise IsADirectoryError
        return open(path, "rb")
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(f"{shown}: no such file; check the path") from None
    except IsADirectoryError:
        raise IsADirectoryError(f"{shown}: is a folder; name a file in it") from None
    except PermissionError:
        raise PermissionError(f"{shown}: may not be read; change its permissions") from None
    except (OSError, ValueError) as error:
        raise ValueError(f"{shown}: cannot be opened ({one_line(error)}); check the path") from None


def save_file(real: Path, data: bytes | memoryview, shown: str) -> None:
    """Write under a temporary name and rename, whole or not at all."""
    try:
        if real.exists() and not os.access(real, os.W_OK):  # renaming would get round this
            raise PermissionError
        if real.exists() and not real.is_file() and not real.is_dir():
            real.write_bytes(data)  # a pipe or a device must not be renamed over
            return
        with replacing(real) as temporary:
            temporary.write_bytes(data)
            if real.exists():
                shutil.copymode(real, temporary)
    except PermissionError:
        raise PermissionError(f"{shown}: may not be written; change its permissions") from None
    except (FileNotFoundError, IsADirectoryError):
        raise
    except OSError as error:
        why = error.strerror or one_line(error)
        raise OSError(f"{shown}: cannot be written ({why}); check the disk's free space") from error
