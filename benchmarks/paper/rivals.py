"""Choose the constants of the rivals (src/cosparse/baselines) on training photographs.

    python benchmarks/paper/rivals.py tv_skimage nlm finite_differences inpaint [--every 40]
    python benchmarks/paper/rivals.py fields_of_experts experts_upscale --every 100

prints the mean PSNR over the validation photographs for each setting; the best go into the rival's file
by hand.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from itertools import product

import cells
import common
import numpy as np
import superresolution

from cosparse.baselines import fields_of_experts, finite_differences
from cosparse.reconstruction import measurement
from cosparse.reconstruction.energy import Energy
from cosparse.reconstruction.prior import Prior
from cosparse.reconstruction.start import enlarge, interpolate, smoothed

SIGMAS = (5, 10, 25, 50)


def tv_skimage(noisy: np.ndarray, sigma: float, factor: float) -> np.ndarray:
    from skimage.restoration import denoise_tv_chambolle

    return denoise_tv_chambolle(noisy, weight=factor * sigma, eps=1e-5, max_num_iter=500)


def nlm(noisy: np.ndarray, sigma: float, factor: float, size: int) -> np.ndarray:
    from skimage.restoration import denoise_nl_means

    return denoise_nl_means(noisy, patch_size=size, patch_distance=10, h=factor * sigma, sigma=sigma, fast_mode=True)


def tv_engine(noisy: np.ndarray, sigma: float, factor: float, nu: float) -> np.ndarray:
    return finite_differences.minimised(smoothed(noisy, sigma), noisy, None, factor * sigma, nu)


def tv_inpaint(image: np.ndarray, percent: float, nu: float, seed: int) -> np.ndarray:
    mask = np.random.default_rng(seed).random(image.shape) < percent / 100
    start = interpolate(np.where(mask, 0, image).astype(np.float32), mask)
    return finite_differences.minimised(start, None, None, 1.0, nu, free=mask)


def experts(noisy: np.ndarray, sigma: float, factor: float) -> np.ndarray:
    prior = Prior(fields_of_experts.experts(), fields_of_experts.STUDENT_T)
    return fields_of_experts.minimised(smoothed(noisy, sigma), Energy(prior, factor * sigma**2, noisy))


def experts_upscale(image: np.ndarray, sigma: float, weight: float, seed: int) -> np.ndarray:
    small = superresolution.small(image, sigma, seed)
    A = measurement.downsampling(superresolution.FACTOR, image.shape)
    prior = Prior(fields_of_experts.experts(), fields_of_experts.STUDENT_T)
    start = enlarge(small, superresolution.FACTOR)
    return fields_of_experts.minimised(start, Energy(prior, weight, small.ravel(), A))


def mean(images: list[np.ndarray], repair: Callable[[np.ndarray, int], np.ndarray]) -> float:
    """PSNR over the photographs; each has noise of its own."""
    return float(np.mean([
        cells.quality_of(image, repair(image, i))["psnr"] for i, image in enumerate(images)
    ]))  # fmt: skip


def _denoised(
    image: np.ndarray, i: int, repair: Callable[..., np.ndarray], sigma: float, setting: tuple[float, ...]
) -> np.ndarray:
    return repair(common.add_noise(image, sigma, i), sigma, *setting)


GRIDS: dict[str, tuple[Callable[..., np.ndarray], list[tuple[float, ...]]]] = {
    "tv_skimage": (tv_skimage, [(f,) for f in (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)]),
    "nlm": (nlm, list(product((0.3, 0.45, 0.6, 0.8, 1.0), (3, 5, 7)))),
    "finite_differences": (tv_engine, list(product((0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2), (0.1, 1.0, 10.0)))),
    "fields_of_experts": (experts, [(f,) for f in (0.06, 0.08, 0.1, 0.13, 0.17, 0.22, 0.28, 0.36, 0.46)]),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rivals", nargs="+", choices=[*GRIDS, "inpaint", "experts_upscale"])
    parser.add_argument("--every", type=int, default=40, help="take every so many-th photograph")
    args = parser.parse_args()
    common.need_data()
    images = common.validation_images(args.every)
    for rival in args.rivals:
        if rival == "inpaint":
            for percent, nu in product((20, 50, 80, 90), (1.0, 10.0, 30.0, 100.0, 300.0, 1000.0)):
                reached = mean(images, lambda image, i: tv_inpaint(image, percent, nu, i))  # noqa: B023
                cells.console.print(f"inpaint {percent} % nu={nu}: {reached:.3f} dB")
            continue
        if rival == "experts_upscale":
            for sigma, weight in [*product((0,), (0.1, 0.3, 1.0)), *product((8,), (3.0, 8.0, 20.0))]:
                cut = [superresolution.cropped(image) for image in images]
                reached = mean(cut, lambda image, i: experts_upscale(image, sigma, weight, i))  # noqa: B023
                cells.console.print(f"upscale σ={sigma} weight={weight}: {reached:.3f} dB")
            continue
        repair, grid = GRIDS[rival]
        for sigma in SIGMAS:
            found = {
                setting: mean(images, partial(_denoised, repair=repair, sigma=sigma, setting=setting))
                for setting in grid
            }
            best = max(found, key=lambda setting: found[setting])
            shown = "  ".join(f"{'/'.join(map(str, s))} {v:.2f}" for s, v in found.items())
            cells.console.print(f"{rival} σ={sigma}: best {best} {found[best]:.3f} dB | {shown}", soft_wrap=True)


if __name__ == "__main__":
    main()
