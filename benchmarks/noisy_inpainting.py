"""Missing pixels of noisy pictures: scratches, text, half of all pixels.

    python benchmarks/noisy_inpainting.py [--count 4] [--quality balanced]

On training photographs: what `inpaint` gives that is told the noise, beside the energy alone with its second pass
(operator "default") and beside filling in first and denoising then. Writes benchmarks/results/noisy_inpainting.csv.
"""

from __future__ import annotations

import argparse

import common
import numpy as np
from PIL import Image, ImageDraw, ImageFont

import cosparse

SIGMAS = (5, 15, 25)
WORDS = "The quick brown fox jumps over the lazy dog and sleeps"


def scratches(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """One to four pixels wide."""
    canvas = Image.new("L", shape[::-1])
    draw = ImageDraw.Draw(canvas)
    for _ in range(max(4, shape[0] * shape[1] // 4500)):
        start, angle, length = rng.random(2) * shape[::-1], np.pi * rng.random(), rng.uniform(30, 120)
        end = start + length * np.array([np.cos(angle), np.sin(angle)])
        draw.line([*start, *end], fill=255, width=int(rng.integers(1, 5)))
    return np.asarray(canvas) > 0


def text(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    canvas = Image.new("L", shape[::-1])
    draw, font = ImageDraw.Draw(canvas), ImageFont.load_default(size=16)
    for row in range(4, shape[0], 26):
        draw.text((3 - int(rng.integers(0, 30)), row), WORDS, fill=255, font=font)
    return np.asarray(canvas) > 100


def half(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    return rng.random(shape) < 0.5


MASKS = {"scratches": scratches, "text": text, "half": half}


def ways(noisy: np.ndarray, mask: np.ndarray, sigma: float, quality: str) -> dict[str, np.ndarray]:
    about = {"data_range": 255.0, "quality": quality}
    return {
        "inpaint": cosparse.inpaint(noisy, mask, sigma=sigma, **about),
        "energy": cosparse.inpaint(noisy, mask, sigma=sigma, operator="default", **about),
        "fill, denoise": cosparse.denoise(cosparse.inpaint(noisy, mask, **about), sigma, **about),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=4)
    parser.add_argument("--quality", default="balanced")
    given = parser.parse_args()
    common.need_data()
    rows = []
    for kind, make in MASKS.items():
        for sigma in SIGMAS:
            reached: dict[str, list[float]] = {}
            for number, image in enumerate(common.validation_images(100, 11)[: given.count]):
                rng = np.random.default_rng(number)
                mask = make(image.shape, rng)
                noisy = image + sigma * rng.standard_normal(image.shape)
                for way, result in ways(noisy, mask, sigma, given.quality).items():
                    found = cosparse.psnr(image, np.clip(result, 0, 255), data_range=255)
                    reached.setdefault(way, []).append(found)
            each = {way: f"{np.mean(values):.2f}" for way, values in reached.items()}
            rows.append({"missing": kind, "sigma": sigma, "photographs": given.count, **each})
            print(*rows[-1].values(), flush=True)
    print(common.write_csv("noisy_inpainting", rows))


if __name__ == "__main__":
    main()
