"""When an operator of one's own pays: on pictures unlike photographs, and on photographs.

    python benchmarks/own_operator.py              some ten minutes; writes results/own_operator.csv
    python benchmarks/own_operator.py --picture    also draws docs/images/own-operator.png
    python benchmarks/own_operator.py --only staged    what begins with that name again, keeping the rows of the others
    python benchmarks/own_operator.py --quick      tiny, to see that it runs; writes nothing

The first kind are simulated scenes of filaments and spots, as a fluorescence microscope sees them: 192 x 192, values to
1, upon an offset of 0.2 as cameras have it. The second are photographs that come with scikit-image. Of both, operators
are learned from eight pictures, clean or in noise, as `cosparse learn` does, and refined on the clean ones as `cosparse
refine --steps 60` does; the trained steps of `staged`, which denoising takes if no operator is named, as `cosparse
refine staged --stages 5 --steps 60` does, and for filaments, where that gains, with `--steps 300 --batch 8 --crop 72`.
All are judged on three pictures that none of them saw, quality "balanced". Poisson noise goes through Anscombe's
transform. Seconds are processor seconds, of learning and of refining apart. Prints the table of docs/own-operator.md.
"""

from __future__ import annotations

import argparse
import csv
import time
from dataclasses import dataclass

import numpy as np
from common import RESULTS, ROOT, add_noise, write_csv
from scipy.ndimage import gaussian_filter

import cosparse
from cosparse.io.picture import write_image
from cosparse.io.values import to_working
from cosparse.operators.make import photographs
from cosparse.patches import grey_images, sample_up_to

PHOTONS = 80  # at value 1, in Poisson noise
TRAINING_NOISE = 0.06


@dataclass(frozen=True)
class Size:
    """How much is done."""

    side: int = 192
    training: int = 8
    tests: int = 3
    patches: int = 200_000
    iterations: int = 400
    steps: int = 60
    longer: int = 300
    rows: int = 128
    patch: int = 8


QUICK = Size(side=48, training=2, tests=1, patches=1000, iterations=3, steps=1, longer=2, rows=24, patch=4)


