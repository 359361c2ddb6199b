"""Training and validation: crops of clean images, damaged as the tasks find them."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cosparse.jpeg import CHROMA, LUMA, Jpeg
from cosparse.reconstruction import measurement
from cosparse.reconstruction.intervals import Intervals, steps_of_level
from cosparse.refinement.bilevel import Crop, Image

TASKS = ("denoise", "inpaint", "upscale")  # what an energy is refined for
STEPS = ("denoise", "deblock", "inpaint", "upscale", "colours")  # and what steps are trained for
CORRECTED = ("inpaint", "upscale")  # of these, what they take up from the energy, where nothing is noisy
OTHERWISE = 0.3  # the part of small images that were made by another kernel than the usual one
CHROMATIC = 0.15  # the part of JPEGs that are compressed by the table of chroma, which has such planes to repair too


def damage(truth: Image, task: str, sigma: float, rng: np.random.Generator) -> Crop:
    """A crop with a known answer.

    Inpainting drops 50 to 90 % of the pixels, without noise 15 to 95 %; upscaling is by 3, without noise by 2, 3 or 4
    and from all kinds of reductions. Both add noise of sigma, as the repair expects it. Deblocking compresses by the
    standard's tables, made as coarse as sigma says.
    """
    if task == "deblock":
        height, width = (side // 8 * 8 for side in truth.shape)
        truth = np.ascontiguousarray(truth[:height, :width])
        table = steps_of_level(sigma, CHROMA if rng.random() < CHROMATIC else LUMA)
        decoded = Jpeg(table).sample(truth).astype(np.float32)
        within = Intervals.of(decoded, table)
        return Crop(task, truth, decoded, within.level, within=within)
    if task == "inpaint":
        gaps = rng.random(truth.shape) < rng.uniform(*((0.5, 0.9) if sigma else (0.15, 0.95)))
        gaps[0, 0] = False
        return Crop(task, truth, np.where(gaps, np.float32(0), _noisy(truth, sigma, rng)), sigma, gaps)
    if task == "upscale":
        factor = 3 if sigma else int(rng.integers(2, 5))
        others = [name for name in measurement.REDUCTIONS if name != measurement.USUAL]
        kernel = str(rng.choice(others)) if not sigma and rng.random() < OTHERWISE else measurement.USUAL
        height, width = (side // factor * factor for side in truth.shape)
        truth = np.ascontiguousarray(truth[:height, :width])
        small = measurement.reduction(factor, truth.shape, kernel).forward(truth)
        return Crop(task, truth, _noisy(small, sigma, rng), sigma, factor=factor, kernel=kernel)
    return Crop(task, truth, _noisy(truth, sigma, rng), sigma)


def rough_noise(truth: Image, sigma: float, rng: np.random.Generator) -> Crop:
    """A crop whose noise is not quite what the repair is told, as the noise of pictures is.

    For half of them it is. For a quarter the level was misjudged by up to a factor of 1.6, an eighth were saved as JPEG
    afterwards, and an eighth have more contrast than there is room for, and are cut off at black and white.
    """
    kind = int(rng.integers(8))
    if kind < 4:
        return Crop("denoise", truth, _noisy(truth, sigma, rng), sigma)
    if kind < 6:
        return Crop("denoise", truth, _noisy(truth, sigma * float(np.exp(rng.uniform(-0.45, 0.45))), rng), sigma)
    if kind == 6:
        noisy = _noisy(truth, sigma * float(np.exp(rng.uniform(-0.2, 0.2))), rng)
        return Crop("denoise", truth, _as_jpeg(noisy, int(rng.integers(60, 96))), sigma)
    bright = (truth - 128) * np.float32(rng.uniform(1, 2)) + np.float32(rng.uniform(60, 200))
    truth = bright.clip(0, 255)
    return Crop("denoise", truth, np.rint(_noisy(truth, sigma, rng)).clip(0, 255), sigma)


def _as_jpeg(image: Image, quality: int) -> Image:
    """As a file of that quality has it."""
    from PIL import Image as Pillow

    file = io.BytesIO()
    Pillow.fromarray(np.rint(image).clip(0, 255).astype(np.uint8)).save(file, "JPEG", quality=quality)
    return np.asarray(Pillow.open(file), np.float32)


def draw(
    images: Sequence[Image],
    task: str,
    sigmas: tuple[float, float],
    size: int,
    rng: np.random.Generator,
    *,
    rough: bool = False,
) -> Crop:
    """A random crop, flipped and turned at random, with noise of a level drawn evenly on a logarithmic scale."""
    image = images[int(rng.integers(len(images)))]
    height, width = (min(size, side) for side in image.shape[:2])
    top = int(rng.integers(image.shape[0] - height + 1))
    left = int(rng.integers(image.shape[1] - width + 1))
    crop = np.rot90(image[top : top + height, left : left + width], int(rng.integers(4)))
    crop = crop[:, ::-1] if rng.integers(2) else crop
    crop = _recoloured(crop, rng) if task == "colours" else crop
    sigma = float(np.exp(rng.uniform(*np.log(sigmas)))) if sigmas[0] else 0.0
    crop = np.ascontiguousarray(crop)
    return rough_noise(crop, sigma, rng) if rough and task == "denoise" else damage(crop, task, sigma, rng)


def _recoloured(image: Image, rng: np.random.Generator) -> Image:
    """Three in ten with their colours in another order, four in ten with more or less of them: of few pictures many."""
    if rng.random() < 0.3:
        image = image[..., rng.permutation(3)]
    if rng.random() < 0.4:
        grey = image.mean(axis=-1, keepdims=True)
        image = grey + (image - grey) * np.float32(np.exp(rng.uniform(-0.7, 0.35)))
    return image


def _noisy(image: Image, sigma: float, rng: np.random.Generator) -> NDArray[np.float32]:
    return (image + sigma * rng.standard_normal(image.shape)).astype(np.float32)
