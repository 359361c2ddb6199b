"""The tab Repair, in a real browser: every task from the picture to the download."""

from __future__ import annotations

import numpy as np
import pytest
from steps import (
    choose,
    choose_noise,
    damage,
    downloaded,
    figures,
    more,
    open_picture,
    painted,
    repair,
    stroke,
    upload,
    watch_stages,
)

import cosparse
from cosparse.io.picture import Picture


def test_denoise_an_upload(browse, picture_file, photograph):
    page = browse()
    open_picture(page, picture_file("cameraman.png", photograph))
    assert "192 × 192 · grey · 8 bit · shown smaller here" in page.locator("#stage .note").inner_text()
    damage(page, "noise of σ = 25 added")
    choose_noise(page, "One level")
    sigma = float(page.get_by_label("number input for Noise σ").input_value())
    assert 20 < sigma < 28  # estimated from the noisy picture
    assert f"Estimated here: {sigma:.1f}" in page.locator("#sigma").inner_text()
    watch_stages(page)
    repair(page)
    stages = page.evaluate("window.stages")
    assert stages.index("preview") < stages.index("full")
    shown = figures(page)
    assert shown["PSNR after"] > shown["PSNR before"] + 6
    assert shown["SSIM after"] > shown["SSIM before"] + 0.2
    result = downloaded(page)
    assert result.pixels.dtype == np.uint8
    assert cosparse.psnr(photograph, result.pixels) == pytest.approx(shown["PSNR after"], abs=0.006)
    # A second run after changing the slider, from the keyboard alone.
    page.get_by_label("range slider for Noise σ").focus()
    for _ in range(3):
        page.keyboard.press("PageUp")
    page.locator("#repair").focus()
    page.keyboard.press("Enter")
    repair(page, press=False)
    assert figures(page)["PSNR after"] < shown["PSNR after"]  # too strong


def test_compare_and_zoom_with_mouse_and_keys(browse, picture_file, photograph):
    page = browse()
    open_picture(page, picture_file("cameraman.png", photograph[:96, :128]))
    damage(page, "noise")
    repair(page)

    def hidden() -> float:
        clip = page.evaluate("getComputedStyle(document.querySelector('.stage .after')).clipPath")
        return float(clip.rstrip("%)").split()[-1].rstrip("%"))

    assert hidden() == 50
    stroke(page, (0.5, 0.5), (0.8, 0.5))
    assert hidden() == pytest.approx(80, abs=1.5)
    page.get_by_label("Before and after").focus()
    page.keyboard.press("Home")
    assert hidden() == 0
    width = page.locator("#stage .sheet").bounding_box()["width"]
    page.locator("#stage .view").focus()
    page.keyboard.press("+")
    assert page.locator("#stage .sheet").bounding_box()["width"] == pytest.approx(1.5 * width, rel=0.01)
    page.get_by_role("button", name="One to one").click()
    assert page.locator("#stage .sheet").bounding_box()["width"] == pytest.approx(128)
    page.get_by_role("button", name="Fit").click()
    assert page.locator("#stage .sheet").bounding_box()["width"] == pytest.approx(width, rel=0.01)


def test_paint_what_should_go(browse, picture_file):
    from skimage.data import coffee

    truth = coffee()[40:136, 200:328]
    scratched = truth.copy()
    scratched[45:49, 16:112] = (255, 0, 255)
    page = browse()
    open_picture(page, picture_file("cup.png", scratched))
    choose(page, "Inpaint")
    page.get_by_role("button", name="Eraser").wait_for()
    page.locator("#repair").click()
    page.get_by_text("Nothing is marked yet").wait_for()
    page.get_by_label("Brush size").fill("44")
    stroke(page, (0.05, 0.49), (0.95, 0.49))
    stroke(page, (0.1, 0.85), (0.4, 0.85))
    both = painted(page)
    assert (both > 0.02).all()
    page.get_by_role("button", name="Undo").click()
    one = painted(page)
    assert (one <= both).all()
    assert one[0] < both[0] - 0.01
    stroke(page, (0.05, 0.2), (0.2, 0.2))
    page.get_by_role("button", name="Eraser").click()
    stroke(page, (0.02, 0.2), (0.24, 0.2))
    np.testing.assert_allclose(painted(page), one, atol=0.003)
    repair(page)
    result = downloaded(page).pixels
    np.testing.assert_array_equal(result[:36], truth[:36])  # nothing but the painted stroke was touched
    gap = np.s_[45:49, 16:112]
    assert cosparse.psnr(truth[gap], result[gap]) > cosparse.psnr(truth[gap], scratched[gap]) + 10
    # Back to the brush, and on: the strokes are still there.
    page.get_by_role("button", name="Paint", exact=True).click()
    np.testing.assert_allclose(painted(page), one, atol=0.003)


