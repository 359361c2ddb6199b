"""What the tab Repair shows: a picture on the stage, before and after, and how its repair goes."""

from __future__ import annotations

import time

import numpy as np

from cosparse.io.picture import Picture
from cosparse.reconstruction import Progress
from cosparse.reconstruction.request import Task
from cosparse.studio import chart
from cosparse.studio.page_pictures import Array, Source, reduction, write_view
from cosparse.studio.page_tasks import Blur, Job
from cosparse.studio.parts import news
from cosparse.studio.repair_job import Closeness
from cosparse.studio.session import Session, Shown
from cosparse.studio.work import Run, remaining, seconds


def staged(session: Session, task: Task, **more: str) -> Shown:
    """What the browser is told: the picture, and with `after` its repair."""
    return {"after": None, "mask": None, **session.shown, "paint": task.masks, "stage": "", **more}


def published(session: Session, slot: str, work: Array) -> str:
    """The address of a picture, given on 0..255, as the stage shows it."""
    return session.publish(slot, f"{slot}.png", lambda path: write_view(path, work, session.limits))


def extent(session: Session, source: Source, factor: int = 1) -> Shown:
    """The size of the picture on the stage, `factor` times enlarged, and a line about it."""
    height, width = source.shape
    smaller = reduction(height * width * factor**2, session.limits.view_pixels)
    depth = {"u1": "8 bit", "u2": "16 bit"}.get(source.picture.pixels.dtype.str[1:], "float")
    colour = "colour" if source.picture.channel_axis is not None else "grey"
    shown = " · shown smaller here, the download is whole" if smaller > 1 else ""
    damage = f" · {source.damage.words}" if source.damage else ""
    note = f"{source.name} · {width} × {height} · {colour} · {depth}{shown}{damage}"
    return {"width": -(-width * factor // smaller), "height": -(-height * factor // smaller), "note": note}


def kernel_picture(blur: Blur) -> str:
    """A blurred point."""
    kernel = blur.kernel()
    grey = np.round(255 * np.sqrt(kernel / kernel.max())).astype(np.uint8)
    tall, wide = kernel.shape
    said = f"A point becomes this, {wide} × {tall} pixels."
    return f'<div class="scale kernel-line">{chart.picture(grey, said, "kernel")}<span>{said}</span></div>'


def doing(what: str, began: float, at: Progress) -> str:
    """How far a repair is, over all its colours, and how long it takes if it goes on as it went."""
    share = min(1.0, (at.plane + at.iteration / max(at.iterations, 1)) / at.planes)
    colours = f", colour {at.plane + 1} of {at.planes}" if at.planes > 1 else ""
    left = (time.monotonic() - began) * (1 - share) / max(share, 1e-3)
    said = f"{what}: iteration {at.iteration} of {at.iterations}{colours}"
    return news(said, remaining(left) if share > 0.05 else "", share)


def stopped(session: Session, run: Run, at: Progress | None) -> str:
    """Why there is no result."""
    where = f" at iteration {at.iteration} of {at.iterations}" if at else ""
    if not run.late:
        return news(f"Cancelled{where}.")
    most = seconds(session.limits.seconds)
    return news(f"Stopped{where}: a repair may take {most}. Try a smaller picture or a faster quality.")


def figures(job: Job, found: Picture, near: tuple[Closeness, Closeness] | None, address: str, name: str) -> str:
    """How near to the truth, where that is known, and the download."""
    height, width = found.pixels.shape[:2]
    cells = []
    if near is not None:
        (before, after), was = near, "bicubic" if job.factor > 1 else "before"
        cells = [
            (f"PSNR {was}", f"{before.db:.2f} dB", ""),
            ("PSNR after", f"{after.db:.2f} dB", "good"),
            ("Gain", f"{after.db - before.db:+.2f} dB", "good"),
            (f"SSIM {was}", f"{before.ssim:.3f}", ""),
            ("SSIM after", f"{after.ssim:.3f}", "good"),
        ]
    return chart.figures(cells, f"Download PNG<small>{width} × {height}</small>", address, name)
