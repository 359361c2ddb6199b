"""Painting with mouse, keys and fingers; files that are dropped or pasted anywhere; the page without eyes or mouse."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from serving import until
from steps import (
    axe,
    choose,
    damage,
    download,
    downloaded,
    go_on,
    more,
    on_stage,
    open_picture,
    painted,
    repair,
    step,
    stroke,
    upload,
)

from cosparse.io.picture import read_image
from cosparse.studio import scratches


@pytest.fixture
def scratched(photograph):
    picture = photograph[:96, :128].copy()
    picture[8:90, 40:42] = 255
    return picture


def centre(page) -> tuple[float, float]:
    box = page.locator("#stage .view").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_pan_undo_and_masks(browse, picture_file, scratched):
    page = browse()
    open_picture(page, picture_file("old.png", scratched))
    choose(page, "Inpaint")
    page.get_by_role("button", name="Eraser").wait_for()
    # Everything can be undone and done again, also when all is cleared.
    stroke(page, (0.2, 0.2), (0.4, 0.2))
    one = on_stage(page)["marked"]
    stroke(page, (0.6, 0.7), (0.8, 0.7))
    both = on_stage(page)["marked"]
    assert both > 1.5 * one > 0
    page.get_by_role("button", name="Clear").click()
    assert on_stage(page)["marked"] == 0
    page.keyboard.press("Control+z")
    assert on_stage(page)["marked"] == both
    page.keyboard.press("Control+z")
    assert on_stage(page)["marked"] == pytest.approx(one, abs=1e-3)
    page.keyboard.press("Control+Shift+z")
    page.keyboard.press("Control+y")
    assert on_stage(page)["marked"] == 0
    page.keyboard.press("Control+z")
    # Zoomed in, the picture is moved by the wheel, the middle button and the space bar, and nothing is painted.
    for _ in range(3):
        page.get_by_role("button", name="Zoom in").click()
    x, y = centre(page)
    places = [on_stage(page)["x"]]
    page.mouse.move(x, y)
    page.mouse.wheel(40, 0)
    page.wait_for_function(f"document.querySelector('#stage .sheet').style.transform !== 'translate({places[0]}px'")
    for button, key in (("middle", None), ("left", " ")):
        places.append(on_stage(page)["x"])
        if key:
            page.locator("#stage .view").focus()
            page.keyboard.down(key)
        page.mouse.move(x, y)
        page.mouse.down(button=button)
        page.mouse.move(x - 30, y, steps=3)
        page.mouse.up(button=button)
        if key:
            page.keyboard.up(key)
    places.append(on_stage(page)["x"])
    np.testing.assert_allclose(np.diff(places), [-40, -30, -30], atol=1)
    assert on_stage(page)["marked"] == both
    # The mask as a file is what a repair would take, and can be added again.
    with page.expect_download() as waiting:
        page.locator("#save-mask").click()
    mask = read_image(waiting.value.path()).pixels
    assert mask.shape == scratched.shape
    assert (mask > 0).mean() == pytest.approx(both, abs=0.01)
    page.get_by_role("button", name="Clear").click()
    upload(page, picture_file("mask.png", mask), "Add a mask picture")
    page.locator("#status", has_text="mask.png marks").wait_for()
    until(lambda: on_stage(page)["marked"] == pytest.approx(both, abs=0.01), "the mask on the picture")
    page.keyboard.press("Control+z")
    assert on_stage(page)["marked"] == 0
    # Scratches are proposed; where there is one, it is marked, and a repair takes it.
    page.locator("#find").click()
    page.locator("#status", has_text="What looks like scratches is marked").wait_for()
    until(lambda: painted(page)[1] > 0.05, "the proposal on the picture")
    page.keyboard.press("Control+z")
    assert on_stage(page)["marked"] == 0
    page.keyboard.press("Control+y")
    with page.expect_download() as waiting:
        page.locator("#save-mask").click()
    assert read_image(waiting.value.path()).pixels[12:86, 40:42].all()


def test_scratches(photograph, other_photograph):
    for picture in (photograph, np.stack([other_photograph] * 3, axis=-1)):
        marked = picture.copy()
        marked[20:150, 60:62] = 255
        marked[120:122, 90:180] = 0
        found = scratches.find(marked.astype(np.float32))
        assert found[24:146, 60:62].mean() > 0.6
        assert found[120:122, 94:176].mean() > 0.6
        assert found.mean() < 0.12
    assert not scratches.find(np.random.default_rng(0).normal(128, 15, (96, 96)), 1).any()


def test_fingers_on_a_phone(browse, picture_file, scratched):
    page = browse(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, color_scheme="dark")
    fingers = page.context.new_cdp_session(page)

    def touch(*moments) -> None:
        """Fingers go down, move and lift; each moment has the places of all of them."""
        for number, places in enumerate(moments):
            points = [{"x": x, "y": y, "id": finger} for finger, (x, y) in enumerate(places)]
            kind = "touchStart" if number == 0 or len(places) > len(moments[number - 1]) else "touchMove"
            fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        fingers.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    open_picture(page, picture_file("old.png", np.concatenate([scratched, scratched])))
    choose(page, "Inpaint")
    page.get_by_role("button", name="Eraser").wait_for()
    x, y = centre(page)
    touch([(x - 30, y)], [(x, y + 10)], [(x + 30, y)])
    marked, before = on_stage(page)["marked"], on_stage(page)
    assert marked > 0.01
    touch([(x - 20, y)], [(x - 20, y), (x + 20, y)], [(x - 60, y), (x + 60, y)], [(x - 40, y + 20), (x + 80, y + 20)])
    after = on_stage(page)
    assert after["width"] == pytest.approx(3 * before["width"], rel=0.1)
    assert after["marked"] == pytest.approx(marked, abs=2e-3)  # two fingers paint nothing
    touch(
        [(x - 40, y)], [(x - 40, y), (x + 40, y)], [(x - 60, y - 15), (x + 20, y - 15)]
    )  # they move what is zoomed in
    moved = on_stage(page)
    np.testing.assert_allclose([moved["x"] - after["x"], moved["y"] - after["y"]], [-20, -15], atol=2)
    assert moved["width"] == pytest.approx(after["width"], rel=0.02)
    assert moved["marked"] == pytest.approx(marked, abs=2e-3)
    page.get_by_role("button", name="Fit").click()
    # The tools lie within the screen, and what one presses is on it together with the picture.
    page.locator("#stage").scroll_into_view_if_needed()
    assert page.evaluate(
        "[...document.querySelectorAll('#stage button, #repair')].filter((b) => b.offsetParent)"
        ".every((b) => b.getBoundingClientRect().right <= innerWidth && b.getBoundingClientRect().left >= 0)"
    )
    repair(page)
    for part in ("#stage .sheet", "#repair", "#stage [aria-label='Before and after']"):
        box = page.locator(part).bounding_box()
        assert box["y"] >= 0, part
        assert box["y"] + box["height"] <= 844, part
    # A finger beside the picture scrolls.
    page.get_by_role("button", name="Paint", exact=True).click()
    page.evaluate("window.scrollTo(0, 0)")
    sheet, view = (page.locator(f"#stage .{name}").bounding_box() for name in ("sheet", "view"))
    beside = (view["x"] + sheet["x"]) / 2
    assert beside < sheet["x"] - 5
    touch([(beside, view["y"] + 150)], *[[(beside, view["y"] + 150 - way)] for way in range(20, 130, 10)])
    page.wait_for_function("scrollY > 40")
    assert on_stage(page)["marked"] == pytest.approx(marked, abs=2e-3)
    assert axe(page) == []


def test_files_dropped_and_pasted_anywhere(browse, picture_file, photograph):
    page = browse()
    path = picture_file("dropped.png", photograph[:64, :64])
    drag = page.context.new_cdp_session(page)
    box = page.locator("#title").bounding_box()
    data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        event = {"type": kind, "x": box["x"] + 20, "y": box["y"] + 20, "data": data}
        drag.send("Input.dispatchDragEvent", event)
        if kind == "dragOver":
            page.locator(".veil", has_text="Drop it anywhere").wait_for()
    page.locator("#stage .note", has_text="dropped.png").wait_for()
    page.get_by_role("tab", name="Look inside").click()
    page.evaluate(
        """(data) => {
          const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0)), clipboard = new DataTransfer();
          clipboard.items.add(new File([bytes], 'image.png', { type: 'image/png' }));
          document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData: clipboard, bubbles: true }));
        }""",
        base64.b64encode(path.read_bytes()).decode(),
    )
    page.locator("#stage .note", has_text="pasted.png").wait_for()  # and Repair is there again, where it is seen


def test_folders_are_taken_and_links_lead_nowhere(browse, picture_file, photograph, tmp_path):
    page = browse()
    drag = page.context.new_cdp_session(page)

    def dropped(**data) -> None:
        box = page.locator("#title").bounding_box()
        data = {"items": [], "dragOperationsMask": 1, **data}
        for kind in ("dragEnter", "dragOver", "drop"):
            drag.send("Input.dispatchDragEvent", {"type": kind, "x": box["x"] + 20, "y": box["y"] + 20, "data": data})

    (tmp_path / "box" / "inner").mkdir(parents=True)
    for name in ("box/scan10.png", "box/scan9.png", "box/inner/a.tif"):
        picture_file(name, photograph[:64, :64])
    (tmp_path / "box" / "notes.txt").write_text("not a picture")
    dropped(files=[str(tmp_path / "box")])
    page.locator("#status", has_text="3 pictures are open, a.tif is shown.").wait_for()
    assert page.locator("#batch label").all_inner_texts() == ["a.tif", "scan9.png", "scan10.png"]
    (tmp_path / "empty").mkdir()
    dropped(files=[str(tmp_path / "empty")])
    page.get_by_text("There is no picture in it.").wait_for()
    dropped(items=[{"mimeType": "text/uri-list", "data": "about:blank"}])
    assert page.locator("#stage .note", has_text="a.tif").is_visible()
    assert axe(page) == []


def test_a_whole_repair_without_a_mouse(browse, picture_file, photograph):
    page = browse()
    open_picture(page, picture_file("old.png", photograph[:64, :64]))
    # The tasks are one stop, and arrows go from one to the next.
    page.locator("#task input:checked").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('#task')") is None
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.value") == "denoise"
    page.keyboard.press("ArrowRight")
    page.get_by_role("button", name="Eraser").wait_for()
    page.get_by_role("radio", name="Inpaint", checked=True).wait_for()
    # What happens is said, in one place that stays.
    page.locator("#stage .view").focus()
    page.keyboard.press("ArrowRight")
    page.locator("#said", has_text="% across").wait_for()
    page.keyboard.press("Enter")
    page.locator("#said", has_text="Marked.").wait_for()
    assert on_stage(page)["marked"] > 5e-4
    page.locator("#repair").focus()
    page.keyboard.press("Enter")
    page.locator("#said", has_text="Done in").wait_for()
    page.locator("#repair:not(.busy)").wait_for()
    assert page.evaluate("document.activeElement.id") == "repair"  # the focus is where it was
    assert axe(page) == []
    slider = page.get_by_label("Before and after")
    slider.focus()
    for key, said in (("Home", "all after the repair"), ("End", "all before the repair")):
        page.keyboard.press(key)
        assert slider.get_attribute("aria-valuetext") == said
    assert page.locator("#stage .tag").all_inner_texts() == ["Before: as it was opened", "After: inpainted"]
    assert [page.locator("#stage .tag").nth(n).is_visible() for n in (0, 1)] == [True, False]
    assert read_image(download(page)).pixels.shape == (64, 64)
    # A button that is gone once it was pressed hands the focus to the picture.
    page.locator("#go-on").focus()
    page.keyboard.press("Enter")
    page.locator("#stage .note", has_text="old-inpaint.png").wait_for()
    page.wait_for_function("document.activeElement.matches('#stage .view')")
    for tab in ("Learn", "Look inside"):
        page.get_by_role("tab", name=tab).click()
        page.get_by_role("tab", name=tab, selected=True).wait_for()
        assert axe(page) == [], tab


def test_undo_goes_on_where_marks_end(browse, picture_file, scratched):
    """A repair is undone as what was marked is, by the same keys."""
    page = browse()
    open_picture(page, picture_file("old.png", scratched))
    choose(page, "Inpaint")
    page.get_by_role("button", name="Eraser").wait_for()
    stroke(page, (0.2, 0.3), (0.4, 0.3))
    marked = on_stage(page)["marked"]
    # The brush grows by keys, and the ring that shows it, too.
    page.keyboard.press("]")
    assert page.locator("#stage .cursor").evaluate("ring => ring.style.width") == "28px"
    page.locator("#said", has_text="Brush size 28").wait_for()
    repair(page)
    # The line between before and after stands left of the hole: what was made of it is seen.
    assert int(page.get_by_label("Before and after").input_value()) < 20
    page.keyboard.press("Control+z")
    page.locator(".steps [aria-current]", has_text="1. old.png").wait_for()
    page.get_by_role("button", name="Eraser").wait_for()
    assert on_stage(page)["marked"] == marked
    page.keyboard.press("Control+z")
    assert on_stage(page)["marked"] == 0
    page.keyboard.press("Control+z")
    page.locator("#said", has_text="There is nothing to undo.").wait_for()
    page.keyboard.press("Control+y")
    assert on_stage(page)["marked"] == marked
    page.keyboard.press("Control+y")
    page.locator(".steps [aria-current]", has_text="2. inpainted").wait_for()


def test_deblock_and_other_factors(browse, picture_file, photograph):
    page = browse()
    open_picture(page, picture_file("web.png", photograph[:96, :96]))
    choose(page, "Deblock")
    page.locator("#noise").wait_for(state="hidden")
    page.locator("#repair").click()
    page.locator("#status [role=alert]", has_text="is not a JPEG").wait_for()
    damage(page, "saved as a JPEG of quality 10")
    repair(page)
    assert float(page.locator(".figure", has_text="Gain").locator("b").inner_text().split()[0]) > 0.4
    choose(page, "Upscale")
    page.get_by_text("x1.5", exact=True).click()
    page.locator("#try").click()
    page.locator("#stage .note", has_text="shrunk 1.5 times").wait_for()
    assert "64 × 64" in page.locator("#stage .note").inner_text()
    repair(page)
    assert read_image(download(page)).pixels.shape == (96, 96)


def test_another_attempt_and_where_it_was_copied_from(browse, picture_file):
    from skimage.data import grass

    page = browse()
    open_picture(page, picture_file("lawn.png", grass()[:112, :128]))
    choose(page, "Inpaint")
    page.get_by_role("button", name="Eraser").wait_for()
    more(page)
    page.get_by_text("Fast", exact=True).click()
    page.get_by_label("Brush size").fill("80")
    for _ in range(2):
        page.get_by_role("button", name="Zoom out").click()
    stroke(page, (0.4, 0.45), (0.6, 0.55))
    stroke(page, (0.4, 0.6), (0.6, 0.4))
    repair(page)
    first = downloaded(page).pixels
    button = page.get_by_role("button", name="Show where it was copied from")
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    origins = page.get_by_alt_text("Where pixels were copied from")
    origins.wait_for()
    assert origins.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
    assert axe(page) == []
    page.locator("#another").click()
    repair(page, press=False)
    second = downloaded(page).pixels
    assert (first != second).mean() > 0.01
    assert page.locator(".steps button span").all_inner_texts()[-2:] == ["2. inpainted", "3. inpainted, attempt 2"]
    step(page, "2. inpainted")
    np.testing.assert_array_equal(downloaded(page).pixels, first)
    # Attempts are counted for each picture anew.
    go_on(page, "lawn-inpaint.png")
    stroke(page, (0.4, 0.45), (0.6, 0.55))
    repair(page)
    assert page.locator(".steps button span").all_inner_texts()[-1] == "4. inpainted"
