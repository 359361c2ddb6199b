"""What the pieces are made of: small pictures, and noise that is the same each time."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import gaussian_filter
from skimage import data

from cosparse import PoissonGaussian

Array = NDArray[Any]

CAMERA = data.camera().astype(np.float32)
ASTRONAUT = data.astronaut().astype(np.float32)
GREY = CAMERA[60:124, 200:264].copy()
FLAT = np.add.outer(np.linspace(20, 90, 72), np.linspace(10, 120, 72)).astype(np.float32)
TEXTURED = CAMERA[300:372, 100:172].copy()
COLOUR = ASTRONAUT[60:124, 180:244].copy()


def noise(shape: tuple[int, ...], sigma: float = 1.0, seed: int = 0) -> NDArray[np.float32]:
    """White."""
    return np.float32(sigma * np.random.default_rng(seed).standard_normal(shape))


def soft_noise(shape: tuple[int, ...], sigma: float, width: float, seed: int = 1) -> NDArray[np.float32]:
    """That neighbours share."""
    soft = gaussian_filter(noise(shape, 1.0, seed), width, mode="wrap")
    return np.float32(sigma * soft / soft.std())


def streaks(shape: tuple[int, int], sigma: float, period: float = 9.0) -> NDArray[np.float32]:
    """Waves across of random phase in every row, and some white noise."""
    rng = np.random.default_rng(2)
    phase = np.cumsum(rng.normal(0, 0.15, shape[0]))[:, None]
    waves = np.sqrt(2) * np.sin(2 * np.pi * np.arange(shape[1]) / period + phase)
    return np.float32(sigma * waves + rng.normal(0, 0.15 * sigma, shape))


def photons(clean: Array, gain: float, read: float = 0.0, offset: float = 0.0) -> NDArray[np.float32]:
    """Counts of a sensor."""
    return np.float32(PoissonGaussian(gain, read, offset).sample(clean, rng=3))


def saved(picture: Array, quality: int) -> NDArray[np.float32]:
    """As a JPEG, and read again."""
    file = io.BytesIO()
    Image.fromarray(np.rint(np.clip(picture, 0, 255)).astype(np.uint8)).save(file, "JPEG", quality=quality)
    return np.asarray(Image.open(file)).astype(np.float32)


def tables(quality: int) -> Any:
    """The quantization tables of such a JPEG in colour."""
    file = io.BytesIO()
    Image.fromarray(COLOUR.astype(np.uint8)).save(file, "JPEG", quality=quality)
    return Image.open(file).quantization
