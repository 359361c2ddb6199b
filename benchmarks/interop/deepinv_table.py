"""Our prior inside deepinv beside total variation and BM3D: the same physics, seeds, pictures and algorithms.

    python benchmarks/interop/deepinv_table.py            writes benchmarks/results/deepinv.csv
    python benchmarks/interop/deepinv_table.py --only BM3D   that method again, keeping the rows of the others
    python benchmarks/interop/deepinv_table.py --quick    one small picture, few iterations; writes nothing

Needs the `deepinv` extra and `pip install bm3d`. Beside a torch without CUDA, run it by
`python tests/interop/torchvision_declared.py benchmarks/interop/deepinv_table.py`, which says why.

Five physics of deepinv with Gaussian noise of 0.02. Total variation by FISTA; BM3D, our trained steps and our energy's
proximal map each in half-quadratic splitting with deepinv's own schedule for denoisers (DPIR: six levels of noise, from
49/255 down to that of the data); and `cosparse.reconstruct(y, physics)`, which goes its own way. Each but the last has
one number, chosen by the dB on another picture than those reported: of total variation lambda, of the others the
factor on DPIR's step sizes. `reconstruct` takes its own, chosen on training photographs long before.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common

import cosparse
from cosparse.reconstruction.measurement import variable_density_mask

SIDE, SIGMA, LEVELS = 64, 0.02, 6
CHOOSING = {"coffee": (150, 250)}  # and where a crop of it begins
REPORTING = {"camera": (100, 180), "astronaut": (40, 180), "coins": (60, 60)}
FACTORS = (1.0, 4.0, 16.0)  # deepinv's DPIR has 4.3
LAMBDAS = (0.003, 0.01, 0.03, 0.1)

Method = Callable[[Any, Any, float], Any]


def picture(name: str, corner: tuple[int, int], side: int) -> Any:
    """A crop of one of scikit-image's own, grey, on 0..1: (1, 1, side, side)."""
    import torch
    from skimage import color, data

    whole = getattr(data, name)()
    grey = color.rgb2gray(whole) if whole.ndim == 3 else whole / 255.0
    top, left = corner
    return torch.tensor(grey[top : top + side, left : left + side], dtype=torch.float32)[None, None]


def physics_of(side: int) -> Iterator[tuple[str, Any]]:
    """deepinv's own, each with noise that is the same for every method."""
    import torch
    from deepinv import physics as of

    def noise() -> Any:
        return of.GaussianNoise(sigma=SIGMA, rng=torch.Generator().manual_seed(1))

    rng = torch.Generator().manual_seed(0)
    yield "inpainting, half missing", of.Inpainting((1, side, side), mask=0.5, rng=rng, noise_model=noise())
    yield "downsampling by 2", of.Downsampling((1, side, side), filter="bicubic", factor=2, noise_model=noise())
    kernel = of.functional.blur.gaussian_blur(sigma=(1.6, 1.6))
    yield "blur of 1.6 pixels", of.Blur(kernel, padding="circular", noise_model=noise())
    mask = np.fft.fftshift(variable_density_mask((side, side), 0.25))
    yield "MRI, a quarter", of.MRI(mask=torch.tensor(mask[None], dtype=torch.float32), noise_model=noise())
    yield (
        "tomography, 40 angles",
        of.Tomography(angles=40, img_width=side, circle=False, normalize=True, noise_model=noise()),
    )


def schedule(factor: float) -> dict[str, list[float]]:
    """DPIR's: noise levels of the denoiser, and step sizes that go with their squares."""
    levels = np.geomspace(49 / 255, SIGMA, LEVELS)
    steps = factor * (levels / SIGMA) ** 2
    return {"stepsize": list(steps), "g_param": list(levels), "lambda": list(1 / steps)}


