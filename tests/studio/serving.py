"""The web page, served in the process of the tests."""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from cosparse.studio.limits import Limits
from cosparse.studio.place import Place
from cosparse.studio.server import listen, web_server
from cosparse.studio.session import Visitors

PATIENCE = 150_000  # milliseconds until a wait counts as failed; the machines that run this are busy
LIMITS = Limits(upload_bytes=4_000_000, grace=0.3, view_pixels=30_000)


@dataclass
class Server:
    """A running page."""

    address: str
    visitors: Visitors


@contextlib.contextmanager
def running(folder: Path, limits: Limits, place: Place | None = None):
    """The page on a free port, in this process, so that tests can look behind it."""
    listening = listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    visitors = Visitors(folder, limits)
    server = web_server(visitors, host="127.0.0.1", port=port, place=place or Place())
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        until(lambda: server.started or not thread.is_alive())
        yield Server(f"http://127.0.0.1:{port}", visitors)
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def until(condition, what: str = "the condition"):
    """Wait for something that is not on the page."""
    end = time.monotonic() + PATIENCE / 1000
    while not (value := condition()):
        assert time.monotonic() < end, f"{what} did not come about"
        threading.Event().wait(0.02)
    return value
