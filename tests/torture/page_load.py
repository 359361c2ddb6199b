"""Promise 6."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from torture.children import cosparse_program, environment
from torture.frame import Impossible, Promise, Run

if TYPE_CHECKING:
    from torture.page_client import Layout
    from torture.page_deeds import Crowd

promise = Promise(6, "The page under load: fifty clients, some cancelled, vanishing or hostile")

CLIENTS, MINUTES = 50, 10.0
HOSTILE = 10  # of them
SETTLED = 240.0  # seconds until what visitors left must be gone; a closed page is kept for a minute
NOISE_OF = {"threads": 8, "files": 12, "bytes": 60_000_000}  # by how much a server may differ from itself
TRICKS = (
    "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/view/../../etc/passwd", "/view/x/..%2f..%2fetc%2fpasswd",
    "/studio/../guard.py", "/studio/%2e%2e/guard.py", "/assets/..%2f..%2f..%2fetc/passwd", "/file=/etc/passwd",
    "/gradio_api/file=/etc/passwd", "/gradio_api/upload", "/gradio_api/proxy=http://127.0.0.1:1/", "/gradio_api/mcp",
    "//etc/passwd", "/static//etc/passwd", "/\\..\\..\\etc\\passwd", "/login", "/docs", "/openapi.json",
    "/monitoring",
)  # fmt: skip
TOKEN = "t" * 43


# -- strangers ----------


@promise.part()
def strangers(run: Run) -> None:
    """Path tricks, forged cookies, cross-site posts, websockets, deep and endless events, slow and huge uploads."""
    with _door(run.folder) as (address, visitors):
        for number in range(run.times(1, 40)):
            _tricks(run, address)
            _forged(run, address)
            _events(run, address)
            _uploads(run, address, number)
            _swept_late(visitors)
        _slow(run, address, visitors)
        end = time.monotonic() + 60  # until the server has seen that all are gone
        while not (well := b'"ok"' in _sent(address, _request("/health"))) and time.monotonic() < end:
            time.sleep(0.1)
        run.hold(well, "the server does not answer any more")
    left = [path for path in run.folder.rglob("*") if path.is_file()]
    run.hold(not left, f"files left behind: {left}")


@contextlib.contextmanager
def _door(folder: Path) -> Iterator[tuple[str, Any]]:
    """The guard and the page's own addresses, in this process, and nothing of Gradio behind them."""
    try:
        import uvicorn
        from fastapi import FastAPI

        from cosparse.studio.guard import Guard
        from cosparse.studio.limits import Limits
        from cosparse.studio.place import Place, names
        from cosparse.studio.routes import add_routes
        from cosparse.studio.session import Visitors
    except ImportError as missing:
        raise Impossible(f"the web page is not installed ({missing})") from None
    limits = Limits(upload_bytes=200_000, waiting_bytes=400_000, arriving_bytes=800_000, grace=600, connections=60)
    visitors, app = Visitors(folder, limits), FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    add_routes(app, visitors)
    guard = Guard(app, visitors, "cosparse", names("127.0.0.1", Place()), Place())
    config = uvicorn.Config(guard, log_config=None, access_log=False, ws="none", limit_concurrency=limits.connections)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}", visitors
        finally:
            server.should_exit = True
            thread.join()
            _swept_late(visitors)


def _swept_late(visitors: Any) -> None:
    """What belongs to no page goes, as it does when nobody has come for a while."""
    usual, visitors.limits = visitors.limits, replace(visitors.limits, grace=0.0)
    visitors.sweep()
    visitors.limits = usual


def _sent(address: str, request: bytes) -> bytes:
    """Bytes as they are, and what comes back; the server may close."""
    place = urlsplit(address)
    with socket.create_connection((str(place.hostname), place.port or 80), timeout=60) as line:
        line.sendall(request.replace(b"Host: x", f"Host: {place.netloc}".encode()))
        answer = io.BytesIO()
        with contextlib.suppress(ConnectionError):
            while part := line.recv(65536):
                answer.write(part)
        return answer.getvalue()


