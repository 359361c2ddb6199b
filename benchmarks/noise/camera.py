"""Pictures as cameras write them, denoised with nothing given.

    python benchmarks/noise/camera.py [--quality fast] [--pictures 3] [--again]

From training photographs only, 256 x 256 pixels of each: scikit-image's in colour, grey ones of data/train. White noise
of 12.75, then JPEG with 4:2:0; photons and read noise in linear light, a Bayer mosaic with bilinear demosaicing, gamma,
JPEG; noise at half the resolution, enlarged; clean textures, which must stay as they are. What a phone makes is
compared with what the same phone would have made without noise and JPEG. Beside what is estimated stand the finest
wavelets, as was usual, and the best of several levels; --again measures only what is estimated, and takes the others
from the file as it is. Writes benchmarks/results/noise_camera.csv.
"""

from __future__ import annotations

import argparse
import csv
import io
import zlib
from functools import partial

import numpy as np
from pictures import common
from PIL import Image
from scipy import ndimage
from skimage import data
from skimage.restoration import estimate_sigma as finest_wavelets

import cosparse

LEVELS = (3, 5, 7, 9, 11, 13, 15, 18, 21, 25, 30, 36)
GAMMA = 2.2
TEXTURES = ("brick", "grass", "gravel", "chelsea")


def jpeg(picture: np.ndarray, quality: int) -> np.ndarray:
    file = io.BytesIO()
    options = {} if picture.ndim == 2 else {"subsampling": "4:2:0"}
    Image.fromarray(np.rint(picture.clip(0, 255)).astype(np.uint8)).save(file, "JPEG", quality=quality, **options)
    return np.asarray(Image.open(file))


def white(picture: np.ndarray, rng: np.random.Generator, quality: int) -> tuple[np.ndarray, np.ndarray]:
    return picture, jpeg(picture + 12.75 * rng.standard_normal(picture.shape), quality)


def bayer(shape: tuple[int, ...]) -> np.ndarray:
    """Which colour a pixel of the sensor sees: red and green in even rows, green and blue in odd ones."""
    seen = np.zeros((*shape[:2], 3))
    seen[0::2, 0::2, 0] = seen[0::2, 1::2, 1] = seen[1::2, 0::2, 1] = seen[1::2, 1::2, 2] = 1
    return seen


def demosaiced(raw: np.ndarray) -> np.ndarray:
    """Every colour as the mean of the nearest pixels that see it."""
    kernel = np.outer([1, 2, 1], [1, 2, 1])
    seen = bayer(raw.shape)
    near = [ndimage.convolve(plane, kernel, mode="mirror") for plane in np.moveaxis(raw[..., None] * seen, -1, 0)]
    counted = [ndimage.convolve(plane, kernel, mode="mirror") for plane in np.moveaxis(seen, -1, 0)]
    return np.stack([a / b for a, b in zip(near, counted, strict=True)], axis=-1)


def phone(
    picture: np.ndarray, rng: np.random.Generator, photons: float, read: float, quality: int
) -> tuple[np.ndarray, np.ndarray]:
    light = (picture / 255) ** GAMMA
    raw = (light * bayer(light.shape)).sum(axis=-1) if light.ndim == 3 else light
    noisy = rng.poisson(raw * photons) / photons + read * rng.standard_normal(raw.shape)
    truth, seen = (demosaiced(values) if light.ndim == 3 else values for values in (raw, noisy))
    truth, seen = (255 * values.clip(0, 1) ** (1 / GAMMA) for values in (truth, seen))
    return truth, jpeg(seen, quality)


