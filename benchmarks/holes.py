"""Wide holes in textures and photographs: ours, and what others make of them; figures and sheets to look at.

    python benchmarks/holes.py [--sides 40 80 120] [--only brick cat] [--seed 0]

Needs the pictures that scikit-image ships or fetches, and of the extra `bench` OpenCV and gmic; a rival that is not
installed is left out, and the script says so. Writes benchmarks/results/holes.csv and docs/images/holes-SIDE.jpg: a row
a picture, and in it the hole, the true picture and one filling after the other.

What is measured, of every filling and of the true picture: `contrast`, the mean local standard deviation (7x7 pixels)
inside the hole over that around it; `coarse`, `middle` and `fine`, amplitudes of the spectrum in three octaves inside
over around; `seam`, the mean gradient across the rim over that inside; `novelty`, how far patches of the hole are from
the nearest known one, over how far known ones are from each other. All are 1 where nothing tells hole from picture.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, ROOT, write_csv
from PIL import Image
from scipy import ndimage
from skimage import data

import cosparse
from cosparse.baselines import biharmonic, telea

PLACES = {  # the middle of the hole
    "brick": (250, 250), "grass": (256, 256), "gravel": (256, 256), "cat": (215, 150), "coffee": (80, 480),
    "backdrop": (80, 115), "lawn": (420, 440),
}  # fmt: skip
PICTURES = {"cat": data.chelsea, "backdrop": data.astronaut, "lawn": data.camera}
MARGIN = 40  # pixels about the hole that the sheet shows
SHEET = 480_000  # bytes of a sheet at most
Filler = Callable[[np.ndarray, np.ndarray], np.ndarray]


def picture(name: str) -> np.ndarray:
    """One of scikit-image's, as bytes."""
    return PICTURES.get(name, getattr(data, name, None))()