def _status(run: Run, what: str, answer: bytes, allowed: tuple[int, ...]) -> None:
    found = re.match(rb"HTTP/1\.1 (\d+)", answer)
    status = int(found[1]) if found else 0
    run.hold(status in allowed, f"{what}: answered {status}, expected one of {allowed}: {answer[:300]!r}")
    run.hold(b"root:" not in answer and b"Traceback" not in answer, f"{what}: told too much: {answer[:300]!r}")
    run.count("hostile requests")


def _request(path: str, *lines: str, method: str = "GET", body: bytes = b"") -> bytes:
    length = [f"Content-Length: {len(body)}"] if body or method == "POST" else []
    head = "\r\n".join([f"{method} {path} HTTP/1.1", "Host: x", "Connection: close", *length, *lines])
    return head.encode("latin-1") + b"\r\n\r\n" + body


def _tricks(run: Run, address: str) -> None:
    for path in TRICKS:
        _status(run, path, _sent(address, _request(path, f"Cookie: cosparse={TOKEN}")), (400, 403, 404, 405))
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost@evil.example"):
        line = _request("/").replace(b"Host: x", f"Host: {host}".encode())
        _status(run, f"named {host}", _sent(address, line), (400, 421))
    upgrade = ("Upgrade: websocket", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13")
    for path in ("/", "/gradio_api/queue/join", "/ws"):
        answer = _sent(address, _request(path, *upgrade).replace(b"Connection: close", b"Connection: Upgrade"))
        run.hold(not answer.startswith(b"HTTP/1.1 101"), f"{path}: a websocket was opened")
        run.count("hostile requests")


def _forged(run: Run, address: str) -> None:
    for cookie in ("", "x", "../../etc", "a" * 42, "a" * 4000, f"{TOKEN}\u00e9", f"{TOKEN[:-1]}/", "%74" * 43):
        for path in ("/view/abc/x.png", "/gradio_api/queue/data?session_hash=a"):
            _status(
                run, f"cookie {cookie[:50]!r}", _sent(address, _request(path, f"Cookie: cosparse={cookie}")), (400, 403)
            )
    body = b'{"session_hash": "a", "data": [], "fn_index": 0}'
    for origin in ("http://evil.example", "null", "http://127.0.0.1.evil.example", "https://localhost.evil.example"):
        lines = (f"Origin: {origin}", f"Cookie: cosparse={TOKEN}")
        for path in ("/gradio_api/queue/join", "/gradio_api/run/predict", "/upload"):
            _status(run, f"from {origin}", _sent(address, _request(path, *lines, method="POST", body=body)), (403,))


def _events(run: Run, address: str) -> None:
    for body in (
        b"", b"{", b"[]", b"\xff\xfe", b"[" * 200_000, b'{"a":' * 100_000, b'{"session_hash": 5}', b"null", b"1e999",
        b'{"session_hash": "a", "data": [{"path": "/etc/passwd"}]}', b'{"session_hash": "a", "x": {"meta": 1}}',
        b'{"session_hash": "a", "data": "' + b"x" * 1_100_000 + b'"}',
    ):  # fmt: skip
        request = _request("/gradio_api/queue/join", f"Cookie: cosparse={TOKEN}", method="POST", body=body)
        _status(run, f"event {body[:40]!r}", _sent(address, request), (400, 403))


def _uploads(run: Run, address: str, number: int) -> None:
    """More than may wait, as one file, as many, and under names that were made up."""
    own = f"Cookie: cosparse={number:043}"
    huge = _request("/upload", own, "Content-Length: 99999999999", method="POST").replace(b"Content-Length: 0\r\n", b"")
    _status(run, "an upload of 100 GB", _sent(address, huge), (413,))
    endless = b"%x\r\n%s\r\n" % (65536, b"x" * 65536)
    chunked = _request("/upload", own, "Transfer-Encoding: chunked", method="POST").replace(
        b"Content-Length: 0\r\n", b""
    )
    _status(run, "an upload without end", _sent(address, chunked + endless * 8), (413,))
    taken = 0
    for other in range(12):
        words = (f"Cookie: cosparse={number * 100 + other:043}", "X-Name: ..%2f..%2fetc%2fpasswd")
        answer = _sent(address, _request("/upload", *words, method="POST", body=b"x" * 150_000))
        _status(run, "an upload under a made-up name", answer, (200, 413))
        taken += b"200 OK" in answer[:20]
    run.hold(taken <= 5, f"{taken} uploads of 150 kB were taken where 800 kB may wait")


def _slow(run: Run, address: str, visitors: Any) -> None:
    """Uploads that stop in the middle, more of them than there may be connections; then all vanish."""
    place = urlsplit(address)
    lines = []
    for number in range(run.times(70, 400)):
        line = socket.create_connection((str(place.hostname), place.port or 80), timeout=60)
        line.sendall(
            _request("/upload", f"Cookie: cosparse={number:043}", method="POST", body=b"")
            .replace(b"x\r\n", place.netloc.encode() + b"\r\n", 1)
            .replace(b"Content-Length: 0", b"Content-Length: 1000")
            + b"some"
        )
        lines.append(line)
        run.count("slow uploads")
    for line in lines:
        line.close()
    end = time.monotonic() + 60
    while visitors._arriving and time.monotonic() < end:
        time.sleep(0.05)
    run.hold(not visitors._arriving, "uploads that vanished are still waited for")


# -- a crowd ----------


@contextlib.contextmanager
def _served(run: Run) -> Iterator[tuple[str, subprocess.Popen[str], Path]]:
    """The program itself: its address, its process and its folder; afterwards nothing is left, and its log is clean."""
    try:
        import gradio  # noqa: F401
        import httpx  # noqa: F401
        import psutil  # noqa: F401
    except ImportError as missing:
        raise Impossible(f"needs the web page and psutil ({missing})") from None
    scratch = run.folder / "scratch"
    scratch.mkdir()
    foreign = scratch / "gradio"
    foreign.touch()  # Gradio's folder for all who use a machine is another's, and not to be written to
    log = run.folder / "log"
    command = cosparse_program("studio", "--no-browser", "--port", "0", "--log", log)
    with subprocess.Popen(command, env=environment(TMPDIR=str(scratch)), stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield re.findall(r"http://\S+", server.stdout.readline())[0].rstrip("/"), server, scratch
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(60)
    text = log.read_text(encoding="utf-8", errors="replace")
    faults = re.findall(r".*(?: 500 | ERROR |Traceback).*", text)
    run.hold(not faults, f"the log tells of {len(faults)} faults, the first: {faults[:1]}")
    left = list(scratch.iterdir())
    run.hold(left == [foreign], f"left behind: {left}")


def _run_aside(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine in a thread of its own: in a session of browser tests, Playwright's loop has this one."""
    with ThreadPoolExecutor(1) as aside:
        aside.submit(asyncio.run, work).result()


@promise.part()
def visitor(run: Run) -> None:
    """A single client of the crowd brings a bomb, cancels, and gets its own picture repaired."""
    with _served(run) as (address, _, _):
        _run_aside(_visited(run, address))


async def _visited(run: Run, address: str) -> None:
    from torture import page_deeds
    from torture.page_client import Visit

    one = page_deeds.Crowd(run, address, await _layout(address), 0.0)
    for deed in (page_deeds.bomb_it, page_deeds.cancel, page_deeds.repair):
        async with Visit.to(address, one.layout) as visit:
            await deed(one, visit, 0, run.rng(6))


@promise.part(long_only=True)
def crowd(run: Run) -> None:
    """Mixed tasks of fifty clients for ten minutes; afterwards the server is as it was, and no answer was another's."""
    with _served(run) as (address, server, scratch):
        import psutil

        process, minutes = psutil.Process(server.pid), MINUTES * run.repetitions
        _run_aside(_busy(run, address, minutes / 4))
        before = _settled(run, process, scratch, address)
        _run_aside(_busy(run, address, minutes))
        after = _settled(run, process, scratch, address)
        for what, noise in NOISE_OF.items():
            run.hold(after[what] <= before[what] + noise, f"{what} grew from {before[what]:,} to {after[what]:,}")
            run.count(f"{what} afterwards", after[what])
            run.count(f"{what} before", before[what])
        run.hold(server.poll() is None, f"the server ended with {server.poll()}")


def _settled(run: Run, process: Any, scratch: Path, address: str) -> dict[str, int]:
    """What the server has once everyone is gone."""
    from cosparse.studio.leftovers import LOCK

    end, had = time.monotonic() + SETTLED, -1
    while time.monotonic() < end:
        had = sum(path.is_file() and path.name != LOCK for path in scratch.glob("*/**/*"))
        if not had:
            break
        time.sleep(1)
    run.hold(not had, f"{had} files are still there {SETTLED:.0f} s after everyone had gone")
    # Threads that wait for work are let go by the next who asks for one, once they have waited for ten seconds.
    time.sleep(12)
    for _ in range(3):
        _status(run, "a part", _sent(address, _request("/studio/none.css", f"Cookie: cosparse={TOKEN}")), (404,))
    time.sleep(5)
    threads, memory = process.num_threads(), process.memory_info().rss
    return {"threads": threads, "files": len(os.listdir(f"/proc/{process.pid}/fd")), "bytes": memory}


async def _busy(run: Run, address: str, minutes: float) -> None:
    from torture import page_deeds

    everyone = page_deeds.Crowd(run, address, await _layout(address), time.monotonic() + 60 * minutes)
    await asyncio.gather(*(_client(everyone, number) for number in range(CLIENTS)))
    waits = [begun - joined for joined, begun in everyone.waits]
    run.counts["worst wait, ms"] = max(run.counts.get("worst wait, ms", 0), round(1000 * max(waits, default=0)))
    passed = sum(
        a[0] + 2 < b[0] and b[1] + 2 < a[1] for a in everyone.waits for b in everyone.waits
    )  # by two seconds: clients learn of it late
    run.hold(not passed, f"{passed} pairs in which the later began before the earlier")


async def _layout(address: str) -> Layout:
    import httpx

    from torture.page_client import Layout

    async with httpx.AsyncClient(base_url=address, timeout=300) as http:
        return Layout.of((await http.get("/config")).json())


async def _client(crowd: Crowd, number: int) -> None:
    """One visit after another until the time is over."""
    import httpx

    from torture import page_deeds
    from torture.page_client import Refusal, Visit

    rng = crowd.run.rng(6, number)
    while time.monotonic() < crowd.until:
        await asyncio.sleep(float(rng.uniform(0, 2)))
        try:
            if number < HOSTILE:
                await asyncio.to_thread(_hostile, crowd, number)
            else:
                async with Visit.to(crowd.address, crowd.layout) as visit:
                    await page_deeds.work(crowd, visit, number, rng)
        except Refusal as words:  # there is no other reason to refuse anybody here
            crowd.run.hold("Too many" in str(words), f"client {number} was refused: {words}")
            crowd.run.count("told that it is full")
            await asyncio.sleep(1)
        except httpx.HTTPError as problem:
            crowd.run.hold(False, f"client {number}: {type(problem).__name__} {problem}")


def _hostile(crowd: Crowd, number: int) -> None:
    """One round of what strangers try; the page goes on for the others."""
    run = crowd.run
    for path in TRICKS:
        _status(run, path, _sent(crowd.address, _request(path, f"Cookie: cosparse={TOKEN}")), (400, 403, 404, 405, 503))
    body = b'{"session_hash": "a", "data": [], "fn_index": 0}'
    for lines in ((f"Cookie: cosparse={TOKEN}", "Origin: http://evil.example"), ("Cookie: cosparse-1=x",)):
        request = _request("/gradio_api/queue/join", *lines, method="POST", body=body)
        _status(run, "a forged event", _sent(crowd.address, request), (403, 503))
    time.sleep(0.2)
