"""Training and validation: crops of clean images, damaged as the tasks find them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cosparse.reconstruction import measurement
from cosparse.refinement.bilevel import Crop, Image

TASKS = ("denoise", "inpaint", "upscale")


def damage(truth: Image, task: str, sigma: float, rng: np.random.Generator) -> Crop:
    """A crop with a known answer.

    Inpainting drops 50 to 90 % of the pixels, without noise 15 to 95 %; upscaling is by 3. Both add noise of sigma, as
    the repair expects it.
    """
    if task == "inpaint":
        gaps = rng.random(truth.shape) < rng.uniform(*((0.5, 0.9) if sigma else (0.15, 0.95)))
        gaps[0, 0] = False
        return Crop(task, truth, np.where(gaps, np.float32(0), _noisy(truth, sigma, rng)), sigma, gaps)
    if task == "upscale":
        height, width = (side // 3 for side in truth.shape)
        truth = np.ascontiguousarray(truth[: 3 * height, : 3 * width])
        small = measurement.reduction(3, truth.shape).forward(truth)
        return Crop(task, truth, _noisy(small, sigma, rng), sigma, factor=3)
    return Crop(task, truth, _noisy(truth, sigma, rng), sigma)


def draw(images: Sequence[Image], task: str, sigmas: tuple[float, float], size: int, rng: np.random.Generator) -> Crop:
    """A random crop, flipped and turned at random, with noise of a level drawn evenly on a logarithmic scale."""
    image = images[int(rng.integers(len(images)))]
    height, width = (min(size, side) for side in image.shape)
    top = int(rng.integers(image.shape[0] - height + 1))
    left = int(rng.integers(image.shape[1] - width + 1))
    crop = np.rot90(image[top : top + height, left : left + width], int(rng.integers(4)))
    crop = crop[:, ::-1] if rng.integers(2) else crop
    sigma = float(np.exp(rng.uniform(*np.log(sigmas)))) if sigmas[0] else 0.0
    return damage(np.ascontiguousarray(crop), task, sigma, rng)


def _noisy(image: Image, sigma: float, rng: np.random.Generator) -> NDArray[np.float32]:
    return (image + sigma * rng.standard_normal(image.shape)).astype(np.float32)
