"""Write the table of measured figures into README.md, from the committed CSV files.

python benchmarks/summary.py
"""

from __future__ import annotations

import csv
from statistics import mean

from common import RESULTS, ROOT

BEGIN, END = "<!-- figures: python benchmarks/summary.py -->", "<!-- end of figures -->"


def rows(name: str) -> list[dict[str, str]]:
    with (RESULTS / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def quantity(name: str, wanted: str) -> float:
    return float(next(row["value"] for row in rows(name) if wanted in row["quantity"]))


def table(name: str, **where: str) -> tuple[float, float, float]:
    """Ours, the paper's GOAL, and the worst difference, over the cells of a table."""
    wanted = {"method": "ours", "quality": "best", **where}
    cells = [row for row in rows(name) if all(row[key] == value for key, value in wanted.items())]
    ours, paper = ([float(row[column]) for row in cells] for column in ("psnr", "published_psnr"))
    return mean(ours), mean(paper), min(a - b for a, b in zip(ours, paper, strict=True))


def bsd68(column: str, **where: str) -> list[float]:
    """The means over the 68 images at the three noise levels."""
    wanted = {"set": "bsd68", **where}
    cells = [row for row in rows("modern") if all(row[key] == value for key, value in wanted.items())]
    return [mean(float(row[column]) for row in cells if row["sigma"] == sigma) for sigma in ("15", "25", "50")]


def lines() -> list[str]:
    made = [("figure", "cosparse", "to compare", "command")]
    alone = {"method": "prior"}
    for label, name, where in (
        ("denoising, 25 cells of the paper's Table I, mean", "denoising", {}),
        ('the same, the energy alone (`operator="default"`, `grouping=False`)', "denoising", alone),
        ("inpainting, 12 cells of Table II, mean", "inpainting", {}),
        ("the same, the energy alone (`grouping=False`)", "inpainting", alone),
        ("super-resolution x3, 7 cells of Table III, mean", "superresolution", {"sigma": "0"}),
        ("the same, told how the small pictures were made", "superresolution", {"sigma": "0", "method": "told"}),
    ):
        ours, paper, worst = table(name, **where)
        made.append(
            (
                f"{label} (worst cell)",
                f"{ours:.2f} dB ({worst:+.2f})",
                f"the paper's GOAL {paper:.2f} dB",
                f"`benchmarks/paper/{name}.py --quality best`",
            )
        )
    made += [
        (
            f'BSD68, mean at σ = 15, 25, 50, quality="{quality}"',
            " / ".join(f"{value:.2f}" for value in bsd68("psnr", method="ours", quality=quality)) + " dB",
            f"PyPI's bm3d 4.0.3, same noise: {' / '.join(f'{value:.2f}' for value in bsd68('psnr', method='bm3d'))} dB",
            f"`benchmarks/paper/modern.py --quality {quality} --bm3d`",
        )
        for quality in ("balanced", "best")
    ]
    enlarged = rows("bsd68_upscaling")
    gains = [
        mean(float(row["ours"]) - float(row["bicubic"]) for row in enlarged if row["factor"] == factor)
        for factor in ("2", "3", "4")
    ]
    made.append(
        (
            "upscaling BSD68 x2, x3, x4: gain over bicubic",
            " / ".join(f"{gain:+.2f}" for gain in gains) + " dB",
            "published on B100: A+ +1.65 / +1.08 / +0.86, SRCNN +1.80 / +1.20 / +0.94",
            "`benchmarks/bsd68_upscaling.py`",
        )
    )
    speed = "`benchmarks/speed/reconstruction.py`"
    bm3d = quantity("reconstruction", "denoise bm3d: PSNR")
    made += [
        (
            f'denoise 512x512, σ=25, quality="{quality}"',
            f"{quantity('reconstruction', f'denoise {quality}: PSNR'):.2f} dB, "
            f"{quantity('reconstruction', f'{quality}: times faster'):.1f} times faster",
            f"PyPI's bm3d 4.0.3, {bm3d:.2f} dB",
            speed,
        )
        for quality in ("fast", "balanced", "best")
    ]
    made.append(
        (
            "peak memory, 512x512; beyond that",
            f"{quantity('reconstruction', 'peak memory'):.0f} MB; "
            f"{quantity('reconstruction', 'memory a pixel'):.0f} bytes a pixel",
            "",
            speed,
        )
    )
    learning = "`benchmarks/speed/learning.py`"
    made.append(
        (
            "learning 128x64 from 50,000 patches, 400 iterations",
            f"{quantity('learning_speed', '400 iterations: time'):.0f} s",
            "the paper: about 10 minutes (200,000 patches, four cores)",
            learning,
        )
    )
    made.append(
        (
            "learning to the same objective",
            f"{quantity('learning_speed', 'times faster'):.1f} times faster",
            "pymanopt, plain NumPy",
            learning,
        )
    )
    header, *body = made
    return [
        "| " + " | ".join(header) + " |",
        "|" + "---|" * len(header),
        *("| " + " | ".join(line) + " |" for line in body),
    ]


def main() -> None:
    readme = ROOT / "README.md"
    text = readme.read_text()
    before, rest = text.split(BEGIN)
    readme.write_text(before + BEGIN + "\n" + "\n".join(lines()) + "\n" + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
