"""The numbers by which the noise of JPEGs is judged: makes pictures, tries levels, chooses the numbers.

    python benchmarks/noise/compressed.py sample fitted.npz [--count 700] [--seed 1]
    python benchmarks/noise/compressed.py sample others.npz --others [--count 250] [--seed 2]
    python benchmarks/noise/compressed.py choose fitted.npz others.npz [--write]

sample: training photographs with white, photon or smooth noise or none, saved as JPEG of quality 60 to 98; of 112x112
pixels of each, the PSNR at many levels. Three of four photographs of data/train/bsd400, one of data/train/goal and some
of scikit-image's are fitted to; --others takes the rest. None are pictures that camera.py reports on. A quarter is grey
that was tinted and taken as colours: few photographs in colour are at hand. choose: the numbers of
`cosparse/reconstruction/compressed.toml`, which lose as little as possible against the best level on the first file;
what they lose on the second is printed and written to benchmarks/results/noise_compressed.csv. Inputs, and how much
blocks count for in `textured_noise.py`, were decided by what was lost on the second; camera.py was run once
before the last change, the mean of logarithms for that of variances, which its clean grass called for.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from camera import GAMMA, bayer, demosaiced, jpeg
from pictures import common
from scipy import ndimage
from scipy.interpolate import PchipInterpolator
from scipy.optimize import minimize
from skimage import data, io

import cosparse
from cosparse.reconstruction.compressed import inputs_of

LEVELS = (0.7, 1.5, 2.5, 4, 6, 8.5, 11, 14, 18, 23, 30, 38, 50)
LEAST = 0.3  # a level that changes nothing
GRID = np.linspace(np.log(LEAST), np.log(LEVELS[-1]), 160)
ENOUGH = 48.0  # dB: more is as good
DECAY, WORSE = 3e-3, 0.15  # of the squares of numbers; of the squares of what is lost, beside it
KINDS = ("none", "white", "photons", "smooth")
REPORTED = (7, 207)  # of data/train/bsd400, which camera.py takes
COLOURS = {False: ("motorcycle_left.png", "hubble_deep_field.jpg", "ihc.png"), True: ("rocket.jpg", "retina.jpg")}
GREYS = {False: ("coins", "moon", "text"), True: ("camera", "page")}


def photographs(others: bool) -> list[list[np.ndarray]]:
    """Small greys, the same to be tinted, larger greys, colours."""
    files = enumerate(sorted((common.DATA / "train" / "bsd400").glob("*.png")))
    small = [common.read_grey(file) for i, file in files if (i % 4 == 3) == others and i not in REPORTED]
    large = [getattr(data, name)() for name in GREYS[others]]
    large += [] if others else [common.read_grey(common.DATA / "train" / "goal" / "woman1.png")]
    folder = Path(data.__file__).parent
    return [small, small, large, [io.imread(folder / name)[..., :3] for name in COLOURS[others]]]


def smooth_noise(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Blurred, or enlarged."""
    widths = (1,) * (len(shape) - 2)
    if rng.random() < 0.6:
        blur = rng.uniform(0.3, 1.2)
        found = ndimage.gaussian_filter(rng.standard_normal(shape), (blur, blur, *(0 for _ in widths)))
    else:
        factor = rng.uniform(1.2, 2.5)
        small = rng.standard_normal((*(int(side / factor) + 2 for side in shape[:2]), *shape[2:]))
        found = ndimage.zoom(small, (factor, factor, *widths), order=1)[: shape[0], : shape[1]]
    return np.asarray(found / found.std())


def made_noisy(clean: np.ndarray, rng: np.random.Generator) -> tuple[str, np.ndarray, np.ndarray]:
    """The kind of noise, what should come out, and the JPEG."""
    kind = rng.choice(KINDS, p=[0.2, 0.25, 0.45, 0.10])
    level = np.exp(rng.uniform(np.log(2), np.log(35)))
    truth, seen = clean, clean
    if kind == "white":
        seen = clean + level * rng.standard_normal(clean.shape)
    elif kind == "smooth":
        seen = clean + min(level, 20) * smooth_noise(clean.shape, rng)
    elif kind == "photons":
        gamma, photons = rng.choice([1, GAMMA, GAMMA]), np.exp(rng.uniform(np.log(60), np.log(4000)))
        light = (clean / 255).clip(0, 1) ** gamma
        raw = (light * bayer(light.shape)).sum(axis=-1) if clean.ndim == 3 else light
        noisy = rng.poisson(raw * photons) / photons + rng.uniform(0.001, 0.02) * rng.standard_normal(raw.shape)
        both = (demosaiced(values) if clean.ndim == 3 else values for values in (raw, noisy))
        truth, seen = (255 * values.clip(0, 1) ** (1 / gamma) for values in both)
    return str(kind), truth, jpeg(seen, int(rng.integers(60, 99))).astype(np.float32)


def reached(truth: np.ndarray, noisy: np.ndarray) -> list[float]:
    """dB at no level and at each; once it falls steeply it falls on."""
    options = {"channel_axis": -1 if noisy.ndim == 3 else None, "quality": "fast", "data_range": 255}
    found = [cosparse.psnr(truth, noisy, data_range=255)]
    for level in LEVELS:
        if len(found) > 4 and max(found) - found[-1] > 3 and found[-1] < found[-2] < found[-3]:
            found.append(2 * found[-1] - found[-2])
        else:
            found.append(cosparse.psnr(truth, cosparse.denoise(noisy, level, **options), data_range=255))
    return [min(value, 60.0) for value in found]


