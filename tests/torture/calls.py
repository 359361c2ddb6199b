"""Every public function on something small: what it gives, as arrays, to be compared bit by bit or by size.

Nothing here is drawn anew: the same call gives the same bytes wherever and whenever it is made, or a promise is broken.
"""

from __future__ import annotations

import hashlib
import io
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from skimage import data

import cosparse
from cosparse.reconstruction import measurement

Arrays = list[NDArray[Any]]
# Read once, before any fork: imageio tries to import an absent module each time, and a child of a process forked in the
# middle of that would wait for the import's lock for ever.
GREY = data.camera()[100:148, 200:252].copy()
COLOUR = data.astronaut()[80:112, 200:240].copy()
RNG = np.random.default_rng(0)
CLEAN = GREY / 255
NOISY = CLEAN + RNG.normal(0, 0.1, GREY.shape)
NOISY_COLOUR = COLOUR / 255 + RNG.normal(0, 0.1, COLOUR.shape)
PHOTONS = cosparse.PoissonGaussian(gain=0.01, read=0.02)
STREAKS = cosparse.Correlated(0.1, kernel=np.ones((1, 5)))
LEVELS = np.linspace(0.05, 0.15, GREY.shape[1]) * np.ones(GREY.shape)
MISSING = RNG.random(GREY.shape) < 0.5
KERNEL = measurement.gaussian_kernel(1.2).astype(float)
SAMPLING = measurement.fourier_sampling(measurement.variable_density_mask(GREY.shape, 0.4))
MEASURED = SAMPLING.matvec(CLEAN.ravel())
DCT = cosparse.AnalysisOperator.dct(4)


def _jpeg() -> tuple[NDArray[Any], Any]:
    out = io.BytesIO()
    Image.fromarray(GREY).save(out, "jpeg", quality=20)
    picture = Image.open(io.BytesIO(out.getvalue()))
    return np.asarray(picture), picture.quantization


BLOCKY, TABLES = _jpeg()


def _problem() -> cosparse.Problem:
    stage = cosparse.Stage(2.0, cosparse.Penalty.log(0.1), 12, 20.0)
    noisy = np.float32(NOISY * 255)
    return cosparse.Problem(DCT, cosparse.Plan((stage,), 2), noisy, noisy, bounds=(0.0, 255.0))


def _solve() -> Arrays:
    found = cosparse.solve(_problem())
    return [found.image, np.array(found.energies[0])]


def _prior() -> Arrays:
    prior = cosparse.Prior.of(cosparse.load_operator(), sigma=20.0)
    value, gradient = prior(np.float32(NOISY * 255))
    return [np.array(value), gradient, prior.curvature(np.float32(NOISY * 255), gradient)]


def _learn(**more: Any) -> Arrays:
    patches = cosparse.sample_patches([GREY], size=5, count=800)
    found = cosparse.learn_operator(patches, 40, settings=cosparse.Settings(iterations=8), **more)
    return [found.operator.matrix, np.array(found.objectives)]


def _refine(**more: Any) -> Arrays:
    options: dict[str, Any] = {"sigma": 20, "steps": 2, "batch": 2, "crop": 24, "validations": 1, **more}
    found = cosparse.refine_operator(DCT, [CLEAN, CLEAN.T], **options)
    steps = [array for one in found.operator.steps.values() for array in one.arrays().values()]
    return [found.operator.matrix, found.operator.weights, found.operator.scale, *steps]


def _noise(found: Any) -> Arrays:
    return [np.asarray(value, float) for value in vars(found).values() if isinstance(value, float | int | np.ndarray)]


