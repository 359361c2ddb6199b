"""The page in all its states, for the documentation: make pictures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from steps import choose, choose_noise, damage, repair, stroke, upload


@pytest.fixture
def shoot(request):
    folder = Path(request.config.getoption("--studio-pictures"))

    def draw(page, name: str, *, busy: bool = False, **options) -> None:
        if not busy:
            page.wait_for_function("!document.querySelector('.busy')")
        page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
        page.mouse.move(2, 2)
        page.evaluate("Promise.all([...document.images].map((image) => image.decode().catch(() => 0)))")
        page.screenshot(path=folder / f"studio-{name}.jpg", type="jpeg", quality=82, animations="disabled", **options)

    return draw


def example(page, title: str) -> None:
    page.get_by_role("button", name=f"Example: {title}").click()
    page.locator("#stage .note").wait_for()


def test_desktop(browse, shoot):
    page = browse()
    page.set_default_timeout(600_000)
    shoot(page, "start")
    example(page, "A cat")
    damage(page, "noise")
    page.locator("#repair").click()
    page.locator("#status", has_text=re.compile("Full picture: iteration [1-9]")).wait_for()
    shoot(page, "progress", busy=True)
    page.locator("#figures a.download").wait_for()
    shoot(page, "denoise")
    page.get_by_role("tab", name="Look inside").click()
    page.locator("#inside-map img").last.wait_for()
    shoot(page, "inside", full_page=True)
    page.get_by_role("tab", name="Repair").click()
    example(page, "A cup of coffee")
    choose(page, "Inpaint")
    page.get_by_role("button", name="Eraser").wait_for()
    stroke(page, (0.62, 0.86), (0.72, 0.3))
    stroke(page, (0.2, 0.2), (0.35, 0.13))
    shoot(page, "paint")
    repair(page)
    shoot(page, "inpaint")
    choose(page, "Denoise")
    page.locator("#go-on").click()
    page.locator("#stage .note", has_text="coffee-inpaint").wait_for()
    choose_noise(page, "One level")
    page.get_by_label("number input for Noise σ").fill("6")
    page.get_by_label("number input for Noise σ").press("Tab")
    repair(page)
    shoot(page, "steps", full_page=True)


def test_noise(browse, shoot):
    page = browse(viewport={"width": 1280, "height": 1000})
    example(page, "A cup of coffee")
    choose_noise(page, "Photons")
    page.get_by_label("Gain").fill("4")
    page.get_by_label("Read noise").fill("4")
    damage(page, "noise")
    choose_noise(page, "Automatic")
    page.locator("#noise-seen svg").wait_for()
    page.get_by_label("number input for Grain to remove").fill("0.8")
    repair(page)
    shoot(page, "noise")


def test_other_tasks(browse, shoot, tmp_path):
    page = browse(viewport={"width": 1280, "height": 1040})
    page.set_default_timeout(600_000)
    example(page, "An astronaut")
    choose(page, "Upscale")
    page.get_by_text("x3", exact=True).click()
    damage(page, "shrunk")
    repair(page)
    for _ in range(2):
        page.get_by_role("button", name="Zoom in").click()
    shoot(page, "upscale")
    choose(page, "Deblur")
    page.get_by_text("Motion", exact=True).click()
    page.get_by_label("number input for Direction").fill("30")
    page.get_by_label("number input for Size").fill("5")
    page.get_by_label("number input for Size").press("Tab")
    page.get_by_role("button", name="Example: A cameraman").click()
    page.locator("#stage .note", has_text="camera").wait_for()
    damage(page, "blurred")
    repair(page)
    shoot(page, "deblur")
    (tmp_path / "notes.png").write_text("This is not a picture.")
    upload(page, tmp_path / "notes.png")
    page.locator("#status [role=alert]").wait_for()
    shoot(page, "problem")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_learn(browse, shoot, scheme):
    page = browse(color_scheme=scheme)
    page.get_by_role("tab", name="Learn").click()
    page.locator("#learn").click()
    page.locator("#learn-status", has_text=re.compile("Iteration [6-9][0-9] of 150")).wait_for()
    if scheme == "light":
        shoot(page, "learning", busy=True)
    page.locator("#learn-figures a.download").wait_for()
    shoot(page, "learned" if scheme == "light" else "learned-dark")
    if scheme == "dark":
        page.locator("#use").click()
        example(page, "A rocket")
        damage(page, "noise")
        repair(page)
        shoot(page, "dark")
        page.get_by_role("tab", name="Look inside").click()
        page.locator("#inside-map img").last.wait_for()
        shoot(page, "inside-dark", full_page=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_phone(browse, shoot, scheme):
    page = browse(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, color_scheme=scheme)
    example(page, "A cat")
    damage(page, "noise")
    repair(page)
    shoot(page, "phone" if scheme == "light" else "phone-dark")
    choose(page, "Inpaint")
    page.locator("#go-on").click()
    page.get_by_role("button", name="Eraser").wait_for()
    stroke(page, (0.3, 0.6), (0.6, 0.75))
    shoot(page, "phone-paint" if scheme == "light" else "phone-paint-dark")
