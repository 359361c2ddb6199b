"""The commands inspect and compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

import cosparse
from cosparse.cli.console import UsageProblem, json_line, stdout
from cosparse.cli.options import DataRange, Force, Json, find_operator
from cosparse.cli.reading import in_range_of, read_picture
from cosparse.io.atomic import replacing
from cosparse.io.picture import Picture, write_image


def inspect(
    operator: Annotated[str, typer.Argument(metavar="OP", hidden=True)] = "default",
    atoms: Annotated[str | None, typer.Option(metavar="FILE", help="Draw the atoms into this picture.")] = None,
    plot: Annotated[str | None, typer.Option(metavar="FILE", help="Draw the singular values (matplotlib).")] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Show the figures of an operator, and draw it.

    OP: an operator file, or the name of a shipped one (default).
    """
    prior = find_operator(operator)
    for path in (atoms, plot):
        if path and Path(path).exists() and not force:
            raise UsageProblem(f"{path}: exists; add --force to replace it")
    if atoms:
        write_image(atoms, prior.atoms_image(scale=6))
    if plot:
        _plot(prior, plot)
    singular = prior.singular_values
    height, width = prior.patch_shape
    figures: dict[str, Any] = {
        "operator": operator,
        "atoms": len(prior.matrix),
        "patch": f"{height}x{width}",
        "penalty": prior.penalty.form,
        "nu": prior.penalty.nu,
        "condition": prior.condition,
        "coherence": prior.coherence,
        "largest singular value": float(singular[0]),
        "smallest singular value": float(singular[-1]),
        "zero mean": prior.zero_mean,
    }
    if prior.refined:
        for name, values in {"weights": prior.weights, "scale": prior.scale}.items():
            figures[name] = f"{values.min():.3g} to {values.max():.3g}"
    for task, steps in prior.steps.items():
        stages, count, _ = steps.atoms.shape
        figures[f"steps to {task}"] = f"{stages} of {count} atoms and {steps.pools.shape[1]} pools"
    if json:
        json_line({name.replace(" ", "_"): value for name, value in figures.items()})
        return
    table = Table(show_header=False, box=None, pad_edge=False)
    for name, value in {**figures, **prior.provenance}.items():
        table.add_row(name, f"{value:.5g}" if isinstance(value, float) else str(value))
    stdout().print(table)


def compare(
    first: Annotated[str, typer.Argument(metavar="A", hidden=True)],
    second: Annotated[str, typer.Argument(metavar="B", hidden=True)],
    data_range: DataRange = None,
    json: Json = False,
) -> None:
    """Measure how close image B is to image A: PSNR and SSIM.

    Values are compared on a scale of 0..255, whatever the files' depths.
    """
    a, b = (read_picture(Path(name), data_range) for name in (first, second))
    b = in_range_of(a, b)
    if a.pixels.shape != b.pixels.shape:
        raise ValueError(f"{first} is {_size(a)}, {second} is {_size(b)}; they must be alike")
    x, y = a.working, b.working
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError(f"{first}, {second}: hold NaN; fill them in before comparing")
    sides = a.pages.shape[1:3]
    pages = zip(x.reshape(a.pages.shape), y.reshape(a.pages.shape), strict=True)
    similarity = float("nan")  # of images too small for SSIM's window
    if min(sides) >= 11:
        axis = a.channel_axis
        similarity = float(np.mean([cosparse.ssim(p, q, data_range=255, channel_axis=axis) for p, q in pages]))
    figures = {
        "psnr": cosparse.psnr(x, y, data_range=255),
        "ssim": similarity,
        "largest_difference": float(np.abs(x - y).max()),
    }
    spans = list(dict.fromkeys([a.data_range, b.data_range]))
    if json:
        json_line({"a": first, "b": second, "data_range": spans if len(spans) > 1 else spans[0], **figures})
    elif figures["psnr"] == float("inf"):
        print("identical")
    else:
        floats = "f" in (a.pixels.dtype.kind, b.pixels.dtype.kind)
        said = "   range " + " and ".join(f"{span:g}" for span in spans) if floats or data_range else ""
        print(f"PSNR {figures['psnr']:.2f} dB   SSIM {figures['ssim']:.4f}   "
              f"largest difference {figures['largest_difference']:.1f}{said}")  # fmt: skip


def _size(picture: Picture) -> str:
    """As people say it: 640x480 colour."""
    height, width = picture.pages.shape[1:3]
    pages = f", {'x'.join(map(str, picture.leading))} pages" if picture.stack else ""
    return f"{width}x{height} {'grey' if picture.channel_axis is None else 'colour'}{pages}"


def _plot(prior: cosparse.AnalysisOperator, path: str) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageProblem("--plot needs matplotlib; install it with: pip install 'cosparse[bench]'") from None
    ending = Path(path).suffix.lstrip(".").lower()
    if ending not in ("png", "svg", "pdf"):
        raise UsageProblem(f"{path}: a plot is png, svg or pdf by its ending")
    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.subplots()
    values = prior.singular_values
    axes.plot(np.arange(1, len(values) + 1), values, ".-", color="#2060a0", linewidth=1)
    axes.set(xlabel="number", ylabel="singular value", ylim=(0, float(values[0]) * 1.05))
    axes.set_title(f"{len(prior.matrix)} atoms, condition {prior.condition:.2f}", loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    with replacing(path) as temporary:
        figure.savefig(temporary, format=ending, dpi=150)
