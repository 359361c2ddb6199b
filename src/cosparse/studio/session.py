"""What belongs to whom. A visitor is a browser (a cookie), a session is one open page of theirs."""

from __future__ import annotations

import secrets
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from cosparse.noise import Map
from cosparse.operator import AnalysisOperator, load_operator, shipped_operators
from cosparse.studio.limits import Limits, Refused
from cosparse.studio.noise_seen import Estimate
from cosparse.studio.page_pictures import Source
from cosparse.studio.repair_job import PageResult
from cosparse.studio.work import Run

Shown = dict[str, str | int | None]  # what the stage is told: addresses, sizes, a note


@dataclass(frozen=True)
class File:
    """One on disk that only its owner may fetch."""

    path: Path
    name: str


@dataclass
class Session:
    """All that one open page holds; nothing of it outlives the page. `visitor` is the token of whose it is."""

    folder: Path
    limits: Limits
    visitor: str = ""
    source: Source | None = None
    result: PageResult | None = None
    estimate: Estimate | None = None  # of the source's noise
    noise_map: Map | None = None  # on 0..255, as it was dropped
    shown: Shown = field(default_factory=dict)
    operators: dict[str, AnalysisOperator] = field(default_factory=dict)
    training: list[tuple[str, NDArray[np.float32]]] = field(default_factory=list)
    runs: dict[str, Run] = field(default_factory=dict)
    open: int = 0
    closed: bool = False
    seen: float = field(default_factory=time.monotonic)
    _files: dict[str, list[tuple[str, File]]] = field(default_factory=dict)

    def chosen(self) -> Source:
        """The page's picture."""
        if self.source is None:
            raise Refused("Choose a picture first.")
        return self.source

    def start(self, kind: str) -> Run:
        """A new run; one of a kind at a time, so the last one of this kind ends. Those of other kinds go on."""
        if kind in self.runs:
            self.runs[kind].cancel()
        run = self.runs[kind] = Run(self.limits.seconds)
        return run

    def run(self, ticket: str) -> Run:
        """The run that was given this ticket. Whoever works or cancels asks by it: another may have begun since."""
        for run in list(self.runs.values()):
            if run.ticket == ticket:
                return run
        raise Refused("This run is over, as a later one was started or the page was away; press the button again.")

    def stop(self) -> None:
        """End all that runs or waits."""
        for run in list(self.runs.values()):
            run.cancel()

    def publish(self, slot: str, name: str, write: Callable[[Path], object]) -> str:
        """Put a file where its owner can fetch it, and return its address.

        Each slot keeps this file and the one before, which the browser may still be loading.
        """
        key = secrets.token_urlsafe(24)
        path = self.folder / f"{key}{Path(name).suffix}"
        if not self.closed:
            self.folder.mkdir(parents=True, exist_ok=True)
            write(path)
        if self.closed:  # perhaps meanwhile, by another thread, and the folder was made again
            shutil.rmtree(self.folder, ignore_errors=True)
            raise Refused("This page was closed.")
        kept = self._files.setdefault(slot, [])
        kept.append((key, File(path, name)))
        while len(kept) > 2:
            kept.pop(0)[1].path.unlink(missing_ok=True)
        return f"view/{key}/{quote(name)}"

    def file(self, key: str) -> File | None:
        """What was published under this key."""
        every = (pair for kept in list(self._files.values()) for pair in list(kept))
        return next((file for one, file in every if secrets.compare_digest(one.encode(), key.encode())), None)

    def operator(self, name: str) -> AnalysisOperator:
        """One of this page's own or a shipped one; never a path."""
        if name in self.operators:
            return self.operators[name]
        if name not in shipped_operators():
            raise Refused(f"There is no operator called {name!r} here any more; choose another.")
        return load_operator(name)

    def add_operator(self, name: str, operator: AnalysisOperator) -> str:
        """Keep it under a name that is not taken, which is returned."""
        if len(self.operators) >= self.limits.operators:
            self.operators.pop(next(iter(self.operators)))
        taken = {*self.operators, *shipped_operators()}
        names = (name, *(f"{name} {number}" for number in range(2, len(taken) + 2)))
        free = next(one for one in names if one not in taken)
        self.operators[free] = operator
        return free

    def close(self) -> None:
        """Stop the work and delete everything."""
        self.closed = True
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        self._files.clear()
        self.source = self.result = self.estimate = self.noise_map = None
        self.operators.clear()
        self.training.clear()


