"""How far the result of tiles is from the whole picture's: against the overlap, and where steps come from samples.

    python benchmarks/cluster/tiles.py                    writes results/cluster_tiles.csv
    python benchmarks/cluster/tiles.py --only "denoise 5" one case; writes nothing

The pictures are put together from scikit-image's photographs. All in grey levels of 255, root mean square.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from skimage import data
from skimage.color import rgb2gray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common

import cosparse
from cosparse import cluster
from cosparse.cluster import picture
from cosparse.reconstruction import measurement

Case = tuple[str, str, np.ndarray, dict[str, Any]]


def grey(image: np.ndarray) -> np.ndarray:
    return rgb2gray(image) * 255


def scene() -> np.ndarray:
    """512 x 768 pixels, of two photographs."""
    return np.hstack([data.camera(), grey(data.astronaut())[:, :256]]).astype(np.float32)


def large() -> np.ndarray:
    """1024 x 1152 pixels, of five: 72 samples would cover it."""
    left = np.vstack([data.camera(), grey(data.astronaut())])
    coffee = np.pad(grey(data.coffee()), ((0, 0), (0, 40)), mode="symmetric")
    cat = np.pad(grey(data.chelsea()), ((0, 0), (0, 189)), mode="symmetric")
    right = np.vstack([coffee, cat, grey(data.rocket())[:324, :640]])
    return np.hstack([left, right]).astype(np.float32)


def noisy(image: np.ndarray, sigma: float) -> np.ndarray:
    return common.add_noise(image, sigma)


def cases() -> Iterator[Case]:
    """Name, task, pixels and options of each row of the table."""
    clean = scene()
    for sigma in (5, 15, 25, 50):
        yield f"denoise, noise {sigma}", "denoise", noisy(clean, sigma), {"sigma": float(sigma)}
    for percent in (50, 90):
        gaps = np.random.default_rng(1).random(clean.shape) < percent / 100
        yield f"inpaint, {percent} % missing", "inpaint", clean, {"mask": gaps}
    yield "upscale x2", "upscale", clean[::2, ::2].copy(), {"factor": 2}
    kernel = measurement.gaussian_kernel(2.0)
    blurred = measurement.blur(kernel, clean.shape).matvec(clean.ravel()).reshape(clean.shape)
    yield "deblur, Gaussian of 2, noise 2", "deblur", noisy(blurred, 2), {"kernel": kernel, "sigma": 2.0}


def apart(
    task: str, pixels: np.ndarray, options: dict, whole: np.ndarray, client: Any, overlap: int | None = None
) -> tuple[int, float]:
    """The overlap, and the RMS between the result by tiles of 256 and the whole's."""
    import zarr

    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "out.zarr"
        report = cluster.repair_picture(
            task, pixels, target, tile=256, overlap=overlap, data_range=255.0, client=client, **options
        )
        return report.overlap, float(np.sqrt(np.mean((zarr.open_array(target, mode="r")[:] - whole) ** 2)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cases whose name holds this")
    given = parser.parse_args()
    rows = []

    def note(name: str, samples: str, overlap: int, distance: float) -> None:
        rows.append({"case": name, "steps from": samples, "overlap": overlap, "grey levels": round(distance, 4)})
        print(rows[-1], flush=True)

    with cluster.connect() as client:
        for name, task, pixels, options in cases():
            if given.only in name:
                arguments = {key: value for key, value in options.items() if key != "mask"}
                mask = (options["mask"],) if "mask" in options else ()
                whole = getattr(cosparse, task)(pixels, *mask, data_range=255.0, **arguments)
                for overlap in (16, None):
                    note(name, "the whole", *apart(task, pixels, options, whole, client, overlap=overlap))
        name = "denoise, noise 25, 1.2 megapixels"
        if given.only in name:
            pixels = noisy(large(), 25)
            whole = cosparse.denoise(pixels, 25.0, data_range=255.0)
            picture.WHOLE = 0
            for picture.SAMPLES in (9, 36):
                found = apart("denoise", pixels, {"sigma": 25.0}, whole, client)
                note(name, f"{picture.SAMPLES} of 72 samples", *found)
    if not given.only:
        print(common.write_csv("cluster_tiles", rows))


if __name__ == "__main__":
    main()
