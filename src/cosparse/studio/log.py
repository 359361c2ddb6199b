"""The server's log: one line a request, and what went wrong with its traceback. Nothing unless it is asked for."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Iterator
from logging.handlers import WatchedFileHandler

from starlette.types import Message, Scope, Send

LOG = logging.getLogger("cosparse.studio")
LOG.addHandler(logging.NullHandler())  # or Python would print errors where nobody asked for a log
FORM = logging.Formatter("%(asctime)s %(levelname)s %(message)s")


@contextlib.contextmanager
def logging_to(target: str | None) -> Iterator[None]:
    """Write the log to a file, which may be moved away while it is written (logrotate), or with "-" to stdout."""
    if target is None:
        yield
        return
    handler = _handler(target)
    handler.setFormatter(FORM)
    loggers = (LOG, logging.getLogger("uvicorn.error"))
    level = LOG.level
    LOG.setLevel(logging.INFO)
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
        LOG.setLevel(level)
        handler.close()


def _handler(target: str) -> logging.Handler:
    if target == "-":
        return logging.StreamHandler(sys.stdout)
    try:
        return WatchedFileHandler(target, encoding="utf-8")
    except OSError as error:
        raise OSError(f"log {target} cannot be written ({error.strerror}); name another with --log") from None


@contextlib.contextmanager
def noted(scope: Scope, send: Send) -> Iterator[Send]:
    """Note a request once its answer, sent by what this gives, has ended; without the query, which names pages."""
    began, status, size = time.monotonic(), 0, 0

    async def look(message: Message) -> None:
        nonlocal status, size
        if message["type"] == "http.response.start":
            status = message["status"]
        size += len(message.get("body", b""))
        await send(message)

    client = scope["client"][0] if scope.get("client") else "-"
    # As it was sent, percent-encoded: a decoded path could hold the end of a line.
    asked = f"{client} {scope['method']} {scope.get('raw_path', b'').decode('latin-1')}"
    try:
        yield look
    finally:
        LOG.info("%s %s %d bytes %.3f s", asked, status or "-", size, time.monotonic() - began)
