"""The page behind a proxy, its cookie, its addresses, its health."""

from __future__ import annotations

import http.client
import json

import pytest
from proxying import port, proxied
from serving import LIMITS, PATIENCE, running
from steps import damage, downloaded, open_picture, repair

from cosparse.studio.place import Place, addresses, names

PATH = "/tools/cosparse"
NAME = "tools.localhost"  # browsers take every name that ends so for this machine


@pytest.mark.parametrize(
    ("strip", "keep_host", "whole"),
    [(True, True, False), (False, True, False), (True, False, True), (False, False, True)],
    ids=["path taken off", "path left on", "asked by another name", "as it was asked by another name"],
)
def test_everything_works_behind_a_proxy_at_a_path(browse, tmp_path, picture_file, photograph, strip, keep_host, whole):
    (tmp_path / "page").mkdir()
    found = []
    with proxied(lambda: found[0], PATH, strip=strip, keep_host=keep_host) as outer:
        address = f"http://{NAME}:{outer}{PATH}/"
        place = Place.parse(address if whole else PATH)
        with running(tmp_path / "page", LIMITS, place) as server:
            found.append(port(server.address))
            page = browse(address)  # which lets no request go to anywhere but below the path
            failed = []
            page.on("response", lambda answer: failed.append(answer.url) if answer.status >= 400 else None)
            page.reload()
            page.locator(".examples img").last.wait_for()
            open_picture(page, picture_file("mine.png", photograph[:64, :64]))
            damage(page, "noise")
            repair(page)
            assert downloaded(page).pixels.shape == (64, 64)
            assert failed == []
            assert page.evaluate("getComputedStyle(document.body).getPropertyValue('--primary-600')")  # of theme.css
            assert [(one["name"], one["path"]) for one in page.context.cookies()] == [(f"cosparse-{found[0]}", PATH)]
            page.close()


def get(server, path: str, **headers: str):
    connection = http.client.HTTPConnection("127.0.0.1", port(server.address), timeout=PATIENCE / 1000)
    connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    try:
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def test_the_cookie_is_for_encrypted_connections_where_there_is_one(server):
    for headers, secure in (({"X_Forwarded_Proto": "https"}, True), ({"X_Forwarded_Proto": "https, http"}, True),
                            ({"X_Forwarded_Proto": "http"}, False), ({}, False)):  # fmt: skip
        cookie = get(server, "/", **headers)[1]["set-cookie"]
        assert ("; Secure" in cookie) is secure
        assert "HttpOnly; SameSite=Strict" in cookie


def test_health_says_nothing_else_and_asks_for_nothing(server, tmp_path):
    before = len(server.visitors._all)
    status, headers, body = get(server, "/health", Host="a.load.balancer")
    assert status == 200
    assert json.loads(body) == {"status": "ok"}
    assert "set-cookie" not in headers
    assert len(server.visitors._all) == before
    with running(tmp_path, LIMITS, Place(PATH)) as behind:
        assert get(behind, "/health")[0] == get(behind, f"{PATH}/health")[0] == 200
        status, headers, _ = get(behind, PATH)
        assert (status, headers["location"]) == (308, f"{PATH}/")
        assert get(behind, f"{PATH}{PATH}/")[0] == 404
        assert get(behind, f"{PATH}/gradio_api/file=/etc/passwd")[0] == 404


def test_who_may_ask_and_where():
    assert names("127.0.0.1", Place()) == {"127.0.0.1", "localhost", "::1"}
    assert names("127.0.0.1", Place.parse("https://example.org/a")) == {"127.0.0.1", "localhost", "::1", "example.org"}
    assert names("127.0.0.1", Place.parse("/a")) is None  # the proxy's name is not known
    assert names("0.0.0.0", Place()) is None
    assert addresses("127.0.0.1", 80, Place()) == ["http://127.0.0.1:80"]
    assert addresses("::1", 80, Place("/a")) == ["http://[::1]:80/a/"]
    assert addresses("0.0.0.0", 80, Place.parse("https://example.org/a/")) == ["https://example.org/a/"]
    for wrong in ("tools", "/a b", "/a/../b", "ftp://example.org", "/a?b", 'https://x"y'):
        with pytest.raises(ValueError, match="--root-path"):
            Place.parse(wrong)
