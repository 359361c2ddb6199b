"""How much memory a repair takes at its peak, and whether `cosparse.reconstruction.memory` asks for that much.

    python benchmarks/memory.py              measures all cases anew, each in a process of its own: memory.csv
    python benchmarks/memory.py --check      the same for a few; ends with 1 if any took more than it asked for

What a call takes is the largest resident size while it runs (VmHWM, reset before) less what the process had when it
began, kernels loaded and the image in memory. Linux only.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

import cosparse
from cosparse.reconstruction.memory import memory_needed

RESULTS = Path(__file__).with_name("results") / "memory.csv"
SIDE = 512
NOISY = ("map", "photons", "correlated")
# More effort is more iterations of the same, but for the second pass of some.
QUALITIES = {
    "denoise": ("fast", "balanced"),
    "inpaint": ("fast", "best"),
    "deblur": ("fast",),
    "deblock": ("fast",),
    "upscale": ("fast",),
}
NOISE = 25.0
COLUMNS = ["task", "quality", "channels", "pages", "dtype", "kind", "side", "bytes", "a_pixel", "asked"]
Case = dict[str, Any]


def cases() -> list[Case]:
    """Every task, grey and in colour; stacks, floats, other kinds of noise and another size for some."""
    usual = {"quality": "fast", "channels": 1, "pages": 1, "dtype": "uint8", "kind": "white", "side": SIDE}
    found = [
        {**usual, "task": task, "quality": quality, "channels": channels}
        for task, qualities in QUALITIES.items()
        for quality in qualities
        for channels in (1, 3)
    ]
    denoise = {**usual, "task": "denoise"}
    found += [{**denoise, "dtype": "float64"}, {**denoise, "pages": 4}, {**denoise, "pages": 4, "dtype": "float64"}]
    found += [{**denoise, "kind": kind} for kind in ("map", "photons", "correlated", "estimated", "energy")]
    found += [{**denoise, "channels": 3, "kind": kind} for kind in ("map", "correlated", "energy")]
    found += [{**usual, "task": "deblur", "kind": kind} for kind in ("map", "photons", "correlated", "energy")]
    found += [{**usual, "task": task, "kind": "noisy"} for task in ("inpaint", "upscale")]
    found += [{**usual, "task": task, "side": 2 * SIDE} for task in ("denoise", "deblur")]
    return found


def arguments(case: Case) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Those of the task's function: a made picture, and what the task needs beside it."""
    side = case["side"] // 2 if case["task"] == "upscale" else case["side"]
    shape = [side, side] + ([case["channels"]] if case["channels"] > 1 else [])
    rng = np.random.default_rng(0)
    plain = np.kron(rng.uniform(60, 190, (side // 32, side // 32)), np.ones((32, 32), np.float32))
    image = np.broadcast_to(plain.reshape(side, side, *([1] * (len(shape) - 2))), shape)
    if case["pages"] > 1:
        image = np.broadcast_to(image, (case["pages"], *shape))
    noisy = image + NOISE * rng.standard_normal(image.shape, np.float32)
    unit = 1.0 if case["dtype"] == "uint8" else 1 / 255
    pixels = (noisy.clip(0, 255) * unit).astype(case["dtype"])
    options: dict[str, Any] = {"quality": case["quality"], "channel_axis": -1 if case["channels"] > 1 else None}
    kind, sigma = case["kind"], NOISE * unit
    told: dict[str, Any] = {
        "map": {"sigma": np.full((side, side), sigma, np.float32)},
        "photons": {"noise": cosparse.PoissonGaussian(4.0 * unit, 1.0 * unit)},
        "correlated": {"noise": cosparse.Correlated(sigma, kernel=np.ones((3, 3)))},
        "estimated": {},
        "energy": {"sigma": sigma, "weight": 1.0},
    }.get(kind, {"sigma": sigma})
    if case["task"] == "denoise":
        return (pixels,), {**told, **options}
    if case["task"] == "deblur":
        return (pixels, np.outer(*[np.hanning(9)] * 2)), {**told, **options}
    if case["task"] == "deblock":
        return _compressed(pixels), options
    if case["task"] == "inpaint":
        mask = np.random.default_rng(1).random((side, side)) < 0.3
        return (pixels, mask), {**({"sigma": sigma} if kind == "noisy" else {}), **options}
    return (pixels, 2), {**({"sigma": sigma} if kind == "noisy" else {}), **options}


def _compressed(pixels: np.ndarray) -> tuple[np.ndarray, Any]:
    """As a JPEG that is opened again, and its tables."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=20)
    with Image.open(file) as opened:
        return np.array(opened), opened.quantization


def resident(name: str) -> int:
    """Of this process, in bytes: VmRSS now, or VmHWM at most since it was reset."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def measured(case: Case) -> int:
    """What the call takes beyond what there was, in a process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            function = getattr(cosparse, case["task"])
            small, words = arguments({**case, "side": 128, "pages": 1})
            function(*small, **words)
            given, words = arguments(case)
            before = resident("VmRSS")
            Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
            function(*given, **words)
            os.write(writing, str(resident("VmHWM") - before).encode())
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as said:
        taken = said.read()
    os.waitpid(child, 0)
    return int(taken)


def asked(case: Case) -> int:
    """What the library asks for."""
    shape = (case["side"], case["side"]) if case["channels"] == 1 else (case["side"], case["side"], case["channels"])
    shape = shape if case["pages"] == 1 else (case["pages"], *shape)
    axis = None if case["channels"] == 1 else -1
    return memory_needed(
        case["task"], shape, axis, itemsize=np.dtype(case["dtype"]).itemsize, noisy=case["kind"] in NOISY
    )


def main() -> int:
    """Measure, compare, write."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--check", action="store_true")
    few = options.parse_args().check
    rows = []
    for case in cases()[:: 5 if few else 1]:
        taken, most = measured(case), asked(case)
        rows.append(
            {**case, "bytes": taken, "a_pixel": round(taken / case["side"] ** 2 / case["pages"], 1), "asked": most}
        )
        print(rows[-1], flush=True)
    if not few:
        with RESULTS.open("w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            table.writeheader()
            table.writerows(rows)
    over = [row for row in rows if row["bytes"] > row["asked"]]
    print(f"{len(rows)} cases, {len(over)} took more than was asked for", *over, sep="\n")
    return bool(over)


if __name__ == "__main__":
    sys.exit(main())
