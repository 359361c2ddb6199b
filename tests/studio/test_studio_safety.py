"""Bad uploads, strangers, limits: what must not work, and that the page goes on."""

from __future__ import annotations

import http.client
import json
import os
import re
import struct
import subprocess
import sys
import threading
import zlib
from dataclasses import replace
from urllib.parse import urlsplit

import numpy as np
import pytest
from serving import LIMITS, PATIENCE, running, until
from steps import damage, downloaded, figures, more, open_picture, repair, upload

import cosparse
from cosparse.studio.limits import Refused


def png_header(width: int, height: int) -> bytes:
    """A PNG that claims a size and holds next to nothing."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    size = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", size) + chunk(b"IDAT", zlib.compress(b"\0" * 99)) + chunk(b"IEND", b"")


def ask(server, path: str, *, cookie: str = "", method: str = "GET", body: bytes | None = None, host: str = ""):
    """One request, sent as it stands: browsers would tidy up the path."""
    place = urlsplit(server.address)
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=PATIENCE / 1000)
    headers = {"Cookie": cookie, "Host": host or place.netloc, "Content-Type": "application/json"}
    connection.request(method, path, body=body, headers=headers)
    answer = connection.getresponse()
    try:
        return answer.status, answer.read()
    finally:
        connection.close()


def cookie_of(page) -> str:
    return "; ".join(f"{c['name']}={c['value']}" for c in page.context.cookies())


# --- uploads ---------------------------------------------------------------------------------------


def test_bad_pictures_are_refused_and_the_page_goes_on(browse, picture_file, photograph, tmp_path):
    page = browse()
    alert = page.locator("#status [role=alert]")
    for name, content, words in [
        ("notes.png", b"This is a text, not a picture.", "notes.png: "),
        ("bomb.png", png_header(20_000, 20_000), "400"),
        ("cut.png", png_header(64, 64), "cut.png: "),
        ("empty.png", b"", "empty.png: "),
        ("<img src=x onerror=alert(1)>.png", b"x", "<img src=x onerror=alert(1)>.png: "),
    ]:
        (tmp_path / name).write_bytes(content)
        upload(page, tmp_path / name)
        alert.get_by_text(words).wait_for()
        assert page.locator(".stage.empty").count() == 1
    (tmp_path / "large.png").write_bytes(b"\0" * (LIMITS.upload_bytes + 1))
    upload(page, tmp_path / "large.png")
    page.get_by_text("large.png: is too large; at most 4 MB").wait_for()
    assert page.locator("#repair").is_disabled()
    open_picture(page, picture_file("good.png", photograph[:64, :64]))
    damage(page, "noise")
    repair(page)
    assert figures(page)["Gain"] > 3


def test_bad_operators_are_refused(browse, picture_file, photograph, tmp_path):
    import pickle

    page = browse()
    more(page)
    cosparse.load_operator("default").save(tmp_path / "good.safetensors")
    good = (tmp_path / "good.safetensors").read_bytes()
    huge = struct.pack("<Q", 2**60) + good[8:]
    files = {"cut": good[:-100], "header": huge, "pickle": pickle.dumps({"matrix": 1}), "empty": b""}
    for name, content in files.items():
        (tmp_path / f"{name}.safetensors").write_bytes(content)
        upload(page, tmp_path / f"{name}.safetensors", "Add an operator file")
        page.locator("#status [role=alert]", has_text=f"{name}.safetensors: is").wait_for()
    page.locator("#operator input").click()
    options = page.get_by_role("option").all_inner_texts()
    assert [text.split(" (")[0].strip("✓ \n") for text in options] == list(cosparse.operator.shipped_operators())
    page.keyboard.press("Escape")
    upload(page, tmp_path / "good.safetensors", "Add an operator file")
    page.locator("#status").get_by_text("good.safetensors is ready").wait_for()


# --- one visitor and another -----------------------------------------------------------------------


def test_two_browsers_do_not_see_each_other(browse, server, picture_file, photograph):
    ann, bob = browse(), browse()
    open_picture(ann, picture_file("secret.png", photograph[:64, :64]))
    damage(ann, "noise")
    repair(ann)
    assert downloaded(ann).pixels.shape == (64, 64)
    assert bob.locator(".stage.empty").count() == 1
    addresses = ann.evaluate(
        "[...document.querySelectorAll('.stage img, a.download')].map((node) => node.src || node.href)"
    )
    assert len(addresses) == 3
    for address in addresses:
        assert ann.request.get(address).status == 200
        assert bob.request.get(address).status == 404
        assert ask(server, urlsplit(address).path)[0] == 403  # without a cookie
    # The name of Ann's page, if Bob came to know it, is of no use to him.
    (name,) = next(v.sessions for t, v in server.visitors._all.items() if t in cookie_of(ann))
    for path in (
        f"/gradio_api/queue/data?session_hash={name}",
        f"/gradio_api/queue/data?session_hash=another&session_hash={name}",  # Gradio takes the last
        f"/gradio_api/heartbeat/{name}",
    ):
        assert ask(server, path, cookie=cookie_of(bob))[0] == 403
    event = {"data": [], "fn_index": 0, "session_hash": name}
    for path in ("/gradio_api/queue/join", "/gradio_api/run/predict", "/gradio_api/cancel"):
        assert ask(server, path, cookie=cookie_of(bob), method="POST", body=json.dumps(event).encode())[0] == 403
    # An upload of Ann's that no page has read yet is not Bob's to read.
    key = ann.request.post(f"{server.address}/upload", data=b"mine", headers={"x-name": "mine.png"}).json()["key"]
    with pytest.raises(Refused, match="expired"):
        server.visitors.take(next(t for t in server.visitors._all if t in cookie_of(bob)), key)
    # Both work on at the same time.
    open_picture(bob, picture_file("other.png", photograph[64:128, :64]))
    damage(bob, "noise")
    ann.locator("#repair").click()
    repair(bob)
    ann.locator("#status", has_text="Done").wait_for()
    assert "secret" not in bob.content()


def test_files_go_when_the_page_closes(browse, server, picture_file, photograph):
    page = browse()
    open_picture(page, picture_file("mine.png", photograph[:64, :64]))
    token = next(t for t in server.visitors._all if t in cookie_of(page))
    ((name, session),) = server.visitors._all[token].sessions.items()
    assert list(session.folder.iterdir())
    held = server.visitors.gone.args[0].state_holder.session_data  # Gradio's own
    assert name in held
    page.request.post(f"{server.address}/upload", data=b"never read", headers={"x-name": "a.png"})
    page.close()
    until(lambda: token not in server.visitors._all, "forgetting the visitor")
    assert not session.folder.exists()
    assert session.source is None
    assert name not in held
    until(lambda: not any(path.is_file() for path in server.visitors.folder.rglob("*")), "a folder without files")


PATHS = [
    "/gradio_api/file=/etc/passwd",
    "/gradio_api/file=../../../../etc/passwd",
    "/gradio_api/file=%2e%2e/%2e%2e/etc/passwd",
    "/gradio_api/file/etc/passwd",
    "/gradio_api/file={folder}",
    "/file=/etc/passwd",
    "/file/etc/passwd",
    "/gradio_api/file=http://127.0.0.1:1/",
    "/gradio_api/proxy=http://127.0.0.1:1/",
    "/proxy=http://127.0.0.1:1/",
    "/static/../../../../etc/passwd",
    "/static/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
    "/assets/..%2f..%2f..%2fetc/passwd",
    "/svelte/../../../../../../etc/passwd",
    "/studio/../server.py",
    "/studio/%2e%2e%2fserver.py",
    "/view/../../etc/passwd",
    "/view/x/..%2f..%2fetc%2fpasswd",
    "/gradio_api/upload",
    "/gradio_api/deep_link?session_hash=x",
    "/gradio_api/custom_component/a/client/component/../../../etc/passwd",
    "/gradio_api/stream/x/y/1/playlist.m3u8",
    "/gradio_api/dev/reload",
    "/gradio_api/openapi.json",
    "/gradio_api/vibe-code/",
    "/gradio_api/runs",
    "/monitoring",
    "/monitoring/summary",
    "/docs",
    "/openapi.json",
]


@pytest.mark.parametrize("path", PATHS)
def test_no_file_of_the_server_can_be_read(server, path):
    token = "a" * 43
    cookie = f"cosparse-{urlsplit(server.address).port}={token}"
    for method in ("GET", "POST", "HEAD", "PUT"):
        path = path.replace("{folder}", str(server.visitors.folder))
        sent = b"{}" if method in ("POST", "PUT") else None
        status, body = ask(server, path, cookie=cookie, method=method, body=sent)
        assert status in (400, 403, 404, 405), (method, path)
        assert b"root:" not in body
        assert b"import" not in body


def test_events_cannot_name_files_or_addresses(browse, server, picture_file, photograph):
    page = browse()
    open_picture(page, picture_file("mine.png", photograph[:32, :32]))
    token = next(t for t in server.visitors._all if t in cookie_of(page))
    (name,) = server.visitors._all[token].sessions
    file = {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}
    for data in ([file], [[{"a": file}]], [{"url": "http://example.com/x.png", "meta": {"_type": "gradio.FileData"}}]):
        body = json.dumps({"data": data, "fn_index": 0, "session_hash": name}).encode()
        for path in ("/gradio_api/queue/join", "/gradio_api/run/predict"):
            assert ask(server, path, cookie=cookie_of(page), method="POST", body=body)[0] == 403
    assert ask(server, "/gradio_api/queue/join", cookie=cookie_of(page), method="POST", body=b"x" * 1_100_000)[0] == 400
    assert ask(server, "/", host="evil.example")[0] == 421
    answer = page.request.post(f"{server.address}/upload", data=b"x", headers={"origin": "http://evil.example"})
    assert answer.status == 403


# --- limits ----------------------------------------------------------------------------------------


def working() -> bool:
    return any(thread.name == "cosparse-studio-work" for thread in threading.enumerate())


def test_cancel_really_stops_the_work(browse, picture_file):
    rng = np.random.default_rng(0)
    page = browse()
    open_picture(page, picture_file("large.png", rng.integers(0, 255, (1400, 1400), dtype=np.uint8)))
    more(page)
    page.get_by_text("Best", exact=True).click()
    page.locator("#repair").click()
    status = page.locator("#status")
    status.get_by_text(re.compile(r"Full picture: iteration \d+")).wait_for()
    assert working()
    page.locator("#repair-cancel").click()
    status.get_by_text("Cancelled at iteration").wait_for()
    done, most = map(int, re.search(r"iteration (\d+) of (\d+)", status.inner_text()).groups())
    assert done < most
    assert not working()
    assert page.locator("#figures a.download").count() == 0
    # The page goes on; closing it in the middle of a run ends the run, too.
    page.locator("#repair:enabled:not(.busy)").click()
    status.get_by_text(re.compile(r"Full picture: iteration \d+")).wait_for()
    page.close()
    until(lambda: not working(), "the end of the work")


def test_run_time_pages_and_pixels_are_limited(browse, tmp_path, picture_file):
    tight = replace(LIMITS, seconds=0.0, pages=1, pixels=90_000, grace=30.0)
    (tmp_path / "tight").mkdir()
    with running(tmp_path / "tight", tight) as server:
        page = browse(server.address)
        noise = np.random.default_rng(0).integers(0, 255, (200, 200), dtype=np.uint8)
        open_picture(page, picture_file("fits.png", noise))
        page.locator("#repair").click()
        page.locator("#status", has_text="Stopped").wait_for()
        page.get_by_text("Upscale", exact=True).click()
        page.locator("#repair:enabled:not(.busy)").click()
        page.locator("#status [role=alert]", has_text="2 times larger would be over").wait_for()
        upload(page, picture_file("too-large.png", np.zeros((301, 300), np.uint8)))
        page.locator("#status [role=alert]", has_text="too-large.png").wait_for()
        status, body = ask(server, "/")
        assert status == 503
        assert b"Too many pages are open" in body


def test_nothing_runs_without_a_ticket(browse, tmp_path):
    (tmp_path / "short").mkdir()
    with running(tmp_path / "short", LIMITS) as server:
        cookie = cookie_of(browse(server.address))
        parts = json.loads(ask(server, "/config")[1])["dependencies"]
        learn = next(part["id"] for part in parts if part["api_name"] == "learn")
        event = {"data": ["mine", 8, 128, 50_000, 600], "fn_index": learn, "session_hash": "page"}
        body = json.dumps(event).encode()
        assert ask(server, "/gradio_api/queue/join", cookie=cookie, method="POST", body=body)[0] == 200
        place = urlsplit(server.address)
        connection = http.client.HTTPConnection(place.hostname, place.port, timeout=PATIENCE / 1000)
        connection.request("GET", "/gradio_api/queue/data?session_hash=page", headers={"Cookie": cookie})
        answer = connection.getresponse()
        said = [answer.readline()]
        while b"process_completed" not in said[-1]:
            assert said[-1], "the end of the stream"
            said.append(answer.readline())
        connection.close()
        assert any(b"This run is over" in line for line in said)
        assert not working()


def test_nothing_goes_out(server, outgoing):
    assert all(address[0] in ("127.0.0.1", "::1") for address in outgoing if isinstance(address, tuple))


# --- the program -----------------------------------------------------------------------------------


# A job in the background inherits that Ctrl-C is ignored; a terminal's does not.
TERMINAL = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
PROGRAM = [sys.executable, "-c", f"{TERMINAL}; from cosparse.cli import main; raise SystemExit(main())", "studio"]


class Program:
    """The command itself, in a process of its own, ended by Ctrl-C. `line` is the first that it prints."""

    def __init__(self, folder, *options: str) -> None:
        keep = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
        self.environment = {**keep, "TMPDIR": str(folder), "PATH": "/usr/bin:/bin", "PYTHONUNBUFFERED": "1"}
        self.command = [*PROGRAM, "--no-browser", *options]

    def __enter__(self):
        self.process = subprocess.Popen(
            [*self.command, "--port", "0"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment,
        )  # fmt: skip
        self.line = self.process.stdout.readline()
        return self

    def __exit__(self, *_):
        self.process.send_signal(2)
        self.printed, self.complaints = self.process.communicate(timeout=PATIENCE / 1000)

    def again(self, *options: str):
        return subprocess.run([*self.command, *options], capture_output=True, text=True, env=self.environment)


def status_of(address: str) -> int:
    place = urlsplit(address)
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=PATIENCE / 1000)
    try:
        connection.request("GET", place.path or "/")
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.slow
def test_the_program_starts_on_this_machine_only_and_ends_cleanly(tmp_path):
    with Program(tmp_path) as one:
        address = re.search(r"http://127\.0\.0\.1:(\d+)", one.line)
        assert address, one.process.stderr.read() if one.process.poll() is not None else one.line
        assert status_of(address[0]) == 200
        again = one.again("--port", address[1])
        assert again.returncode == 1
        assert "choose another with --port" in again.stderr
        assert len(again.stderr.splitlines()) == 1
    assert one.printed == ""
    assert one.complaints.splitlines() == ["cosparse: stopped"]
    assert one.process.returncode == 130
    assert not [path for path in tmp_path.rglob("*") if path.is_file() or path.name.startswith("cosparse")]


@pytest.mark.slow
def test_addresses_to_give_away_and_a_line_for_each_request(tmp_path):
    log = tmp_path / "log"
    with Program(tmp_path, "--host", "0.0.0.0", "--token", "none", "--log", str(log)) as one:
        found = re.findall(r"http://\S+:\d+", one.line)
        assert found, one.process.stderr.read() if one.process.poll() is not None else one.line
        assert "0.0.0.0" not in one.line
        for address in found:
            assert status_of(f"{address}/health") == 200
        until(lambda: len(log.read_text().splitlines()) == len(found), "the lines, which are written after the answer,")
        log.rename(tmp_path / "log.1")  # as logrotate does
        assert status_of(f"{found[0]}/a%0Ab?secret") == 404
        assert one.again("--log", str(tmp_path / "no" / "log")).stderr.splitlines() == [
            f"cosparse: log {tmp_path / 'no' / 'log'} cannot be written (No such file or directory); "
            "name another with --log"
        ]
    time, client, line = r"\S+ \S+ INFO", r"[\d.:a-f]+", r"(\S+ \S+ \d+) \d+ bytes \d+\.\d+ s"
    lines = [(tmp_path / name).read_text().splitlines() for name in ("log.1", "log")]
    asked = [[re.fullmatch(f"{time} {client} {line}", one)[1] for one in part] for part in lines]
    assert asked == [["GET /health 200"] * len(found), ["GET /a%0Ab 404"]]
    assert one.printed == ""
