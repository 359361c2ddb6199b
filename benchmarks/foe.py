"""Learn the filters of the Fields of Experts from training photographs.

    python benchmarks/foe.py                    two or three minutes of a processor
    python benchmarks/foe.py --output mine.safetensors --iterations 100

writes src/cosparse/baselines/fields_of_experts.safetensors: 24 experts of 5x5 from 20,000 patches of 15x15 of the 380
photographs of data/train/bsd400 that are not held out for choosing the weights (`benchmarks/paper/rivals.py`).
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from common import DATA, ROOT, need_data, read_grey

from cosparse.baselines.fields_of_experts import learn_experts
from cosparse.kernels.threads import one_blas_thread
from cosparse.operator import AnalysisOperator

COUNT, SIDE = 20_000, 15
FILE = ROOT / "src" / "cosparse" / "baselines" / "fields_of_experts.safetensors"


def training_patches(rng: np.random.Generator) -> np.ndarray:
    """From places drawn at random in photographs drawn at random."""
    files = sorted((DATA / "train" / "bsd400").glob("*.png"))
    photographs = [read_grey(file) for i, file in enumerate(files) if i % 20 != 7]
    patches = np.empty((COUNT, SIDE, SIDE), np.float32)
    for patch in patches:
        photograph = photographs[rng.integers(len(photographs))]
        top, left = (rng.integers(length - SIDE + 1) for length in photograph.shape)
        patch[:] = photograph[top : top + SIDE, left : left + SIDE]
    return patches


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=FILE)
    parser.add_argument("--iterations", type=int, default=2000)
    args = parser.parse_args(arguments)
    need_data()
    rng = np.random.default_rng(0)
    patches = training_patches(rng)
    started = time.process_time()
    with one_blas_thread():
        found = learn_experts(patches, iterations=args.iterations, rng=rng)
    provenance = {
        "made": f"python benchmarks/foe.py --iterations {args.iterations}",
        "images": "BSD: 380 training photographs of 180x180",
        "seconds": f"{time.process_time() - started:.0f}",
    }
    AnalysisOperator(
        found.matrix, found.patch_shape, found.penalty, found.weights, provenance, found.scale
    ).save(args.output)  # fmt: skip
    print(f"written: {args.output}, after {provenance['seconds']} s of the processor")


if __name__ == "__main__":
    main()
