"""A digest of every task's result with every shipped operator: did a change of the code change a single bit?

    python benchmarks/digests.py > before.txt          on the code before
    python benchmarks/digests.py | diff before.txt -   on the code after: nothing, if all is as it was

Bundled pictures, three qualities, noisy and noiseless, grey and colour, 8 bit and float, a stack. The bits depend on
the machine's BLAS, so digests of two machines are not compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from skimage import data

import cosparse
from cosparse.operator import shipped_operators
from cosparse.reconstruction import measurement
from cosparse.reconstruction.stages import QUALITIES

GREY = data.camera()[90:138, 190:246]
COLOUR = data.astronaut()[70:110, 200:248]
INPUTS: dict[str, tuple[Any, int | None]] = {
    "grey": (GREY, None),
    "float": (GREY / 255 - 0.3, None),
    "colour": (COLOUR, -1),
    "stack": (np.stack([GREY[:40, :40], GREY[8:, 16:]]), None),
}
MASK = np.random.default_rng(0).random((48, 56)) < 0.4


def _gaps(image: Any, axis: int | None) -> Any:
    height, width = image.shape[-2:] if axis is None else image.shape[-3:-1]
    return MASK[:height, :width]


def calls(image: Any, axis: int | None, span: float) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every task with noise and without, where it can do without."""
    shared = {"channel_axis": axis}
    yield "denoise 25", lambda **more: cosparse.denoise(image, 25 * span, **shared, **more)
    yield "denoise", lambda **more: cosparse.denoise(image, **shared, **more)
    yield "denoise alone", lambda **more: cosparse.denoise(image, 25 * span, grouping=False, **shared, **more)
    yield "inpaint", lambda **more: cosparse.inpaint(image, _gaps(image, axis), **shared, **more)
    yield "inpaint 10", lambda **more: cosparse.inpaint(image, _gaps(image, axis), sigma=10 * span, **shared, **more)
    yield "upscale", lambda **more: cosparse.upscale(image, 2, **shared, **more)
    yield "upscale 8", lambda **more: cosparse.upscale(image, 3, sigma=8 * span, **shared, **more)
    yield "deblur 2", lambda **more: cosparse.deblur(image, "gaussian:1.2", sigma=2 * span, **shared, **more)


def measured(operator: str, quality: str) -> Iterator[tuple[str, Any]]:
    """Reconstruction of a grey picture from some of its Fourier coefficients."""
    A = measurement.fourier_sampling(measurement.radial_mask(GREY.shape, 0.4))
    y = A.matvec(GREY.ravel() / np.float32(255))
    for sigma in (0.0, 0.02):
        found = cosparse.reconstruct(y, A, GREY.shape, sigma=sigma, operator=operator, quality=quality)
        yield f"reconstruct {sigma:g}", found.image


def main() -> None:
    """A line for each."""
    for operator in shipped_operators():
        for quality in QUALITIES:
            for kind, (image, axis) in INPUTS.items():
                span = 1 / 255 if image.dtype.kind == "f" else 1.0
                for name, call in calls(image, axis, span):
                    told(operator, quality, kind, name, call(operator=operator, quality=quality))
            for name, result in measured(operator, quality):
                told(operator, quality, "grey", name, result)


def told(operator: str, quality: str, kind: str, name: str, result: Any) -> None:
    """One line."""
    digest = hashlib.blake2b(np.ascontiguousarray(result).tobytes(), digest_size=8).hexdigest()
    print(f"{operator:12}{quality:10}{kind:8}{name:16}{result.shape!s:14}{digest}", flush=True)


if __name__ == "__main__":
    main()
