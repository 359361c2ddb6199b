"""The door of the server. Only what the page needs passes; Gradio's other routes do not exist for anyone.

Gradio keeps uploads and results in one folder for all visitors and serves any of them to whoever knows the path. Here
neither its upload nor its file routes are reachable: files go through `routes`, which knows their owner.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any
from urllib.parse import quote, urlsplit

from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cosparse.studio.key import Key
from cosparse.studio.limits import Refused
from cosparse.studio.log import noted
from cosparse.studio.place import Place
from cosparse.studio.session import Session, Visitors

# The same for everyone: the page itself and what it is made of.
PUBLIC = re.compile(
    r"/|/(config|theme\.css|manifest\.json|favicon\.ico|robots\.txt)/?"
    r"|/(assets|static|svelte|studio)/[\w./@ -]+|/gradio_api/(startup-events|app_id|info|theme\.css)/?"
)
# What belongs to a visitor. Posts carry the page's name in their body, the others in the address.
POSTS = re.compile(r"/gradio_api/(queue/join|run/[\w-]+|api/[\w-]+|cancel|reset)/?")
STREAM = re.compile(r"/gradio_api/queue/data")
HEARTBEAT = re.compile(r"/gradio_api/heartbeat/([\w-]+)")
FILES = re.compile(r"/upload|/view/[\w-]+/[^/]+")
BODY = 1_000_000  # bytes of an event; pictures do not travel in events
HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (
        b"content-security-policy",
        b"default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; style-src 'self' 'unsafe-inline'; "
        b"img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; object-src 'none'; "
        b"frame-ancestors 'none'; base-uri 'self'; form-action 'self'; manifest-src 'none'",
    ),
]


class Guard:
    """ASGI middleware: who may ask for what.

    `hosts` are the names by which browsers may ask, None any; those with the `key` alone pass, if there is one. Proxies
    take the path of `place` off before they ask, or leave it on; both will do.
    """

    def __init__(
        self,
        app: ASGIApp,
        visitors: Visitors,
        cookie: str,
        hosts: frozenset[str] | None,
        place: Place,
        key: Key | None = None,
    ) -> None:
        self.app, self.visitors, self.cookie, self.hosts, self.key = app, visitors, cookie, hosts, key
        self.root, self.name = place.path, place.name
        self._closing = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            with noted(scope, send) as noting:
                await self._answer(scope, receive, noting)
        elif scope["type"] == "lifespan":
            sweeping = asyncio.ensure_future(self._sweep())
            try:
                await self.app(scope, receive, send)
            finally:
                sweeping.cancel()
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def refuse(status: int, reason: str) -> None:
            """Answer in one line, as Gradio's own errors look."""
            await JSONResponse({"detail": reason, "error": reason}, status)(scope, receive, send)

        if self.root and scope["path"] == self.root:  # what the page loads, it asks for from beside itself
            return await Response(status_code=308, headers={"location": f"{self.root}/"})(scope, receive, send)
        if self.root and scope["path"].startswith(f"{self.root}/"):
            path = scope["path"].removeprefix(self.root)
            scope = {**scope, "path": path, "raw_path": quote(path).encode()}
        path, method, asked = scope["path"], scope["method"], HTTPConnection(scope)
        if path == "/health" and method in ("GET", "HEAD"):
            return await Response('{"status": "ok"}', media_type="application/json")(scope, receive, send)
        if self.hosts is not None and _host(asked.headers.get("host", "")) not in self.hosts:
            return await refuse(421, "unknown host")  # a foreign name that points here: DNS rebinding
        if self.key is not None and not self.key.opens(asked):
            return await self.key.answer(asked)(scope, receive, self._sealed(send, None))
        if method == "POST" and not self._own(asked.headers):
            return await refuse(403, "another site may not do this")
        token = asked.cookies.get(self.cookie, "")
        known = re.fullmatch(r"[\w-]{43}", token) is not None
        if method in ("GET", "HEAD") and PUBLIC.fullmatch(path) and ".." not in path:
            if path == "/" and self.visitors.full():
                return await refuse(503, "Too many pages are open on this server; try again later.")
            scheme = asked.headers.get("x-forwarded-proto") or str(scope["scheme"])
            cookie = None if known or path != "/" else self._new_cookie(scheme.split(",")[0].strip() == "https")
            return await self.app(scope, receive, self._sealed(send, cookie))
        forms = {"GET": (STREAM, HEARTBEAT, FILES), "HEAD": (FILES,), "POST": (POSTS, FILES)}.get(method, ())
        if not any(form.fullmatch(path) for form in forms):
            return await refuse(404, "no such page")
        if not known:
            return await refuse(403, "open the page itself first")
        scope["visitor"] = token
        answer, receive = self._sealed(send, None), self._ended(receive)
        turn: AbstractAsyncContextManager[None] = nullcontext()
        try:
            if POSTS.fullmatch(path):
                session, receive = await self._event(token, receive)
                turn = session.turn
            elif STREAM.fullmatch(path):
                self.visitors.session(token, asked.query_params.get("session_hash", ""))
            elif found := HEARTBEAT.fullmatch(path):
                return await self._heartbeat(token, found[1], scope, receive, answer)
        except PermissionError as error:
            return await refuse(403, str(error))
        except Refused as error:
            return await refuse(503, str(error))
        except ValueError as error:
            return await refuse(400, str(error))
        async with turn:  # a page's answers leave in the order of its questions, or one would undo what came after it
            await self.app(scope, receive, answer)

    def _own(self, headers: Mapping[str, str]) -> bool:
        """Whether the page itself asks, not another site, whose scripts can set none of these headers unasked."""
        named = (_host(headers.get(header, "").split(",")[0]) for header in ("host", "x-forwarded-host"))
        return _host(headers.get("origin", "")) in ("", *named, self.name)

    async def _event(self, token: str, receive: Receive) -> tuple[Session, Receive]:
        """Read an event and check whose it is; returns the page's session and what hands the event on."""
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
            if len(body) > BODY:
                raise ValueError("the event is too large")
        try:
            event = json.loads(body)
            names_a_file = _names_a_file(event)
        except RecursionError:
            raise ValueError("the event has too many levels") from None
        if not isinstance(event, dict) or not isinstance(event.get("session_hash"), str):
            raise ValueError("the event does not say which page it comes from")
        if names_a_file:
            raise PermissionError("events carry no files")
        session = self.visitors.session(token, event["session_hash"])
        replayed: Iterator[Message] = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def replay() -> Message:
            return next(replayed, None) or await receive()

        return session, replay

    async def _heartbeat(self, token: str, page: str, scope: Scope, receive: Receive, send: Send) -> None:
        """A page is open for as long as this connection."""
        session = self.visitors.session(token, page)
        session.open += 1
        try:
            await self.app(scope, receive, send)
        finally:
            session.leave()

    def close(self) -> None:
        """The server is to end: to the open connections it looks as if the browser had gone."""
        self._closing.set()

    def _ended(self, receive: Receive) -> Receive:
        async def until_closing() -> Message:
            message, closing = asyncio.ensure_future(receive()), asyncio.ensure_future(self._closing.wait())
            try:
                done, _ = await asyncio.wait((message, closing), return_when=asyncio.FIRST_COMPLETED)
                return message.result() if message in done else {"type": "http.disconnect"}
            finally:
                message.cancel()
                closing.cancel()

        return until_closing

    async def _sweep(self) -> None:
        """Delete what closed pages held, also those that never said goodbye."""
        while True:
            await asyncio.sleep(self.visitors.limits.grace / 2)
            await asyncio.to_thread(self.visitors.sweep)

    def _new_cookie(self, secure: bool) -> bytes:
        line = f"{self.cookie}={secrets.token_urlsafe(32)}; Path={self.root or '/'}; HttpOnly; SameSite=Strict"
        return f"{line}; Secure".encode() if secure else line.encode()

    def _sealed(self, send: Send, cookie: bytes | None) -> Send:
        """Add the headers that keep the browser from loading or showing anything elsewhere."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                extra = [(b"set-cookie", cookie)] if cookie else []
                message["headers"] = [*message.get("headers", []), *HEADERS, *extra]
            await send(message)

        return with_headers


def _host(text: str) -> str:
    """The name in a Host or Origin header, without the port.

    >>> _host("127.0.0.1:80"), _host("http://[::1]:80"), _host("")
    ('127.0.0.1', '::1', '')
    """
    return (urlsplit(text if "//" in text else f"//{text}").hostname or "") if text else ""


def _names_a_file(value: Any) -> bool:
    """Whether Gradio would take some part of this for a file of the server or an address to fetch."""
    if isinstance(value, dict):
        return "path" in value or "meta" in value or any(map(_names_a_file, value.values()))
    return isinstance(value, list) and any(map(_names_a_file, value))
