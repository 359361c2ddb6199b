"""What the second pass of denoising and inpainting gains, on photographs held out of training.

    python benchmarks/grouping.py [--operator staged] [--every 20] [--sigma 25] [--missing 50]

For every noise level (or share of missing pixels) and quality: dB of the energy's minimiser, or of trained steps, alone
and after the pass over groups of similar patches. For
denoising with `balanced`, also what other patches, groups and windows would give. Writes its rows of
benchmarks/results/grouping.csv and prints the table of docs/grouping.md.
"""

from __future__ import annotations

import argparse
import csv
from typing import Any

import numpy as np
from common import RESULTS, add_noise, need_data, validation_images, write_csv

import cosparse
from cosparse.kernels.groups import group_filter
from cosparse.reconstruction.stages import GROUPING, QUALITIES

# (size, step, radius, count), how many times over, and how much alike patches must be for the second time.
FOR_ENERGY = [
    ((5, 4, 16, 24), 1, np.inf), ((8, 4, 16, 24), 1, np.inf), ((6, 4, 16, 12), 1, np.inf), ((6, 4, 16, 48), 1, np.inf),
    ((6, 4, 8, 24), 1, np.inf), ((6, 4, 24, 24), 1, np.inf), ((6, 2, 16, 24), 1, np.inf), ((6, 4, 16, 24), 2, np.inf),
]  # fmt: skip
OTHERS = [
    ((6, 4, 16, 24), 1, np.inf), ((8, 4, 16, 32), 1, np.inf), ((8, 4, 16, 64), 1, np.inf), ((8, 6, 16, 24), 1, np.inf),
    ((8, 6, 16, 48), 1, np.inf), ((8, 6, 12, 32), 1, np.inf), ((8, 6, 24, 32), 1, np.inf), ((8, 6, 16, 32), 2, np.inf),
    ((8, 6, 16, 32), 2, 0.5), ((8, 6, 16, 32), 2, 0.3), ((8, 6, 16, 32), 2, 0.2), ((8, 6, 16, 32), 3, 0.3),
]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=20, help="take every so many-th photograph; 20 were held out")
    parser.add_argument("--sigma", nargs="*", type=float, default=[2, 5, 10, 15, 25, 50])
    parser.add_argument("--operator", choices=["default", "staged"], default="default")
    parser.add_argument("--missing", nargs="*", type=float, default=[20, 50, 80], help="percent, without noise")
    args = parser.parse_args()
    need_data()
    staged = args.operator == "staged"
    truths = validation_images(args.every, 9 if staged else 7)  # which its training did not see
    rules = GROUPING["steps" if staged else "denoise"]
    rows: list[dict[str, Any]] = []

    def note(problem: str, quality: str, second: str, results: list[np.ndarray]) -> None:
        pairs = zip(truths, results, strict=True)
        psnr = float(np.mean([cosparse.psnr(truth, np.clip(found, 0, 255), data_range=255) for truth, found in pairs]))
        rows.append({"problem": problem, "quality": quality, "second pass": second, "psnr": round(psnr, 3)})
        print(f"{problem:<13} {quality:<9} {second:<40} {psnr:.3f} dB", flush=True)

    for sigma in args.sigma:
        problem = f"noise {sigma:g}, trained steps" if staged else f"noise {sigma:g}"
        noisies = [add_noise(truth, sigma, i) for i, truth in enumerate(truths)]
        for quality in QUALITIES:
            for second in (False, True):
                if second and quality not in rules:
                    continue
                results = [
                    cosparse.denoise(
                        noisy, sigma, operator=args.operator, quality=quality, grouping=second, data_range=255
                    )
                    for noisy in noisies
                ]
                used = label(*vars(rules[quality]).values()) if second else "none"
                note(problem, quality, used, results)
                if quality == "balanced" and not second:
                    pilots = results
        variance = np.array([sigma**2])
        for setting, passes, alike in OTHERS if staged else FOR_ENERGY:
            planes = [pilot[None] for pilot in pilots]
            for limit in [np.inf] + [alike] * (passes - 1):
                planes = [
                    group_filter(plane, noisy[None], np.ones_like(noisy, np.uint8), variance, True, *setting, limit)
                    for plane, noisy in zip(planes, noisies, strict=True)
                ]
            note(problem, "balanced", label(*setting, passes, alike), [plane[0] for plane in planes])
    for percent in () if staged else args.missing:
        masks = [np.random.default_rng(i).random(truth.shape) < percent / 100 for i, truth in enumerate(truths)]
        for quality in QUALITIES:
            for second in (False, True):
                results = [
                    cosparse.inpaint(np.where(mask, 0, truth), mask, quality=quality, grouping=second, data_range=255)
                    for truth, mask in zip(truths, masks, strict=True)
                ]
                used = label(*vars(GROUPING["inpaint"][quality]).values()) if second else "none"
                note(f"{percent:g} % missing", quality, used, results)
    measured = {row["problem"] for row in rows}
    with (RESULTS / "grouping.csv").open(newline="") as file:
        others = [row for row in csv.DictReader(file) if row["problem"] not in measured]
    print(f"written: {write_csv('grouping', [*others, *rows])}")
    print(*table(rows), sep="\n")


def table(rows: list[dict]) -> list[str]:
    """Markdown: without and with the pass, by quality."""
    lines = ["| | " + " | ".join(QUALITIES) + " |", "|---|" + "---|" * len(QUALITIES)]
    for problem in dict.fromkeys(row["problem"] for row in rows):
        chosen = {
            q: [row["psnr"] for row in rows if (row["problem"], row["quality"]) == (problem, q)] for q in QUALITIES
        }
        entries = [" → ".join(f"{psnr:.2f}" for psnr in steps[:2]) for steps in chosen.values()]
        lines.append(f"| {problem} | " + " | ".join(entries) + " |")
    return lines


def label(size: int, step: int, radius: int, count: int, passes: int = 1, alike: float = np.inf, shift: int = 0) -> str:
    again = f", {passes} times" if passes > 1 else ""
    again += f", every other {shift} off" if shift else ""
    limit = f" if alike to {alike:g}" if alike < np.inf else ""
    return f"{count} of {size}x{size}, step {step}, radius {radius}{again}{limit}"


if __name__ == "__main__":
    main()
