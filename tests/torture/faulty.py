"""A plugin for pytest: one module is imported from a faulty source, said by FAULTY. See planting.py."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import json
import os
import sys
from pathlib import Path
from types import ModuleType


class Planted(importlib.abc.MetaPathFinder, importlib.abc.SourceLoader):
    """Gives one module's source with a fault in it, under the name of the right file."""

    def __init__(self, name: str, file: str, faulty: str) -> None:
        self.name, self.file, self.faulty = name, file, faulty

    def find_spec(
        self, fullname: str, path: object = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Of the one module."""
        if fullname != self.name:
            return None
        spec = importlib.machinery.ModuleSpec(fullname, self, origin=self.file)
        spec.has_location = True
        if self.file.endswith("__init__.py"):
            spec.submodule_search_locations = [str(Path(self.file).parent)]
        return spec

    def get_filename(self, fullname: str) -> str:
        """That of the right source."""
        return self.file

    def get_data(self, path: str) -> bytes:
        """The faulty source."""
        return Path(self.faulty).read_bytes()

    def path_stats(self, path: str) -> dict[str, float]:
        """None, so that no compiled file is read or written."""
        raise OSError("not from a file")


if "FAULTY" in os.environ:
    sys.meta_path.insert(0, Planted(*json.loads(os.environ["FAULTY"])))  # type: ignore[arg-type]
