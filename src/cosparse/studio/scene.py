"""What the tab Repair shows of pictures, kernels and results."""

from __future__ import annotations

import math
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

import cosparse
from cosparse.studio import chart
from cosparse.studio.limits import Limits
from cosparse.studio.page_pictures import Array, Blur, Mask, Source, reduced, working, write_view
from cosparse.studio.repair_job import Job, Result


def _smaller(height: int, width: int, limits: Limits) -> int:
    return max(1, math.ceil(math.sqrt(height * width / limits.view_pixels)))


def extent(source: Source, limits: Limits, factor: int = 1) -> dict[str, Any]:
    """The size of the picture on the stage, `factor` times enlarged, and a line about it."""
    height, width = source.shape
    smaller = _smaller(height * factor, width * factor, limits)
    depth = {"u1": "8 bit", "u2": "16 bit"}.get(source.picture.pixels.dtype.str[1:], "float")
    colour = "colour" if source.picture.channel_axis is not None else "grey"
    shown = " · shown smaller here, the download is whole" if smaller > 1 else ""
    damage = f" · {source.damage}" if source.damage else ""
    note = f"{source.name} · {width} × {height} · {colour} · {depth}{shown}{damage}"
    return {"width": -(-width * factor // smaller), "height": -(-height * factor // smaller), "note": note}


def viewer(work: Array, limits: Limits) -> Callable[[Path], None]:
    """What writes the picture as the stage shows it."""
    return lambda path: write_view(path, work, limits.view_pixels)


def overlay(mask: Mask, limits: Limits) -> Callable[[Path], None]:
    """What writes a mask as the stage lays it over the picture."""

    def write(path: Path) -> None:
        from PIL import Image

        smaller = _smaller(mask.shape[0], mask.shape[1], limits)
        marked = reduced(mask.astype(np.float32), smaller)[0] > 0  # a thin scratch must not vanish
        rgba = np.zeros((*marked.shape, 4), np.uint8)
        rgba[marked] = (232, 51, 109, 255)
        Image.fromarray(rgba).save(path, "PNG")

    return write


def estimate(source: Source) -> float:
    """The noise, on 0..255; none where pixels were dropped, whose holes would count as noise."""
    if source.missing is not None:
        return 0.0
    axis = source.picture.channel_axis
    return float(cosparse.estimate_sigma(working(source.picture), data_range=255.0, channel_axis=axis))


def kernel_picture(blur: Blur) -> str:
    """A blurred point."""
    kernel = blur.kernel()
    grey = np.round(255 * np.sqrt(kernel / kernel.max())).astype(np.uint8)
    tall, wide = kernel.shape
    said = f"A point becomes this, {wide} × {tall} pixels."
    return f'<div class="scale kernel-line">{chart.picture(grey, said, "kernel")}<span>{said}</span></div>'


def figures(result: Result, job: Job, address: str, name: str) -> str:
    """How near to the truth, where that is known, and the download."""
    height, width = result.pixels.shape[:2]
    cells = []
    if result.before and result.after:
        was = "bicubic" if job.task == "upscale" else "before"
        cells = [
            (f"PSNR {was}", f"{result.before.db:.2f} dB", ""),
            ("PSNR after", f"{result.after.db:.2f} dB", "good"),
            ("Gain", f"{result.after.db - result.before.db:+.2f} dB", "good"),
            (f"SSIM {was}", f"{result.before.ssim:.3f}", ""),
            ("SSIM after", f"{result.after.ssim:.3f}", "good"),
        ]
    body = "".join(
        f'<div class="figure {css}"><small>{escape(label)}</small><b>{escape(value)}</b></div>'
        for label, value, css in cells
    )
    return (
        f'<div class="figures">{body}<a class="download" href="{address}" download="{escape(name)}">'
        f"Download PNG<small>{width} × {height}</small></a></div>"
    )
