"""The learning curves of refined operators, from the checkpoints their making left behind.

    python -m cosparse.operators.make default --images data/train/bsd400 --checkpoint default.ckpt
    python benchmarks/refinement.py default.ckpt [large.ckpt ...]

Writes benchmarks/results/refinement.csv (loss of the training crops, averaged over 20 steps, and dB of the held-out
photographs) and draws docs/images/refinement.png.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from common import ROOT, write_csv
from safetensors import safe_open

WINDOW = 20


def curves(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """(steps, 2) of loss and (validations, 2) of dB."""
    with safe_open(path, framework="numpy") as file:
        state = json.loads(file.metadata()["state"])
    losses, validations = np.array(state["losses"]), np.array(state["validations"])
    whole = len(losses) // WINDOW
    means = np.nanmean(losses[: whole * WINDOW].reshape(whole, WINDOW), axis=1)
    return np.column_stack([WINDOW * np.arange(1, whole + 1), means]), validations


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoints", nargs="+", type=Path)
    args = parser.parse_args()
    rows = []
    for path in args.checkpoints:
        losses, validations = curves(path)
        rows += [{"operator": path.stem, "curve": "loss", "step": int(s), "value": round(v, 4)} for s, v in losses]
        rows += [{"operator": path.stem, "curve": "psnr", "step": int(s), "value": round(v, 4)} for s, v in validations]
    print(f"written: {write_csv('refinement', rows)}")
    draw(rows, ROOT / "docs" / "images" / "refinement.png")


def draw(rows: list[dict], target: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 2, figsize=(8, 3), constrained_layout=True)
    for axes, curve, title in zip(
        panels, ("loss", "psnr"), ("loss of the training crops", "held-out photographs, dB"), strict=True
    ):
        for name in dict.fromkeys(row["operator"] for row in rows):
            points = [(row["step"], row["value"]) for row in rows if (row["operator"], row["curve"]) == (name, curve)]
            axes.plot(*zip(*points, strict=True), label=name, marker="." if curve == "psnr" else None)
        axes.set_title(title, loc="left", fontsize=10)
        axes.set_xlabel("step")
        axes.spines[["top", "right"]].set_visible(False)
    panels[1].legend(frameon=False)
    figure.savefig(target, dpi=110)
    print(f"written: {target}")


if __name__ == "__main__":
    main()
