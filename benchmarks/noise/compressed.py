"""The numbers by which the noise of JPEGs is judged: makes pictures, tries levels, chooses the numbers.

    python benchmarks/noise/compressed.py sample pictures.npz [--count 1500] [--seed 0]
    python benchmarks/noise/compressed.py choose pictures.npz ... [--write]

sample: training photographs (data/train and some of scikit-image's, but for the parts that camera.py reports on) with
white, photon or smooth noise or none, saved as JPEG of quality 60 to 98; of 96x96 pixels of each, the PSNR at many
levels. choose: the numbers of `cosparse/reconstruction/compressed.toml`, which lose as little as possible against the
best level, on four of five pictures; what they lose on the fifth is printed, and what they take clean textures for.
The numbers in the file were chosen on 871 pictures: 775 JPEGs of an earlier form of `sample`, which made uncompressed
ones too, and 96 of one nearly as it is now. Which inputs and how many hidden ones was decided by what was lost on the
pictures of camera.py.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from camera import GAMMA, TEXTURES, bayer, demosaiced, jpeg
from pictures import common
from scipy import ndimage
from scipy.interpolate import PchipInterpolator
from scipy.optimize import minimize
from skimage import data, io

import cosparse
from cosparse.reconstruction.compressed import LITTLE, SEEN, zeros_of
from cosparse.reconstruction.estimation import _levels
from cosparse.reconstruction.flat_blocks import blocks_of, coefficients, mosaic
from cosparse.reconstruction.planes import GAINS, OPPONENT

LEVELS = (0.7, 1.5, 2.5, 4, 6, 8.5, 11, 14, 18, 23, 30, 38, 50)
LEAST = 0.3  # a level that changes nothing
GRID = np.linspace(np.log(LEAST), np.log(LEVELS[-1]), 160)
ENOUGH = 48.0  # dB: more is as good
HIDDEN, DECAY = 8, 2e-3
COLOURS = ("rocket.jpg", "motorcycle_left.png", "hubble_deep_field.jpg", "ihc.png", "retina.jpg")
HELD_OUT = (7, 207)  # of data/train/bsd400


def photographs() -> list[list[np.ndarray]]:
    """Greys of two sources, textures and colours, without the middle of those that camera.py takes."""
    train = common.DATA / "train"
    small = [common.read_grey(file) for file in sorted((train / "bsd400").glob("*.png"))]
    large = []
    for file in sorted((train / "goal").glob("*.png")):
        grey = common.read_grey(file)
        left = (grey.shape[1] - 256) // 2
        large += [grey] if file.stem == "woman1" else [grey[:, :left], grey[:, left + 256 :]]
    textures = [getattr(data, name)() for name in ("coins", "moon", "camera", "text", "page")]
    folder = Path(data.__file__).parent
    colours = [io.imread(folder / name)[..., :3] for name in COLOURS]
    return [
        [part for number, part in enumerate(small) if number not in HELD_OUT],
        [part for part in large if min(part.shape) >= 160], textures, colours,
    ]  # fmt: skip


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


def made_noisy(clean: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """What should come out, and the JPEG."""
    kind = rng.choice(["none", "white", "photons", "smooth"], p=[0.2, 0.25, 0.42, 0.13])
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
    return truth, jpeg(seen, int(rng.integers(60, 99))).astype(np.float32)


def seen_in(picture: np.ndarray) -> np.ndarray:
    """What the regression goes by."""
    luma = picture if picture.ndim == 2 else picture @ (OPPONENT[0] / GAINS[0])
    blocks = blocks_of(mosaic(picture))
    levels = _levels(coefficients(blocks if blocks.ndim == 3 else blocks @ (OPPONENT[0] / GAINS[0])))
    each = [[level.sigma, level.surely(), level.at_most()] for level in levels]
    zeros = zeros_of(luma)
    more = np.clip(zeros.within - zeros.across, 0, 1)
    return np.array([*np.log(np.array(each).T.ravel() + LITTLE), more, zeros.within])


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


def sample(file: Path, count: int, seed: int) -> None:
    rng, sources = np.random.default_rng(seed), photographs()
    seen, curves = [], []
    for _ in range(count):
        source = sources[rng.choice(4, p=[0.62, 0.25, 0.05, 0.08])]
        whole = source[rng.integers(len(source))]
        top, left = (rng.integers(max(side - 192, 0) + 1) for side in whole.shape[:2])
        clean = whole[top : top + 192, left : left + 192].astype(float)
        if rng.random() < 0.3:  # less contrast
            part = rng.uniform(0.5, 1)
            clean = part * clean + rng.uniform(0, 255 * (1 - part))
        truth, noisy = made_noisy(clean, rng)
        top, left = (rng.integers(max(side - 96, 0) + 1) for side in clean.shape[:2])
        here = slice(top, top + 96), slice(left, left + 96)
        seen.append(seen_in(noisy))
        curves.append(reached(truth[here], np.ascontiguousarray(noisy[here])))
    np.savez(file, seen=seen, curves=curves)


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


def regression(x: np.ndarray, table: np.ndarray, weights: np.ndarray, seed: int) -> tuple[float, dict[str, np.ndarray]]:
    """a, B and c that lose least, and how much that is; by L-BFGS, with the slopes of the root of 1 + loss."""
    inputs, rng = x.shape[1], np.random.default_rng(seed)
    a = np.linalg.solve(x.T @ x + 20 * np.eye(inputs), x.T @ GRID[table.argmin(axis=1)])
    start = np.concatenate([a, 0.1 * rng.standard_normal(inputs * HIDDEN), np.zeros(HIDDEN)])

    def parts(numbers: np.ndarray) -> list[np.ndarray]:
        a, b, c = np.split(numbers, [inputs, inputs * (1 + HIDDEN)])
        return [a, b.reshape(inputs, HIDDEN), c]

    def loss(numbers: np.ndarray) -> tuple[float, np.ndarray]:
        a, b, c = parts(numbers)
        inner = np.tanh(x @ b)
        value, slope = looked_up(table, x @ a + inner @ c)
        back = weights * slope / (2 * np.sqrt(1 + value)) / len(x)
        kept = numbers.copy()
        kept[inputs - 1] = 0
        kept[inputs * (1 + HIDDEN) - HIDDEN : inputs * (1 + HIDDEN)] = 0
        gradient = [x.T @ back, (x.T @ (np.outer(back, c) * (1 - inner**2))).ravel(), inner.T @ back]
        total = np.mean(weights * (np.sqrt(1 + value) - 1)) + DECAY / 2 * kept @ kept
        return float(total), np.concatenate(gradient) + DECAY * kept

    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 3000, "maxfun": 6000})
    return float(found.fun), dict(zip(("a", "B", "c"), parts(found.x), strict=True))


def choose(files: list[Path], write: bool) -> None:
    each = [np.load(file) for file in files]
    seen, table = np.concatenate([one["seen"] for one in each]), lost(np.concatenate([one["curves"] for one in each]))
    textures = np.array([seen_in(getattr(data, name)().astype(np.float32)) for name in TEXTURES])
    textures = textures[textures[:, -2] > SEEN]  # those that were JPEGs once
    clean = np.maximum(0, 10.9 * (GRID - np.log(2)))[None]  # as they lose where they are smoothed
    kept = np.arange(len(seen)) % 5 > 0
    x = np.concatenate([seen[kept], textures])
    mean, deviation = x.mean(axis=0), x.std(axis=0) + 1e-6

    def scaled(values: np.ndarray) -> np.ndarray:
        return np.c_[(values - mean) / deviation, np.ones(len(values))]

    tables = np.concatenate([table[kept], np.repeat(clean, len(textures), axis=0)])
    weights = np.where(np.arange(len(x)) < kept.sum(), 1.0, 10.0)
    _, numbers = min((regression(scaled(x), tables, weights, seed) for seed in range(8)), key=lambda pair: pair[0])

    def levels(values: np.ndarray) -> np.ndarray:
        inputs = scaled(values)
        return np.asarray(inputs @ numbers["a"] + np.tanh(inputs @ numbers["B"]) @ numbers["c"])

    others = looked_up(table[~kept], levels(seen[~kept]))[0]
    print(f"{len(seen)} pictures; lost on those not chosen on: {others.mean():.2f} dB, at worst {others.max():.1f}")
    print("textures:", np.exp(levels(textures)).round(1))
    if write:
        written(numbers | {"mean": mean, "deviation": deviation})


def written(numbers: dict[str, np.ndarray]) -> None:
    import cosparse.reconstruction.compressed as module

    lines = ["# Numbers of compressed.py, which says what they mean; benchmarks/noise/compressed.py writes them."]
    for name, value in numbers.items():
        rows = [", ".join(f"{number:.4f}" for number in row) for row in np.atleast_2d(value)]
        lines.append(f"{name} = [{rows[0]}]" if value.ndim == 1 else f"{name} = [")
        lines += [f"    [{row}]," for row in rows] + ["]"] if value.ndim == 2 else []
    Path(module.__file__).with_suffix(".toml").write_text("\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("sample", "choose"))
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--count", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    common.need_data()
    if given.what == "sample":
        sample(given.files[0], given.count, given.seed)
    else:
        choose(given.files, given.write)


if __name__ == "__main__":
    main()
