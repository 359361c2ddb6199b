"""Colour and complex images by `reconstruct`: what they gain beside what is usual, and by which numbers.

    python benchmarks/planes.py                  a noisy Bayer mosaic, and coils that see a quarter of k-space: dB
    python benchmarks/planes.py choose colours   the numbers of [colours] in reconstruction/stages.toml beside others
    python benchmarks/planes.py choose phase     those of [phase]
    python benchmarks/planes.py phases           planes along and across the phase beside real and imaginary parts

The pictures are scikit-image's. Choices are made on those of benchmarks/colour.py that have been seen before, and, with
a phase laid over them, on the phantom, camera and gravel; results are reported on others. OpenCV and SigPy are not
needed: without one, its column keeps what the file has. SigPy's weights are those of four that come nearest to the
truth.
Writes benchmarks/results/planes.csv, planes_colours.csv, planes_phase.csv and planes_phases.csv.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import skimage.data
from colour import CHOICE, REPORT, picture
from common import RESULTS, write_csv
from scipy.ndimage import convolve, gaussian_filter
from scipy.sparse.linalg import LinearOperator, cg
from skimage.transform import resize

import cosparse
from cosparse.reconstruction import general
from cosparse.reconstruction.measurement import sampling, variable_density_mask
from cosparse.reconstruction.stages import TABLE

SIDE, COILS = 128, 6
TRIED: dict[str, dict[str, dict[str, float]]] = {
    "colours": {
        "as it is": {},
        "opponents as luma": {"chroma": 1.0},
        "chroma 2": {"chroma": 2.0},
        "no longer": {"longer": 1},
    },
    "phase": {
        "as it is": {},
        "real and imaginary parts": {"width": np.inf},
        "width 1.5": {"width": 1.5},
        "width 6": {"width": 6.0},
        "imaginary 1": {"imaginary": 1.0},
        "imaginary 2": {"imaginary": 2.0},
    },
}


# -- a mosaic of filters ----------


def bayer(height: int, width: int) -> np.ndarray:
    """Which of three values every pixel knows: red, green / green, blue."""
    seen = np.zeros((height, width, 3), bool)
    seen[::2, ::2, 0] = seen[::2, 1::2, 1] = seen[1::2, ::2, 1] = seen[1::2, 1::2, 2] = True
    return seen


def mosaic(name: str, sigma: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The truth on 0..1, what is seen of it, and that with noise of sigma on 0..255."""
    truth = picture(name, SIDE) / 255
    seen = bayer(*truth.shape[:2])
    return truth, seen, truth[seen] + sigma / 255 * np.random.default_rng(0).standard_normal(np.count_nonzero(seen))


def bilinear(y: np.ndarray, seen: np.ndarray) -> np.ndarray:
    tent, spread = np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]]) / 4, np.zeros(seen.shape)
    spread[seen] = y
    planes = [convolve(spread[..., c], tent) / convolve(seen[..., c].astype(float), tent) for c in range(3)]
    return np.stack(planes, axis=-1).clip(0, 1)


