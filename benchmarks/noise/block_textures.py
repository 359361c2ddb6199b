"""The kinds of texture that photographs have in blocks of 8x8 pixels, by which photon noise is told from them.

    python benchmarks/noise/block_textures.py find [--kinds 160] [--write]
    python benchmarks/noise/block_textures.py try [--every 8]

find: a mixture of normal distributions of the cosine coefficients of blocks, with one variance for each group of
frequencies, fitted by expectation and maximisation to every other photograph of data/train/bsd400; --write writes
`cosparse/reconstruction/block_textures.toml`. try: gain and read noise found in others of these photographs, and in
those of data/train/goal, beside the truth; the numbers of `cosparse/reconstruction/block_textures.py` were chosen
by it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from estimation import PHOTONS
from pictures import common

import cosparse
from cosparse.reconstruction import block_textures
from cosparse.reconstruction.block_textures import SIZES, group_energies
from cosparse.reconstruction.flat_blocks import coefficients

BLOCKS = 500  # of each photograph
ROUNDS = 60
FLOOR = 0.3  # grey levels, squared: rounding alone makes 1/12
UNIT = 8  # of the logarithms to base 2, as they are written


def energies(count: int, rng: np.random.Generator) -> np.ndarray:
    found = []
    for file in sorted((common.DATA / "train" / "bsd400").glob("*.png"))[::2]:
        windows = np.lib.stride_tricks.sliding_window_view(common.read_grey(file), (8, 8))[::4, ::4].reshape(-1, 8, 8)
        whole = windows[(windows.min(axis=(1, 2)) > 0) & (windows.max(axis=(1, 2)) < 255)]
        found.append(group_energies(coefficients(whole[rng.permutation(len(whole))[:count]])))
    return np.concatenate(found)


def mixture(seen: np.ndarray, kinds: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Variances and shares."""
    first = seen[rng.permutation(len(seen))[:kinds]]
    variances = np.maximum(0.5 * (first / SIZES + first.sum(axis=1, keepdims=True) / SIZES.sum()), FLOOR)
    share = np.full(kinds, 1 / kinds)
    for turn in range(ROUNDS):
        logs = np.log(share) - 0.5 * (seen @ (1 / variances).T + np.log(variances) @ SIZES)
        most = logs.max(axis=1, keepdims=True)
        likely = np.exp(logs - most)
        total = likely.sum(axis=1, keepdims=True)
        if turn % 10 == 0:
            print(f"round {turn}: {np.mean(most + np.log(total)):.3f}", flush=True)
        likely /= total
        counts = likely.sum(axis=0) + 1e-9
        share = counts / counts.sum()
        variances = np.maximum((likely.T @ seen + 2 * FLOOR) / (counts[:, None] * SIZES + 2), FLOOR)
    order = np.argsort(variances @ SIZES)
    return variances[order], share[order]


def find(kinds: int, write: bool) -> None:
    rng = np.random.default_rng(0)
    variances, share = mixture(energies(BLOCKS, rng), kinds, rng)
    if not write:
        return
    rows = ["    [" + ", ".join(map(str, row)) + "]," for row in np.rint(UNIT * np.log2(variances)).astype(int)]
    shares = np.maximum(np.rint(1e4 * share), 1).astype(int)
    text = [
        "# Kinds of texture, see block_textures.py; benchmarks/noise/block_textures.py writes this file.",
        "# log_variance: times unit, to base 2, of every group of frequencies; share: in ten thousand.",
        f"unit = {UNIT}",
        "share = [" + ", ".join(map(str, shares)) + "]",
        "log_variance = [", *rows, "]",
    ]  # fmt: skip
    Path(block_textures.__file__).with_suffix(".toml").write_text("\n".join(text) + "\n")


def tried(every: int) -> None:
    files = sorted((common.DATA / "train" / "bsd400").glob("*.png"))[1::2][3::every]
    images = [common.read_grey(file) for file in files]
    images += [common.read_grey(file)[:512, :512] for file in sorted((common.DATA / "train" / "goal").glob("*.png"))]
    for gain, read in PHOTONS:
        errors = []
        for seed, image in enumerate(images):
            noisy = cosparse.PoissonGaussian(gain, read).sample(image, seed)
            found = cosparse.estimate_noise(noisy, "poisson-gaussian", data_range=255)
            photons = isinstance(found, cosparse.PoissonGaussian)
            errors.append((found.gain / gain - 1, found.read / read - 1) if photons else (-1, found.sigma / read - 1))
        off, bias, middle = np.abs(errors).mean(axis=0), np.mean(errors, axis=0), np.median(np.abs(errors), axis=0)
        print(
            f"gain {gain}, read {read}, {len(images)} photographs: gain off by {off[0]:.1%} (median {middle[0]:.1%}, "
            f"bias {bias[0]:+.1%}), read noise by {off[1]:.1%} (median {middle[1]:.1%}, bias {bias[1]:+.1%})",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("find", "try"))
    parser.add_argument("--kinds", type=int, default=160)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--every", type=int, default=8)
    given = parser.parse_args()
    common.need_data()
    if given.what == "find":
        find(given.kinds, given.write)
    else:
        tried(given.every)


if __name__ == "__main__":
    main()