def test_mask_as_a_picture_and_dropped_pixels(browse, picture_file, photograph):
    page = browse()
    truth = photograph[:112, :96]
    mask = np.zeros(truth.shape, np.uint8)
    mask[30:40, 10:80] = 255
    holed = np.where(mask > 0, 0, truth).astype(np.uint8)
    open_picture(page, picture_file("holes.png", holed))
    choose(page, "Inpaint")
    upload(page, picture_file("other.png", mask[:50]), "Add a mask picture")
    page.get_by_text("they must agree").wait_for()
    upload(page, picture_file("mask.png", mask), "Add a mask picture")
    page.locator("#status").get_by_text("marks 6.5% of the picture").wait_for()
    page.wait_for_function("document.querySelector('.stage').dataset.mask !== ''")
    repair(page)
    result = downloaded(page).pixels
    np.testing.assert_array_equal(result[mask == 0], truth[mask == 0])
    assert cosparse.psnr(truth[mask > 0], result[mask > 0]) > cosparse.psnr(truth[mask > 0], holed[mask > 0]) + 6
    open_picture(page, picture_file("whole.png", truth))
    damage(page, "of the pixels dropped")
    repair(page)
    shown = figures(page)
    assert shown["PSNR after"] > shown["PSNR before"] + 10


def test_upscale(browse, picture_file, photograph):
    truth = photograph[:90, :108]
    page = browse()
    open_picture(page, picture_file("cup.png", truth))
    choose(page, "Upscale")
    page.get_by_text("x3", exact=True).click()
    page.get_by_text("Lanczos", exact=True).click()
    damage(page, "shrunk 3 times")
    assert "36 × 30" in page.locator("#stage .note").inner_text()
    repair(page)
    shown = figures(page)
    assert shown["PSNR after"] > shown["PSNR bicubic"]
    assert downloaded(page).pixels.shape == truth.shape
    page.get_by_role("button", name="One to one").click()
    assert page.locator("#stage .sheet").bounding_box()["width"] == pytest.approx(108)


def test_deblur(browse, picture_file, photograph):
    page = browse()
    open_picture(page, picture_file("cameraman.png", photograph[:96, :96]))
    choose(page, "Deblur")
    page.get_by_text("Out of focus").click()
    page.get_by_text("A point becomes this, 5 × 5 pixels").wait_for()
    damage(page, "blurred (disk, 2)")
    repair(page)
    shown = figures(page)
    assert shown["PSNR after"] > shown["PSNR before"] + 2
    page.get_by_text("Motion", exact=True).click()
    page.get_by_label("number input for Direction").wait_for()


def test_sixteen_bits_and_transparency_survive(browse, picture_file, photograph):
    rng = np.random.default_rng(0)
    deep = np.stack([photograph[:72, :88].astype(np.uint16) * 256 + 7] * 3, axis=-1)
    alpha = rng.integers(0, 65536, deep.shape[:2], dtype=np.uint16)
    page = browse()
    open_picture(page, picture_file("deep #1 'é%2f.png", deep, like=Picture(deep, alpha, -1)))
    assert "88 × 72 · colour · 16 bit" in page.locator("#stage .note").inner_text()
    damage(page, "noise")
    more(page)
    page.get_by_text("Fast", exact=True).click()
    repair(page)
    result = downloaded(page)
    assert result.pixels.dtype == np.uint16
    assert result.pixels.shape == deep.shape
    assert len(np.unique(result.pixels % 256)) > 200  # not 8 bits made wide
    np.testing.assert_array_equal(result.alpha, alpha)
    assert cosparse.psnr(deep, result.pixels) == pytest.approx(figures(page)["PSNR after"], abs=0.006)


def test_the_page_works_though_its_script_comes_last(browse, picture_file, photograph):
    """As over a slow line: Gradio's parts are there first, and our script when it has been let through."""
    page = browse()
    held = []
    page.route("**/studio/studio.js", lambda route: held.append(route))
    page.reload(wait_until="commit")
    page.wait_for_function("document.querySelector('#task')?.innerText.includes('Deblur')")
    for route in held:
        route.continue_()
    page.locator(".examples img").last.wait_for()
    open_picture(page, picture_file("mine.png", photograph[:64, :64]))
