"""The results as pages: docs/results/*.md with tables and pictures, from the CSVs.

    python benchmarks/paper/page.py [--output docs/results] [--results benchmarks/results]

A table whose CSV is not there is left out, and the index says so. Close-ups are those that closeups.py has drawn.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import as_written
import cells
import common
import denoising
import figures
import inpainting
import numpy as np
import superresolution
from tables import PaperTable

from cosparse.baselines import denoisers, inpainters, title, upscalers
from cosparse.io.atomic import replacing

Rows = list[dict[str, str]]
QUALITIES = ("best", "balanced", "fast")


def method_title(row: dict[str, str]) -> str:
    """What a column is called."""
    method = row["method"]
    if method == "ours":
        return f"**ours, {row['quality']}**"
    if method == "prior":
        return f"the energy alone, {row['quality']}"
    if method == superresolution.TOLD:
        return f"ours, {row['quality']}, told how it was made"
    if method == as_written.NAME:
        return as_written.TITLE
    if method in {*denoisers, *inpainters, *upscalers}:
        return title(method)
    return method


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    rule = [":--", *["--:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, rule, *lines))


def entry(psnr: Any, ssim: Any) -> str:
    if psnr in ("", None):
        return ""
    return f"{float(psnr):.2f}" + (f" / {float(ssim):.3f}" if ssim not in ("", None) else "")


def gap(difference: float) -> str:
    """Bold where we fall short."""
    return f"**{difference:+.2f}**" if difference < 0 else f"{difference:+.2f}"


# -- the paper's three tables


def paper_table(paper: PaperTable, rows: Rows, images: Sequence[str], level: Callable[[tuple[Any, ...]], str]) -> str:
    """One of the paper's tables with ours beside it; entries are PSNR / SSIM."""
    seed = min((row["seed"] for row in rows if row["seed"]), default="0")
    rows = [row for row in rows if row["seed"] in (seed, "")]
    columns: dict[str, dict[Any, tuple[str, str]]] = {}
    for row in rows:
        quoted = row["method"].startswith("paper ")
        figures_of = ("published_psnr", "published_ssim") if quoted else ("psnr", "ssim")
        columns.setdefault(method_title(row), {})[paper.place(row)] = (row[figures_of[0]], row[figures_of[1]])
    ours = [name for name in (f"**ours, {quality}**" for quality in QUALITIES) if name in columns]
    quotes = [name for name in (f"paper {method}" for method in paper.quoted) if name in columns]
    others = sorted(set(columns) - set(ours) - set(quotes))
    goal = columns.get("paper GOAL", {})
    places = sorted({paper.place(row) for row in rows}, key=lambda place: (*place[:-1], images.index(place[-1])))

    def mean(values: dict[Any, tuple[str, str]], chosen: Sequence[Any]) -> str:
        if not all(place in values for place in chosen):
            return ""
        return entry(*(np.mean([float(values[place][i]) for place in chosen]) for i in (0, 1)))

    def line(first: str, of: Callable[[dict[Any, tuple[str, str]]], str], differences: Sequence[str]) -> list[str]:
        shown = [first]
        for name, difference in zip(ours, differences, strict=True):
            shown += [of(columns[name]), difference]
        return shown + [of(columns[name]) for name in (*quotes, *others)]

    def differences(chosen: Sequence[Any]) -> list[str]:
        found = []
        for name in ours:
            both = all(place in columns[name] and place in goal for place in chosen)
            found.append(
                gap(float(np.mean([float(columns[name][p][0]) - float(goal[p][0]) for p in chosen]))) if both else ""
            )
        return found

    lines = [
        line(
            f"{level(place)} {place[-1]}",
            lambda values, place=place: entry(*values.get(place, ("", ""))),
            differences([place]),
        )
        for place in places
    ]
    counted = [place for place in places if not paper.aside(place)]
    lines.append(line("**mean**", lambda values: mean(values, counted), differences(counted)))
    head = ["", *(part for name in ours for part in (name, "− GOAL")), *quotes, *others]
    return table(head, lines)


