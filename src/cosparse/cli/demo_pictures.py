"""The demo's four pictures: what is done to each, and how it is repaired."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import cosparse
from cosparse.cli.progress import Bar, Tally
from cosparse.cli.psf_option import point_spread
from cosparse.io.values import from_working
from cosparse.reconstruction import measurement
from cosparse.reconstruction.start import enlarge

Array = NDArray[Any]
SIDE = 288
TEXT = "the quick brown fox jumps over the lazy dog and the five boxing wizards jump quickly "


@dataclass(frozen=True)
class Panel:
    """One picture and how near it is to the truth."""

    name: str
    pixels: NDArray[np.uint8]
    db: float = float("inf")
    ssim: float = 1.0


@dataclass(frozen=True)
class Row:
    """A task: before, after and truth, and the place (top, left, side) worth a closer look."""

    task: str
    title: str
    before: Panel
    after: Panel
    truth: Panel
    detail: tuple[int, int, int]
    seconds: float


def denoise(bar: Bar) -> Row:
    """Gaussian noise of standard deviation 25 on a colour photograph."""
    truth = _photo("coffee", 30, 120)
    noisy = truth + np.random.default_rng(0).normal(0, 25, truth.shape).astype(np.float32)

    def repair(callback: Tally) -> Array:
        return cosparse.denoise(noisy, 25, **_float(truth, callback))

    return _row("denoise", "denoise, noise 25", truth, noisy, (176, 180, 72), bar, repair)


def inpaint(bar: Bar) -> Row:
    """Text and scratches over a colour photograph."""
    truth = _photo("chelsea", 6, 70)
    missing = text_and_scratches()
    marked = np.where(missing[..., None], np.float32(255), truth)

    def repair(callback: Tally) -> Array:
        return cosparse.inpaint(marked, missing, **_float(truth, callback))

    title = f"inpaint, {missing.mean():.0%} missing"
    return _row("inpaint", title, truth, marked, (76, 40, 72), bar, repair)


def upscale(bar: Bar) -> Row:
    """A colour photograph at a third of its width and height; before is bicubic interpolation."""
    truth = _photo("astronaut", 4, 80)
    measure = measurement.downsampling(3, truth.shape[:2])
    small = _by_colour(truth, lambda plane: measure.forward(plane))
    before = _by_colour(small, lambda plane: enlarge(plane, 3))

    def repair(callback: Tally) -> Array:
        return cosparse.upscale(small, 3, **_float(truth, callback))

    return _row("upscale", "upscale, 3 times", truth, before, (84, 96, 72), bar, repair)


def deblur(bar: Bar) -> Row:
    """A grey photograph out of focus, with a little noise."""
    truth = _photo("camera", 40, 130)
    kernel = point_spread("disk:3")
    measure = measurement.blur(kernel, truth.shape)
    noise = np.random.default_rng(0).normal(0, 1, truth.shape)
    blurred = (measure.forward(truth) + noise).astype(np.float32)

    def repair(callback: Tally) -> Array:
        return cosparse.deblur(blurred, kernel, sigma=1, **_float(truth, callback))

    return _row("deblur", "deblur, out of focus", truth, blurred, (78, 104, 72), bar, repair)


TASKS: list[Callable[[Bar], Row]] = [denoise, inpaint, upscale, deblur]


def text_and_scratches() -> NDArray[np.bool_]:
    """Lines of text, and strokes as of a nail, as a mask."""
    from PIL import Image, ImageDraw, ImageFont

    canvas = Image.new("L", (SIDE, SIDE))
    pen = ImageDraw.Draw(canvas)
    font = ImageFont.load_default(15)
    for number, top in enumerate(range(4, SIDE, 24)):
        shift = 17 * number % len(TEXT)
        pen.text((3, top), (TEXT[shift:] + TEXT)[:60], fill=255, font=font)
    rng = np.random.default_rng(3)
    for _ in range(5):
        middle, angle = rng.uniform(0.2, 0.8, 2) * SIDE, rng.uniform(0, np.pi)
        along = np.linspace(-0.6, 0.6, 40)[:, None] * SIDE
        bend = rng.uniform(-0.15, 0.15) * along**2 / SIDE
        cos, sin = np.cos(angle), np.sin(angle)
        line = middle + along * [cos, sin] + bend * [-sin, cos]
        pen.line([tuple(point) for point in line], fill=255, width=2)
    return np.asarray(canvas) > 90


def _photo(name: str, top: int, left: int) -> NDArray[np.float32]:
    """A square of one of scikit-image's pictures, as float32 on 0..255."""
    from skimage import data

    picture: Array = getattr(data, name)()
    return picture[top : top + SIDE, left : left + SIDE].astype(np.float32)


def _by_colour(image: Array, change: Callable[[Array], Array]) -> NDArray[np.float32]:
    return np.stack([change(np.ascontiguousarray(image[..., c])) for c in range(3)], axis=-1)


def _float(truth: Array, callback: Tally) -> dict[str, Any]:
    axis = None if truth.ndim == 2 else -1
    return {"data_range": 255, "channel_axis": axis, "callback": callback}


def _row(
    task: str, title: str, truth: Array, damaged: Array, detail: tuple[int, int, int], bar: Bar,
    repair: Callable[[Tally], Array],
) -> Row:  # fmt: skip
    started = time.perf_counter()
    tally = Tally(truth, bar)
    after = repair(tally)
    seconds = time.perf_counter() - started
    return Row(
        task,
        title,
        _panel("before", damaged, truth),
        _panel("after", after, truth),
        Panel("truth", truth.astype(np.uint8)),
        detail,
        seconds,
    )


def _panel(name: str, image: Array, truth: Array) -> Panel:
    axis = None if truth.ndim == 2 else -1
    return Panel(
        name,
        from_working(image, dtype=np.uint8),
        cosparse.psnr(truth, image, data_range=255),
        cosparse.ssim(truth, image, data_range=255, channel_axis=axis),
    )