def scene(seed: int, side: int) -> np.ndarray:
    """Filaments that wander, and spots, blurred as by a lens; 0.2 to 1."""
    rng = np.random.default_rng([seed, 22])
    light = np.zeros((side, side))
    for _ in range(max(3, side // 6)):
        steps = int(rng.uniform(1, 5) * side)  # of a quarter of a pixel
        angle = rng.uniform(0, 2 * np.pi) + np.cumsum(rng.normal(0, 0.02, steps))
        path = rng.uniform(0, side, 2)[:, None] + 0.25 * np.cumsum([np.sin(angle), np.cos(angle)], axis=1)
        pour(light, path, rng.uniform(0.3, 1.0))
    for _ in range(max(3, side // 8)):
        pour(light, rng.uniform(0, side, 2)[:, None], rng.uniform(4, 20))
    light = gaussian_filter(light, 1.2) + 0.3 * gaussian_filter(light, 6)  # in focus, and a haze of what is not
    return (0.2 + 0.8 * np.minimum(light / np.quantile(light, 0.998), 1)).astype(np.float32)


def pour(light: np.ndarray, points: np.ndarray, brightness: float) -> None:
    """Add points between pixels, each shared by the four about it."""
    base = np.floor(points).astype(int)
    part = points - base
    for down in (0, 1):
        for across in (0, 1):
            rows, columns = base[0] + down, base[1] + across
            share = np.abs(1 - down - part[0]) * np.abs(1 - across - part[1])
            inside = (rows >= 0) & (rows < light.shape[0]) & (columns >= 0) & (columns < light.shape[1])
            np.add.at(light, (rows[inside], columns[inside]), brightness * share[inside])


def filaments(size: Size) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Training scenes, and others."""
    scenes = [scene(seed, size.side) for seed in range(size.training + size.tests)]
    return scenes[: size.training], scenes[size.training :]


def pictures(size: Size) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """scikit-image's photographs in grey: those that `goal` was learned from, and others."""
    from skimage import data

    others = [data.camera(), luma(data.chelsea()), data.moon()][: size.tests]
    training = grey_images(photographs()[: size.training])
    return [middle(image, 2 * size.side) for image in training], [
        middle(to_working(image), size.side) for image in others
    ]


def luma(image: np.ndarray) -> np.ndarray:
    """Luma of an RGB picture."""
    return np.round(image @ [0.299, 0.587, 0.114]).astype(np.uint8)


def middle(image: np.ndarray, side: int) -> np.ndarray:
    """The middle of an image, from 0 to 1."""
    top, left = (max(0, (length - side) // 2) for length in image.shape)
    return np.ascontiguousarray(image[top : top + side, left : left + side] / np.float32(255))


def operators(
    kind: str, clean: list[np.ndarray], size: Size, only: str
) -> dict[str, tuple[cosparse.AnalysisOperator, float]]:
    """Every operator to be judged, and the processor seconds that its last step took."""
    noisy = [add_noise(image, TRAINING_NOISE, 100 + i) for i, image in enumerate(clean)]

    def learned(images: list[np.ndarray]) -> cosparse.AnalysisOperator:
        patches = sample_up_to(images, size.patch, size.patches)
        return cosparse.learn_operator(
            patches, size.rows, settings=cosparse.Settings(iterations=size.iterations)
        ).operator

    def refined(start: cosparse.AnalysisOperator, **more: int) -> cosparse.AnalysisOperator:
        return cosparse.refine_operator(start, clean, **{"sigma": (5, 50), "steps": size.steps, **more}).operator

    made = {
        name: (cosparse.load_operator(name), 0.0) for name in ("staged", "default", "goal") if name.startswith(only)
    }
    for name, work in {
        f"learned from {size.training} clean": lambda: learned(clean),
        f"learned from {size.training} noisy": lambda: learned(noisy),
        "learned from clean, refined": lambda: refined(made[f"learned from {size.training} clean"][0]),
        "default, refined": lambda: refined(made["default"][0]),
        "staged, refined": lambda: refined(made["staged"][0], stages=5),
        "staged, refined longer": lambda: refined(made["staged"][0], stages=5, steps=size.longer, batch=8),
    }.items():
        if not name.startswith(only) or (name.endswith("longer") and kind != "filaments"):
            continue
        started = time.process_time()
        operator = work()
        made[name] = operator, time.process_time() - started
        print(f"{name}: {made[name][1]:.0f} s", flush=True)
    return made


def gaussian(sigma: float):
    """Noise of this kind: a picture in it, and how it is removed."""

    def remove(noisy: np.ndarray, operator: cosparse.AnalysisOperator) -> np.ndarray:
        return cosparse.denoise(noisy, sigma, operator=operator)

    return (lambda truth, seed: add_noise(truth, sigma, seed)), remove


def poisson():
    """The same for the noise of counted photons. Anscombe's transform makes it nearly Gaussian, of deviation 1."""

    def remove(noisy: np.ndarray, operator: cosparse.AnalysisOperator) -> np.ndarray:
        roots = 2 * np.sqrt(PHOTONS * noisy + 3 / 8)
        z = cosparse.denoise(roots, 1.0, operator=operator, data_range=2 * np.sqrt(PHOTONS + 3 / 8)).clip(1.3)
        # The inverse in the mean, by Makitalo and Foi's series (2011): undoing the root alone would darken.
        back = z**2 / 4 - 1 / 8 + np.sqrt(1.5) / 4 / z - 11 / 8 / z**2 + 5 / 8 * np.sqrt(1.5) / z**3
        return back / PHOTONS

    def add(truth: np.ndarray, seed: int) -> np.ndarray:
        return np.random.default_rng(seed).poisson(PHOTONS * truth) / PHOTONS

    return add, remove


KINDS = {
    "filaments": (filaments, {"Gaussian 0.06": gaussian(0.06), "Gaussian 0.12": gaussian(0.12), "Poisson": poisson()}),
    "photographs": (pictures, {"Gaussian 0.06": gaussian(0.06), "Gaussian 0.12": gaussian(0.12)}),
}


def judged(kind: str, size: Size, only: str) -> tuple[list[dict], dict]:
    """Rows of one kind of pictures, and the operators."""
    make, noises = KINDS[kind]
    clean, tests = make(size)
    made = operators(kind, clean, size, only)
    rows = []
    for noise, (add, remove) in noises.items():
        noisies = [add(truth, seed) for seed, truth in enumerate(tests)]

        def note(operator: str, results: list[np.ndarray], seconds: float, noise: str = noise) -> None:
            pairs = zip(tests, results, strict=True)
            psnr = f"{np.mean([cosparse.psnr(truth, np.float32(found)) for truth, found in pairs]):.2f}"
            rows.append(
                {"pictures": kind, "noise": noise, "operator": operator, "psnr": psnr, "seconds": round(seconds)}
            )
            print(*rows[-1].values(), sep=", ", flush=True)

        if not only:
            note("none (noisy)", noisies, 0.0)
        for name, (operator, seconds) in made.items():
            note(name, [np.clip(remove(noisy, operator), 0, 1) for noisy in noisies], seconds)
    return rows, made


def kept(rows: list[dict]) -> list[dict]:
    """The rows, and all others as they were written before, in the order of the whole."""
    again = {(row["pictures"], row["noise"], row["operator"]) for row in rows}
    with (RESULTS / "own_operator.csv").open(newline="") as file:
        earlier = [row for row in csv.DictReader(file) if (row["pictures"], row["noise"], row["operator"]) not in again]
    order = ["none", "staged", "default", "goal", "learned"]

    def place(row: dict) -> tuple:
        first = next(number for number, name in enumerate(order) if row["operator"].startswith(name))
        return list(KINDS).index(row["pictures"]), row["noise"], ", refined" in row["operator"], first

    return sorted([*earlier, *rows], key=place)


def table(rows: list[dict]) -> list[str]:
    """Markdown: a line a problem, a column an operator, the best in bold."""
    names = list(dict.fromkeys(row["operator"] for row in rows))
    lines = ["| | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
    for kind, noise in dict.fromkeys((row["pictures"], row["noise"]) for row in rows):
        own = {row["operator"]: row["psnr"] for row in rows if (row["pictures"], row["noise"]) == (kind, noise)}
        found, best = [own.get(name, "") for name in names], max(own.values(), key=float)
        lines.append(f"| {kind}, {noise} | " + " | ".join(f"**{v}**" if v == best else v for v in found) + " |")
    for kind in dict.fromkeys(row["pictures"] for row in rows):
        seconds = {row["operator"]: row["seconds"] for row in rows if row["pictures"] == kind}
        lines.append(
            f"| {kind}, processor seconds | " + " | ".join(str(seconds.get(name) or "") for name in names) + " |"
        )
    return lines


def draw(made: dict, size: Size) -> None:
    """A scene: noisy, by the default, by the own operator, true."""
    truth = filaments(size)[1][0]
    noisy = add_noise(truth, 0.12, 0)
    own = made["learned from clean, refined"][0]
    results = [cosparse.denoise(noisy, 0.12, operator=operator) for operator in (made["default"][0], own)]
    half = slice(size.side // 3, None)
    panels = [np.kron(image[half, half], np.ones((2, 2))) for image in (noisy, *results, truth)]
    # Black at the camera's offset, and a root to show what is faint.
    shown = np.sqrt((np.concatenate(panels, axis=1).clip(0.2, 1) - 0.2) / 0.8)
    write_image(ROOT / "docs" / "images" / "own-operator.png", np.round(255 * shown).astype(np.uint8))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--picture", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", metavar="NAME")
    args = parser.parse_args(arguments)
    size = QUICK if args.quick else Size()
    rows = []
    for kind in args.kinds:
        more, made = judged(kind, size, args.only)
        rows += more
        if args.picture and not (args.quick or args.only) and kind == "filaments":
            draw(made, size)
    rows = kept(rows) if args.only else rows
    if not args.quick:
        print(f"written: {write_csv('own_operator', rows)}")
    print(*table(rows), sep="\n")


if __name__ == "__main__":
    main()
