"""A server of the web page and a real browser, shared by all tests of it."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

pytest.importorskip("gradio", reason="the web page is not installed: pip install 'cosparse[web]'")
playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright: pip install 'cosparse[test]'")

from serving import LIMITS, PATIENCE, running  # noqa: E402

from cosparse.io.picture import write_image  # noqa: E402
from cosparse.studio.limits import Limits  # noqa: E402

ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


def pytest_ignore_collect(collection_path, config):
    """Pictures are drawn only when asked for."""
    return (collection_path.name == "test_studio_pictures.py" and not config.getoption("--studio-pictures")) or None


@pytest.fixture(scope="session")
def outgoing():
    """Every address that this process connects to while the page runs."""
    seen, connect = [], socket.socket.connect

    def watched(self, address):
        seen.append(address)
        return connect(self, address)

    socket.socket.connect = watched
    yield seen
    socket.socket.connect = connect


@pytest.fixture(scope="session")
def server(tmp_path_factory, outgoing, request):
    limits = Limits() if request.config.getoption("--studio-pictures") else LIMITS
    with running(tmp_path_factory.mktemp("studio"), limits) as one:
        yield one


@pytest.fixture(scope="session")
def chromium():
    names = [os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome"]
    program = next(filter(None, map(shutil.which, filter(None, names))), None)
    if program is None:
        pytest.skip("no Chromium: install it (apt-get install chromium) or set CHROMIUM to where it is")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def browse(chromium, server):
    """Open the page as a new visitor. No request may go anywhere but to the server, nothing may fail in the browser."""
    contexts, problems = [], []

    def visit(address: str = server.address, **options):
        def look(request):
            within = request.url.startswith(address.rstrip("/") + "/")
            if urlsplit(request.url).scheme not in ("data", "blob") and not within:
                problems.append(f"request to {request.url}")

        options = {"viewport": {"width": 1280, "height": 900}, "accept_downloads": True, **options}
        context = chromium.new_context(**options)
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        context.on("request", look)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(f"in the page: {error}"))
        page.goto(address)
        page.locator(".examples img").last.wait_for()
        return page

    yield visit
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture
def picture_file(tmp_path):
    """Write an array as a file to upload."""

    def write(name: str, pixels: np.ndarray, **options) -> Path:
        write_image(tmp_path / name, pixels, **options)
        return tmp_path / name

    return write
