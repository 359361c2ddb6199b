"""One repair after another: results are kept, can be gone back to, saved in every format, and outlive a reload."""

from __future__ import annotations

import zipfile
from dataclasses import replace

import numpy as np
import pytest
from serving import LIMITS, running
from steps import (
    choose,
    damage,
    download,
    downloaded,
    figures,
    go_on,
    more,
    on_stage,
    open_picture,
    repair,
    step,
    stroke,
    upload,
)

from cosparse.io.picture import Picture, read_image
from cosparse.reconstruction.tasks import TASKS
from cosparse.studio.limits import Refused
from cosparse.studio.page_pictures import Source
from cosparse.studio.page_tasks import Job
from cosparse.studio.repair_job import PageResult
from cosparse.studio.session import Visitors
from cosparse.studio.stage import Stage


def names(page) -> list[str]:
    return page.locator(".steps button span").all_inner_texts()


@pytest.fixture
def patient(tmp_path):
    """A server that keeps what a page held for as long as a busy machine needs to load it again."""
    (tmp_path / "patient").mkdir()
    with running(tmp_path / "patient", replace(LIMITS, grace=60.0)) as server:
        yield server


def test_denoise_then_inpaint_then_upscale(browse, patient, picture_file, colour):
    page = browse(patient.address)
    said = []
    page.on("dialog", lambda dialog: (said.append(dialog.type), dialog.accept()))
    like = Picture(colour, None, -1, metadata={"dpi": (300.0, 300.0)})
    open_picture(page, picture_file("print.png", colour, like=like))
    more(page)
    page.get_by_text("Fast", exact=True).click()
    damage(page, "noise")
    repair(page)
    noisy = figures(page)
    # Another task: the result stays, and the next repair begins from it when asked to.
    choose(page, "Inpaint")
    page.locator("#status", has_text="What was denoised is kept").wait_for()
    assert on_stage(page)["result"] == "full"
    assert page.locator("#stage .tag").all_inner_texts() == ["Before: noise of σ = 25 added", "After: denoised"]
    go_on(page, "print-denoise.png")
    stroke(page, (0.3, 0.3), (0.7, 0.3))
    repair(page)
    inpainted = downloaded(page).pixels
    assert page.locator("#stage .tag").all_inner_texts() == ["Before: denoised", "After: inpainted"]
    choose(page, "Upscale")
    go_on(page, "print-denoise-inpaint.png")
    repair(page)
    done = ["1. print.png", "2. noise of σ = 25 added", "3. denoised", "4. inpainted", "5. upscaled x2"]
    assert names(page) == done
    # Every format, whole, with what was known of the paper.
    files = {}
    for link in ("a.download", "a.format >> nth=0", "a.format >> nth=1"):
        with page.expect_download() as waiting:
            page.locator(f"#figures {link}").click()
        files[waiting.value.suggested_filename] = read_image(waiting.value.path())
    assert list(files) == [f"print-denoise-inpaint-upscale.{ending}" for ending in ("png", "tif", "jpg")]
    assert {file.format for file in files.values()} == {"png", "tiff", "jpeg"}
    for file in files.values():
        assert file.pixels.shape == (2 * colour.shape[0], 2 * colour.shape[1], 3)
        np.testing.assert_allclose(file.metadata["dpi"], 600, atol=1)
    # Back, and back to what was done after it.
    step(page, "3. denoised")
    assert figures(page) == noisy
    step(page, "4. inpainted")
    np.testing.assert_array_equal(downloaded(page).pixels, inpainted)
    # A reload asks, as what was painted is nowhere else, and finds all of it again.
    choose(page, "Inpaint")
    go_on(page, "print-denoise-inpaint.png")
    page.get_by_role("button", name="Undo").click()  # the stroke, which was gone as it was repaired
    page.reload()
    page.locator("#status", has_text="what was done is still here").wait_for()
    assert said == ["beforeunload"]
    page.get_by_role("button", name="Eraser").wait_for()
    assert on_stage(page)["marked"] > 0.01
    assert names(page)[:5] == done
    repair(page)
    assert names(page)[-1] == "6. inpainted"


def test_several_pictures_in_one_go(browse, picture_file, photograph, tmp_path):
    page = browse()
    (tmp_path / "notes.png").write_text("This is not a picture.")
    noise = np.random.default_rng(0).normal(0, 20, (2, 64, 64))
    truths = [photograph[:64, :64], photograph[100:164, 60:124]]
    files = [
        picture_file(name, np.clip(truth + one, 0, 255).astype(np.uint8))
        for name, truth, one in zip(("a.png", "b.tif"), truths, noise, strict=True)
    ]
    upload(page, [files[0], tmp_path / "notes.png", files[1]])
    page.locator("#status", has_text="2 pictures are open, a.png is shown. notes.png: ").wait_for()
    more(page)
    page.get_by_text("Fast", exact=True).click()
    page.locator("#batch").get_by_text("b.tif").click()
    page.locator("#stage .note", has_text="b.tif").wait_for()
    page.locator("#all").click()
    page.locator("#batch-report a.download").wait_for()
    assert "2 of 2 done" in page.locator("#status").inner_text()
    with zipfile.ZipFile(download(page, "#batch-report a.download")) as archive:
        assert archive.namelist() == ["a-denoise.png", "b-denoise.tif"]
        results = [read_image(archive.read(name)).pixels for name in archive.namelist()]
    for truth, one, result in zip(truths, noise, results, strict=True):
        assert np.abs(result - truth.astype(float)).mean() < 0.7 * np.abs(one).mean()


# --- behind the page ---------------------------------------------------------------------------------


@pytest.fixture
def visitors(tmp_path):
    return Visitors(tmp_path, replace(LIMITS, history_bytes=3 * 64 * 64))


def test_only_the_same_visitor_gets_what_a_closed_page_held(visitors):
    mine, other = visitors.session("ann", "first"), visitors.session("bob", "page")
    address = mine.publish("step", "a.png", lambda path: path.write_text("mine"))
    mine.open = 1
    again = visitors.session("ann", "second")
    assert visitors.inherit(again, mine.claim)  # not closed yet: ask again
    mine.open = 0
    assert not visitors.inherit(other, mine.claim)
    assert visitors.file("bob", address.split("/")[1]) is None
    assert not visitors.inherit(again, mine.claim)
    assert again.file(address.split("/")[1]).path.read_text() == "mine"
    assert mine.closed
    assert list(visitors._all["ann"].sessions) == ["second"]
    again.close()
    assert not again.folder.exists()


def test_old_steps_are_forgotten_with_their_files(visitors):
    session = visitors.session("ann", "page")
    stage = Stage.__new__(Stage)
    kept = []
    for number in range(5):
        picture = Picture(np.full((64, 64), number, np.uint8))
        step = stage.open(session, Source(f"{number}.png", picture), f"{number}.png")
        kept.append(step.view.split("/")[1])
    assert [one.words for one in session.history.steps] == ["2.png", "3.png", "4.png"]
    assert [session.file(key) is not None for key in kept] == [False, False, True, True, True]
    with pytest.raises(Refused, match="not kept any more"):
        stage.went(session, {"chosen": 1})
    assert session.source.name == "4.png"
    stage.went(session, {"chosen": 3})
    job, result = Job(TASKS["denoise"]), PageResult(Picture(np.zeros((64, 64), np.uint8)), [])
    stage.finish(session, session.history.current, stage.done(session, session.history.current, job, result))
    assert session.history.current.name == "2-denoise"
    assert stage.take_result(session).source.picture is result.picture
    with pytest.raises(Refused, match="no result"):
        stage.take_result(session)
