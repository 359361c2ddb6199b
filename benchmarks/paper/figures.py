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
    """Quality over coherence and condition, the best operator's singular values, quality over k."""
    figure, (heat, singular, size) = _pyplot().subplots(1, 3, figsize=(15, 4.2), layout="constrained")
    coherence, condition, psnr, k, kappa, mu = (
        np.array([float(row[key]) for row in rows]) for key in ("coherence", "condition", "psnr", "k", "kappa", "mu")
    )
    order = psnr.argsort()
    shown = heat.scatter(coherence[order], condition[order], c=psnr[order], cmap="jet", s=45)
    best = order[-1]
    heat.scatter(coherence[best], condition[best], s=160, facecolors="none", edgecolors="green", linewidths=2)
    heat.set(xlabel="mutual coherence", ylabel="condition number", yscale="log", title=f"{len(rows)} operators")
    figure.colorbar(shown, ax=heat, label="mean PSNR in dB, validation, σ = 25")
    singular.plot([int(row["number"]) for row in values], [float(row["value"]) for row in values], ".-")
    singular.set(xlabel="number", ylabel="singular value", ylim=(0, None),
                 title=f"the best: κ = {kappa[best]:g}, μ = {mu[best]:g}, k = {k[best]:g}")  # fmt: skip
    pairs = list(zip(kappa, mu, strict=True))
    common = max(set(pairs), key=lambda pair: len({k[i] for i, p in enumerate(pairs) if p == pair}))
    sweep = sorted((k[i], psnr[i]) for i, pair in enumerate(pairs) if pair == common)
    size.plot(*zip(*sweep, strict=True), "o-")
    size.axvline(128, color="grey", linestyle=":", label="k = 2n")
    size.legend()
    size.set(xlabel="atoms k", ylabel="mean PSNR in dB", title=f"κ = {common[0]:g}, μ = {common[1]:g}")
    save(figure, file)


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


def strip(images: Sequence[np.ndarray], file: Path, scale: int = 1) -> None:
    """Pictures side by side, as an 8-bit grey PNG."""
    from PIL import Image

    gap = np.full((images[0].shape[0] * scale, 4), 255, np.uint8)
    parts: list[np.ndarray] = []
    for image in images:
        grey = np.clip(np.round(image), 0, 255).astype(np.uint8)
        parts += [np.kron(grey, np.ones((scale, scale), np.uint8)), gap]
    Image.fromarray(np.hstack(parts[:-1])).save(file, optimize=True)
