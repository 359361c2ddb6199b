"""What belongs to whom. A visitor is a browser (a cookie), a session is one open page of theirs."""

from __future__ import annotations

import asyncio
import math
import secrets
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from cosparse.noise import Map
from cosparse.operator import AnalysisOperator, load_operator, shipped_operators
from cosparse.studio.history import History
from cosparse.studio.limits import Limits, Refused
from cosparse.studio.noise_seen import Estimate
from cosparse.studio.page_pictures import Source
from cosparse.studio.repair_job import PageResult
from cosparse.studio.work import Run

Write = Callable[[Path], object]
MASKS = 12  # pictures of masks that a page keeps, as one may undo and redo them
# What a page holds that the same page, loaded again, gets.
INHERITED = (
    "folder", "history", "noise_map", "overlay", "seed", "settings", "batch", "report", "operators", "training",
    "_files",
)  # fmt: skip


@dataclass(frozen=True)
class File:
    """One on disk that only its owner may fetch; with `write` it is written when that happens first."""

    path: Path
    name: str
    write: Write | None = None

    def there(self) -> bool:
        """Whether it can be read now."""
        if self.write is not None and not self.path.exists() and self.path.parent.exists():
            self.write(self.path)
        return self.path.exists()


@dataclass
class Session:
    """All that one open page holds; nothing of it outlives the page. `visitor` is the token of whose it is."""

    folder: Path
    limits: Limits
    visitor: str = ""
    history: History = field(init=False)
    noise_map: Map | None = None  # on 0..255, as it was dropped
    seed: int = 0  # of what is copied into wide holes; another gives another attempt
    overlay: tuple[int, int, str] | None = None  # a mask to lay over a picture: whose (its root), number and address
    settings: tuple[Any, ...] = ()  # of the tab Repair, as they were when they were last used
    batch: list[File] = field(default_factory=list)  # pictures to repair in one go
    report: str = ""  # what came of that, as the page shows it
    operators: dict[str, AnalysisOperator] = field(default_factory=dict)
    training: list[tuple[str, NDArray[np.float32]]] = field(default_factory=list)
    runs: dict[str, Run] = field(default_factory=dict)
    open: int = 0
    closed: bool = False
    seen: float = field(default_factory=time.monotonic)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)  # held while an event of this page is answered
    claim: str = field(default_factory=lambda: secrets.token_urlsafe(24))  # by which a reloaded page asks for all this
    _files: dict[str, list[tuple[str, File]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.history = History(self.limits.history_bytes)

    @property
    def source(self) -> Source | None:
        """The picture on the stage, as it is to be repaired."""
        return self.history.current.source if self.history.current else None

    @property
    def result(self) -> PageResult | None:
        """Its repair, if there is one."""
        return self.history.current.done.result if self.history.current and self.history.current.done else None

    @property
    def estimate(self) -> Estimate | None:
        """What noise the picture on the stage has."""
        return self.history.current.estimate if self.history.current else None

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

    def leave(self) -> None:
        """A connection of the page ended. Without any it is closed: what it holds is kept for a while from now on."""
        self.open, self.seen = self.open - 1, time.monotonic()
        if self.open == 0:
            self.stop()

    def publish(self, slot: str, name: str, write: Write, *, keep: int = 2, later: bool = False) -> str:
        """Put a file where its owner can fetch it, and return its address; `later` writes it only then.

        Each slot keeps some files: this one and, unless told otherwise, the one before, which the browser may still
        be loading.
        """
        key = secrets.token_urlsafe(24)
        path = self.folder / f"{key}{Path(name).suffix}"
        if not self.closed:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not later:
                write(path)
        if self.closed:  # perhaps meanwhile, by another thread, and the folder was made again
            shutil.rmtree(self.folder, ignore_errors=True)
            raise Refused("This page was closed.")
        kept = self._files.setdefault(slot, [])
        kept.append((key, File(path, name, write if later else None)))
        while len(kept) > keep:
            kept.pop(0)[1].path.unlink(missing_ok=True)
        return f"view/{key}/{quote(name)}"

    def forget(self, addresses: set[str]) -> None:
        """Delete published files."""
        keys = {address.split("/")[1] for address in addresses}
        for kept in self._files.values():
            for pair in [pair for pair in kept if pair[0] in keys]:
                kept.remove(pair)
                pair[1].path.unlink(missing_ok=True)

    def lay_over(self, write: Write) -> None:
        """A mask, drawn by `write`, that the stage is to lay over the picture."""
        number = self.overlay[1] + 1 if self.overlay else 1
        root = self.history.current.root if self.history.current else 0
        self.overlay = root, number, self.publish("mask", "mask.png", write, keep=MASKS)

    def inherit(self, other: Session) -> None:
        """Take all that another page held, which then is closed."""
        for name in INHERITED:
            mine, theirs = getattr(self, name), getattr(other, name)
            setattr(self, name, theirs)
            setattr(other, name, mine)
        other.close()

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
        self.history = History(self.limits.history_bytes)
        self.noise_map = self.overlay = None
        self.settings, self.batch, self.report = (), [], ""
        self.operators.clear()
        self.training.clear()


@dataclass
class Visitor:
    """A browser: its pages, and what it has uploaded that no page has read yet."""

    inbox: dict[str, File] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)
    uploaded: float = -math.inf  # when the last of its files came


class Visitors:
    """Everyone here now."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.folder, self.limits = folder, limits
        self._all: dict[str, Visitor] = {}
        self._arriving: dict[Path, tuple[str, int]] = {}  # uploads that are not whole: whose, and how many bytes so far
        self.gone: Callable[[str], object] = lambda page: None  # told of every page whose session has ended
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

    def inherit(self, session: Session, claim: str) -> bool:
        """Give a page what the same visitor's closed page of this claim held; says whether to ask again soon.

        A page that is loaded again may ask before it is seen that it was closed.
        """
        with self._lock:
            own = self._all.get(session.visitor, Visitor()).sessions
            for page, other in own.items():
                if other is not session and secrets.compare_digest(other.claim.encode(), claim.encode()):
                    if not other.open:
                        session.inherit(own.pop(page))
                        self.gone(page)
                    return bool(other.open)
            return False

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
        """How many bytes this visitor may still upload; -1 if too many files wait already or are on their way."""
        with self._lock:
            waiting = len(self._all.get(token, Visitor()).inbox)
            waiting += sum(one == token for one, _ in self._arriving.values())
            return -1 if waiting >= self.limits.waiting_files else self._left(token)

    def _left(self, token: str) -> int:
        """Bytes that this visitor may still bring, beside what all of them have brought or are bringing."""
        used = {one: sum(_bytes_of(file.path) for file in whose.inbox.values()) for one, whose in self._all.items()}
        for one, count in self._arriving.values():
            used[one] = used.get(one, 0) + count
        own, everyone = self.limits.waiting_bytes - used.get(token, 0), self.limits.arriving_bytes - sum(used.values())
        return min(self.limits.upload_bytes, own, everyone)

    def arrive(self, token: str, path: Path, count: int) -> bool:
        """So many more bytes of an upload are here; whether there is room for them, beside all that arrives with it."""
        with self._lock:
            if path not in self._arriving and self.room(token) < 0:
                return False
            so_far = self._arriving.get(path, (token, 0))[1]
            if so_far + count > self.limits.upload_bytes or count > self._left(token):
                return False
            self._arriving[path] = token, so_far + count
            return True

    def arrived(self, path: Path) -> None:
        """An upload is whole, or given up."""
        with self._lock:
            self._arriving.pop(path, None)

    def receive(self, token: str, file: File) -> str:
        """Keep an upload; returns the key that :meth:`take` asks for."""
        key = secrets.token_urlsafe(24)
        with self._lock:
            visitor = self._all.setdefault(token, Visitor())
            visitor.inbox[key], visitor.uploaded = file, time.monotonic()
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
        """Delete what belongs to pages that are closed, and visitors without a page, but for the one to `keep`.

        A file may come before its page is known, so it is kept for as long as a closed page.
        """
        before = time.monotonic() - self.limits.grace
        with self._lock:
            for token, visitor in list(self._all.items()):
                for page, session in list(visitor.sessions.items()):
                    if session.open == 0 and session.seen <= before:
                        visitor.sessions.pop(page).close()
                        self.gone(page)
                if not visitor.sessions and token != keep and visitor.uploaded <= before:
                    for file in visitor.inbox.values():
                        file.path.unlink(missing_ok=True)
                    del self._all[token]


def _bytes_of(path: Path) -> int:
    """Of a file, which may be gone by now."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