def enlarged(picture: np.ndarray, rng: np.random.Generator, level: float) -> tuple[np.ndarray, np.ndarray]:
    height, width = picture.shape[:2]
    noise = rng.standard_normal((height // 2 + 1, width // 2 + 1, *picture.shape[2:]))
    noise = ndimage.zoom(noise, (2, 2) + (1,) * (picture.ndim - 2), order=1)[:height, :width]
    noisy = picture + level * noise / noise.std()
    return picture, np.rint(noisy.clip(0, 255)).astype(np.uint8)


CASES = {
    **{f"white 12.75, JPEG {quality}": partial(white, quality=quality) for quality in (95, 90, 85, 75)},
    "phone, 1000 photons, JPEG 95": partial(phone, photons=1000, read=0.004, quality=95),
    "phone, 400 photons, JPEG 85": partial(phone, photons=400, read=0.008, quality=85),
    "phone, 150 photons, JPEG 75": partial(phone, photons=150, read=0.01, quality=75),
    "phone, 150 photons, JPEG 90": partial(phone, photons=150, read=0.01, quality=90),
    "noise enlarged twice": partial(enlarged, level=13.0),
}


def photographs(count: int | None) -> dict[str, np.ndarray]:
    common.need_data()
    found = {name: getattr(data, name)()[20:276, 100:356].astype(float) for name in ("astronaut", "chelsea", "coffee")}
    for file in sorted((common.DATA / "train" / "goal").glob("*.png"))[:3]:
        grey = common.read_grey(file).astype(float)
        top, left = (grey.shape[0] - 256) // 2, (grey.shape[1] - 256) // 2
        found[file.stem] = grey[top : top + 256, left : left + 256]
    found |= {f"bsd400/{i}": image.astype(float) for i, image in enumerate(common.validation_images(200))}
    return dict(list(found.items())[:count])


def best_level(truth: np.ndarray, noisy: np.ndarray, options: dict[str, object]) -> tuple[float, float]:
    """Up the levels until it gets worse twice."""
    found: list[tuple[float, float]] = []
    for level in LEVELS:
        found.append((cosparse.psnr(truth, cosparse.denoise(noisy, level, **options), data_range=255), level))
        if len(found) > 2 and max(found[-2:]) < max(found[:-2]):
            break
    return max(found)


def measured(
    case: str, name: str, truth: np.ndarray, noisy: np.ndarray, quality: str, before: dict[tuple[str, str], dict]
) -> dict[str, object]:
    axis = -1 if noisy.ndim == 3 else None
    options: dict[str, object] = {"channel_axis": axis, "quality": quality}
    noise = cosparse.estimate_noise(noisy, channel_axis=axis)
    estimated = cosparse.psnr(truth, cosparse.denoise(noisy, noise=noise, **options), data_range=255)
    of_it = {"estimated": f"{estimated:.2f}", "noise": str(noise).replace(", offset=0.0", "")}
    of_it["confidence"] = f"{noise.confidence:.2f}"
    if (case, name) in before:
        return before[case, name] | of_it
    old = float(np.mean(finest_wavelets(noisy, channel_axis=axis)))
    finest = cosparse.psnr(truth, cosparse.denoise(noisy, old, **options), data_range=255)
    best, level = best_level(truth, noisy, options) if case != "clean" else (float("inf"), 0.0)
    return {
        "case": case, "picture": name, "noisy": f"{cosparse.psnr(truth, noisy, data_range=255):.2f}",
        "finest": f"{finest:.2f}", "estimated": of_it["estimated"], "best": f"{best:.2f}",
        "finest_sigma": f"{old:.2f}", **of_it, "best_sigma": level, "quality": quality,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quality", default="fast", help="of the denoising")
    parser.add_argument("--pictures", type=int, help="take only the first so many")
    parser.add_argument("--again", action="store_true", help="only what is estimated")
    given = parser.parse_args()
    rows, before = [], {}
    if given.again:
        with (common.RESULTS / "noise_camera.csv").open() as file:
            before = {(row["case"], row["picture"]): row for row in csv.DictReader(file)}
    for name in TEXTURES:
        truth = getattr(data, name)()
        rows.append(measured("clean", name, truth, truth, given.quality, before))
        print(*rows[-1].values(), sep=", ", flush=True)
    for case, make in CASES.items():
        for name, picture in photographs(given.pictures).items():
            truth, noisy = make(picture, np.random.default_rng(zlib.crc32((case + name).encode())))
            rows.append(measured(case, name, truth, noisy, given.quality, before))
            print(*rows[-1].values(), sep=", ", flush=True)
        short = [float(row["best"]) - float(row["estimated"]) for row in rows if row["case"] == case]
        print(f"{case}: {np.mean(short):.2f} dB below the best level, at worst {max(short):.2f}", flush=True)
    short = [float(row["best"]) - float(row["estimated"]) for row in rows if row["case"] != "clean"]
    print(f"all: {np.mean(short):.2f} dB below the best level, at worst {max(short):.2f}")
    print(common.write_csv("noise_camera", rows))


if __name__ == "__main__":
    main()