def methods(quick: bool) -> dict[str, tuple[Method, tuple[float, ...]]]:
    """By name: from data and physics to an image, given its number; and the numbers to choose from."""
    import deepinv

    from cosparse.interop.deepinv import AnalysisDenoiser, AnalysisPrior

    fidelity, turns = deepinv.optim.L2(), 10 if quick else 100

    def total_variation(y: Any, physics: Any, weight: float) -> Any:
        prior = deepinv.optim.TVPrior(n_it_max=20)
        solver = deepinv.optim.FISTA(
            data_fidelity=fidelity, prior=prior, lambda_reg=weight, stepsize=1.0, max_iter=turns
        )
        return solver(y, physics)

    def split(prior: Any) -> Method:
        def solve(y: Any, physics: Any, factor: float) -> Any:
            plan = schedule(factor)
            solver = deepinv.optim.HQS(data_fidelity=fidelity, prior=prior, params_algo=plan, max_iter=LEVELS)
            return solver(y, physics)

        return solve

    bm3d = deepinv.optim.PnP(deepinv.models.BM3D())
    return {
        "total variation": (total_variation, LAMBDAS),
        "our prior": (split(AnalysisPrior(iterations=30)), FACTORS),
        "our steps": (split(deepinv.optim.PnP(AnalysisDenoiser())), FACTORS),
        "cosparse.reconstruct": (lambda y, physics, _: cosparse.reconstruct(y, physics).image, (1.0,)),
        "BM3D": (split(bm3d), FACTORS),  # last: it takes by far the longest
    }


def decibels(truth: Any, result: Any) -> float:
    return cosparse.psnr(truth.numpy(), result.detach().numpy().clip(0, 1), data_range=1.0)


def measured(physics: Any, name: str, image: Any) -> tuple[Any, Any]:
    """An image as the physics has it, and its data. Of MRI it is complex: the picture, and a dimmer imaginary part."""
    import torch

    truth = torch.cat([image, 0.2 * image.flip(-1)], 1) if name.startswith("MRI") else image
    physics.noise_model.rng.manual_seed(1)
    return truth, physics(truth)


def kept(only: str) -> list[dict[str, Any]]:
    """The rows of other methods, as they were written before."""
    path = common.RESULTS / "deepinv.csv"
    if not only or not path.exists():
        return []
    with path.open(newline="") as file:
        return [dict(row) for row in csv.DictReader(file) if row["method"] != only]


def table(quick: bool, only: str) -> list[dict[str, Any]]:
    import torch

    side = 32 if quick else SIDE
    choosing, reporting = ([*pictures.items()][: 1 if quick else None] for pictures in (CHOOSING, REPORTING))
    found = kept(only)
    for method, (solve, numbers) in methods(quick).items():
        if only and method != only:
            continue
        for name, physics in physics_of(side):
            with torch.no_grad():
                trials = {}
                for number in numbers if len(numbers) > 1 and not quick else ():
                    pairs = [measured(physics, name, picture(one, corner, side)) for one, corner in choosing]
                    trials[number] = np.mean([decibels(truth, solve(y, physics, number)) for truth, y in pairs])
                chosen = max(trials, key=trials.__getitem__) if trials else numbers[0]
                rows = []
                for one, corner in reporting:
                    truth, y = measured(physics, name, picture(one, corner, side))
                    begin = time.process_time()
                    reached = decibels(truth, solve(y, physics, chosen))
                    spent = round(time.process_time() - begin, 2)
                    row = {"physics": name, "method": method, "picture": one, "dB": round(reached, 2)}
                    rows.append({**row, "number": chosen, "processor s": spent})
            found += rows
            if not quick:
                common.write_csv("deepinv", found)  # so far
            mean = np.mean([row["dB"] for row in rows])
            print(f"{name:26} {method:22} {mean:6.2f} dB   number {chosen:g}", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one small picture; writes nothing")
    parser.add_argument("--only", default="", metavar="METHOD", help="one method, keeping the rows of the others")
    options = parser.parse_args()
    table(options.quick, options.only)


if __name__ == "__main__":
    main()
