"""Small screens, dark mode, labels: the page is usable by everyone."""

from __future__ import annotations

import pytest
from steps import choose, damage, figures, go_on, on_stage, open_picture, repair

TABS = ("Repair", "Learn", "Look inside")
NAMELESS = """() => [...document.querySelectorAll('button, input, a, select, textarea, [tabindex="0"]')]
  .filter((node) => node.offsetParent !== null)
  .filter((node) => !(node.getAttribute('aria-label') || node.textContent.trim() || node.title
    || node.querySelector('img[alt]:not([alt=""])') || [...(node.labels || [])].some((l) => l.textContent.trim())))
  .map((node) => node.outerHTML.slice(0, 200))"""
# Contrast of text with what lies behind it, by the formula of WCAG 2.
FAINT = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (rgb) => rgb.slice(0, 3).map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const rgb = parse(getComputedStyle(node).backgroundColor);
      if ((rgb[3] ?? 1) > 0.5) return rgb;
    }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll('.gradio-container *')]
    .filter((node) => node.offsetParent !== null && !node.closest(':disabled, .edge, svg, [role=option]'))
    .filter((node) => [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim()))
    .map((node) => [node, light(parse(getComputedStyle(node).color)), light(behind(node))])
    .filter(([, a, b]) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5)
    .map(([node]) => node.textContent.trim().slice(0, 80));
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_phone_and_dark_mode(browse, picture_file, photograph, scheme):
    page = browse(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, color_scheme=scheme)
    open_picture(page, picture_file("cameraman.png", photograph[:64, :96]))
    damage(page, "noise")
    repair(page)
    assert figures(page)["Gain"] > 3
    choose(page, "Inpaint")
    go_on(page, "cameraman-denoise.png")
    page.get_by_role("button", name="Eraser").wait_for()
    for tab in TABS:
        page.get_by_role("tab", name=tab).click()
        page.get_by_role("tab", name=tab, selected=True).wait_for()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), tab
        assert page.evaluate(NAMELESS) == []
        assert page.evaluate(FAINT) == []
    red, green, blue = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")[:3]
    assert (max(red, green, blue) < 60) == (scheme == "dark")


def test_everything_can_be_reached_with_the_keyboard(browse):
    page = browse()
    page.locator("#noise input[value=level]").focus()
    page.keyboard.press("Space")
    page.get_by_label("range slider for Noise σ").wait_for()
    seen = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("(document.activeElement.ariaLabel || document.activeElement.textContent).trim()"))
    assert {"Drop a picture here, or choose one", "range slider for Noise σ", "Add noise to try it"} <= seen
    assert "range slider for Grain to remove" in seen
    page.get_by_role("button", name="Example: A cat").focus()
    page.keyboard.press("Enter")
    page.locator("#stage .note", has_text="chelsea.png").wait_for()
    page.locator("#task input[value=inpaint]").focus()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Eraser").wait_for()
    page.locator("#stage .view").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    assert on_stage(page)["marked"] > 0
    page.locator("#repair:enabled:not(.busy)").focus()
    page.keyboard.press("Enter")
    page.locator("#figures a.download").wait_for()
