"""What repairs cost in torch on a processor, beside the NumPy kernels.

    python benchmarks/interop/torch_speed.py            writes benchmarks/results/torch_speed.csv
    python benchmarks/interop/torch_speed.py --quick    a small picture, once; writes nothing

Needs the `torch` extra. Processor seconds of one thread, least of some turns, on scikit-image's camera (512 x 512) with
noise of 25 of 255; on a machine that others use too, the ratios say more than the seconds.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common

import cosparse
from cosparse.reconstruction.prior import Prior

SIGMA = 25.0


def least(call: Callable[[], object], turns: int) -> float:
    """The least processor time of a call, after one to warm up."""
    call()
    times = []
    for _ in range(turns):
        begin = time.process_time()
        call()
        times.append(time.process_time() - begin)
    return min(times)


def work(noisy: np.ndarray) -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """By name what is timed: on the array, and on a tensor."""
    import torch

    from cosparse.interop.torch import AnalysisPrior

    tensor, numpy_prior = torch.tensor(noisy), Prior.of(cosparse.load_operator(), SIGMA)
    prior, batch = AnalysisPrior(data_range=255.0), torch.tensor(noisy)[None, None]

    def differentiated() -> Any:
        image = batch.clone().requires_grad_(True)
        return torch.autograd.grad(prior(image).sum(), image)

    def denoised(image: Any, **options: Any) -> Callable[[], object]:
        return lambda: cosparse.denoise(image, SIGMA, data_range=255.0, **options)

    both = {
        "denoise, trained steps alone": {"grouping": False},
        "denoise, balanced": {},
        "denoise, the energy alone": {"operator": "default", "grouping": False},
    }
    return {
        "prior, value and gradient": (lambda: numpy_prior(noisy), lambda: prior.gradient(batch)),
        "prior, gradient by autograd": (lambda: numpy_prior(noisy), differentiated),
        **{name: (denoised(noisy, **options), denoised(tensor, **options)) for name, options in both.items()},
    }


def main() -> None:
    import torch
    from skimage.data import camera

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a small picture, once; writes nothing")
    quick = parser.parse_args().quick
    torch.set_num_threads(1)
    side = 96 if quick else 512
    noisy = common.add_noise(camera()[:side, :side].astype(np.float32), SIGMA)
    rows = []
    with cosparse.limit_threads(1):
        for name, (of_array, of_tensor) in work(noisy).items():
            ours, theirs = (least(call, 1 if quick else 3) for call in (of_array, of_tensor))
            row = {
                "work": name,
                "numpy s": round(ours, 4),
                "torch s": round(theirs, 4),
                "ratio": round(theirs / ours, 2),
            }
            rows.append(row)
            if not quick:
                common.write_csv("torch_speed", rows)  # so far
            print(f"{name:30} NumPy {ours:7.3f} s   torch {theirs:7.3f} s   {theirs / ours:5.2f} times", flush=True)


if __name__ == "__main__":
    main()
