"""Runs that wait, are cancelled or fail: each ends by itself, and with a sentence."""

from __future__ import annotations

import asyncio
import re
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import httpx
import numpy as np
import pytest
from serving import LIMITS, PATIENCE, running
from steps import choose, damage, go_on, on_stage, open_picture, repair, stroke

from cosparse.io.picture import Picture
from cosparse.noise import Gaussian
from cosparse.reconstruction.tasks import TASKS
from cosparse.reconstruction.watch import Watch
from cosparse.studio import repair_job
from cosparse.studio.guard import Guard
from cosparse.studio.limits import Limits, Refused
from cosparse.studio.log import logging_to
from cosparse.studio.page_pictures import Source
from cosparse.studio.page_tasks import PAGE_TASKS, Blur, Job
from cosparse.studio.parts import sentence
from cosparse.studio.place import Place
from cosparse.studio.repair_tab import RepairTab
from cosparse.studio.session import Session, Visitors


def session_of(server, page) -> Session:
    cookies = [cookie["value"] for cookie in page.context.cookies()]
    (session,) = next(v.sessions for t, v in server.visitors._all.items() if t in cookies).values()
    return session


def learn_long(page) -> None:
    """Keep the machine busy until someone cancels."""
    page.get_by_role("tab", name="Learn").click()
    page.get_by_label("number input for Patches").fill("200000")
    page.get_by_label("number input for Iterations").fill("600")
    page.get_by_label("number input for Iterations").press("Tab")
    page.locator("#learn").click()


def test_a_ticket_finds_its_own_run(tmp_path):
    session = Session(tmp_path, Limits())
    first, other = session.start("repair"), session.start("learn")
    assert session.run(first.ticket) is first
    other.cancel()
    assert not first.over
    later = session.start("repair")  # by the same button: only the last one counts
    assert first.over
    assert session.run(later.ticket) is later
    with pytest.raises(Refused, match="over"):
        session.run(first.ticket)
    session.stop()
    assert later.over


def test_cancel_ends_the_run_that_was_meant(browse, picture_file, photograph):
    busy, page = browse(), browse()
    open_picture(page, picture_file("mine.png", photograph[:64, :64]))
    damage(page, "noise")
    learn_long(busy)
    busy.locator("#learn-status", has_text=re.compile(r"Iteration \d+")).wait_for()
    page.locator("#repair").click()
    page.locator("#status", has_text="Waiting").wait_for()
    learn_long(page)
    page.locator("#learn-status", has_text="Waiting").wait_for()
    page.locator("#learn-cancel").click()
    page.locator("#learn-status", has_text="Cancelled; it leaves the queue").wait_for()
    busy.locator("#learn-cancel").click()
    page.locator(
        "#learn:enabled:not(.busy)"
    ).wait_for()  # its turn has come and gone, and so has that of the repair before it
    assert "Done in" in page.locator("#status").text_content()
    assert page.locator("#learn-status").inner_text().strip() == "Cancelled."


def test_cancel_while_holes_are_filled(browse, picture_file, monkeypatch):
    """The scale at work is the last one; the picture stays as it was, and the focus is on Repair again."""
    from skimage.data import grass

    filled, held = Watch.filled, threading.Event()

    def slow(self, *given):
        stop = filled(self, *given)
        held.wait(PATIENCE / 1000)
        return stop

    monkeypatch.setattr(Watch, "filled", slow)
    page = browse()
    open_picture(page, picture_file("lawn.png", grass()[:112, :128]))
    choose(page, "Inpaint")
    page.get_by_role("button", name="Eraser").wait_for()
    page.get_by_label("Brush size").fill("80")
    page.get_by_role("button", name="Zoom out").click()
    stroke(page, (0.4, 0.45), (0.6, 0.55))
    stroke(page, (0.4, 0.6), (0.6, 0.4))
    page.locator("#repair").focus()
    page.keyboard.press("Enter")
    page.locator("#status", has_text="wide holes are filled, scale 1 of").wait_for()
    page.locator("#repair-cancel:enabled").focus()
    page.keyboard.press("Enter")
    page.locator("#repair-cancel:disabled").wait_for()
    held.set()
    page.locator("#status", has_text="Cancelled").wait_for()
    page.locator("#repair:not(.busy)").wait_for()
    page.wait_for_function("document.activeElement.id === 'repair'")
    assert on_stage(page)["result"] == ""
    assert on_stage(page)["marked"] > 0.02


