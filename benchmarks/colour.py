"""Colour: what it costs beside grey and what it gains, which numbers it goes by, and in which space.

    python benchmarks/colour.py            dB beside PyPI's bm3d_rgb
    python benchmarks/colour.py seconds    those of the processor, of colour and of grey
    python benchmarks/colour.py choose     the numbers of [chroma] in reconstruction/stages.toml beside others
    python benchmarks/colour.py spaces     red/green/blue, luma/chroma (BT.601) or opponents

The pictures are scikit-image's. Choices are made on those that have been seen before, as the first operator was
learned from them: astronaut, coffee, motorcycle and rocket, 256 x 256 pixels of each. Results are reported on four
others, which nothing was chosen on: chelsea, hubble (the deep field), ihc (a stained tissue) and retina, 256 x 256 of
each; retina at half its size, as its file has chroma at half size. Times are of astronaut, 512 x 512 pixels.

bm3d is for non-commercial use and not needed: without it (pip install bm3d==4.0.3) its column keeps what the file has.
Writes benchmarks/results/colour.csv, colour_cpu.csv, colour_chosen.csv and colour_spaces.csv.
"""

from __future__ import annotations

import csv
import dataclasses
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import skimage.data
from common import RESULTS, add_noise, write_csv
from skimage.io import imread

import cosparse
from cosparse.reconstruction.planes import OPPONENT
from cosparse.reconstruction.stages import QUALITIES, TABLE

REPORT = ("chelsea.png", "hubble_deep_field.jpg", "ihc.png", "retina.jpg")
CHOICE = ("astronaut.png", "coffee.png", "motorcycle_left.png", "rocket.jpg")
NEVER = [np.inf] * 3
# Without steps of all three planes, and with them; of those, what else was tried at noise 25.
ALONE: dict[str, dict[str, Any]] = {
    "as luma": {"steps": list(QUALITIES), "half": NEVER},
    "the steps of fast": {"half": NEVER},
    "half": {},
}
TOGETHER: dict[str, dict[str, Any]] = {
    "together": {},
    "mean of full size and together": {"together": NEVER, "mean": [0.0] * 3},
}
FINER: dict[str, dict[str, Any]] = {
    "together, not along luma": {"ridge": 1e9},
    "together, without own details": {"excess": 1e9},
    "window 5": {"window": 5},
    "ridge 1": {"ridge": 1.0},
    "ridge 10": {"ridge": 10.0},
    "detail 3": {"detail": 3},
    "detail 7": {"detail": 7},
    "excess 1.1": {"excess": 1.1},
    "excess 1.4": {"excess": 1.4},
}
SPACES = {
    "red, green, blue": np.eye(3),
    "luma and chroma": np.array([[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]]),
    "opponents": OPPONENT.astype(float),
}