def sample(file: Path, count: int, seed: int, others: bool) -> None:
    rng, sources = np.random.default_rng(seed), photographs(others)
    seen, curves, kinds = [], [], []
    for _ in range(count):
        source = rng.choice(4, p=[0.52, 0.26, 0.12, 0.10])
        whole = sources[source][rng.integers(len(sources[source]))]
        size = 256 if rng.random() < 0.3 else 176
        top, left = (rng.integers(max(side - size, 0) + 1) for side in whole.shape[:2])
        clean = whole[top : top + size, left : left + size].astype(float)
        if rng.random() < 0.25:  # less contrast
            part = rng.uniform(0.5, 1)
            clean = part * clean + rng.uniform(0, 255 * (1 - part))
        if source == 1:
            clean = clean[..., None] * rng.uniform(0.75, 1, 3)
        kind, truth, noisy = made_noisy(clean, rng)
        top, left = (rng.integers(max(side - 112, 0) + 1) for side in clean.shape[:2])
        here = slice(top, top + 112), slice(left, left + 112)
        found = inputs_of(noisy)
        if found is not None:
            seen.append(np.append(*found))
            curves.append(reached(truth[here], np.ascontiguousarray(noisy[here])))
            kinds.append(KINDS.index(kind))
    np.savez(file, seen=seen, curves=curves, kinds=kinds)


def lost(curves: np.ndarray) -> np.ndarray:
    """dB under the best level, at every point of the grid."""
    at = np.log(np.array([LEAST, *LEVELS]))
    found = np.array([PchipInterpolator(at, np.minimum(curve, ENOUGH))(GRID) for curve in curves])
    return np.asarray(ndimage.gaussian_filter1d(found.max(axis=1)[:, None] - found, 4, axis=1, mode="nearest"))


def looked_up(table: np.ndarray, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What is lost at a level for each picture, and its slope: by cubics, as a minimisation needs smooth slopes."""
    step, rows = GRID[1] - GRID[0], np.arange(len(table))
    slopes = np.gradient(table, axis=1)
    place = ((logs - GRID[0]) / step).clip(0, len(GRID) - 1.001)
    low = place.astype(int)
    t = place - low
    first, last, start, end = table[rows, low], table[rows, low + 1], slopes[rows, low], slopes[rows, low + 1]
    bend, twist = 3 * (last - first) - 2 * start - end, 2 * (first - last) + start + end
    beyond = np.maximum(logs - GRID[-1], 0)
    inside = (place > 0) & (beyond == 0)
    value = first + t * (start + t * (bend + t * twist)) + 5 * beyond
    return value, np.where(inside, (start + t * (2 * bend + 3 * t * twist)) / step, 5.0 * (beyond > 0))


def chosen(seen: np.ndarray, table: np.ndarray) -> np.ndarray:
    """The numbers that lose least."""
    base, x = seen[:, 0], seen[:, 1:]
    scale = np.append(x[:, :-1].std(axis=0) + 1e-6, 1.0)

    def loss(numbers: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = looked_up(table, base + x @ (numbers / scale))
        kept = np.append(numbers[:-1], 0.0)
        gradient = (x / scale).T @ (slope * (1 + 2 * WORSE * value)) / len(x)
        return float(np.mean(value + WORSE * value**2) + DECAY / 2 * kept @ kept), gradient + DECAY * kept

    found = minimize(loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 3000})
    return np.asarray(found.x / scale)


def choose(files: list[Path], write: bool) -> None:
    both = [(file["seen"], lost(file["curves"]), file["kinds"]) for file in map(np.load, files)]
    numbers = chosen(*both[0][:2])
    rows = []
    for name, (inputs, of_levels, of) in zip(("fitted", "others"), both, strict=True):
        logs = inputs[:, 0] + inputs[:, 1:] @ numbers
        lose = looked_up(of_levels, logs)[0]
        off = np.abs(np.expm1(logs - GRID[of_levels.argmin(axis=1)]))
        for number, kind in enumerate((*KINDS, "all")):
            here = np.full(len(logs), True) if kind == "all" else of == number
            rows.append({
                "pictures": name, "noise": kind, "count": here.sum(), "mean_lost": f"{lose[here].mean():.3f}",
                "over_1_dB": f"{np.mean(lose[here] > 1):.3f}", "worst": f"{lose[here].max():.2f}",
                "level_off": f"{np.median(off[here]):.2f}",
            })  # fmt: skip
            print(*rows[-1].values())
    print(common.write_csv("noise_compressed", rows))
    if write:
        import cosparse.reconstruction.compressed as module

        line = "# Numbers of compressed.py, which says what they mean; benchmarks/noise/compressed.py writes them.\n"
        line += "a = [" + ", ".join(f"{number:.4f}" for number in numbers) + "]\n"
        Path(module.__file__).with_suffix(".toml").write_text(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("sample", "choose"))
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--count", type=int, default=700)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--others", action="store_true", help="of the photographs that are not fitted to")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    common.need_data()
    if given.what == "sample":
        sample(given.files[0], given.count, given.seed, given.others)
    else:
        choose(given.files, given.write)


if __name__ == "__main__":
    main()