def denoising_page(rows: Rows, out: Path, results: Path) -> str:
    return (
        "# Denoising\n\nTable I of the paper: PSNR in dB / SSIM. The noise is float and unquantised; "
        "results are clipped to 0..255, not rounded. Bold differences are where we fall short of the "
        "paper's GOAL.\n\n" + paper_table(denoising.TABLE, rows, common.DENOISING, lambda place: f"σ={place[0]:g}")
        + learners_table(cells.read_rows(results, "learners"), cells.read_rows(results, "learners_table"))
    )  # fmt: skip


def learners_table(learned: Rows, rows: Rows) -> str:
    """The means of the same table by operators of other learners, each with what it took to learn."""
    seconds = {row["learner"]: row["cpu_seconds"] for row in learned}
    lines = [[row["learner"], seconds.get(row["learner"], ""), *list(row.values())[1:]] for row in rows]
    head = ["", "processor seconds to learn", *(f"σ={sigma}" for sigma in denoising.SIGMAS), "mean"]
    text = (
        "\n\nOperators of other learners from the same patches in our denoiser, without grouping and at the weight "
        "that was best on training photographs: mean PSNR in dB over the five images "
        "(`python benchmarks/learners.py --table`; more in [recovery](../recovery.md)).\n\n"
    )
    return text + table(head, lines) if lines else ""


def inpainting_page(rows: Rows, out: Path, results: Path) -> str:
    return (
        "# Inpainting\n\nTable II of the paper: PSNR in dB / SSIM, by the share of missing pixels. Bold "
        "differences are where we fall short of the paper's GOAL.\n\n"
        + paper_table(inpainting.TABLE, rows, common.INPAINTING, lambda place: f"{place[0]:g} %")
    )


def superresolution_page(rows: Rows, out: Path, results: Path) -> str:
    return (
        "# Super-resolution\n\nTable III of the paper, factor 3, and its noisy figure (σ=8, not in the "
        "mean): PSNR in dB / SSIM. Bold differences are where we fall short of the paper's GOAL. Our "
        "bicubic column shows that the small images are those of the paper.\n\n"
        + paper_table(
            superresolution.TABLE, rows, common.UPSCALING, lambda place: f"σ={place[1]:g}" if place[1] else ""
        )
    )


CLOSEUPS = {
    "denoising": "A part of scikit-image's “camera”, noise of σ = 20, four methods; PSNR of 258x258 pixels.",
    "inpainting": "Another part, 90 % of the pixels missing.",
    "superresolution": "A part of “chelsea”, three times smaller and with noise of σ = 8, enlarged.",
}


def closeup(name: str, out: Path) -> str:
    """The picture that closeups.py has drawn, if it has."""
    file = f"{name}-closeup.png"
    if name not in CLOSEUPS or not (out / file).exists():
        return ""
    return f"\n\n![{CLOSEUPS[name]}]({file})\n\n*{CLOSEUPS[name]}* `python benchmarks/paper/closeups.py` draws it."


# -- the others


def _means(rows: Rows, group: str) -> tuple[list[str], list[list[str]]]:
    """Mean PSNR / SSIM by group and method."""
    methods = list(dict.fromkeys(method_title(row) for row in sorted(rows, key=_rank)))
    lines = []
    for place in dict.fromkeys(row[group] for row in rows):
        line = [place]
        for method in methods:
            chosen = [row for row in rows if row[group] == place and method_title(row) == method]
            line.append(
                entry(*(np.mean([float(row[k]) for row in chosen]) for k in ("psnr", "ssim"))) if chosen else ""
            )
        lines.append(line)
    return methods, lines


def _rank(row: dict[str, str]) -> tuple[int, str]:
    if row["method"] in cells.OURS:
        return cells.OURS.index(row["method"]), str(QUALITIES.index(row["quality"]))
    return len(cells.OURS), row["method"]


def other_tasks_page(rows: Rows, out: Path, results: Path) -> str:
    methods, lines = _means(rows, "problem")
    each, by_image = _means([{**row, "place": f"{row['problem']}, {row['image']}"} for row in rows], "place")
    return (
        "# Deblurring and compressive sensing\n\nAgainst anisotropic total variation from the same "
        "engine, with its best weight and sharpness for each problem. Blurs: Gaussian σ = 1.6 and 9x9 "
        "box, then noise σ = 2. Sensing: 25 % of the Fourier coefficients. PSNR in dB / SSIM, means of "
        "the five images.\n\n"
        + table(["", *methods], lines) + "\n\n" + table(["", *each], by_image)
    )  # fmt: skip


