"""What a run over many files has done: a small file that the same run goes on from."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from cosparse.identity import described, differing, stored
from cosparse.io.atomic import replacing

FORMAT = "cosparse-files-2"


class Record:
    """A line for what was asked, then one for every file that was begun, with its source and target as they were then.

    A target is ours if its line is there. It is done if its source is still the same and it has been written since.
    Lines are written before the work, as a client may be killed while its workers go on; that of a file that failed is
    taken back.

    Parameters
    ----------
    path : path
        Made if it is not there, folders too.
    **asked
        What the run is of, see :func:`cosparse.identity.described`. A record of another is a FileExistsError that
        names what differs.
    """

    def __init__(self, path: str | os.PathLike[str], **asked: Any) -> None:
        self.path = Path(path)
        self._known: dict[str, tuple[str, str]] = {}  # by target: its source, and itself before the work
        if self.path.exists():
            self._read(described(**asked))
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(self.path) as temporary:
            temporary.write_text(json.dumps({"format": FORMAT, "run": described(**asked)}) + "\n")

    def _read(self, asked: dict[str, Any]) -> None:
        first, *lines = self.path.read_text().splitlines() or [""]
        head = _parsed(first)
        if head.get("format") != FORMAT:
            ours = set(head) == {"cosparse", "token"}  # that of versions that noted no files
            what = "a record of an older version" if ours else "not a record of cosparse"
            raise FileExistsError(f"{self.path}: is {what}; remove it, or write elsewhere")
        others = differing(head.get("run"), asked)
        if others:
            raise FileExistsError(
                f"{self.path}: belongs to a run with other options, which differs in {', '.join(others)}; "
                "remove it, or write elsewhere"
            )
        for line in map(_parsed, lines):  # the last may be cut short
            if "target" in line:
                self._known[line["target"]] = line.get("source", ""), line.get("before", "")
            else:
                self._known.pop(line.get("failed", ""), None)

    def ours(self, target: str | os.PathLike[str]) -> bool:
        """Whether a target that exists was made by this run, so that it may be replaced."""
        return os.path.abspath(target) in self._known and os.path.exists(target)

    def done(self, source: str | os.PathLike[str], target: str | os.PathLike[str]) -> bool:
        """Whether a target was made from its source as that is now."""
        if not self.ours(target):
            return False
        then, before = self._known[os.path.abspath(target)]
        return then == _identity(source) != "" and _identity(target) != before

    def begin(self, source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
        """Note a file whose work begins; not if someone else's stands where its result would."""
        if os.path.exists(target) and not self.ours(target):
            return
        line = {"target": os.path.abspath(target), "source": _identity(source), "before": _identity(target)}
        self._known[line["target"]] = line["source"], line["before"]
        self._add(line)

    def failed(self, target: str | os.PathLike[str]) -> None:
        """Take it back, unless an older result of ours is still there: that stays ours."""
        if os.path.abspath(target) in self._known and not os.path.exists(target):
            del self._known[os.path.abspath(target)]
            self._add({"failed": os.path.abspath(target)})

    def _add(self, line: dict[str, str]) -> None:
        with self.path.open("a") as file:
            file.write("\n" + json.dumps(line))  # a line that was cut short is not gone on with


def _identity(path: str | os.PathLike[str]) -> str:
    """Of a file; nothing if it is not there."""
    try:
        return stored(path)
    except OSError:
        return ""


def _parsed(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
