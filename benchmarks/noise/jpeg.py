"""JPEG: dB over the decoded file, of Pillow's grey encoder at quality 10, 20, 30 and 40.

    python benchmarks/noise/jpeg.py [--quick]

On the five test images and every fourth of BSD68. `steps` are those that the staged operator was trained with, on
photographs of data/train/bsd400 alone; `energy` is that of the default operator, whose constants were chosen there.
Writes benchmarks/results/jpeg.csv: a row for every set, quality and method, and the mean over all images of both.
"""

from __future__ import annotations

import argparse
import io
import sys
import time
from pathlib import Path

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from common import DATA, DENOISING, need_data, test_image, write_csv

import cosparse
from cosparse.io.picture import Picture, read_grey, read_image

QUALITIES = (10, 20, 30, 40)
METHODS = {"steps": {}, "energy": {"operator": "default"}}


def images(quick: bool) -> dict[str, list[np.ndarray]]:
    """Whole grey levels, by set."""
    files = sorted((DATA / "bsd68").glob("*.png"))[:: 34 if quick else 4]
    names = DENOISING[:1] if quick else DENOISING
    found = {
        "five test images": [test_image(name) for name in names],
        "every 4th of BSD68": [read_grey(f) for f in files],
    }
    return {name: [np.rint(image).astype(np.uint8) for image in ones] for name, ones in found.items()}


def compressed(image: np.ndarray, quality: int) -> Picture:
    """As Pillow writes it, and reads it again."""
    file = io.BytesIO()
    Image.fromarray(image).save(file, "jpeg", quality=quality)
    return read_image(file.getvalue())


def measured(image: np.ndarray, quality: int, methods: list[str]) -> dict[str, tuple[float, float]]:
    """dB and seconds of every method."""
    picture = compressed(image, quality)
    found = {"decoded": (cosparse.psnr(image, picture.pixels), 0.0)}
    for name in methods:
        started = time.process_time()
        result = cosparse.deblock(picture.pixels, picture.jpeg, **METHODS[name])
        found[name] = cosparse.psnr(image, result), time.process_time() - started
    return found


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="three images, and no energy")
    quick = parser.parse_args(arguments).quick
    need_data()
    methods = list(METHODS)[:1] if quick else list(METHODS)
    sets, rows = images(quick), []
    cosparse.deblock(np.zeros((16, 16), np.uint8), cosparse.Jpeg.standard(50))  # compiles
    for quality in QUALITIES:
        reached = {name: [measured(image, quality, methods) for image in ones] for name, ones in sets.items()}
        reached["all"] = [one for ones in reached.values() for one in ones]
        for name, ones in reached.items():
            before, _ = np.mean([one["decoded"] for one in ones], axis=0)
            for method in ("decoded", *methods):
                psnr, seconds = np.mean([one[method] for one in ones], axis=0)
                row = {"images": name, "quality": quality, "method": method, "psnr": f"{psnr:.3f}"}
                rows.append(row | {"gain": f"{psnr - before:.3f}", "cpu_seconds": f"{seconds:.2f}"})
                print(*rows[-1].values(), sep="  ", flush=True)
    if not quick:
        print(write_csv("jpeg", rows))


if __name__ == "__main__":
    main()
