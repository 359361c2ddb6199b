"""The drawings of the results page, by matplotlib (of the `bench` extra)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError as problem:
        raise SystemExit("matplotlib is not installed: pip install 'cosparse[bench]' brings it") from problem
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def new(**options: Any) -> tuple[Any, Any]:
    """A figure of one drawing, and that drawing."""
    made: tuple[Any, Any] = _pyplot().subplots(**options)
    return made


def save(figure: Any, file: Path) -> None:
    """Write it as a PNG and let go of it."""
    # no date or version inside: the same figures give the same file
    figure.savefig(file, dpi=90, bbox_inches="tight", metadata={"Software": None})
    _pyplot().close(figure)


def parameters(rows: Sequence[dict[str, Any]], values: Sequence[dict[str, Any]], file: Path) -> None:
    """Quality over κ and μ, over coherence and condition, and over k; the best operator's singular values."""
    figure, ((grid, heat), (singular, size)) = _pyplot().subplots(2, 2, figsize=(12, 8.4), layout="constrained")
    coherence, condition, psnr, k, kappa, mu = (
        np.array([float(row[key]) for row in rows]) for key in ("coherence", "condition", "psnr", "k", "kappa", "mu")
    )
    pairs = list(zip(kappa, mu, strict=True))
    usual = max(set(pairs), key=lambda pair: len({k[i] for i, p in enumerate(pairs) if p == pair}))
    limits = {"vmin": np.percentile(psnr, 10), "vmax": psnr.max()}  # the worst would take all the colours
    _grid(grid, [(*pair, value) for pair, value in zip(pairs, psnr, strict=True) if pair != usual], limits)
    order = psnr.argsort()
    shown = heat.scatter(coherence[order], condition[order], c=psnr[order], s=40, edgecolors="white", **limits,
                         linewidths=0.4)  # fmt: skip
    best = order[-1]
    heat.scatter(coherence[best], condition[best], s=170, facecolors="none", edgecolors="crimson", linewidths=2)
    heat.set(xlabel="mutual coherence", ylabel="condition number", yscale="log", title=f"all {len(rows)} operators")
    heat.yaxis.set_major_formatter("{x:g}")
    heat.yaxis.set_minor_formatter("{x:g}")
    figure.colorbar(shown, ax=(grid, heat), label="mean PSNR in dB, validation, σ = 25", extend="min")
    singular.plot([int(row["number"]) for row in values], [float(row["value"]) for row in values], ".-")
    singular.set(xlabel="number", ylabel="singular value", ylim=(0, None),
                 title=f"the best: κ = {kappa[best]:g}, μ = {mu[best]:g}, k = {k[best]:g}")  # fmt: skip
    size.plot(*zip(*sorted((k[i], psnr[i]) for i, pair in enumerate(pairs) if pair == usual), strict=True), "o-", ms=4)
    size.axvline(128, color="grey", linestyle=":", label="k = 2n")
    size.legend()
    size.set(xlabel="atoms k", ylabel="mean PSNR in dB", title=f"κ = {usual[0]:g}, μ = {usual[1]:g}")
    save(figure, file)


def _grid(axis: Any, points: Sequence[tuple[float, float, float]], limits: dict[str, Any]) -> None:
    """A heat map over κ and μ, a square an operator."""
    kappas, mus = (sorted({point[i] for point in points}) for i in (0, 1))
    values = np.full((len(kappas), len(mus)), np.nan)
    for kappa, mu, psnr in points:
        values[kappas.index(kappa), mus.index(mu)] = psnr
    axis.imshow(values, origin="lower", aspect="auto", **limits)
    axis.set_xticks(range(len(mus)), [f"{mu:g}" for mu in mus], rotation=45)
    axis.set_yticks(range(len(kappas)), [f"{kappa:g}" for kappa in kappas])
    axis.set(xlabel="μ", ylabel="κ", title="over κ and μ, k = 2n")


def learning(curves: Sequence[dict[str, Any]], file: Path) -> None:
    """How far each run still is from its end, against iterations and seconds."""
    figure, axes = _pyplot().subplots(1, 2, figsize=(12, 4.2), layout="constrained", sharey=True)
    for run in dict.fromkeys(row["run"] for row in curves):
        points = [row for row in curves if row["run"] == run]
        objective = np.array([float(row["objective"]) for row in points])
        span = objective[0] - objective[-1] or 1.0
        left = np.maximum((objective - objective[-1]) / span, 1e-5)
        for axis, key in zip(axes, ("iteration", "seconds"), strict=True):
            axis.semilogy([float(row[key]) for row in points], left, label=run)
    axes[0].set(xlabel="iterations", ylabel="(f - f_end) / (f_1 - f_end)", ylim=(1e-4, 1.1))
    axes[1].set(xlabel="seconds")
    axes[1].legend(fontsize=8)
    save(figure, file)


def sheet(panels: Sequence[tuple[np.ndarray, str, str]], file: Path, *, columns: int = 3, scale: int = 2) -> None:
    """Pictures of one size in rows, enlarged pixel by pixel, each with its name and a note below; an 8-bit grey PNG."""
    from PIL import Image, ImageDraw, ImageFont

    height, width = (scale * side for side in panels[0][0].shape)
    gap, caption, font = 8, 28, ImageFont.load_default(15)
    rows = -(-len(panels) // columns)
    whole = Image.new("L", (columns * (width + gap) - gap, rows * (height + caption)), 255)
    pen = ImageDraw.Draw(whole)
    for number, (image, name, note) in enumerate(panels):
        x, y = number % columns * (width + gap), number // columns * (height + caption)
        grey = np.clip(np.round(image), 0, 255).astype(np.uint8)
        whole.paste(Image.fromarray(np.kron(grey, np.ones((scale, scale), np.uint8))), (x, y))
        pen.text((x, y + height + 4), name, fill=0, font=font)
        pen.text((x + width, y + height + 4), note, fill=0, font=font, anchor="ra")
    whole.save(file, optimize=True)