def test_no_place_in_the_queue_is_said(browse, tmp_path):
    (tmp_path / "short").mkdir()
    with running(tmp_path / "short", replace(LIMITS, queue=1)) as server:
        pages = [browse(server.address) for _ in range(3)]  # one runs, one waits, one finds no room
        learn_long(pages[0])
        pages[0].locator("#learn-status", has_text=re.compile(r"Iteration \d+")).wait_for()
        learn_long(pages[1])
        pages[1].locator("#learn-status", has_text="Waiting").wait_for()
        learn_long(pages[2])
        pages[2].locator("#learn-status [role=alert]", has_text="Too many runs wait").wait_for()
        pages[2].locator("#learn:enabled:not(.busy)").wait_for()
        pages[2].get_by_role("tab", name="Repair").click()  # what is short needs no place among the runs
        pages[2].get_by_role("button", name="Example: A cat").click()
        pages[2].locator("#stage .note", has_text="chelsea.png").wait_for()
        for one in server.visitors._all.values():
            for session in one.sessions.values():
                session.stop()
        pages[1].locator("#learn:enabled:not(.busy)").wait_for()


def test_the_end_of_a_run_brings_back_nothing_that_was_gone_on_from(
    browse, tmp_path, monkeypatch, picture_file, photograph
):
    """Gradio sends the last update of a run once more as it ends, however much later that is."""
    worked, ended = RepairTab.repair, threading.Event()

    def late(self, *given):
        yield from worked(self, *given)
        ended.wait(PATIENCE / 1000)

    monkeypatch.setattr(RepairTab, "repair", late)
    (tmp_path / "late").mkdir()
    with running(tmp_path / "late", LIMITS) as server:
        page = browse(server.address)
        open_picture(page, picture_file("mine.png", photograph[:64, :64]))
        damage(page, "noise")
        repair(page)
        go_on(page, "mine-denoise.png")
        ended.set()
        page.locator("#repair:enabled:not(.busy)").wait_for()
        assert on_stage(page)["result"] == ""
        assert "mine-denoise.png" in page.locator("#stage .note").inner_text()
        assert not page.locator("#go-on").is_visible()


def test_every_task_can_be_tried(photograph):
    """The list of tasks is the library's; the page says of each how a picture is damaged, so that it has work to do."""
    assert list(PAGE_TASKS) == list(TASKS)
    truth = Picture(photograph[:64, :64].astype(np.uint16) * 257, np.full((64, 64), 9, np.uint16), data_range=65535.0)
    for name in PAGE_TASKS:
        task = TASKS[name]
        job = Job(task, Gaussian(25.0), "fast", factor=3 if "factor" in task.needs else 1, blur=Blur("disk", 3))
        source = Source("deep.png", truth, PAGE_TASKS[name].damage(truth, job))
        job = replace(job, missing=source.missing, blur=job.blur if "kernel" in task.needs else None)
        repair_job.check(source, job, Limits())
        result = repair_job.full(source, job, lambda progress: False)
        before, after = repair_job.closeness(source, job, result.picture)
        assert after.db > before.db, name
        assert result.picture.pixels.dtype == (np.uint8 if task.compressed else np.uint16)  # a JPEG has 8 bits
        assert len(result.energies) > 1 or name in ("denoise", "deblock")  # whose trained steps minimise none


@pytest.mark.parametrize(
    ("shape", "blur"),
    [((92, 1000, 3), Blur("gaussian", 15)), ((32, 9000), Blur("box", 15)), ((35, 9000), Blur("motion", 15, 90))],
)
def test_the_preview_is_as_large_as_the_blur_needs(shape, blur):
    pixels = np.random.default_rng(0).integers(0, 255, shape, dtype=np.uint8)
    picture = Picture(pixels, channel_axis=-1 if len(shape) == 3 else None)
    source, job = Source("thin.png", picture), Job(TASKS["deblur"], Gaussian(2.0), blur=blur)
    repair_job.check(source, job, Limits())
    seen = []
    repair_job.preview(source, job, lambda step: bool(seen.append(step)) or True)
    assert seen
    with pytest.raises(Refused, match="larger than the picture"):
        repair_job.check(replace(source, original=replace(picture, pixels=pixels[:30])), job, Limits())


