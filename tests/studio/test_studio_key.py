"""Where others reach the page, they must bring its token."""

from __future__ import annotations

import pytest
from asking import asked, inside
from serving import LIMITS

from cosparse.studio.guard import Guard
from cosparse.studio.key import SHORTEST, Key, chosen_token
from cosparse.studio.place import Place
from cosparse.studio.session import Visitors

TOKEN = "a-word-of-theirs"


@pytest.mark.parametrize("path", ["", "/tools/page"])
def test_nothing_but_the_question_is_seen_without_the_token(tmp_path, path):
    place = Place(path)
    guard = Guard(inside, Visitors(tmp_path, LIMITS), "c", None, place, Key(TOKEN, 80, place))
    for method, where in [
        ("GET", "/"), ("GET", "/config"), ("GET", "/assets/x.js"), ("GET", "/view/a/b"), ("POST", "/upload"),
        ("POST", "/gradio_api/queue/join"), ("GET", "/?token="), ("GET", f"/?token={TOKEN[:-1]}"),
        ("GET", "/gradio_api/queue/data?session_hash=a"), ("GET", "/?token=%C3%A9"), ("DELETE", "/"),
    ]:  # fmt: skip
        answer = asked(guard, path + where, method=method)
        assert answer.status == 401 and b'name="token"' in answer.body and TOKEN.encode() not in answer.body
        assert answer.headers["content-security-policy"] and "set-cookie" not in answer.headers
    assert asked(guard, f"{path}/health").status == 200
    answer = asked(guard, f"{path}/?token={TOKEN}", **{"x-forwarded-proto": "https"})
    line = answer.headers["set-cookie"]
    # No token in the history, nor in a Referer.
    assert answer.status == 303 and answer.headers["location"] == f"{path}/"
    assert f"Path={path or '/'};" in line and TOKEN not in line
    assert all(word in line for word in ("HttpOnly", "SameSite=strict", "Secure"))
    assert "Secure" not in asked(guard, f"{path}/?token={TOKEN}").headers["set-cookie"]
    cookie = line.partition(";")[0]
    assert asked(guard, f"{path}/", cookie=cookie).body == b"inside"
    for forged in (
        cookie[:-1] + "x",
        cookie.partition("=")[0] + "=",
        cookie.partition("=")[0] + "=\u00e9",
        f"c={'a' * 43}",
    ):
        assert asked(guard, f"{path}/", cookie=forged).status == 401
    # Those who have the key are asked for all the rest, as ever.
    assert asked(guard, f"{path}/upload", method="POST", cookie=cookie, origin="http://elsewhere.example").status == 403


def test_who_opens_the_page_to_others_is_told_what_that_means(run):
    run("studio", "--host", "0.0.0.0", "--no-browser", code=2)
    assert "lets everyone in" in run.err and "--token auto" in run.err and "Traceback" not in run.err
    run("studio", "--host", "0.0.0.0", "--no-browser", "--token", "short", code=2)
    assert f"{SHORTEST} characters" in run.err


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "example.org"])
def test_any_address_but_this_machines_demands_one(host):
    with pytest.raises(ValueError, match="--token auto"):
        chosen_token(None, host)
    assert len(chosen_token("auto", host)) >= 32 and chosen_token("auto", host) != chosen_token("auto", host)
    assert chosen_token("none", host) is None and chosen_token(TOKEN, host) == TOKEN


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_this_machine_alone_needs_none(host):
    assert chosen_token(None, host) is None and chosen_token(TOKEN, host) == TOKEN
