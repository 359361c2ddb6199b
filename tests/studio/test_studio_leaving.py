"""Work that is on no disk yet: leaving the page asks, and what was done is there again after it was loaded again."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np
import pytest
from serving import LIMITS, running, until
from steps import choose, download, go_on, more, on_stage, open_picture, painted, repair, step, stroke, upload

from cosparse.io.picture import read_image


@pytest.fixture
def patient(tmp_path):
    """A server that keeps what a page held for as long as a busy machine needs to load it again."""
    (tmp_path / "patient").mkdir()
    with running(tmp_path / "patient", replace(LIMITS, grace=60.0)) as server:
        yield server


def inpaint(page) -> None:
    choose(page, "Inpaint")
    page.get_by_role("button", name="Eraser").wait_for()


@contextlib.contextmanager
def asking(page, stay: bool):
    """The kinds of questions that the browser asks meanwhile; the answer is to stay, or to go."""
    asked = []

    def answer(dialog) -> None:
        asked.append(dialog.type)
        if stay:
            dialog.dismiss()
        else:
            dialog.accept()

    page.on("dialog", answer)
    yield asked
    page.remove_listener("dialog", answer)


def reload(page) -> list[str]:
    """Load the page again, whatever it asks; what it asked."""
    with asking(page, stay=False) as asked:
        page.reload()
        page.locator("#status", has_text="what was done is still here").wait_for()
    return asked


def leave(page) -> list[str]:
    """Try to leave, and stay as soon as that is asked; what was asked."""
    with asking(page, stay=True) as asked:
        page.evaluate("setTimeout(() => { location.href = 'about:blank'; })")
        until(lambda: page.title() is not None and asked, "the question")
    return asked


def test_leaving_asks_as_long_as_something_is_on_no_disk(browse, patient, picture_file, photograph):
    page = browse(patient.address)
    open_picture(page, picture_file("a.png", photograph[:64, :96]))
    more(page)
    page.get_by_text("Fast", exact=True).click()
    inpaint(page)
    assert reload(page) == []  # nothing was done yet
    stroke(page, (0.3, 0.3), (0.5, 0.3))
    assert leave(page) == ["beforeunload"]
    with page.expect_download():
        page.locator("#save-mask").click()
    assert reload(page) == []  # the mask is on disk
    stroke(page, (0.3, 0.6), (0.5, 0.6))
    assert leave(page) == ["beforeunload"]  # but not this one
    repair(page)
    assert leave(page) == ["beforeunload"]
    # The result is as little saved when it was gone on from, when an earlier step or another picture is looked at.
    go_on(page, "a-inpaint.png")
    assert leave(page) == ["beforeunload"]
    step(page, "1. a.png")
    open_picture(page, picture_file("b.png", photograph[64:128, :64]))
    assert leave(page) == ["beforeunload"]
    step(page, "2. inpainted")
    download(page)
    assert reload(page) == []


def test_what_was_chosen_and_marked_is_there_after_a_reload(browse, patient, picture_file, photograph):
    """Also before anything was repaired, and each picture's marks on that picture alone."""
    page = browse(patient.address)
    scratched = photograph[:96, :128].copy()
    scratched[8:90, 40:42] = 255
    open_picture(page, picture_file("old.png", scratched))
    inpaint(page)
    page.locator("#fill").get_by_text("Smooth").click()
    page.locator("#find").click()
    until(lambda: painted(page)[1] > 0.05, "the proposal on the picture")
    marked = on_stage(page)["marked"]
    open_picture(page, picture_file("other.png", photograph[:64, 100:192]))
    assert on_stage(page)["marked"] == 0
    assert reload(page) == ["beforeunload"]
    page.get_by_role("button", name="Eraser").wait_for()
    page.get_by_role("radio", name="Inpaint", checked=True).wait_for()
    page.get_by_role("radio", name="Smooth", checked=True).wait_for()
    assert on_stage(page)["marked"] == 0
    step(page, "1. old.png")
    until(lambda: on_stage(page)["marked"] == pytest.approx(marked, abs=1e-3), "the marks of before")
    choose(page, "Denoise")
    page.get_by_role("button", name="Eraser").wait_for(state="hidden")
    inpaint(page)
    assert on_stage(page)["marked"] == pytest.approx(marked, abs=1e-3)  # they outlive another task, too


def test_several_pictures_and_what_came_of_them_outlive_a_reload(browse, patient, picture_file, photograph):
    page = browse(patient.address)
    files = [picture_file(name, photograph[:64, k : k + 64]) for k, name in enumerate(("a.png", "b.png"))]
    upload(page, files)
    page.locator("#status", has_text="2 pictures are open").wait_for()
    more(page)
    page.get_by_text("Fast", exact=True).click()
    page.locator("#batch").get_by_text("b.png").click()
    page.locator("#stage .note", has_text="b.png").wait_for()
    page.locator("#all").click()
    page.locator("#batch-report a.download").wait_for()
    page.wait_for_function("!document.querySelector('.busy')")
    assert reload(page) == ["beforeunload"]
    page.locator("#batch").get_by_role("radio", name="b.png", checked=True).wait_for()
    download(page, "#batch-report a.download")
    assert reload(page) == []


def test_strokes_outlive_a_full_store(browse, patient, picture_file, photograph):
    """Browsers keep five megabytes for a tab; the picture at hand has them first."""
    page = browse(patient.address)
    for name in ("a.png", "b.png"):
        open_picture(page, picture_file(name, photograph[:64, :96]))
        inpaint(page)
        stroke(page, (0.3, 0.3), (0.5, 0.3))
    page.evaluate("sessionStorage.setItem('other', 'x'.repeat(4_990_000))")
    page.evaluate("sessionStorage.setItem('others', 'x'.repeat(5_000_000 - JSON.stringify(sessionStorage).length))")
    with page.expect_download() as waiting:
        page.locator("#save-mask").click()
    before = read_image(waiting.value.path()).pixels
    stroke(page, (0.3, 0.6), (0.5, 0.6))
    page.evaluate("sessionStorage.removeItem('other'); sessionStorage.removeItem('others')")
    stroke(page, (0.3, 0.8), (0.5, 0.8))  # and there is room again
    marked = on_stage(page)["marked"]
    assert marked > 2 * np.mean(before > 0)
    reload(page)
    page.get_by_role("button", name="Eraser").wait_for()
    assert on_stage(page)["marked"] == pytest.approx(marked, abs=1e-3)
