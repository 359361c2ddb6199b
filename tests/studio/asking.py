"""Requests to the guard alone, without a server or the page behind it."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse


async def inside(scope, receive, send) -> None:
    """What stands behind the guard."""
    await PlainTextResponse("inside")(scope, receive, send)


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: Headers
    body: bytes


def asked(
    guard, path: str, *, method: str = "GET", cookie: str = "", body: bytes = b"", gone=False, **headers: str
) -> Answer:
    """One request; its sender may be gone before all of it has come."""
    sent = []
    parts = iter([{"type": "http.request", "body": body, "more_body": gone}, {"type": "http.disconnect"}])

    async def receive():
        return next(parts)

    async def send(message):
        sent.append(message)

    given = {"host": "127.0.0.1", "cookie": cookie, **headers}
    place, _, query = path.partition("?")
    scope = {
        "type": "http", "method": method, "path": place, "query_string": query.encode(), "scheme": "http",
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in given.items()],
        "client": ("127.0.0.1", 1),
    }  # fmt: skip
    with ThreadPoolExecutor(1) as aside:  # the browser of other tests has a loop in this thread
        aside.submit(asyncio.run, guard(scope, receive, send)).result()
    headers = Headers(raw=sent[0]["headers"])
    return Answer(sent[0]["status"], headers, b"".join(one.get("body", b"") for one in sent[1:]))
