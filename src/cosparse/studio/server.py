"""Start and end of the web page's server."""

from __future__ import annotations

import socket
import threading
import webbrowser
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import quote

import gradio as gr
import gradio.routes
import numpy as np
import uvicorn
from fastapi import FastAPI

import cosparse
from cosparse.studio.guard import Guard
from cosparse.studio.key import Key, chosen_token
from cosparse.studio.leftovers import own_folder
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


def web_server(visitors: Visitors, *, host: str, port: int, place: Place, token: str | None = None) -> Server:
    """Own addresses first, then Gradio's page, all behind the guard. Ends within moments, whoever is connected."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    add_routes(app, visitors)
    # Gradio makes a folder in the temporary files, of one name for all who use this machine: it may be another's.
    gradio.routes.DEFAULT_TEMP_DIR = str(visitors.folder / "gradio")  # type: ignore[attr-defined]
    page = build(Studio(visitors, visitors.limits))
    gr.mount_gradio_app(
        app, page, path="/", allowed_paths=[], blocked_paths=["/"], max_file_size=1, show_error=True, ssr_mode=False,
        footer_links=[], run_history=False, enable_monitoring=False, mcp_server=False, pwa=False, theme=theme(),
        head=HEAD, root_path=f"{place.origin}{place.path}",
    )  # fmt: skip
    visitors.gone = partial(_forget, page)
    # Cookies do not tell ports apart; another server on this machine must not overwrite ours.
    key = None if token is None else Key(token, port, place)
    guard: Any = Guard(app, visitors, f"cosparse-{port}", names(host, place), place, key)
    config = uvicorn.Config(
        guard, log_config=None, log_level="warning", access_log=False, lifespan="on", timeout_graceful_shutdown=5,
        server_header=False, ws="none", limit_concurrency=visitors.limits.connections,
    )  # fmt: skip
    return Server(config)


def _forget(page: gr.Blocks, name: str) -> None:
    """Gradio keeps the parts of every page that was ever opened, 200 kB each, until there are ten thousand."""
    held = page.state_holder
    with held.lock:
        held.session_data.pop(name, None)
        held.time_last_used.pop(name, None)


def _say(line: str) -> None:
    """Print at once: into a pipe or a log too, where the line would else wait for more until the end."""
    print(line, flush=True)  # noqa: T201


def serve(
    *,
    host: str = "127.0.0.1",
    port: int = 7860,
    browser: bool = True,
    limits: Limits | None = None,
    place: Place | None = None,
    log: str | None = None,
    token: str | None = None,
    tell: Callable[[str], object] = _say,
) -> None:
    """Run the web page until Ctrl-C.

    Parameters
    ----------
    host : str
        The address to listen on. Only this machine can reach 127.0.0.1; anything else opens the page to others, and
        demands a `token`.
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
    token : str, optional
        What visitors must bring, once: a word of 12 characters or more, "auto" for one that is made up and told with
        the address, "none" where something else keeps strangers out.
    tell : callable
        Called once with the line that says where the page is.
    """
    place, token = place or Place(), chosen_token(token, host)
    listening = listen(host, port)
    port = listening.getsockname()[1]
    with listening, logging_to(log), own_folder() as folder:
        visitors = Visitors(folder, limits or Limits())
        server = web_server(visitors, host=host, port=port, place=place, token=token)
        threading.Thread(target=_warm_up, name="cosparse-warm-up", daemon=True).start()
        known = [
            one if token is None else f"{one.rstrip('/')}/?token={quote(token)}" for one in addresses(host, port, place)
        ]
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