def picture(name: str, side: int) -> np.ndarray:
    """The middle of one of scikit-image's files, float32 on 0..255."""
    pixels = imread(Path(skimage.data.__file__).parent / name)[..., :3].astype(np.float32)
    if name == "retina.jpg":
        height, width = (length // 2 for length in pixels.shape[:2])
        pixels = pixels[: 2 * height, : 2 * width].reshape(height, 2, width, 2, 3).mean(axis=(1, 3))
    first = [max(0, (length - side) // 2) for length in pixels.shape[:2]]
    return np.ascontiguousarray(pixels[first[0] : first[0] + side, first[1] : first[1] + side])


def denoised(noisy: np.ndarray, sigma: float, quality: str, operator: Any = None) -> np.ndarray:
    options: dict[str, Any] = {"data_range": 255, "bounds": (0, 255), "channel_axis": -1}
    return cosparse.denoise(noisy, sigma, quality=quality, operator=operator, **options)


def bm3d_rgb(truth: np.ndarray, sigma: float, name: str) -> float:
    """The dB it reaches; without the package, what the file of results says."""
    try:
        from bm3d import bm3d_rgb
    except ImportError:
        with (RESULTS / "colour.csv").open(newline="") as file:
            rows = [row for row in csv.DictReader(file) if (float(row["sigma"]), row["picture"]) == (sigma, name)]
        return float(rows[0]["bm3d_rgb"])
    return psnr(truth, bm3d_rgb(add_noise(truth, sigma).astype(float), sigma).clip(0, 255))


def psnr(truth: np.ndarray, result: np.ndarray) -> float:
    return cosparse.psnr(truth, result, data_range=255)


def seconds() -> None:
    """Of one thread, the least of five, for 512 x 512 pixels with noise 25; in turns, as the machine may be busy."""
    truth = picture("astronaut.png", 512)
    noisy, grey = add_noise(truth, 25.0), add_noise(truth.mean(axis=-1), 25.0)
    rows = []
    for quality in QUALITIES:
        spent: dict[str, list[float]] = {"grey": [], "colour": []}
        for _ in range(6):  # the first to warm up
            for kind, image in (("grey", grey), ("colour", noisy)):
                begin = time.process_time()
                axis = None if kind == "grey" else -1
                with cosparse.limit_threads(1):
                    cosparse.denoise(image, 25.0, quality=quality, data_range=255, channel_axis=axis)
                spent[kind].append(time.process_time() - begin)
        least = {kind: min(times[1:]) for kind, times in spent.items()}
        rows.append({"quality": quality, **{kind: f"{value:.3f}" for kind, value in least.items()}})
        rows[-1]["ratio"] = f"{least['colour'] / least['grey']:.2f}"
        print(*rows[-1].values(), flush=True)
    print(write_csv("colour_cpu", rows))


def report() -> None:
    rows = []
    for sigma in (15.0, 25.0, 50.0):
        found = []
        for file in REPORT:
            truth, name = picture(file, 256), file.split(".")[0]
            noisy = add_noise(truth, sigma)
            results = [psnr(truth, denoised(noisy, sigma, quality)) for quality in QUALITIES]
            found.append([*results, bm3d_rgb(truth, sigma, name)])
            rows.append(line(sigma, name, found[-1]))
        rows.append(line(sigma, "mean", np.mean(found, axis=0)))
    print(write_csv("colour", rows))


def line(sigma: float, name: str, found: Any) -> dict[str, Any]:
    columns = (*QUALITIES, "bm3d_rgb")
    row = {"sigma": sigma, "picture": name, **{key: f"{db:.3f}" for key, db in zip(columns, found, strict=True)}}
    print(*row.values(), flush=True)
    return row


@contextmanager
def numbers(changed: dict[str, Any]) -> Iterator[None]:
    """The table with other numbers for chroma."""
    before = dict(TABLE["chroma"])
    TABLE["chroma"].update(changed)
    try:
        yield
    finally:
        TABLE["chroma"].update(before)


def choose() -> None:
    staged = cosparse.load_operator("staged")
    others = {name: steps for name, steps in staged.steps.items() if name != "colours"}
    alone, truths = dataclasses.replace(staged, steps=others), [picture(name, 256) for name in CHOICE]
    rows = []
    for quality in QUALITIES:
        for sigma in (5.0, 10.0, 15.0, 20.0, 25.0, 50.0):
            tried = [(alone, ALONE), (staged, TOGETHER if sigma != 25.0 else TOGETHER | FINER)]
            for operator, (name, changed) in ((operator, one) for operator, those in tried for one in those.items()):
                if quality == "best" and name == "the steps of fast":  # which it does not take
                    continue
                least = {"half": [0.0] * 3, "together": [0.0] * 3, "mean": NEVER}
                with numbers({**least, **changed}):
                    reached = [
                        psnr(truth, denoised(add_noise(truth, sigma), sigma, quality, operator)) for truth in truths
                    ]
                rows.append({"quality": quality, "sigma": sigma, "chroma": name, "psnr": f"{np.mean(reached):.3f}"})
                print(*rows[-1].values(), flush=True)
    print(write_csv("colour_chosen", rows))


def spaces() -> None:
    rows = []
    for sigma in (10.0, 25.0):
        for name, space in SPACES.items():
            reached = []
            for seed, file in enumerate(CHOICE):
                truth = picture(file, 256)
                noisy = add_noise(truth, sigma, seed)
                reached.append(psnr(truth, plane_by_plane(noisy, sigma, space)))
            rows.append({"sigma": sigma, "space": name, "psnr": f"{np.mean(reached):.3f}"})
            print(*rows[-1].values(), flush=True)
    print(write_csv("colour_spaces", rows))


def plane_by_plane(noisy: np.ndarray, sigma: float, space: np.ndarray) -> np.ndarray:
    """Each plane on its own, at the noise level it has after the transform."""
    planes = [
        # Chroma lies around zero: shifted to mid-grey, as it would be in a file.
        cosparse.denoise(noisy @ row + shift, sigma * np.linalg.norm(row), grouping=False, data_range=255) - shift
        for row in space
        for shift in [0 if row.sum() > 0.5 else 127.5]
    ]
    return np.stack(planes, axis=-1) @ np.linalg.inv(space).T


if __name__ == "__main__":
    {"report": report, "seconds": seconds, "choose": choose, "spaces": spaces}[(sys.argv[1:] or ["report"])[0]]()
