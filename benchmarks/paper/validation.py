"""How well an operator denoises photographs held out of learning, for `parameters` and `learning`."""

from __future__ import annotations

import cells
import common
import numpy as np

import cosparse
from cosparse.operator import AnalysisOperator

SIGMA = 25
FACTORS = (0.7, 1.0, 1.4)  # of the usual weight: operators differ in how heavy a prior they make
PHOTOGRAPHS = 8


def training_images() -> list[np.ndarray]:
    """What `parameters` and `learning` learn from: the paper's own training images."""
    return [common.read_grey(file) for file in sorted((common.DATA / "train" / "goal").glob("*.png"))]


def photographs(count: int = PHOTOGRAPHS) -> list[np.ndarray]:
    """Evenly spread over the validation set."""
    return common.validation_images(400 // count)[:count]


def score(operator: AnalysisOperator, images: list[np.ndarray], quality: str = "balanced") -> float:
    """Mean PSNR at σ = 25, at the best of a few weights."""
    noisy = [common.add_noise(image, SIGMA, i) for i, image in enumerate(images)]
    return max(
        float(np.mean([
            cells.quality_of(image, cosparse.denoise(
                given, SIGMA, operator=operator, weight=factor, quality=quality, grouping=False, data_range=255
            ))["psnr"]
            for image, given in zip(images, noisy, strict=True)
        ]))
        for factor in FACTORS
    )  # fmt: skip