def test_what_nobody_foresaw_ends_the_run_with_a_sentence(browse, server, picture_file, photograph, tmp_path):
    page = browse()
    open_picture(page, picture_file("mine.png", photograph[:64, :64]))
    damage(page, "noise")
    session = session_of(server, page)
    shutil.rmtree(session.folder)
    session.folder.write_text("a file where results should go")
    with logging_to(str(tmp_path / "log")):
        page.locator("#repair").click()
        alert = "Something unexpected went wrong (FileExistsError)"
        page.locator("#status [role=alert]", has_text=alert).wait_for()
        page.locator("#repair:enabled:not(.busy)").wait_for()
        page.get_by_role("tab", name="Learn").click()
        page.get_by_label("number input for Iterations").fill("10")
        page.get_by_label("number input for Iterations").press("Tab")
        page.locator("#learn").click()
        page.locator("#learn-status [role=alert]", has_text=alert).wait_for()
        page.locator("#learn:enabled:not(.busy)").wait_for()
        session.operators["staged"] = None
        page.get_by_role("tab", name="Look inside").click()
        page.locator("[role=alert]", has_text="Something unexpected went wrong (AttributeError)").wait_for()
    log = (tmp_path / "log").read_text()
    assert log.count("Traceback") >= 3
    assert "File exists" in log
    session.folder.unlink()


def test_errors_in_their_own_words():
    assert sentence(ValueError("kernel: (47, 47) is larger\n than (46, 500)")) == (
        "kernel: (47, 47) is larger than (46, 500)."
    )
    assert sentence(KeyError("/home/someone")) == (
        "Something unexpected went wrong (KeyError); the server's log (--log) says more."
    )
    assert "memory" in sentence(MemoryError())


def test_a_mask_that_does_not_arrive(browse, picture_file, photograph):
    page = browse()
    open_picture(page, picture_file("mine.png", photograph[:64, :64]))
    choose(page, "Inpaint")
    page.get_by_role("button", name="Eraser").wait_for()
    stroke(page, (0.2, 0.5), (0.8, 0.5))
    page.route("**/upload", lambda route: route.abort())
    page.locator("#repair").click()
    page.locator("#status [role=alert]", has_text="What you painted did not arrive").wait_for()
    page.locator("#repair:enabled:not(.busy)").wait_for()


def test_a_raised_limit_lets_one_such_upload_wait(tmp_path):
    large = Limits(upload_bytes=1_000_000_000)
    assert Visitors(tmp_path, large).room("someone") == 1_000_000_000
    assert Visitors(tmp_path, Limits()).room("someone") == 100_000_000


def test_a_page_is_answered_in_the_order_of_its_questions_and_waits_for_no_other(tmp_path):
    told = []

    async def ask_thrice() -> None:
        last_asked = asyncio.Event()

        async def app(scope, receive, send) -> None:
            number = (await receive())["body"][-2:-1]
            told.append(b"asked " + number)
            if number == b"1":
                await last_asked.wait()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": number})
            told.append(b"answered " + number)
            if number == b"3":
                last_asked.set()

        transport = httpx.ASGITransport(Guard(app, Visitors(tmp_path, LIMITS), "c", None, Place()))
        async with httpx.AsyncClient(transport=transport, base_url="http://here", cookies={"c": "t" * 43}) as http:
            events = [{"session_hash": page, "n": n} for n, page in enumerate(("mine", "mine", "other"), 1)]
            await asyncio.gather(*(http.post("/gradio_api/run/predict", json=one) for one in events))

    with ThreadPoolExecutor(1) as aside:  # the browser of other tests has a loop in this thread
        aside.submit(asyncio.run, ask_thrice()).result()
    assert told == [b"asked 1", b"asked 3", b"answered 3", b"answered 1", b"asked 2", b"answered 2"]


def test_a_task_chosen_while_a_picture_opens_is_the_one_that_is_shown(browse):
    page = browse()
    page.get_by_role("button", name="Example: A cat").click()
    page.locator("#stage .note", has_text="chelsea").wait_for()
    page.get_by_role("button", name="Example: A cup of coffee").click()
    choose(page, "Inpaint")
    page.locator("#stage .note", has_text="coffee").wait_for()
    page.get_by_role("button", name="Eraser").wait_for()
