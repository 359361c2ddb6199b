"""The golden table: what every task reaches at every quality and three noise levels, on pictures that are at hand.

`make golden` writes golden.csv again; a figure that has moved is then seen in the diff. test_golden.py compares.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import convolve
from skimage import data

import cosparse
from cosparse.reconstruction import measurement

TABLE = Path(__file__).with_name("golden.csv")
QUALITIES = ("fast", "balanced", "best")
NOISE = {
    "denoise": (10, 25, 50),
    "inpaint": (0, 5, 25),
    "upscale": (0, 5, 15),
    "deblur": (1, 3, 10),
    "reconstruct": (0, 5, 15),
}
PICTURES = {"camera": data.camera()[80:176, 180:276] / 255, "astronaut": data.astronaut()[60:124, 190:254] / 255}


@dataclass(frozen=True)
class Case:
    """A repair with a known answer; noise on a scale of 0..255."""

    picture: str
    task: str
    noise: int
    quality: str

    def __str__(self) -> str:
        return f"{self.picture}-{self.task}-{self.noise}-{self.quality}"

    def reached(self) -> float:
        """dB."""
        truth = PICTURES[self.picture]
        options: dict[str, Any] = {"quality": self.quality}
        if truth.ndim == 3:
            options["channel_axis"] = -1
        result = _TASKS[self.task](truth, self.noise / 255, np.random.default_rng(self.noise), options)
        return cosparse.psnr(truth, result)


def _noisy(clean: Any, sigma: float, rng: np.random.Generator) -> Any:
    return clean + sigma * rng.standard_normal(clean.shape)


def _denoise(truth: Any, sigma: float, rng: np.random.Generator, options: dict[str, Any]) -> Any:
    return cosparse.denoise(_noisy(truth, sigma, rng), sigma, **options)


def _inpaint(truth: Any, sigma: float, rng: np.random.Generator, options: dict[str, Any]) -> Any:
    mask = rng.random(truth.shape[:2]) < 0.5
    return cosparse.inpaint(_noisy(truth, sigma, rng), mask, sigma=sigma, **options)


def _upscale(truth: Any, sigma: float, rng: np.random.Generator, options: dict[str, Any]) -> Any:
    A = measurement.reduction(2, truth.shape[:2])
    planes = truth[..., None] if truth.ndim == 2 else truth
    small = np.stack([A.forward(np.float32(planes[..., c])) for c in range(planes.shape[2])], axis=-1)
    noisy = _noisy(small if truth.ndim == 3 else small[..., 0], sigma, rng)
    return cosparse.upscale(noisy, 2, sigma=sigma, **options)


def _deblur(truth: Any, sigma: float, rng: np.random.Generator, options: dict[str, Any]) -> Any:
    kernel = measurement.gaussian_kernel(1.5).astype(float)
    blurred = convolve(truth, kernel if truth.ndim == 2 else kernel[..., None], mode="nearest")
    return cosparse.deblur(_noisy(blurred, sigma, rng), kernel, sigma=sigma, **options)


def _reconstruct(truth: Any, sigma: float, rng: np.random.Generator, options: dict[str, Any]) -> Any:
    A = measurement.fourier_sampling(measurement.variable_density_mask(truth.shape, 0.3))
    y = _noisy(A.matvec(truth.ravel()), sigma, rng)
    return cosparse.reconstruct(y, A, truth.shape, sigma=sigma, **options).image


_TASKS: dict[str, Callable[..., Any]] = {
    "denoise": _denoise, "inpaint": _inpaint, "upscale": _upscale, "deblur": _deblur, "reconstruct": _reconstruct,
}  # fmt: skip


def cases() -> Iterator[Case]:
    """All of them; reconstruct takes grey images only."""
    for picture, pixels in PICTURES.items():
        for task, levels in NOISE.items():
            if task == "reconstruct" and pixels.ndim == 3:
                continue
            for noise in levels:
                for quality in QUALITIES:
                    yield Case(picture, task, noise, quality)


def table() -> dict[str, float]:
    """The committed figures."""
    with TABLE.open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    return {str(Case(picture, task, int(noise), quality)): float(db) for picture, task, noise, quality, db in rows}


def write() -> None:
    """Run every case and write the table."""
    with TABLE.open("w", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(["picture", "task", "noise", "quality", "dB"])
        for case in cases():
            lines.writerow([case.picture, case.task, case.noise, case.quality, f"{case.reached():.3f}"])


if __name__ == "__main__":
    write()
