"""Promise 8: the same bytes whatever the number of threads, and nearly the same on other processors."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torture import calls
from torture.children import environment, finish, function
from torture.frame import Impossible, Promise, Run

promise = Promise(8, "Reproducible: the same bytes whatever the threads, and on other processors as near as may be")
THREADS = (1, 2, 3, 8)
GOLDEN = Path(__file__).with_name("golden.npz")  # what calls gave; `python -m torture.reproducing` writes it again
KEPT = ("denoise", "denoise.energy", "denoise.photons", "inpaint.noisy", "upscale.bicubic", "deblur", "learn_operator")
# A processor of 2003: no instruction of the vector extensions that Numba, OpenBLAS and NumPy would choose here.
PLAIN = {
    "NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": "", "OPENBLAS_CORETYPE": "Prescott",
    "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR X86_V4 X86_V3 "
    "AVX2 FMA3 F16C AVX XOP FMA4",
}  # fmt: skip


def results(path: str, *names: str) -> None:
    """Make calls, and keep what they gave."""
    kept: dict[str, NDArray[Any]] = {}
    for name in names or calls.CALLS:
        kept |= {f"{name}/{number}": array for number, array in enumerate(calls.CALLS[name]())}
    np.savez(path, **kept)  # type: ignore[arg-type]


def digests(*names: str) -> None:
    """Make calls, and print the digests of what they gave."""
    print(json.dumps(calls.digests(names or tuple(calls.CALLS))))


@promise.part()
def threads(run: Run) -> None:
    """Children with 1, 2, 3 and 8 threads of ours and of BLAS, each again and again: the same bytes."""
    names = calls.SHORT if run.short else tuple(calls.CALLS)
    expected: dict[str, str] = {}
    for _ in range(run.times(1, 3)):
        for number in THREADS[1:3] if run.short else THREADS:
            blas = {name: str(9 - number) for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")}
            env = environment(**blas) | {"COSPARSE_NUM_THREADS": str(number)}
            found = json.loads(finish(function("reproducing.digests", *names), env=env).stdout)
            expected = expected or found
            wrong = calls.differing(found, expected)
            run.hold(not wrong, f"with {number} threads other bytes of {', '.join(wrong)}")
            run.count("calls with the same bytes", len(found))
    if run.short:  # in this process too, whatever its number
        run.hold(not calls.differing(calls.digests(names), expected), "a child and its parent disagree")


@promise.part(markers=())
def golden(run: Run) -> None:
    """A golden operator and golden pictures: what was kept is found again, on whatever machine this is."""
    kept = dict(np.load(GOLDEN))
    run.hold({name.partition("/")[0] for name in kept} == set(KEPT), f"{GOLDEN} has other calls; write it again")
    for call in KEPT:
        found = calls.CALLS[call]()[0]
        largest, mean = differences(np.float32(found), kept[f"{call}/0"])
        limits = (255e-5, 255e-6) if call == "learn_operator" else (LARGEST, MEAN)  # atoms are no pictures on 0..1
        run.hold(largest <= limits[0] and mean <= limits[1], f"{call} is off by {largest}, root mean square {mean}")
        run.count("golden operators" if call == "learn_operator" else "golden pictures")


def write_golden() -> None:
    """Keep what calls give now; look at what has moved before you commit it."""
    before = dict(np.load(GOLDEN)) if GOLDEN.exists() else {}
    after = {f"{call}/0": np.float32(calls.CALLS[call]()[0]) for call in KEPT}
    for name, array in after.items():
        moved = differences(array, before[name]) if name in before else "new"
        print(f"{name}: {moved} (largest and root mean square, in grey levels)")
    np.savez_compressed(GOLDEN, **after)  # type: ignore[arg-type]


@promise.part(long_only=True)
def processors(run: Run) -> None:
    """Compiled for any x86-64 and for this processor: trained steps within 1e-4 grey levels, minimisations 0.05."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        raise Impossible(f"this processor is no x86-64, but {platform.machine()}")
    found = []
    for name, more in (("plain", PLAIN), ("native", {})):
        path = run.folder / f"{name}.npz"
        env = environment(NUMBA_CACHE_DIR=str(run.folder / f"cache-{name}"), **more)
        finish(function("reproducing.results", path), env=env)
        found.append(dict(np.load(path)))
    for name, (one, other) in {name: (found[0][name], found[1][name]) for name in found[0]}.items():
        call = name.partition("/")[0]
        if call.partition(".")[0] not in PICTURES:
            continue
        largest, mean = differences(one, other)
        run.count("pictures compared")
        run.count("of them within 1e-4 grey levels", largest <= 1e-4)
        run.counts["largest difference, in millionths"] = max(
            run.counts.get("largest difference, in millionths", 0), round(1e6 * largest)
        )
        limit = LIMITS.get(call, LARGEST)
        run.hold(largest <= limit, f"{call} differs by {largest} grey levels, and may by {limit}")
        run.hold(mean <= MEAN, f"{call} differs by {mean} grey levels, root mean square, and may by {MEAN}")


PICTURES = ("denoise", "inpaint", "upscale", "deblur", "deblock", "reconstruct")
# Trained steps are within 1e-4. A minimisation of many iterations enlarges roundings, those of its input as much as
# those of its sums, so that no order of sums would help: benchmarks/rounding.py.
LIMITS = {"denoise": 1e-4, "denoise.fast": 1e-4, "denoise.map": 1e-4, "deblock": 1e-4}
LARGEST, MEAN = 0.05, 5e-4


def differences(one: NDArray[Any], other: NDArray[Any]) -> tuple[float, float]:
    """The largest and the root mean square, in grey levels of 255: floats are on 0..1; NaN is infinite."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return float("inf"), float("inf")
    scale = 1.0 if one.dtype.kind in "ui" else 255.0
    off = scale * np.nan_to_num(np.abs(one.astype(float) - other.astype(float)), nan=np.inf)
    return float(off.max(initial=0.0)), float(np.sqrt(np.mean(off**2)))


if __name__ == "__main__":
    write_golden()
