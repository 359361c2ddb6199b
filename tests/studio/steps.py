"""What a person does on the page, in one call each."""

from __future__ import annotations

import re
from importlib import resources

import numpy as np

from cosparse.io.picture import read_image


def upload(page, path, box: str = "Drop a picture here, or choose one") -> None:
    page.get_by_label(box).set_input_files(path)


def open_picture(page, path) -> None:
    """Upload, and wait until it stands on the stage."""
    upload(page, path)
    page.locator("#stage .note", has_text=path.name).wait_for()


def choose(page, task: str) -> None:
    page.locator("#task").get_by_text(task).click()


def go_on(page, name: str) -> None:
    """Continue with the result, until it stands on the stage under its name."""
    page.locator("#go-on").click()
    page.locator("#stage .note", has_text=name).wait_for()


def choose_noise(page, kind: str) -> None:
    page.locator("#noise").get_by_text(kind).click()


def damage(page, words: str) -> None:
    """Press the button that makes a repair necessary; wait for its effect."""
    page.locator("#try").click()
    page.locator("#stage .note", has_text=words).wait_for()


def more(page) -> None:
    page.locator("#more").get_by_text("Operator and quality").click()


def repair(page, press: bool = True) -> None:
    """Press the button, and wait for a result other than the one before."""
    link = page.locator("#figures a.download")
    before = link.get_attribute("href") if link.count() else ""
    if press:
        page.locator("#repair").click()
    address = "document.querySelector('#figures a.download')?.getAttribute('href')"
    page.wait_for_function(f"before => ({address} ?? before) !== before", arg=before)


def figures(page) -> dict[str, float]:
    """The numbers under the result."""
    cells = page.locator("#figures .figure")
    texts = [(c.locator("small").inner_text(), c.locator("b").inner_text()) for c in cells.all()]
    return {name: float(re.match(r"[+-]?[\d.]+", value)[0]) for name, value in texts}


def download(page, link: str = "#figures a.download"):
    """What the visitor gets on disk."""
    with page.expect_download() as waiting:
        page.locator(link).click()
    return waiting.value.path()


def downloaded(page):
    return read_image(download(page))


def stroke(page, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Drag the mouse between two places given as shares of the picture's width and height."""
    box = page.locator("#stage .sheet").bounding_box()
    (x0, y0), (x1, y1) = ((box["x"] + u * box["width"], box["y"] + v * box["height"]) for u, v in (start, end))
    page.mouse.move(x0, y0)
    page.mouse.down()
    page.mouse.move(x1, y1, steps=12)
    page.mouse.up()


def painted(page) -> np.ndarray:
    """The share of painted pixels by quarter of the canvas, left to right."""
    return np.array(
        page.evaluate(
            """() => {
              const canvas = document.querySelector('#stage canvas'), wide = canvas.width, tall = canvas.height;
              const data = canvas.getContext('2d').getImageData(0, 0, wide, tall).data, counts = [0, 0, 0, 0];
              for (let i = 0; i < wide * tall; i++)
                if (data[4 * i + 3] > 127) counts[Math.floor((i % wide) / wide * 4)]++;
              return counts.map((count) => count * 4 / (wide * tall));
            }"""
        )
    )


def watch_stages(page) -> None:
    """From now on, note what kind of result the stage shows; read it with `page.evaluate("window.stages")`."""
    page.evaluate(
        """() => {
          const stage = document.querySelector('.stage');
          window.stages = [];
          new MutationObserver(() => window.stages.push(stage.dataset.result)).observe(stage, { attributes: true });
        }"""
    )


def step(page, words: str) -> None:
    """Go back, or forth, to a step."""
    page.locator(".steps button", has_text=words).click()
    page.locator(".steps button[aria-current]", has_text=words).wait_for()


def on_stage(page) -> dict:
    """What kind of result is shown, how far the picture is zoomed and moved, what share of it is marked."""
    found = page.evaluate(
        """() => {
          const stage = document.querySelector('#stage .stage'), sheet = stage.querySelector('.sheet');
          const [a, b, view] = [sheet.getBoundingClientRect(), sheet.parentElement.getBoundingClientRect(), stage];
          return { result: stage.dataset.result, width: a.width, x: a.x - b.x, y: a.y - b.y };
        }"""
    )
    return {**found, "marked": float(painted(page).mean())}


def axe(page) -> list[str]:
    """What axe-core finds wrong for people who cannot see or use a mouse, a line each."""
    page.evaluate(  # a button that has just been given back is still pale
        """() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
          .then(() => Promise.all(document.getAnimations()
            .filter((one) => Number.isFinite(one.effect.getComputedTiming().endTime))
            .map((one) => one.finished.catch(() => 0))))
          .then(() => 0)"""
    )
    script = resources.files("axe_playwright_python") / "axe.min.js"
    page.evaluate(script.read_text("utf-8"))
    found = page.evaluate("axe.run()")["violations"]
    return [f"{one['id']}: {node['html'][:160]}" for one in found for node in one["nodes"]]
