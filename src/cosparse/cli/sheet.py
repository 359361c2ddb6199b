"""The demo's sheet: a row for each task, pictures whole and closer, drawn with Pillow alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from cosparse.cli.demo_pictures import SIDE, Panel, Row

EDGE, GAP, CAPTION, TITLE, SIDEBAR = 36, 10, 34, 92, 34
PAPER, INK, SOFT, ACCENT = "#ffffff", "#1c1e21", "#6b7076", "#d9480f"
_font = ImageFont.load_default
PANELS = ("before", "after", "truth")


def draw(rows: list[Row]) -> NDArray[np.uint8]:
    """The sheet as (h, w, 3) uint8."""
    block = 3 * SIDE + 2 * GAP
    width = 2 * EDGE + SIDEBAR + 2 * block + 3 * GAP
    height = TITLE + len(rows) * (SIDE + CAPTION + GAP) + EDGE // 2
    sheet = Image.new("RGB", (width, height), PAPER)
    pen = ImageDraw.Draw(sheet)
    left = EDGE + SIDEBAR
    pen.text((left, 22), "cosparse", fill=INK, font=_font(30), stroke_width=0.4)
    pen.text((left + 150, 32), "one learned operator, four repairs", fill=SOFT, font=_font(20))
    for half in (0, 1):
        for column, name in enumerate(PANELS):
            x = left + half * (block + 3 * GAP) + column * (SIDE + GAP)
            label = name + (", closer" if half else "")
            pen.text((x, TITLE - 10), label, fill=SOFT, font=_font(15), anchor="ls")
    for number, row in enumerate(rows):
        top = TITLE + number * (SIDE + CAPTION + GAP)
        _title(sheet, row.scene.title, top)
        for column, panel in enumerate((row.before, row.after, row.truth)):
            x = left + column * (SIDE + GAP)
            _whole(sheet, panel, row, x, top)
            _closer(sheet, panel, row, x + block + 3 * GAP, top)
            _caption(pen, panel, row, x, top + SIDE + 6)
    return np.asarray(sheet, np.uint8)


def _title(sheet: Image.Image, title: str, top: int) -> None:
    """The task, written upwards along the row."""
    strip = Image.new("RGB", (SIDE, SIDEBAR), PAPER)
    ImageDraw.Draw(strip).text(
        (SIDE / 2, SIDEBAR / 2 - 4), title, fill=INK, font=_font(20), anchor="mm", stroke_width=0.3
    )
    sheet.paste(strip.rotate(90, expand=True), (EDGE - 4, top))


def _whole(sheet: Image.Image, panel: Panel, row: Row, x: int, y: int) -> None:
    sheet.paste(Image.fromarray(panel.pixels).convert("RGB"), (x, y))
    top, left, side = row.scene.detail
    frame = (x + left - 1, y + top - 1, x + left + side, y + top + side)
    ImageDraw.Draw(sheet).rectangle(frame, outline=PAPER, width=2)


def _closer(sheet: Image.Image, panel: Panel, row: Row, x: int, y: int) -> None:
    top, left, side = row.scene.detail
    part = Image.fromarray(panel.pixels[top : top + side, left : left + side]).convert("RGB")
    sheet.paste(part.resize((SIDE, SIDE), Image.Resampling.NEAREST), (x, y))


def _caption(pen: ImageDraw.ImageDraw, panel: Panel, row: Row, x: int, y: int) -> None:
    if panel.name == "truth":
        return
    colour = ACCENT if panel.name == "after" else INK
    note = " bicubic" if panel.name == "before" and "factor" in row.scene.options else ""
    pen.text((x, y), f"{panel.db:.2f} dB{note}", fill=colour, font=_font(18), stroke_width=0.3)
    pen.text((x + SIDE, y + 1), f"SSIM {panel.ssim:.3f}", fill=SOFT, font=_font(16), anchor="ra")