def edge_aware(y: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """By OpenCV."""
    import cv2

    spread = np.zeros(seen.shape)
    spread[seen] = y
    codes = (spread.sum(axis=-1).clip(0, 1) * 65535).round().astype(np.uint16)
    return cv2.demosaicing(codes, cv2.COLOR_BayerRGGB2RGB_EA) / 65535


def colours(y: np.ndarray, seen: np.ndarray, sigma: float) -> np.ndarray:
    return cosparse.reconstruct(y, sampling(seen), seen.shape, sigma=sigma / 255).image


# -- coils ----------


def with_phase(image: np.ndarray) -> np.ndarray:
    """With one that is smooth and goes around more than once."""
    down, across = np.indices((SIDE, SIDE)) / SIDE
    waves = gaussian_filter(np.random.default_rng(1).standard_normal((SIDE, SIDE)), 16, mode="wrap")
    return image * np.exp(1j * (np.pi * waves / np.abs(waves).max() + 3 * down * across))


def slices() -> dict[str, np.ndarray]:
    """By name, those to choose on and those to report on, complex."""
    small = {
        "phantom": resize(skimage.data.shepp_logan_phantom(), (SIDE, SIDE), anti_aliasing=True),
        "camera": skimage.data.camera()[120:376:2, 120:376:2] / 255,
        "gravel": skimage.data.gravel()[100:228, 100:228] / 255,
        "moon": skimage.data.moon()[128:384:2, 128:384:2] / 255,
        "coins": skimage.data.coins()[20:148, 20:148] / 255,
        "cell": skimage.data.cell()[200:456:2, 150:406:2] / 255,
    }
    return {name: with_phase(image) for name, image in small.items()}


def coils() -> np.ndarray:
    """Their sensitivities, of sum of squares 1."""
    down, across = np.indices((SIDE, SIDE)) / (SIDE / 2) - 1
    angle = 2 * np.pi * np.arange(COILS)[:, None, None] / COILS
    seen = np.exp(-((down - 1.2 * np.sin(angle)) ** 2 + (across - 1.2 * np.cos(angle)) ** 2) / 1.5 + 1j * angle)
    return seen / np.sqrt((np.abs(seen) ** 2).sum(axis=0))


def resonance(seen: np.ndarray, mask: np.ndarray) -> LinearOperator:
    def forward(image: np.ndarray) -> np.ndarray:
        return np.fft.fft2(seen * image.reshape(mask.shape), norm="ortho")[:, mask].ravel()

    def adjoint(y: np.ndarray) -> np.ndarray:
        full = np.zeros(seen.shape, complex)
        full[:, mask] = y.reshape(len(seen), -1)
        return (seen.conj() * np.fft.ifft2(full, norm="ortho")).sum(axis=0).ravel()

    return LinearOperator((len(seen) * mask.sum(), mask.size), matvec=forward, rmatvec=adjoint, dtype=complex)


def measured(A: LinearOperator, truth: np.ndarray, sigma: float) -> np.ndarray:
    noise = np.random.default_rng(0).standard_normal((2, A.shape[0]))
    return A.matvec(truth.ravel()) + sigma / 255 * (noise[0] + 1j * noise[1])


def decibels(truth: np.ndarray, image: np.ndarray) -> float:
    """Of complex numbers."""
    return float(-10 * np.log10(np.mean(np.abs(image.reshape(truth.shape) - truth) ** 2)))


def sense(A: LinearOperator, y: np.ndarray) -> np.ndarray:
    """Least squares, by conjugate gradient with a little of Tikhonov's term."""
    normal = LinearOperator((A.shape[1],) * 2, matvec=lambda x: A.rmatvec(A.matvec(x)) + 0.1 * x, dtype=complex)
    return cg(normal, A.rmatvec(y), maxiter=30)[0]


def sigpy(kind: str, y: np.ndarray, seen: np.ndarray, mask: np.ndarray, truth: np.ndarray) -> float:
    """The best of four weights, in dB."""
    from sigpy.mri import app

    kspace = np.zeros(seen.shape, complex)
    kspace[:, mask] = y.reshape(len(seen), -1)
    centred, maps = (np.fft.fftshift(one, axes=(1, 2)) for one in (kspace, seen))
    found = [
        getattr(app, kind)(centred, maps, weight, show_pbar=False).run() for weight in (0.001, 0.003, 0.01, 0.03, 0.1)
    ]
    return max(decibels(truth, np.fft.ifftshift(one)) for one in found)


# -- tables ----------


def report() -> None:
    """Both, on pictures that nothing was chosen on."""
    rows: list[dict[str, Any]] = []

    def add(what: str, name: str, sigma: float, method: str, reached: Callable[[], float]) -> None:
        try:
            value = f"{reached():.2f}"
        except ImportError:
            value = known(what, name, sigma, method)
        rows.append({"what": what, "picture": name, "sigma": f"{sigma:g}", "method": method, "psnr": value})
        print(*rows[-1].values(), flush=True)

    for name in REPORT:
        for sigma in (0.0, 10.0):
            truth, seen, y = mosaic(name, sigma)
            plain, key = bilinear(y, seen), ("mosaic", name.partition(".")[0], sigma)
            methods = {"bilinear": plain, "bilinear, then denoised": cosparse.denoise(plain, channel_axis=-1)}
            for method, image in methods.items():
                add(*key, method, lambda image=image, truth=truth: cosparse.psnr(truth, image))
            add(
                *key,
                "OpenCV, edge-aware",
                lambda y=y, seen=seen, truth=truth: cosparse.psnr(truth, edge_aware(y, seen)),
            )
            ours = colours(y, seen, sigma)
            add(*key, "cosparse", lambda image=ours, truth=truth: cosparse.psnr(truth, image))
    seen, mask = coils(), variable_density_mask((SIDE, SIDE), 0.25)
    A = resonance(seen, mask)
    for name in ("moon", "coins", "cell"):
        truth, key = slices()[name], ("coils", name, 5.0)
        y = measured(A, truth, 5.0)
        ours = cosparse.reconstruct(y, A, truth.shape, sigma=5 / 255, dtype=complex).image
        for method, image in {"zero-filled": A.rmatvec(y), "CG-SENSE": sense(A, y), "cosparse": ours}.items():
            add(*key, method, lambda image=image, truth=truth: decibels(truth, image))
        for kind in ("L1WaveletRecon", "TotalVariationRecon"):
            add(*key, f"SigPy {kind}", lambda kind=kind, y=y, truth=truth: sigpy(kind, y, seen, mask, truth))
    write_csv("planes", rows)


def known(what: str, name: str, sigma: float, method: str) -> str:
    """What the file has."""
    with (RESULTS / "planes.csv").open(newline="") as file:
        key = [what, name, f"{sigma:g}", method]
        return next(row["psnr"] for row in csv.DictReader(file) if list(row.values())[:4] == key)


@contextmanager
def changed(part: str, numbers: dict[str, float]) -> Iterator[None]:
    """Other numbers in the table, and without a width no phase at all."""
    before, turned = dict(TABLE[part]), general.turned
    TABLE[part].update(numbers)
    if numbers.get("width") == np.inf:
        general.turned = lambda prior, image: prior
    try:
        yield
    finally:
        TABLE[part].update(before)
        general.turned = turned


def choose(part: str) -> None:
    """What the numbers of one part of the table give, beside others."""
    A, rows = resonance(coils(), variable_density_mask((SIDE, SIDE), 0.25)), []
    for name, numbers in TRIED[part].items():
        with changed(part, numbers):
            if part == "colours":
                scenes = [mosaic(one, 10.0) for one in CHOICE]
                found = [cosparse.psnr(truth, colours(y, seen, 10.0)) for truth, seen, y in scenes]
            else:
                truths = [slices()[one] for one in ("phantom", "camera", "gravel")]
                data = [measured(A, truth, 5.0) for truth in truths]
                images = [cosparse.reconstruct(y, A, (SIDE, SIDE), sigma=5 / 255, dtype=complex).image for y in data]
                found = [decibels(*both) for both in zip(truths, images, strict=True)]
        rows.append({"numbers": name, "psnr": f"{np.mean(found):.3f}"})
        print(f"{name}: {np.mean(found):.3f} dB", flush=True)
    write_csv(f"planes_{part}", rows)


def phases() -> None:
    """Of several kinds: smooth ones, one that jumps, and ones that are photographs themselves."""
    A, found = resonance(coils(), variable_density_mask((SIDE, SIDE), 0.25)), slices()
    down, across = np.indices((SIDE, SIDE)) / SIDE
    camera, gravel = np.abs(found["camera"]), np.abs(found["gravel"])
    scenes = {
        "phantom, smooth": found["phantom"],
        "camera, smooth": found["camera"],
        "camera, jumps": camera * np.where(across > 0.5, 1, -1) * np.where(down > 0.6, 1j, 1),
        "camera, gravel": camera * np.exp(2j * gravel),
        "constant, camera": 0.8 * np.exp(2j * camera),
    }
    rows = []
    for name, truth in scenes.items():
        for sigma in (0.0, 5.0, 20.0):
            y, row = measured(A, truth, sigma), {"picture, phase": name, "sigma": f"{sigma:g}"}
            for method, numbers in {"parts": TRIED["phase"]["real and imaginary parts"], "phase": {}}.items():
                with changed("phase", numbers):
                    image = cosparse.reconstruct(y, A, truth.shape, sigma=sigma / 255, dtype=complex).image
                row[method] = f"{decibels(truth, image):.2f}"
            rows.append(row)
            print(*row.values(), flush=True)
    write_csv("planes_phases", rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["choose"]:
        choose(sys.argv[2])
    elif sys.argv[1:2] == ["phases"]:
        phases()
    else:
        report()
