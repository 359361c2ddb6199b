"""A small reverse proxy in the process of the tests, which shows a server's page at a path of its own."""

from __future__ import annotations

import contextlib
import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from serving import PATIENCE

HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "host"}


@contextlib.contextmanager
def proxied(port_of, path: str, *, strip: bool, keep_host: bool):
    """Pass on what is asked for below `path`; all else is not found. Gives the port.

    `port_of()` is the port of the page: its server is started last, as it may have to know the proxy's address.
    `strip` takes the path off, as nginx does if proxy_pass ends with a slash; without `keep_host` the page sees the
    name by which the proxy asks for it, as with nginx by default.
    """

    class Handler(BaseHTTPRequestHandler):
        def answer(self):
            if not self.path.startswith(f"{path}/"):
                return self.send_error(404)
            page = f"127.0.0.1:{port_of()}"
            headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP}
            headers["Host"] = self.headers["Host"] if keep_host else page
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))) or None
            upstream = http.client.HTTPConnection(page, timeout=PATIENCE / 1000)
            with contextlib.suppress(OSError), contextlib.closing(upstream):  # either side may leave
                upstream.request(self.command, self.path.removeprefix(path) if strip else self.path, body, headers)
                found = upstream.getresponse()
                self.send_response_only(found.status)
                for name, value in found.getheaders():
                    if name.lower() not in HOP:
                        self.send_header(name, value)
                self.send_header("Connection", "close")
                self.end_headers()
                while part := found.read1(65536):
                    self.wfile.write(part)
                    self.wfile.flush()

        do_GET = do_POST = do_HEAD = answer

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def port(address: str) -> int:
    return urlsplit(address).port
