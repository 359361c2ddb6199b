"""The demo's four pictures: what is done to each, and how it is repaired."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from skimage import data

import cosparse
from cosparse.cli.progress import Bar, Tally
from cosparse.io.picture import Picture
from cosparse.io.values import from_working
from cosparse.reconstruction import measurement
from cosparse.reconstruction.psf import disk_kernel
from cosparse.repair import bicubic, by_plane, repair

Array = NDArray[Any]
SIDE = 288
TEXT = "the quick brown fox jumps over the lazy dog and the five boxing wizards jump quickly "


@dataclass(frozen=True)
class Scene:
    """A picture, what became of it, and the options of its repair; the place (top, left, side) worth a closer look."""

    title: str
    truth: Array
    damaged: Array
    detail: tuple[int, int, int]
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Panel:
    """One picture and how near it is to the truth."""

    name: str
    pixels: NDArray[np.uint8]
    db: float = float("inf")
    ssim: float = 1.0


@dataclass(frozen=True)
class Row:
    """A task: its scene before and after, and in truth."""

    task: str
    scene: Scene
    before: Panel
    after: Panel
    truth: Panel
    seconds: float


def denoise() -> Scene:
    """Gaussian noise of standard deviation 25 on a colour photograph."""
    truth = _photo("coffee", 30, 120)
    noisy = truth + np.random.default_rng(0).normal(0, 25, truth.shape).astype(np.float32)
    return Scene("denoise, noise 25", truth, noisy, (176, 180, 72), {"sigma": 25})


def inpaint() -> Scene:
    """Text and scratches over a colour photograph."""
    truth = _photo("chelsea", 6, 70)
    missing = text_and_scratches()
    marked = np.where(missing[..., None], np.float32(255), truth)
    return Scene(f"inpaint, {missing.mean():.0%} missing", truth, marked, (76, 40, 72), {"mask": missing})


def upscale() -> Scene:
    """A colour photograph at a third of its width and height."""
    truth = _photo("astronaut", 4, 80)
    small = by_plane(Picture(truth, channel_axis=-1), measurement.reduction(3, truth.shape[:2]).forward)
    return Scene("upscale, 3 times", truth, small, (84, 96, 72), {"factor": 3})


def deblur() -> Scene:
    """A grey photograph out of focus, with a little noise."""
    truth = _photo("camera", 40, 130)
    kernel = disk_kernel(3)
    noise = np.random.default_rng(0).normal(0, 1, truth.shape)
    blurred = (measurement.blur(kernel, truth.shape).forward(truth) + noise).astype(np.float32)
    return Scene("deblur, out of focus", truth, blurred, (78, 104, 72), {"kernel": kernel, "sigma": 1})


SCENES: dict[str, Callable[[], Scene]] = {make.__name__: make for make in (denoise, inpaint, upscale, deblur)}


def repaired(task: str, bar: Bar) -> Row:
    """The scene of a task before and after; what is enlarged is shown before as interpolation has it."""
    scene = SCENES[task]()
    truth, picture = scene.truth, Picture(scene.damaged, channel_axis=None if scene.damaged.ndim == 2 else -1)
    started = time.perf_counter()
    after = repair(picture, task, callback=Tally(truth, bar), **scene.options).picture.pixels
    seconds = time.perf_counter() - started
    before = bicubic(picture, scene.options["factor"]) if "factor" in scene.options else scene.damaged
    last = Panel("truth", truth.astype(np.uint8))
    return Row(task, scene, _panel("before", before, truth), _panel("after", after, truth), last, seconds)


def text_and_scratches() -> NDArray[np.bool_]:
    """Lines of text, and strokes as of a nail, as a mask."""
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
    picture: Array = getattr(data, name)()
    return picture[top : top + SIDE, left : left + SIDE].astype(np.float32)


def _panel(name: str, image: Array, truth: Array) -> Panel:
    db = cosparse.psnr(truth, image, data_range=255)
    similarity = cosparse.ssim(truth, image, data_range=255, channel_axis=None if truth.ndim == 2 else -1)
    return Panel(name, from_working(image, dtype=np.uint8), db, similarity)
