"""Start and end of the web page's server."""

from __future__ import annotations

import socket
import tempfile
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np
import uvicorn
from fastapi import FastAPI

import cosparse
from cosparse.studio.guard import Guard
from cosparse.studio.limits import Limits
from cosparse.studio.log import logging_to
from cosparse.studio.parts import Studio
from cosparse.studio.place import Place, addresses, names
from cosparse.studio.routes import add_routes
from cosparse.studio.session import Visitors
from cosparse.studio.web_page import HEAD, build, theme


class Server(uvicorn.Server):
    """Uvicorn's, which would wait for pages that are open, and complain of them."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the open connections first."""
        guard: Any = self.config.app
        guard.close()
        await super().shutdown(sockets)


def web_server(visitors: Visitors, *, host: str, port: int, place: Place) -> Server:
    """Own addresses first, then Gradio's page, all behind the guard. Ends within moments, whoever is connected."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    add_routes(app, visitors)
    page = build(Studio(visitors, visitors.limits))
    gr.mount_gradio_app(
        app, page, path="/", allowed_paths=[], blocked_paths=["/"], max_file_size=1, show_error=True, ssr_mode=False,
        footer_links=[], run_history=False, enable_monitoring=False, mcp_server=False, pwa=False, theme=theme(),
        head=HEAD, root_path=f"{place.origin}{place.path}",
    )  # fmt: skip
    # Cookies do not tell ports apart; another server on this machine must not overwrite ours.
    guard: Any = Guard(app, visitors, f"cosparse-{port}", names(host, place), place)
    config = uvicorn.Config(
        guard, log_config=None, log_level="warning", access_log=False, lifespan="on", timeout_graceful_shutdown=5,
        server_header=False, ws="none",
    )  # fmt: skip
    return Server(config)


def serve(
    *,
    host: str = "127.0.0.1",
    port: int = 7860,
    browser: bool = True,
    limits: Limits | None = None,
    place: Place | None = None,
    log: str | None = None,
    tell: Callable[[str], object] = print,
) -> None:
    """Run the web page until Ctrl-C.

    Parameters
    ----------
    host : str
        The address to listen on. Only this machine can reach 127.0.0.1; anything else opens the page to others.
    port : int
        0 takes any free one.
    browser : bool
        Open the page in the default browser.
    limits : Limits, optional
        Of uploads, pictures, run time, visitors.
    place : Place, optional
        Where a proxy shows the page.
    log : str, optional
        A file that gets one line a request, and errors with their tracebacks; "-" is standard output.
    tell : callable
        Called once with the line that says where the page is.
    """
    place = place or Place()
    listening = listen(host, port)
    port = listening.getsockname()[1]
    with listening, logging_to(log), tempfile.TemporaryDirectory(prefix="cosparse-studio-") as folder:
        visitors = Visitors(Path(folder), limits or Limits())
        server = web_server(visitors, host=host, port=port, place=place)
        threading.Thread(target=_warm_up, name="cosparse-warm-up", daemon=True).start()
        known = addresses(host, port, place)
        if browser:
            webbrowser.open(known[0])  # the socket listens already; the answer comes once the server runs
        tell(f"cosparse studio: {' or '.join(known)}  (Ctrl-C ends it)")
        server.run(sockets=[listening])


def listen(host: str, port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise OSError(f"port {port} of {host} cannot be used ({error.strerror}); choose another with --port") from None
    return listening


def _warm_up() -> None:
    """Compile the kernels, so that the first visitor need not wait for it."""
    cosparse.denoise(np.tile(np.linspace(0, 1, 32, dtype=np.float32), (32, 1)), 0.1, quality="fast")