@dataclass
class Visitor:
    """A browser: its pages, and what it has uploaded that no page has read yet."""

    inbox: dict[str, File] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)


class Visitors:
    """Everyone here now."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.folder, self.limits = folder, limits
        self._all: dict[str, Visitor] = {}
        self._lock = threading.RLock()

    def session(self, token: str, page: str) -> Session:
        """The session of a page. A page's name belongs to the first visitor who used it."""
        with self._lock:
            visitor = self._all.setdefault(token, Visitor())
            if page not in visitor.sessions:
                if any(page in other.sessions for other in self._all.values()):
                    raise PermissionError("this page belongs to someone else")
                if self.full(keep=token):
                    raise Refused("Too many pages are open on this server; try again later.")
                visitor.sessions[page] = Session(self.folder / secrets.token_hex(16), self.limits, token)
            session = visitor.sessions[page]
            session.seen = time.monotonic()
            return session

    def start(self, session: Session, kind: str) -> Run:
        """A run of this page, if there is room to wait for its turn."""
        with self._lock:
            every = (run for one in self._all.values() for page in one.sessions.values() for run in page.runs.values())
            if sum(not run.begun for run in every) >= self.limits.queue:
                raise Refused("Too many runs wait on this server already; try again later.")
            return session.start(kind)

    def full(self, keep: str = "") -> bool:
        """Whether no further page can be opened, once those that are closed are gone."""
        with self._lock:
            self.sweep(keep)
            return sum(len(one.sessions) for one in self._all.values()) >= self.limits.pages

    def room(self, token: str) -> int:
        """How many bytes this visitor may still upload; -1 if too many files wait already."""
        with self._lock:
            waiting = list(self._all.get(token, Visitor()).inbox.values())
        if len(waiting) >= self.limits.waiting_files:
            return -1
        used = sum(file.path.stat().st_size for file in waiting if file.path.exists())
        return min(self.limits.upload_bytes, self.limits.waiting_bytes - used)

    def receive(self, token: str, file: File) -> str:
        """Keep an upload; returns the key that :meth:`take` asks for."""
        key = secrets.token_urlsafe(24)
        with self._lock:
            self._all.setdefault(token, Visitor()).inbox[key] = file
        return key

    def take(self, token: str, key: str) -> tuple[str, bytes]:
        """The name and content of an upload, which is deleted."""
        with self._lock:
            file = self._all.get(token, Visitor()).inbox.pop(key, None)
        if file is None:
            raise Refused("The upload has expired; please choose the file again.")
        try:
            return file.name, file.path.read_bytes()
        finally:
            file.path.unlink(missing_ok=True)

    def file(self, token: str, key: str) -> File | None:
        """A published file, if it is this visitor's."""
        sessions = list(self._all.get(token, Visitor()).sessions.values())
        return next(filter(None, (session.file(key) for session in sessions)), None)

    def sweep(self, keep: str = "") -> None:
        """Delete what belongs to pages that are closed, and visitors without a page, but for the one to `keep`."""
        before = time.monotonic() - self.limits.grace
        with self._lock:
            for token, visitor in list(self._all.items()):
                for page, session in list(visitor.sessions.items()):
                    if session.open == 0 and session.seen <= before:
                        visitor.sessions.pop(page).close()
                if not visitor.sessions and token != keep:
                    for file in visitor.inbox.values():
                        file.path.unlink(missing_ok=True)
                    del self._all[token]