def fixed_operators_page(rows: Rows, out: Path, results: Path) -> str:
    methods, lines = _means(rows, "set")
    each, by_image = _means([row for row in rows if row["set"] == "test"], "image")
    return (
        "# The learned operator and the cosine transform\n\nThe same engine with σ = 25; the plain (63 "
        "atoms) and the overcomplete (143 atoms) transform have their own best weight, sharpness and "
        "number of iterations. Means of the five test images and of the validation photographs, then the "
        "test images; PSNR in dB / SSIM.\n\n"
        + table(["", *methods], lines) + "\n\n" + table(["", *each], by_image)
    )  # fmt: skip


def modern_page(rows: Rows, out: Path, results: Path) -> str:
    sigmas = sorted({row["sigma"] for row in rows}, key=float)
    computed = [row for row in rows if row["psnr"]]
    lines = []
    for method in dict.fromkeys(method_title(row) for row in sorted(computed, key=_rank)):
        line = [method]
        for sigma in sigmas:
            chosen = [
                float(row["psnr"]) for row in computed
                if (row["set"], row["sigma"], method_title(row)) == ("bsd68", sigma, method)
            ]  # fmt: skip
            line.append(
                f"{np.mean(chosen):.2f}" + ("" if len(chosen) == 68 else f" ({len(chosen)} images)") if chosen else ""
            )
        lines.append(line)
    quoted = {
        (row["method"].removeprefix("paper "), row["sigma"]): row["published_psnr"] for row in rows if not row["psnr"]
    }
    lines += [
        [f"{method}, published", *(_two(quoted.get((method, sigma), "")) for sigma in sigmas)]
        for method in dict.fromkeys(method for method, _ in quoted)
    ]
    five = [{**row, "place": f"σ={row['sigma']} {row['image']}"} for row in computed if row["set"] == "paper"]
    each, by_image = _means(five, "place")
    return (
        "# Where it stands today\n\nMean PSNR in dB over the 68 images of BSD68. TNRD, DnCNN and WCRR-NN "
        "are trained networks."
        "\n\n" + table(["", *(f"σ={sigma}" for sigma in sigmas)], lines)
        + "\n\nThe paper's five images, PSNR in dB / SSIM:\n\n" + table(["", *each], by_image)
    )  # fmt: skip


def _two(figure: str) -> str:
    return f"{float(figure):.2f}" if figure else ""


def as_written_page(rows: Rows, out: Path, results: Path) -> str:
    def tried(step: str, keys: Sequence[str]) -> str:
        return table(keys, [[row[key] for key in keys] for row in rows if row["step"] == step])

    learned = ("p", "learning_nu", "kappa", "mu", "condition", "coherence", "force", "psnr", "psnr_settled",
               "psnr_by_log")  # fmt: skip
    repaired = ("level", "force", "nu", "iterations", "psnr", "psnr_settled")
    steps = {"denoise": "Denoising, by σ", "inpaint": "Inpainting, by the missing percentage",
             "upscale": "Enlarging three times, by the noise"}  # fmt: skip
    return "\n\n".join([
        as_written.ABOUT, "Learning, judged by denoising with σ = 25:", tried("learn", learned),
        *(part for step, text in steps.items() for part in (f"{text}:", tried(step, repaired))),
    ])  # fmt: skip


def parameters_page(rows: Rows, out: Path, results: Path) -> str:
    figures.parameters(rows, cells.read_rows(results, "singular_values"), out / "parameters.png")
    keys = ("kappa", "mu", "k", "coherence", "condition", "psnr")
    best = sorted(rows, key=lambda row: -float(row["psnr"]))[:10]
    return (
        f"# Parameters\n\n{len(rows)} operators over a grid of κ, μ and k, judged by denoising validation "
        "photographs (σ = 25); none has seen a test image. Above: each by its κ and μ, and by its coherence and "
        "condition, the best in a red circle. Below: the best one's singular values, and the number of "
        "atoms.\n\n![parameters](parameters.png)\n\n"
        "The ten best:\n\n" + table(keys, [[row[key] for key in keys] for row in best])
    )


