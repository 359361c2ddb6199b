"""Whole repairs of small pictures: every task, its options, and what is told on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.ndimage import convolve

import cosparse
from cosparse.noise import Correlated, PoissonGaussian
from cosparse.reconstruction.psf import disk_kernel, motion_kernel
from cosparse.reconstruction.tasks import deblocking, deblurring, denoising, inpainting, upscaling
from pieces import CLOSE, MINIMISED, STEPPED, piece
from pieces.pictures import COLOUR, GREY, TEXTURED, noise, photons, saved, tables

CLEAN = np.ascontiguousarray(GREY[12:40, 16:42])
NOISY = CLEAN + noise(CLEAN.shape, 20)
COLOURS = COLOUR[12:36, 16:38] + noise((24, 22, 3), 20)
GAPS = np.random.default_rng(1).random(CLEAN.shape) < 0.4
GREY_TASKS: dict[str, Any] = {"data_range": 255.0}
COLOUR_TASKS: dict[str, Any] = {"data_range": 255.0, "channel_axis": -1}


def _blurred(image: Any, kernel: Any, border: str = "nearest") -> Any:
    return np.float32(convolve(image, kernel / kernel.sum(), mode=border))


class Told(list[Any]):
    """What a callback sees."""

    def __call__(self, progress: Any) -> None:
        image = progress.image
        self.append(
            (
                progress.iteration,
                progress.iterations,
                progress.plane,
                progress.planes,
                progress.page,
                progress.pages,
                progress.stage,
                progress.second_pass,
                progress.weight,
                float(image.mean()),
                *image.shape,
            )
        )


def _told(task: Any, *given: Any, **more: Any) -> Any:
    told = Told()
    result = task(*given, callback=told, **more)
    return result, np.array([row[:9] for row in told]), np.array([row[9:] for row in told])


@piece(STEPPED)
def denoised() -> Any:
    """By trained steps, of every quality, in grey and in colour, for noise of several levels."""
    levels = np.linspace(5, 40, 26) * np.ones(CLEAN.shape)
    return [
        [
            _told(cosparse.denoise, NOISY, 20.0, quality=quality, **GREY_TASKS)
            for quality in ("fast", "balanced", "best")
        ],
        [
            cosparse.denoise(CLEAN + noise(CLEAN.shape, sigma), sigma, quality="fast", **GREY_TASKS)
            for sigma in (2.0, 60.0)
        ],
        cosparse.denoise(NOISY, levels, grouping=False, **GREY_TASKS),
        cosparse.denoise(NOISY, levels, **GREY_TASKS),
    ]


@piece(CLOSE)
def denoised_colours() -> Any:
    """Opponents in full size, at half of it, beside luma; less or more of each."""
    few = [
        cosparse.denoise(COLOUR[12:36, 16:38] + noise((24, 22, 3), sigma), sigma, quality=quality, **COLOUR_TASKS)
        for sigma in (4.0, 12.0, 50.0)
        for quality in ("fast", "balanced")
    ]
    levels = np.linspace(5, 40, 22) * np.ones((24, 22))
    return [
        few,
        _told(cosparse.denoise, COLOURS, 20.0, **COLOUR_TASKS),
        cosparse.denoise(COLOURS, 20.0, quality="fast", luma=0.3, chroma=1.5, **COLOUR_TASKS),
        cosparse.denoise(COLOURS, 20.0, quality="fast", luma=1.5, chroma=0.0, **COLOUR_TASKS),
        cosparse.denoise(COLOURS, levels, quality="fast", **COLOUR_TASKS),
        cosparse.denoise(COLOURS[..., :2], 20.0, quality="fast", luma=0.5, **COLOUR_TASKS),
    ]


@piece(MINIMISED)
def denoised_by_energy() -> Any:
    """By operators without steps, and by a weight; noise that neighbours share; photons."""
    shared = Correlated(20.0, kernel=np.outer([1, 2, 1.0], np.ones(4)))
    counts = photons(CLEAN, 3.0, 4.0)
    offset = PoissonGaussian(2.0, 1.0, 5.0)
    return [
        cosparse.denoise(NOISY, 20.0, operator="default", quality="fast", **GREY_TASKS),
        cosparse.denoise(NOISY, 20.0, operator="goal", quality="fast", grouping=False, bounds=(50, 180), **GREY_TASKS),
        cosparse.denoise(NOISY, 20.0, weight=0.6, quality="fast", **GREY_TASKS),
        _told(cosparse.denoise, CLEAN + shared.sample(CLEAN, 0) - CLEAN, noise=shared, quality="fast", **GREY_TASKS),
        cosparse.denoise(counts, noise=PoissonGaussian(3.0, 4.0), quality="fast", **GREY_TASKS),
        cosparse.denoise(photons(COLOUR[:20, :20], 2.0, 1.0, 5.0), noise=offset, quality="fast", **COLOUR_TASKS),
        cosparse.denoise(
            NOISY, np.linspace(5, 40, 26) * np.ones(CLEAN.shape), operator="default", quality="fast", **GREY_TASKS
        ),
    ]


@piece(MINIMISED)
def inpainted() -> Any:
    """Without noise, in little, in much; in colour, with a map, with photons."""
    hidden = np.where(GAPS, 0, CLEAN)
    noisy = np.where(GAPS, 0, NOISY)
    levels = np.linspace(5, 40, 26) * np.ones(CLEAN.shape)
    return [
        _told(cosparse.inpaint, hidden, GAPS, **GREY_TASKS),
        cosparse.inpaint(hidden, GAPS, quality="fast", operator="goal", **GREY_TASKS),
        cosparse.inpaint(hidden, GAPS, quality="fast", grouping=False, **GREY_TASKS),
        cosparse.inpaint(
            np.where(GAPS, 0, CLEAN + noise(CLEAN.shape, 6)), GAPS, sigma=6.0, quality="fast", **GREY_TASKS
        ),
        _told(cosparse.inpaint, noisy, GAPS, sigma=15.0, quality="fast", **GREY_TASKS),
        cosparse.inpaint(noisy, GAPS, sigma=levels, quality="fast", **GREY_TASKS),
        cosparse.inpaint(
            np.where(GAPS[:24, :22, None], 0, COLOURS), GAPS[:24, :22], sigma=20.0, quality="fast", **COLOUR_TASKS
        ),
        cosparse.inpaint(
            photons(hidden, 2.0, 1.0), GAPS, noise=PoissonGaussian(2.0, 1.0), quality="fast", **GREY_TASKS
        ),
        cosparse.inpaint(noisy, GAPS, sigma=20.0, weight=0.8, quality="fast", operator="default", **GREY_TASKS),
    ]


@piece(MINIMISED)
def upscaled() -> Any:
    """By every kernel, with noise and without."""
    small, dots = CLEAN[:13, :12], np.outer([1, 2, 1], [1, 2, 3, 1])
    rough = small + noise(small.shape, 8)
    colour = COLOUR[12:24, 16:26]
    return [
        _told(cosparse.upscale, small, 2, quality="fast", **GREY_TASKS),
        cosparse.upscale(small, 1.5, quality="fast", **GREY_TASKS),
        cosparse.upscale(small, 3, kernel="gaussian", quality="fast", **GREY_TASKS),
        cosparse.upscale(small, 2, kernel=dots, quality="fast", **GREY_TASKS),
        cosparse.upscale(small, 4, kernel="lanczos", quality="fast", operator="goal", **GREY_TASKS),
        cosparse.upscale(rough, 2, sigma=8.0, quality="fast", **GREY_TASKS),
        cosparse.upscale(rough, 2, sigma=8.0, quality="fast", operator="default", **GREY_TASKS),
        cosparse.upscale(
            rough,
            2,
            sigma=np.linspace(3, 12, 12) * np.ones(small.shape),
            quality="fast",
            operator="default",
            **GREY_TASKS,
        ),
        cosparse.upscale(
            photons(small, 1.0, 2.0),
            2,
            noise=PoissonGaussian(1.0, 2.0),
            quality="fast",
            operator="default",
            **GREY_TASKS,
        ),
        cosparse.upscale(np.concatenate([colour, colour[..., :1]], -1), 2, quality="fast", alpha=True, **COLOUR_TASKS),
    ]


@piece(MINIMISED)
def deblurred() -> Any:
    """By kernels with names and without, periodic or not, in noise of every kind."""
    kernel = np.outer([1, 3, 1], [1, 2, 1])
    soft, boxed = _blurred(CLEAN, kernel), _blurred(NOISY, np.ones((3, 3)))
    moved = _blurred(CLEAN, motion_kernel(5, 30))
    counts = photons(_blurred(CLEAN, disk_kernel(1.5)), 1.0, 2.0)
    shared = Correlated(5.0, kernel=np.ones((2, 3)))
    return [
        _told(cosparse.deblur, boxed, "box:3", sigma=9.0, quality="fast", **GREY_TASKS),
        cosparse.deblur(
            _blurred(CLEAN, kernel, "wrap"), kernel, sigma=2.0, border="periodic", quality="fast", **GREY_TASKS
        ),
        cosparse.deblur(
            moved, "motion:5:30", sigma=np.linspace(1, 9, 26) * np.ones(CLEAN.shape), quality="fast", **GREY_TASKS
        ),
        cosparse.deblur(counts, "disk:1.5", noise=PoissonGaussian(1.0, 2.0), quality="fast", **GREY_TASKS),
        cosparse.deblur(soft, kernel, noise=shared, quality="fast", **GREY_TASKS),
        cosparse.deblur(COLOURS, "gaussian:1", sigma=15.0, quality="fast", weight=0.5, **COLOUR_TASKS),
        cosparse.deblur(boxed + noise(boxed.shape, 5, 3), "box:3", quality="fast", **GREY_TASKS),
    ]


@piece(MINIMISED)
def deblocked() -> Any:
    """By steps and by the energy; in grey, in colour with chroma of half the size, with sides that are no multiples."""
    table = tables(40)
    grey, colour = saved(TEXTURED[:29, :35], 40), saved(COLOUR[:32, :27], 40)
    jpeg = cosparse.Jpeg(table)
    return [
        _told(cosparse.deblock, grey, {0: table[0]}, **GREY_TASKS),
        cosparse.deblock(colour, table, **COLOUR_TASKS),
        cosparse.deblock(grey, {0: table[0]}, weight=1.0, quality="fast", **GREY_TASKS),
        cosparse.deblock(grey.astype(np.uint8), {0: table[0]}, operator="default", quality="fast"),
        jpeg.quantization,
    ]


@piece(MINIMISED)
def stacks() -> Any:
    """Pages of several levels, some of which need nothing; units and types of the caller's."""
    pages = np.stack([CLEAN[:20, :20], NOISY[:20, :20], 2 * NOISY[:20, :20] - 100])
    bytes_ = NOISY.clip(0, 255).astype(np.uint8)
    return [
        _told(cosparse.denoise, pages / 255, 0.05, quality="fast"),
        cosparse.denoise(bytes_, 20.0, quality="fast"),
        cosparse.denoise(np.uint16(bytes_) * 200, 4000.0, quality="fast"),
        cosparse.denoise(NOISY / 255 + 20, 0.08, quality="fast"),
        cosparse.denoise(pages, 0.0, bounds=(20, 90), **GREY_TASKS),
        cosparse.denoise(GREY + noise(GREY.shape, 12), quality="fast", **GREY_TASKS),
        cosparse.denoise(NOISY / 255, 0.08, quality="fast", bounds=(0.3, None)),
    ]


@piece()
def requests() -> Any:
    """What is asked for, before it is done."""
    photon = PoissonGaussian(0.01, 0.02)
    shared = Correlated(0.1, kernel=np.ones((1, 3)))
    image = NOISY / 255 + 2
    asked = [
        denoising.request(image, 0.1),
        denoising.request(image, noise=photon),
        denoising.request(image, noise=shared),
        denoising.request(np.stack([image, image]), np.full((2, *image.shape), 0.1)),
        upscaling.request(image, 2, noise=photon),
        deblurring.request(image, "box:3", noise=shared),
        deblurring.request(image, "box:3", noise=photon),
        inpainting.request(image, GAPS, sigma=0.1),
        deblocking.request(saved(TEXTURED[:24, :24], 50).astype(np.uint8), {0: tables(50)[0]}),
    ]
    return [
        (
            one.sigmas,
            one.kinds,
            one.in_rounds,
            one.limits,
            one.strengths,
            one.blends,
            one.second_pass,
            len(one.problems()),
            [(problem.start, problem.data, problem.bounds, problem.half, problem.plan) for problem in one.problems()],
        )
        for one in asked
    ]