def hole(name: str, shape: tuple[int, ...], side: int) -> np.ndarray:
    """A square of this side."""
    mask = np.zeros(shape[:2], bool)
    top, left = (
        min(max(at - side // 2, 8), extent - side - 8) for at, extent in zip(PLACES[name], shape, strict=False)
    )
    mask[top : top + side, left : left + side] = True
    return mask


def by_channel(fill: Filler) -> Filler:
    """A filler of grey pictures for coloured ones."""

    def filled(image: np.ndarray, mask: np.ndarray) -> np.ndarray:
        if image.ndim == 2:
            return np.clip(np.rint(fill(image.astype(np.float32), mask)), 0, 255).astype(np.uint8)
        return np.stack([filled(image[..., k], mask) for k in range(image.shape[2])], axis=-1)

    return filled


def ours(fill: str, seed: int = 0) -> Filler:
    def filled(image: np.ndarray, mask: np.ndarray) -> np.ndarray:
        return cosparse.inpaint(image, mask, fill=fill, seed=seed, channel_axis=-1 if image.ndim == 3 else None)

    return filled


def gmic_patches(image: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """G'MIC's patch-based inpainting (Daisy, Buyssens, Tschumperlé, Lézoray 2014) as its command has it by default."""
    import gmic

    with tempfile.TemporaryDirectory() as folder:
        Image.fromarray(np.where(mask if image.ndim == 2 else mask[..., None], 0, image)).save(f"{folder}/in.png")
        Image.fromarray(mask.astype(np.uint8) * 255).save(f"{folder}/mask.png")
        gmic.run(f"{folder}/in.png {folder}/mask.png inpaint[0] [1],11,22 keep[0] output {folder}/out.png")
        found = np.asarray(Image.open(f"{folder}/out.png"))
    return found if found.ndim == image.ndim else found[..., 0]


def fillers(seed: int) -> dict[str, Filler]:
    """Those that are installed."""
    found: dict[str, Filler] = {"true": lambda image, mask: image, "smooth": ours("smooth")}
    try:
        import cv2  # noqa: F401

        found["Telea"] = by_channel(telea.inpaint)
    except ImportError:
        print("OpenCV is not installed: no Telea")
    found["biharmonic"] = by_channel(biharmonic.inpaint)
    try:
        import gmic  # noqa: F401

        found["G'MIC"] = gmic_patches
    except ImportError:
        print("gmic is not installed: none of its patches")
    found["copied"] = ours("auto", seed)
    return found


def figures(image: np.ndarray, mask: np.ndarray) -> dict[str, float]:
    """How like its surroundings a filled hole is."""
    grey = image.astype(float) if image.ndim == 2 else image.mean(axis=-1)
    side = int(np.sqrt(mask.sum()))
    around = ndimage.binary_dilation(mask, iterations=max(side // 2, 24)) & ~ndimage.binary_dilation(mask, iterations=4)
    inside = ndimage.binary_erosion(mask, iterations=4)
    mean = ndimage.uniform_filter(grey, 7)
    spread = np.sqrt(np.maximum(ndimage.uniform_filter(grey**2, 7) - mean**2, 0))
    found = {"contrast": spread[inside].mean() / max(spread[around].mean(), 0.1)}
    for name, (small, large) in {"coarse": (4, 8), "middle": (2, 4), "fine": (0, 2)}.items():
        near = grey if small == 0 else ndimage.gaussian_filter(grey, small / 2)
        band = near - ndimage.gaussian_filter(grey, large / 2)
        found[name] = float(np.sqrt(np.mean(band[inside] ** 2) / max(np.mean(band[around] ** 2), 0.01)))
    steps = [np.abs(np.diff(grey, axis=axis)) for axis in (0, 1)]
    across = [np.diff(mask.astype(int), axis=axis) != 0 for axis in (0, 1)]
    within = [inside[:-1], inside[:, :-1]]
    rim = np.concatenate([step[where] for step, where in zip(steps, across, strict=True)]).mean()
    found["seam"] = rim / max(np.concatenate([s[w] for s, w in zip(steps, within, strict=True)]).mean(), 0.1)
    return {**found, "novelty": _novelty(grey, mask, around)}


def _novelty(grey: np.ndarray, mask: np.ndarray, around: np.ndarray) -> float:
    """Median distances to the nearest known patch of 7x7, that does not overlap: from the hole, and from around it."""
    windows = np.lib.stride_tricks.sliding_window_view(grey.astype(np.float32), (7, 7))
    whole = ~ndimage.binary_dilation(mask, np.ones((7, 7)))[3:-3, 3:-3]
    places = np.argwhere(whole)[::7]
    known = windows[places[:, 0], places[:, 1]].reshape(len(places), -1)
    medians = []
    for part in (mask[3:-3, 3:-3], whole & around[3:-3, 3:-3]):
        own = np.argwhere(part)[:: max(1, int(part.sum()) // 300)]
        patches = windows[own[:, 0], own[:, 1]].reshape(len(own), -1)
        squares = (patches**2).sum(axis=1)[:, None] + (known**2).sum(axis=1) - 2 * patches @ known.T
        apart = np.abs(places - own[:, None]).max(axis=-1) >= 7
        medians.append(np.median(np.sqrt(np.where(apart, squares, np.inf).min(axis=1).clip(0))))
    return float(medians[0] / max(medians[1], 0.1))


def crop(image: np.ndarray, mask: np.ndarray, side: int) -> np.ndarray:
    """The hole and some of what is about it, in colour."""
    extent = side + 2 * MARGIN
    rows, columns = (int(where.mean()) for where in np.nonzero(mask))
    top, left = (
        min(max(at - extent // 2, 0), size - extent) for at, size in zip((rows, columns), mask.shape, strict=True)
    )
    part = image[top : top + extent, left : left + extent]
    return part if part.ndim == 3 else np.repeat(part[..., None], 3, axis=-1)


def save_sheet(sheet: np.ndarray, path: Path) -> None:
    """As good as fits into so many bytes."""
    for quality in range(92, 40, -4):
        Image.fromarray(sheet).save(path, quality=quality)
        if path.stat().st_size <= SHEET:
            return


def kept(sides: list[int], pictures: list[str]) -> list[dict[str, Any]]:
    """What was measured before and is not asked for again."""
    before = RESULTS / "holes.csv"
    if not before.exists():
        return []
    with before.open() as file:
        return [row for row in csv.DictReader(file) if int(row["side"]) not in sides or row["picture"] not in pictures]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sides", nargs="*", type=int, default=[40, 80, 120])
    parser.add_argument("--only", nargs="*", choices=list(PLACES), default=list(PLACES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sheets", type=Path, default=ROOT / "docs" / "images")
    args = parser.parse_args()
    rows: list[dict[str, Any]] = kept(args.sides, args.only)
    for side in args.sides:
        sheet = []
        for name in args.only:
            image = picture(name)
            mask = hole(name, image.shape, side)
            shown = [
                crop(np.where(mask if image.ndim == 2 else mask[..., None], 0, image).astype(np.uint8), mask, side)
            ]
            for method, fill in fillers(args.seed).items():
                began = time.process_time()
                found = fill(image, mask)
                seconds = time.process_time() - began
                found = np.where(mask if image.ndim == 2 else mask[..., None], found, image)
                measured = {key: round(float(value), 3) for key, value in figures(found, mask).items()}
                rows.append({"picture": name, "side": side, "method": method, **measured, "cpu": round(seconds, 1)})
                print(" ".join(f"{value}" for value in rows[-1].values()), flush=True)
                shown.append(crop(found, mask, side))
            sheet.append(np.hstack(shown))
        save_sheet(np.vstack(sheet), args.sheets / f"holes-{side}.jpg")
        print(write_csv("holes", rows))


if __name__ == "__main__":
    main()