def learning_page(rows: Rows, out: Path, results: Path) -> str:
    figures.learning(cells.read_rows(results, "learning_curves"), out / "learning.png")
    keys = ("run", "kappa", "mu", "iterations", "evaluations", "seconds", "coherence", "condition", "psnr")
    return (
        f"# Learning\n\n128 atoms from {rows[0]['patches']} patches of the paper's training images. "
        "Seconds are those of the machine that ran it; the paper reports about ten minutes on four cores. "
        "The last column is the mean PSNR in dB of denoising validation photographs (σ = 25).\n\n"
        + table(keys, [[row[key] for key in keys] for row in rows]) + "\n\n![objective](learning.png)"
    )  # fmt: skip


PAGES = {
    "denoising": ("Denoising (Table I)", denoising_page),
    "inpainting": ("Inpainting (Table II)", inpainting_page),
    "superresolution": ("Super-resolution (Table III)", superresolution_page),
    "other_tasks": ("Deblurring and compressive sensing", other_tasks_page),
    "fixed_operators": ("Learned against fixed operators", fixed_operators_page),
    "modern": ("BSD68, beside newer methods", modern_page),
    "as_written": ("The paper's penalty, exactly as written", as_written_page),
    "parameters": ("The study of κ, μ and k", parameters_page),
    "learning": ("How learning goes", learning_page),
}


def made_with(rows: Rows) -> str:
    """Version, seed and quality, as the CSV has them."""
    ours = [row for row in rows if row.get("method", "ours") == "ours"]
    parts = {key: sorted({row[key] for row in ours if row.get(key)}) for key in ("version", "quality", "seed")}
    seeds = parts["seed"]
    shown = f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 3 else ", ".join(seeds)
    return f"cosparse {', '.join(parts['version'])}; quality {', '.join(parts['quality'])}; seed {shown}"


def made_by(rows: Rows) -> str:
    """Whose code the rivals are, in which version and under which licence."""
    found = {}
    for row in rows:
        method, version = row.get("method", ""), row.get("version", "")
        if method in {*denoisers, *inpainters, *upscalers} and version:
            licence = cells.LICENCES.get(version.rpartition(" ")[0])
            found[title(method)] = f"{version} ({licence})" if licence else f"cosparse {version} (BSD-3)"
    listed = "; ".join(f"{name}: {version}" for name, version in sorted(found.items()))
    return f"\n\nWhose code the other columns are: {listed}." if found else ""


def main(argv: Sequence[str] | None = None) -> list[Path]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=common.ROOT / "docs" / "results")
    parser.add_argument("--results", type=Path, default=common.RESULTS, help="folder of the CSVs")
    parser.add_argument("--pages", nargs="+", choices=PAGES, default=list(PAGES))
    args = parser.parse_args(argv)
    args.output.mkdir(parents=True, exist_ok=True)
    written, index = [], []
    for name, (heading, page) in PAGES.items():
        rows = cells.read_rows(args.results, name)
        if not rows:
            index.append(f"- {heading}: not computed yet (`python benchmarks/paper/{name}.py`)")
            continue
        file = args.output / f"{name}.md"
        index.append(f"- [{heading}]({name}.md)")
        if name not in args.pages:
            continue
        foot = f"\n\n---\n\n`python benchmarks/paper/{name}.py` wrote `{name}.csv`; {made_with(rows)}.\n"
        _write(file, page(rows, args.output, args.results) + closeup(name, args.output) + made_by(rows) + foot)
        written.append(file)
    text = (
        "# Results\n\nEvery figure here was written by a script of `benchmarks/paper/` into "
        "`benchmarks/results/`, and from there by `benchmarks/paper/page.py` into these pages. The "
        "columns named *paper* are quoted from the paper's tables; all others were computed, on the same "
        "noise and masks. Parameters were chosen on training photographs only.\n\n"
    )
    _write(args.output / "index.md", text + "\n".join(index) + "\n")
    for file in written:
        cells.console.print(f"written: {file}")
    return [*written, args.output / "index.md"]


def _write(file: Path, text: str) -> None:
    with replacing(file) as temporary:
        temporary.write_text(text)


if __name__ == "__main__":
    main()