Call = Callable[..., Arrays]
# By the name of the public function; its other uses after a dot. All take a callback if `CALLBACKS` names them.
CALLS: dict[str, Call] = {
    "denoise": lambda **more: [cosparse.denoise(NOISY, 0.1, **more)],
    "denoise.fast": lambda **more: [cosparse.denoise(GREY, quality="fast", **more)],
    "denoise.best": lambda **more: [cosparse.denoise(NOISY[:32, :32], 0.1, quality="best", **more)],
    "denoise.energy": lambda **more: [cosparse.denoise(NOISY, 0.1, operator="default", **more)],
    "denoise.colour": lambda **more: [cosparse.denoise(NOISY_COLOUR, 0.1, channel_axis=-1, **more)],
    "denoise.map": lambda **more: [cosparse.denoise(NOISY, LEVELS, **more)],
    "denoise.photons": lambda **more: [cosparse.denoise(NOISY, noise=PHOTONS, **more)],
    "denoise.streaks": lambda **more: [cosparse.denoise(NOISY, noise=STREAKS, **more)],
    "inpaint": lambda **more: [cosparse.inpaint(GREY, MISSING, **more)],
    "inpaint.noisy": lambda **more: [cosparse.inpaint(NOISY, MISSING, sigma=0.1, quality="fast", **more)],
    "upscale": lambda **more: [cosparse.upscale(GREY[:24, :28], 2, **more)],
    "upscale.bicubic": lambda **more: [cosparse.upscale(CLEAN[:20, :20], 3, kernel="bicubic", **more)],
    "deblur": lambda **more: [cosparse.deblur(NOISY, KERNEL, sigma=0.1, **more)],
    "deblock": lambda **more: [cosparse.deblock(BLOCKY, TABLES, **more)],
    "reconstruct": lambda **more: [cosparse.reconstruct(MEASURED, SAMPLING, GREY.shape, sigma=0.02, **more).image],
    "learn_operator": _learn,
    "refine_operator": _refine,
    "refine_operator.staged": lambda **more: _refine(stages=1, pools=3, **more),
    "estimate_noise": lambda: _noise(cosparse.estimate_noise(NOISY)),
    "estimate_noise.photons": lambda: _noise(cosparse.estimate_noise(NOISY, model="poisson-gaussian")),
    "estimate_sigma": lambda: [np.array(cosparse.estimate_sigma(NOISY))],
    "sample_patches": lambda: [cosparse.sample_patches([GREY, CLEAN], size=6, count=500)],
    "psnr": lambda: [np.array(cosparse.psnr(CLEAN, NOISY))],
    "ssim": lambda: [np.array(cosparse.ssim(CLEAN, NOISY))],
    "load_operator": lambda: [cosparse.load_operator().matrix, np.array(cosparse.load_operator("goal").coherence)],
    "solve": _solve,
    "Prior": _prior,
}
CALLBACKS = (
    "denoise", "denoise.fast", "denoise.energy", "denoise.colour", "denoise.map", "denoise.photons", "denoise.streaks",
    "inpaint", "inpaint.noisy", "upscale", "deblur", "deblock", "reconstruct", "learn_operator", "refine_operator",
)  # fmt: skip
# What short forms run: every task and every kernel once.
SHORT = (
    "denoise",
    "denoise.energy",
    "inpaint.noisy",
    "upscale",
    "deblock",
    "learn_operator",
    "estimate_noise",
    "Prior",
)
WITHOUT = {"limit_threads"}  # public functions that give no numbers


def public_functions() -> set[str]:
    """Of the package; each must be called here."""
    return {name for name in cosparse.__all__ if isinstance(getattr(cosparse, name), types.FunctionType)} - WITHOUT


def digest(arrays: Arrays) -> str:
    """Of the bytes, types and shapes of what a call gave."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(f"{array.dtype.str}{array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def digests(names: tuple[str, ...] | list[str], first: int = 0) -> dict[str, str]:
    """Of the named calls, made one after the other, beginning with one of them."""
    turned = [*names[first % len(names) :], *names[: first % len(names)]]
    return {name: digest(CALLS[name]()) for name in turned}


def differing(found: Mapping[str, str], expected: Mapping[str, str]) -> list[str]:
    """The calls that gave other bytes."""
    return sorted(name for name in expected if found.get(name) != expected[name])
