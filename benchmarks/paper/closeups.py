"""The paper's pictures: four methods at σ = 20, with 90 % of the pixels missing, and enlarged three times out of noise.

    python benchmarks/paper/closeups.py            on photographs of scikit-image, into docs/results/
    python benchmarks/paper/closeups.py --paper    on the paper's man, lena and august, into .benchmarks-cache/closeups/

The paper's own images need COSPARSE_DATA, have no clear licence and are never committed. None of the photographs is
among those that our operators were learned from. Of a photograph, the surroundings of the close-up are repaired, of the
paper's images the whole; the PSNR below each part is that of all that was repaired. Ours is of the quality "best".
Repairs are kept, as those of the tables are.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import cells
import common
import figures
import numpy as np
from bicubic import shrink

import cosparse
from cosparse.baselines import denoisers, inpainters, title
from cosparse.io.picture import read_grey
from cosparse.operator import chosen_operator
from cosparse.reconstruction.start import enlarge, interpolate

Repairs = dict[str, Callable[[], np.ndarray]]
SIGMA, MISSING, FACTOR, SMALL_SIGMA = 20, 0.9, 3, 8
SIDE, AROUND = 144, 57  # pixels of a close-up, and of what is repaired on each side of it


@dataclass(frozen=True)
class Scene:
    """A free photograph and one of the paper's images, each with the upper left corner of its close-up."""

    free: tuple[str, int, int]
    paper: tuple[str, int, int]


SCENES = {
    "denoising": Scene(("camera", 110, 230), ("man", 120, 180)),
    "inpainting": Scene(("camera", 64, 156), ("lena", 220, 220)),
    "superresolution": Scene(("chelsea", 60, 108), ("august", 90, 150)),
}


def photograph(name: str) -> np.ndarray:
    """One that comes with scikit-image, in grey on 0..255."""
    import skimage.data

    return read_grey(Path(skimage.data.__file__).parent / f"{name}.png")


def denoised(truth: np.ndarray) -> tuple[np.ndarray, Repairs]:
    """What is shown as given, and the four repairs."""
    noisy = common.add_noise(truth, SIGMA)
    repairs: Repairs = {
        title(name): lambda name=name: denoisers[name](noisy, SIGMA)  # type: ignore[misc]
        for name in ("finite_differences", "nlm", "ksvd")
    }
    return noisy, {**repairs, "ours": lambda: cosparse.denoise(noisy, SIGMA, quality="best", data_range=255)}


def inpainted(truth: np.ndarray) -> tuple[np.ndarray, Repairs]:
    mask = np.random.default_rng(0).random(truth.shape) < MISSING
    damaged = np.where(mask, 0, truth).astype(np.float32)
    repairs: Repairs = {
        title(name): lambda name=name: inpainters[name](damaged, mask)  # type: ignore[misc]
        for name in ("finite_differences", "biharmonic")
    }
    return damaged, {
        "linear": lambda: interpolate(damaged, mask),
        **repairs,
        "ours": lambda: cosparse.inpaint(damaged, mask, quality="best", data_range=255),
    }


def upscaled(truth: np.ndarray) -> tuple[np.ndarray, Repairs]:
    small = common.add_noise(shrink(truth, FACTOR), SMALL_SIGMA)

    def less_noise() -> np.ndarray:
        return cosparse.denoise(small, SMALL_SIGMA, quality="best", data_range=255)

    return np.kron(small, np.ones((FACTOR, FACTOR), np.float32)), {
        "bicubic": lambda: enlarge(small, FACTOR),
        "K-SVD, then bicubic": lambda: enlarge(denoisers["ksvd"](small, SMALL_SIGMA), FACTOR),
        "ours for noise, then bicubic": lambda: enlarge(less_noise(), FACTOR),
        "ours": lambda: cosparse.upscale(small, FACTOR, sigma=SMALL_SIGMA, quality="best", data_range=255),
    }


TASKS = {"denoising": denoised, "inpainting": inpainted, "superresolution": upscaled}
GIVEN = {"denoising": "noisy", "inpainting": "10 % of the pixels", "superresolution": "small and noisy"}


def draw(task: str, truth: np.ndarray, corner: tuple[int, int], file: Path) -> list[str]:
    """Original, what was given and four repairs, side by side; the captions."""
    given, repairs = TASKS[task](truth)
    made = cells.code(*cells.ENGINE, "baselines")
    key = [task, given, chosen_operator(None), made]
    images = {name: cells.cached_image([*key, name], repair) for name, repair in repairs.items()}
    shown = {"original": truth, GIVEN[task]: given, **images}
    place = tuple(slice(first, first + SIDE) for first in corner)
    # What is given of an enlargement or with gaps has no PSNR worth a word.
    judged = {name: image for name, image in shown.items() if name != "original"}
    if task != "denoising":
        judged.pop(GIVEN[task])
    notes = {name: f"{cells.quality_of(truth, image)['psnr']:.2f} dB" for name, image in judged.items()}
    figures.sheet([(image[place], name, notes.get(name, "")) for name, image in shown.items()], file)
    return [f"{name} {note}" for name, note in notes.items()]


def main(argv: Sequence[str] | None = None) -> list[Path]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"{', '.join(TASKS)}; all if none is named")
    parser.add_argument("--paper", action="store_true", help="on the paper's own images")
    parser.add_argument("--output", type=Path, default=None, help="folder of the pictures")
    args = parser.parse_args(argv)
    if args.paper:
        common.need_data()
    folder = args.output or (cells.CACHE / "closeups" if args.paper else common.ROOT / "docs" / "results")
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for task in args.tasks or TASKS:
        name, *corner = SCENES[task].paper if args.paper else SCENES[task].free
        truth = common.test_image(name) if args.paper else photograph(name)
        if not args.paper:
            truth, corner = truth[tuple(slice(at - AROUND, at + SIDE + AROUND) for at in corner)], [AROUND, AROUND]
        height, width = (side // FACTOR * FACTOR for side in truth.shape)
        file = folder / f"{task}-closeup.png"
        captions = draw(task, np.ascontiguousarray(truth[:height, :width]), (corner[0], corner[1]), file)
        cells.console.print(f"written: {file}: {name}; {', '.join(captions)}")
        written.append(file)
    return written


if __name__ == "__main__":
    main()
