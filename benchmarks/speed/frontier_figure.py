"""The figure of frontier.py, dB over processor seconds with our points joined; and who is above our curve."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "paper"))
import figures

COLOURS = {"ours": "#c0392b", "BM3D": "#1f5fa8", "network": "#7d3c98", "other": "#6b6b6b"}
MARKERS = {"ours": "o", "BM3D": "s", "network": "D", "other": "^"}
WORDS = {"ours": "cosparse", "BM3D": "BM3D", "network": "network (torch)", "other": "others"}
TITLES = {
    "bm3d": "bm3d (PyPI)", "vapoursynth_bm3d": "VapourSynth-BM3D", "ffdnet": "FFDNet", "opencv_nlm": "OpenCV NLM",
    "skimage_nlm": "scikit-image NLM", "skimage_tv": "scikit-image TV", "skimage_wavelet": "scikit-image wavelets",
    "gmic": "G'MIC", "cosparse": "",
}  # fmt: skip
FLOOR = 28.4  # dB from which on the curve is judged
SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (0.8, 0.8), (-0.8, 0.8), (0.8, -0.8), (-0.8, -0.8))
AROUND = [(x * far, y * far) for far in (7, 11, 17, 25) for x, y in SIDES]
"""Where a label may stand, in points from its mark; the best first."""


def points(rows: Sequence[dict[str, str]]) -> np.ndarray:
    """(count, 2): processor seconds and dB."""
    return np.array([(float(row["cpu_seconds"]), float(row["psnr"])) for row in rows]).reshape(-1, 2)


def curve(rows: Sequence[dict[str, str]]) -> np.ndarray:
    """Those of our points that no other of ours beats in both time and quality, by time."""
    best = -np.inf
    kept = []
    for seconds, db in sorted(points([row for row in rows if row["kind"] == "ours"]).tolist()):
        if db > best:
            kept.append((seconds, db))
            best = db
    return np.array(kept).reshape(-1, 2)


def above(rows: Sequence[dict[str, str]], floor: float = FLOOR) -> list[dict[str, str]]:
    """The rivals of at least `floor` dB on or above our curve, which is straight over the logarithm of time."""
    ours = curve(rows)
    rivals = [row for row in rows if row["kind"] != "ours" and float(row["psnr"]) >= floor]
    if not len(ours):
        return rivals
    there = np.interp(np.log(points(rivals)[:, 0]), np.log(ours[:, 0]), ours[:, 1], left=-np.inf)
    return [row for row, db in zip(rivals, there, strict=True) if float(row["psnr"]) >= db]


def draw(rows: Sequence[dict[str, str]], file: Path) -> None:
    """Write the figure."""
    figure, axis = figures.new(figsize=(10, 6.4), layout="constrained")
    axis.set(xscale="log", xlabel="processor seconds for 512x512, one thread", ylabel="mean PSNR in dB, BSD68, σ = 25")
    axis.grid(True, which="both", color="#e6e6e6", linewidth=0.6)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    axis.plot(*curve(rows).T, color=COLOURS["ours"], linewidth=2, zorder=2)
    for kind, colour in COLOURS.items():
        here = points([row for row in rows if row["kind"] == kind])
        if len(here):
            axis.scatter(*here.T, color=colour, marker=MARKERS[kind], s=38, label=WORDS[kind], zorder=3)
    axis.xaxis.set_major_formatter("{x:g}")
    axis.margins(x=0.08, y=0.06)
    axis.legend(loc="lower right", frameon=True, framealpha=1)
    label(figure, axis, rows)
    figures.save(figure, file)


def label(figure: Any, axis: Any, rows: Sequence[dict[str, str]]) -> None:
    """Name every point where the name hides no point, no line and no other name."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    marks = axis.transData.transform(points(rows))
    line = axis.transData.transform(_dense(curve(rows)))
    taken = [axis.get_legend().get_window_extent(renderer)]

    def cost(box: Any) -> float:
        wide = box.expanded(1.02, 1.15)
        hidden = 50 * sum(box.overlaps(other) for other in taken) + 20 * sum(wide.contains(*mark) for mark in marks)
        return float(
            hidden + 2 * sum(wide.contains(*point) for point in line) + 100 * (not _inside(axis, box, renderer))
        )

    for row in sorted(rows, key=lambda row: (row["kind"] != "ours", -float(row["psnr"]))):
        words = " ".join(filter(None, (TITLES.get(row["method"], row["method"]), row["setting"])))
        name = axis.annotate(
            words, points([row])[0], (0, 0), textcoords="offset points", fontsize=8.5, color=COLOURS[row["kind"]]
        )
        found = []
        for rank, place in enumerate(AROUND):
            _put(name, place)
            found.append((cost(name.get_window_extent(renderer)) + 0.1 * rank, rank))
        _put(name, AROUND[min(found)[1]])
        taken.append(name.get_window_extent(renderer))


def _put(name: Any, place: tuple[float, float]) -> None:
    x, y = place
    name.set(position=place, ha="left" if x > 0 else "right" if x < 0 else "center",
             va="bottom" if y > 0 else "top" if y < 0 else "center")  # fmt: skip


def _inside(axis: Any, box: Any, renderer: Any) -> bool:
    whole = axis.get_window_extent(renderer)
    return bool(whole.x0 <= box.x0 and box.x1 <= whole.x1 and whole.y0 <= box.y0 and box.y1 <= whole.y1)


def _dense(corners: np.ndarray) -> np.ndarray:
    """Points along a line that is straight over the logarithm of time."""
    if not len(corners):
        return corners
    times = np.geomspace(corners[0, 0], corners[-1, 0], 200)
    return np.column_stack([times, np.interp(np.log(times), np.log(corners[:, 0]), corners[:, 1])])
