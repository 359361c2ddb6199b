"""What wide holes cost: a tenth of a picture of 512x512, and a megapixel of a photograph of twelve.

    python benchmarks/large_holes.py [--only tenth megapixel]

Processor seconds and wall time on two threads, once kernels are compiled, and the peak of memory beside what the
process had before (`resource.getrusage`), each in a process of its own; `asked` is what `inpaint` asks for before it
begins. The large photograph is scikit-image's astronaut, mirrored to 3072x4096. Writes
benchmarks/results/large_holes.csv. Wall time means something on a machine that does nothing else: `load` says how many
processes were running.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time

import numpy as np
from common import write_csv
from skimage import data

import cosparse
from cosparse.reconstruction.memory import memory_needed

CASES = {"tenth": ((512, 512), 162), "megapixel": ((3072, 4096), 1000)}  # the picture, and the side of its hole


def measured(case: str) -> str:
    """One case in this process, as a line."""
    shape, side = CASES[case]
    own = data.astronaut()
    times = [-(-extent // size) for extent, size in zip(shape, own.shape, strict=False)]
    blocks = [
        np.hstack([own[:: 1 - 2 * (i % 2), :: 1 - 2 * (j % 2)] for j in range(times[1])]) for i in range(times[0])
    ]
    image = np.vstack(blocks)[: shape[0], : shape[1]]
    mask = np.zeros(shape, bool)
    top, left = (extent // 2 - side // 2 for extent in shape)
    mask[top : top + side, left : left + side] = True
    with cosparse.limit_threads(2):
        small = np.zeros((96, 96), bool)
        small[30:60, 30:60] = True
        cosparse.inpaint(own[:96, :96], small, channel_axis=-1)  # kernels are compiled
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        cpu, wall = time.process_time(), time.perf_counter()
        cosparse.inpaint(image, mask, channel_axis=-1)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e3
    asked = memory_needed("inpaint", image.shape, -1, itemsize=1) / 1e6
    return f"{cpu:.1f} {wall:.1f} {peak:.0f} {asked:.0f} {os.getloadavg()[0]:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=list(CASES), default=list(CASES))
    parser.add_argument("--here", choices=list(CASES), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.here:
        print(measured(args.here))
        return
    rows = []
    for case in args.only:
        line = subprocess.run([sys.executable, __file__, "--here", case], check=True, stdout=subprocess.PIPE, text=True)
        values = dict(zip(("cpu", "wall", "peak_mb", "asked_mb", "load"), line.stdout.split(), strict=True))
        (height, width), side = CASES[case]
        rows.append({"case": case, "picture": f"{height}x{width}x3", "hole": f"{side}x{side}", **values})
        print(" ".join(map(str, rows[-1].values())), flush=True)
    print(write_csv("large_holes", rows))


if __name__ == "__main__":
    main()
