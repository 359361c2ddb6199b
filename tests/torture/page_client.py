"""A visitor of the web page without a browser: says what the page's scripts would say."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import re
import secrets
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import numpy as np
from PIL import Image


class Refusal(Exception):
    """The server said no, in words."""


@dataclass
class Layout:
    """What the page is made of, as it says itself: its events, and what its controls hold at first."""

    events: dict[str, dict[str, Any]]
    values: dict[int, Any]

    @classmethod
    def of(cls, config: dict[str, Any]) -> Layout:
        events = {one["api_name"]: one for one in config["dependencies"]}
        return cls(events, {one["id"]: one["props"].get("value") for one in config["components"]})

    def data(self, name: str, first: tuple[Any, ...] = (), **said: Any) -> list[Any]:
        """What an event sends: the first values, then what the controls hold; `said` replaces a value by another."""
        inputs = self.events[name]["inputs"][len(first) :]
        return [*first, *(said.get(str(self.values.get(one)), self.values.get(one)) for one in inputs)]

    def entering(self) -> str:
        """The event that gives the ticket of a repair."""
        ticket = self.events["repair"]["inputs"][0]
        return next(name for name, one in self.events.items() if not one["inputs"] and ticket in one["outputs"])


@dataclass
class Visit:
    """One open page."""

    http: httpx.AsyncClient
    layout: Layout
    name: str = field(default_factory=lambda: secrets.token_hex(6))
    joined: float = 0.0  # when a place in the queue was asked for, and when the work began
    begun: float = 0.0
    _beating: asyncio.Task[None] | None = None

    @classmethod
    @contextlib.asynccontextmanager
    async def to(cls, address: str, layout: Layout) -> AsyncIterator[Visit]:
        """Open the page; it is open for as long as its heartbeat."""
        # A connection for every request: on one that is kept, a request can meet its end. Browsers then send it again.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        async with httpx.AsyncClient(base_url=address, timeout=300, limits=limits) as http:
            answer = await http.get("/")
            if answer.status_code != 200:
                raise Refusal(said(answer))
            visit = cls(http, layout)
            visit._beating = asyncio.create_task(visit._beat())
            try:
                yield visit
            finally:
                visit._beating.cancel()
                with contextlib.suppress(asyncio.CancelledError, httpx.HTTPError):
                    await visit._beating

    async def _beat(self) -> None:
        async with self.http.stream("GET", f"/gradio_api/heartbeat/{self.name}") as stream:
            async for _ in stream.aiter_raw():
                pass

    async def upload(self, name: str, content: bytes) -> str:
        """A file; returns its key."""
        answer = await self.http.post("/upload", content=content, headers={"x-name": name})
        if answer.status_code != 200:
            raise Refusal(said(answer))
        return str(answer.json()["key"])

    async def at_once(self, event: str, data: list[Any]) -> list[Any]:
        """An event that waits for nobody."""
        body = {"data": data, "fn_index": self.layout.events[event]["id"], "session_hash": self.name}
        answer = await self.http.post("/gradio_api/run/predict", json=body)
        if answer.status_code != 200:
            raise Refusal(said(answer))
        found: list[Any] = answer.json()["data"]
        must_not_refuse(found)
        return found

    async def queued(self, event: str, data: list[Any], until: float = float("inf")) -> str:
        """An event that may wait its turn; returns all that was told, as text. After `until` seconds, walks away."""
        body = {"data": data, "fn_index": self.layout.events[event]["id"], "session_hash": self.name}
        answer = await self.http.post("/gradio_api/queue/join", json=body)
        if answer.status_code != 200:
            raise Refusal(said(answer))
        number, self.joined, heard = answer.json()["event_id"], time.monotonic(), []
        address = f"/gradio_api/queue/data?session_hash={self.name}"
        async with self.http.stream("GET", address) as stream:
            async for line in stream.aiter_lines():
                if time.monotonic() - self.joined > until:
                    raise TimeoutError
                if not line.startswith("data:"):
                    continue
                told = json.loads(line[5:])
                if told.get("event_id") not in (None, number):
                    raise AssertionError(f"told of event {told.get('event_id')}, asked for {number}")
                heard.append(line)
                if told["msg"] == "process_starts":
                    self.begun = time.monotonic()
                if told["msg"] == "process_completed":
                    must_not_refuse(told["output"].get("data"))
                    return "\n".join(heard)
        raise AssertionError(f"the stream ended without an answer to {event}: {heard[-1:]}")

    async def load(self, name: str, content: bytes) -> str:
        """Bring a picture; returns what was told of it."""
        return str(await self.at_once("load", self.layout.data("load", (await self.upload(name, content),))))

    async def ticket(self) -> str:
        """Ask for a place for a repair."""
        event = self.layout.entering()
        outputs = self.layout.events[event]["outputs"]
        answered = await self.at_once(event, [])
        found = answered[outputs.index(self.layout.events["repair"]["inputs"][0])]
        if not isinstance(found, str) or not found:
            raise Refusal(str(answered)[:300])
        return found

    async def repair(self, ticket: str, *, until: float = float("inf"), **said: Any) -> str:
        """Repair the picture; returns all that was told."""
        return await self.queued("repair", self.layout.data("repair", (ticket, ""), **said), until)

    async def fetched(self, told: str) -> np.ndarray:
        """The picture that a finished repair offers for download."""
        found = re.findall(r"view/[\w-]+/[^\\\"'<> ]+\.png", told)
        if not found:
            raise Refusal(told[-300:])
        answer = await self.http.get("/" + found[-1])
        if answer.status_code != 200:
            raise Refusal(said(answer))
        return np.array(Image.open(io.BytesIO(answer.content)))


def said(answer: httpx.Response) -> str:
    """A refusal in its own words; anything but such an answer is a fault of the server."""
    if answer.status_code >= 500 and answer.status_code != 503:
        raise AssertionError(f"{answer.request.method} {answer.request.url}: {answer.status_code} {answer.text[:200]}")
    return f"{answer.status_code} {answer.text[:200]}"


def must_not_refuse(shown: Any) -> None:
    """Raise what the page says is wrong, if it does."""
    if words := re.findall(r'class="problem" role="alert">([^<]*)<', str(shown)):
        raise Refusal(words[0])


def picture(level: int, side: int, rng: np.random.Generator) -> bytes:
    """A noisy PNG of one grey, by which its owner knows it again."""
    noisy = (level + 12 * rng.standard_normal((side, side))).clip(0, 255)
    target = io.BytesIO()
    Image.fromarray(noisy.astype(np.uint8)).save(target, "PNG")
    return target.getvalue()
