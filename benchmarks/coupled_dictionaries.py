"""Learn the two dictionaries of baselines/coupled_dictionaries.py from training photographs.

    python benchmarks/coupled_dictionaries.py [--pairs 20000] [--passes 2] [--output FILE]

The photographs are those of data/train: the four of goal, and of bsd400 all but the validation photographs, on
which it says what the dictionaries are worth. Writes the file beside the module: float16, under 300 kB.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import common
import numpy as np
from bicubic import shrink
from safetensors.numpy import save_file

import cosparse
from cosparse.baselines import coupled_dictionaries as coupled
from cosparse.io.atomic import replacing
from cosparse.io.picture import read_grey
from cosparse.reconstruction.start import enlarge
from cosparse.trained_steps import in_bytes

SMOOTH = 8.0  # norm of the features below which a patch has nothing to teach


def pair_of(image: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A photograph cropped to a multiple of the factor, and shrunk as the benchmarks do."""
    height, width = (side // coupled.FACTOR * coupled.FACTOR for side in image.shape)
    large = np.ascontiguousarray(image[:height, :width], np.float32)
    return large, shrink(large, coupled.FACTOR)


def training_photographs(every: int = 20, first: int = 7) -> list[np.ndarray]:
    """All but those that parameters are chosen on."""
    files = sorted((common.DATA / "train" / "bsd400").glob("*.png"))
    held = set(files[first::every])
    return [
        read_grey(file)
        for file in [*sorted((common.DATA / "train" / "goal").glob("*.png")), *files]
        if file not in held
    ]


def pairs(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Features and details of patches drawn at random, as many of each photograph as its size allows."""
    rng = np.random.default_rng(0)
    photographs = training_photographs()
    share = count / sum(image.size for image in photographs)
    found = []
    for image in photographs:
        large, small = pair_of(image)
        features = coupled.feature_patches(small)
        details = coupled.detail_patches(large, small).reshape(-1, (coupled.SIDE * coupled.FACTOR) ** 2)
        features = features.reshape(len(details), -1)
        useful = np.flatnonzero(np.linalg.norm(features, axis=1) > SMOOTH)
        chosen = rng.choice(useful, min(len(useful), round(share * image.size)), replace=False)
        found.append((features[chosen], details[chosen]))
    features, details = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return features, details


def check() -> None:
    """dB on the validation photographs, beside bicubic enlarging."""
    rows = []
    for image in common.validation_images():
        large, small = pair_of(image)
        both = (enlarge(small, coupled.FACTOR), coupled.upscale(small, coupled.FACTOR))
        rows.append([cosparse.psnr(large, np.clip(one, 0, 255), data_range=255) for one in both])
    print("validation: bicubic {:.3f} dB, coupled dictionaries {:.3f} dB".format(*np.mean(rows, axis=0)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--passes", type=int, default=2)
    parser.add_argument("--output", type=Path, default=coupled.FILE)
    args = parser.parse_args()
    common.need_data()
    features, details = pairs(args.pairs)
    began = time.process_time()
    low, high = coupled.learn_dictionaries(features, details, passes=args.passes)
    print(f"{len(features)} pairs, {args.passes} passes: {time.process_time() - began:.0f} processor seconds")
    with replacing(args.output) as temporary:
        (low, low_unit), (high, high_unit) = in_bytes("atoms", low), in_bytes("atoms", high)
        save_file({"low": low, "low.unit": low_unit, "high": high, "high.unit": high_unit}, temporary)
    print(f"written: {args.output}, {args.output.stat().st_size} bytes")
    if args.output == coupled.FILE:
        check()


if __name__ == "__main__":
    main()
