"""Uploads are counted as they arrive, however many there are at once and whoever they say they are."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from asking import asked
from fastapi import FastAPI
from serving import LIMITS

from cosparse.studio.guard import Guard
from cosparse.studio.place import Place
from cosparse.studio.routes import add_routes
from cosparse.studio.session import File, Visitors

TOKEN = "t" * 43
SMALL = replace(LIMITS, upload_bytes=100, waiting_bytes=250, waiting_files=4, arriving_bytes=600)


def test_bytes_of_uploads_that_arrive_at_once_are_counted_together(tmp_path):
    """Each began when there was room for it."""
    visitors = Visitors(tmp_path, replace(SMALL, waiting_bytes=250))
    first, second, third = (tmp_path / name for name in "abc")
    assert all(visitors.arrive(TOKEN, path, 90) for path in (first, second))
    assert not visitors.arrive(TOKEN, third, 90)
    visitors.arrived(third)
    assert not visitors.arrive(TOKEN, first, 20)  # over what one may have
    visitors.arrived(first)
    assert visitors.arrive(TOKEN, third, 90)
    for number in range(2):
        assert visitors.arrive(TOKEN, tmp_path / str(number), 1)
    assert not visitors.arrive(TOKEN, tmp_path / "one more", 1)  # files


def test_many_made_up_visitors_get_no_more_than_all_may_have(tmp_path):
    visitors = Visitors(tmp_path, SMALL)
    taken = 0
    for number in range(20):
        path = tmp_path / str(number)
        if visitors.arrive(f"{number:043}", path, 100):
            path.write_bytes(b"x" * 100)
            visitors.receive(f"{number:043}", File(path, "a.png"))
            taken += 1
        visitors.arrived(path)
    assert taken == 6
    assert visitors.room(TOKEN) == 0


def test_an_upload_waits_for_its_page_whoever_comes_meanwhile(tmp_path):
    """A page that is not known yet, or not any more: its file went as soon as anyone else opened the page."""
    path = tmp_path / "a"
    path.write_bytes(b"x")
    patient = Visitors(tmp_path, replace(SMALL, grace=60.0))
    key = patient.receive(TOKEN, File(path, "a.png"))
    patient.session("o" * 43, "other")
    assert not patient.full()
    assert patient.take(TOKEN, key) == ("a.png", b"x")
    hasty = Visitors(tmp_path, replace(SMALL, grace=0.0))
    path.write_bytes(b"x")
    hasty.receive(TOKEN, File(path, "a.png"))
    hasty.sweep()
    assert not path.exists()


def test_an_upload_that_is_broken_off_is_no_fault_of_the_server(tmp_path):
    """Each left a traceback in the log, which anyone could fill with them."""
    visitors, app = Visitors(tmp_path, LIMITS), FastAPI()
    add_routes(app, visitors)
    guard = Guard(app, visitors, "c", None, Place())
    assert asked(guard, "/upload", method="POST", cookie=f"c={TOKEN}", body=b"some", gone=True).status == 400
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "body", [b"[" * 100_000, b'{"a":' * 100_000, b'{"session_hash": "x", "data": ' + b"[" * 90_000]
)
def test_an_event_of_many_levels_is_refused(tmp_path, body):
    guard = Guard(lambda *_: pytest.fail("it was let in"), Visitors(tmp_path, LIMITS), "c", None, Place())
    answer = asked(guard, "/gradio_api/queue/join", method="POST", cookie=f"c={TOKEN}", body=body)
    assert answer.status == 400 and json.loads(answer.body)["error"]
