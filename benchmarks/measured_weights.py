"""How `reconstruct` should weigh its prior under measurements of other sizes than those it was tuned on.

    python benchmarks/measured_weights.py scan     dB over factors on the weight, every measurement and noise
    python benchmarks/measured_weights.py check    dB of reconstruct's own weight beside the best of the scan

Writes benchmarks/results/measured_weights.csv. Validation photographs, 64x64, the middle of each; no test image.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterator
from typing import Any

import common
import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import cosparse
from cosparse.reconstruction import measurement
from cosparse.reconstruction.stages import as_refined, plan

OPERATOR = as_refined(cosparse.load_operator("default"))
SIDE, PHOTOGRAPHS = 64, 2
SHAPE = (SIDE, SIDE)
FACTORS = tuple(2.0**power for power in range(-4, 7))
NOISES = (0.003, 0.01, 0.03)  # of the root mean square of the data without their mean


def projections(angles: int, length: float = 1.0) -> Any:
    """Sums along lines at so many angles, a pixel shared out between two detectors; pixels are so long."""
    across = (np.arange(SIDE) - (SIDE - 1) / 2)[:, None]
    rows, columns, values = [], [], []
    count = int(np.ceil(SIDE * np.sqrt(2))) + 2
    for number, angle in enumerate(np.pi * np.arange(angles) / angles):
        place = (across * np.cos(angle) + across.T * np.sin(angle)).ravel() + count / 2
        low = np.floor(place).astype(int)
        for shift, share in ((0, 1 - (place - low)), (1, place - low)):
            rows.append(number * count + low + shift)
            columns.append(np.arange(SIDE**2))
            values.append(length * share)
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    return aslinearoperator(sparse.csr_array(entries, shape=(angles * count, SIDE**2)))


def scaled(A: Any, factor: float) -> LinearOperator:
    return LinearOperator(
        A.shape, matvec=lambda x: factor * A.matvec(x), rmatvec=lambda y: factor * A.rmatvec(y), dtype=A.dtype
    )


MEASUREMENTS: dict[str, Callable[[], Any]] = {
    "tomography, 10 angles": lambda: projections(10),
    "tomography, 20 angles": lambda: projections(20),
    "tomography, 60 angles": lambda: projections(60),
    "tomography, 20 angles, norm 1": lambda: scaled(projections(20), 1 / 35),
    "Fourier, a quarter": lambda: measurement.fourier_sampling(measurement.variable_density_mask(SHAPE, 0.25)),
    "Fourier, a quarter, times 10": lambda: scaled(
        measurement.fourier_sampling(measurement.variable_density_mask(SHAPE, 0.25)), 10
    ),
    "Hadamard, 40 %": lambda: measurement.hadamard_sensing(SHAPE, SIDE**2 * 2 // 5),
    "every third pixel of a blur": lambda: measurement.downsampling(3, SHAPE),
    "Gaussian, half": lambda: measurement.gaussian_sensing(SHAPE, SIDE**2 // 2),
    "blur of 1.6 pixels": lambda: measurement.blur(measurement.gaussian_kernel(1.6), SHAPE),
}


def photographs() -> list[np.ndarray]:
    found = common.validation_images(every=133)[:PHOTOGRAPHS]
    return [image[40 : 40 + SIDE, 60 : 60 + SIDE] / np.float32(255) for image in found]


def cases(only: str) -> Iterator[tuple[str, float, Any, list[tuple[np.ndarray, np.ndarray, float]]]]:
    """Measurement, noise, A, and for every photograph: itself, its data and their standard deviation."""
    for name, make in MEASUREMENTS.items():
        A = make()
        for noise in NOISES if only in name else ():
            data = []
            for seed, image in enumerate(photographs()):
                y, flat = A.matvec(image.ravel()), A.matvec(np.full(SIDE**2, image.mean(), np.float32))
                level = noise * float(np.sqrt(np.mean(np.abs(y - flat) ** 2)))
                rng = np.random.default_rng(seed)
                more = level * rng.standard_normal(y.shape)
                more = more + 1j * level * rng.standard_normal(y.shape) if np.iscomplexobj(y) else more
                data.append((image, y + more, level))
            yield name, noise, A, data


def decibels(A: Any, data: list[tuple[np.ndarray, np.ndarray, float]], factor: float | None) -> tuple[float, float]:
    """Mean dB, and the weight that was taken last."""
    reached, weight = [], 0.0
    for image, y, level in data:
        usual = plan("reconstruct", 255 * level, "fast", None, OPERATOR).stages[-1].weight
        asked = {} if factor is None else {"weight": factor * usual}
        result = cosparse.reconstruct(y, A, SHAPE, sigma=level, quality="fast", **asked)
        reached.append(cosparse.psnr(image, result.image.clip(0, 1)))
        weight = result.weight
    return float(np.mean(reached)), weight


def replaced(row: dict[str, str], options: argparse.Namespace) -> bool:
    """Whether a row is measured again."""
    kind = "scan" if options.what == "scan" else "own"
    return row["kind"] == kind and options.only in row["measurement"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["scan", "check"])
    parser.add_argument("--only", default="", help="measurements whose name has this")
    options = parser.parse_args()
    common.need_data()
    path = common.RESULTS / "measured_weights.csv"
    rows: list[dict[str, str]] = []
    if path.exists():
        with path.open(newline="") as file:
            rows = [row for row in csv.DictReader(file) if not replaced(row, options)]
    for name, noise, A, data in cases(options.only):
        case = {"measurement": name, "noise": str(noise)}
        for factor in FACTORS if options.what == "scan" else (None,):
            reached, weight = decibels(A, data, factor)
            kind = "own" if factor is None else "scan"
            row = {**case, "kind": kind, "weight": f"{weight:.4g}", "dB": f"{reached:.3f}"}
            rows.append(row)
            print(*row.values(), sep=", ", flush=True)
        if options.what == "check":
            best = max(float(one["dB"]) for one in rows if (one["measurement"], one["noise"]) == (name, str(noise)))
            print(f"    best {best:.2f}", flush=True)
        common.write_csv("measured_weights", rows)


if __name__ == "__main__":
    main()
