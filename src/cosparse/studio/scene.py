"""What the tab Repair shows: a picture on the stage, before and after, and how its repair goes."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

from cosparse.reconstruction import Progress
from cosparse.reconstruction.request import Task
from cosparse.reconstruction.start import enlarged_side
from cosparse.reconstruction.tasks import TASKS
from cosparse.studio import chart
from cosparse.studio.history import History, Step
from cosparse.studio.page_pictures import (
    FORMATS,
    Array,
    Source,
    lost,
    own_format,
    reduction,
    write_download,
    write_view,
)
from cosparse.studio.page_tasks import Blur, Job
from cosparse.studio.parts import news
from cosparse.studio.session import Session
from cosparse.studio.work import Run, remaining, seconds

Shown = dict[str, Any]  # what a part of the page is told: addresses, sizes, words


def staged(session: Session, task: Task, preview: str | None = None, job: Job | None = None) -> Shown | None:
    """What the browser is told: the picture, and its repair or a `preview` of what the `job` will make of it."""
    step = session.history.current
    if step is None:
        return None
    done, source = step.done, step.source
    if preview is None:
        job = done.job if done else None
    session.history.shown += 1
    word = task.word if preview else done.job.task.word if done else ""
    return {
        **extent(session, source, job.factor if job else 1),
        "before": step.view,
        "after": preview or (done.view if done else None),
        "stage": "preview" if preview else "full" if done else "",
        "origins": done.origins if done and not preview else None,
        "line": _line(source, job),
        "turn": session.history.shown,
        "root": f"{session.history.name} {step.root}",
        "paint": task.masks,
        "was": source.damage.words if source.damage else step.after or "as it was opened",
        "became": f"{word}, preview" if preview else word,
        "mask": list(session.overlay[1:]) if session.overlay and session.overlay[0] == step.root else None,
        "spent": step.number if step.after == TASKS["inpaint"].word else 0,
    }


def _line(source: Source, job: Job | None) -> int:
    """Where, in percent from the left, before and after meet at first: left of a painted hole, so that it is seen."""
    if job is None or job.missing is None or source.missing is not None:
        return 50
    first, wide = int(job.missing.any(axis=0).argmax()), int(job.missing.shape[1])
    return min(50, max(2, 100 * first // wide - 5))


def published(session: Session, slot: str, work: Array, keep: int = 2) -> str:
    """The address of a picture, given on 0..255, as the stage shows it."""
    return session.publish(slot, f"{slot}.png", lambda path: write_view(path, work, session.limits), keep=keep)


def extent(session: Session, source: Source, factor: float = 1) -> Shown:
    """The size of the picture on the stage, `factor` times enlarged, and a line about it."""
    height, width = source.shape
    tall, wide = (enlarged_side(side, factor) for side in source.shape)
    smaller = reduction(tall * wide, session.limits.view_pixels)
    depth = {"u1": "8 bit", "u2": "16 bit"}.get(source.picture.pixels.dtype.str[1:], "float")
    colour = "colour" if source.picture.channel_axis is not None else "grey"
    shown = " · shown smaller here, the download is whole" if smaller > 1 else ""
    damage = f" · {source.damage.words}" if source.damage else ""
    note = f"{source.name} · {width} × {height} · {colour} · {depth}{shown}{damage}"
    return {"width": -(-wide // smaller), "height": -(-tall // smaller), "note": note}


def steps(history: History) -> Shown:
    """All steps, for the list of them; those that were only gone on from stand in it while they are on the stage."""
    items = [
        {
            "number": step.number,
            "words": step.words,
            "image": step.thumbnail,
            "current": step.number == history.at,
            "root": f"{history.name} {step.root}",
            "done": step.done is not None,
        }
        for step in history.steps
        if not step.after or step.done or step.number == history.at
    ]
    return {"items": items}


def done_words(job: Job) -> str:
    """What was done, for the list of steps."""
    more = f" x{job.factor:g}" if job.factor > 1 else ""
    if job.options.get("seed"):
        more += f", attempt {job.options['seed'] + 1}"
    return f"{job.task.word}{more}"


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
    if at.filling:  # each scale takes several times as long as the one before: nothing is said of how long
        said = f"{what}: wide holes are filled, scale {at.filling.scale} of {at.filling.scales}"
        return news(said, share=share)
    return news(said, remaining(left) if share > 0.05 else "", share)


def stopped(session: Session, run: Run, at: Progress | None) -> str:
    """Why there is no result."""
    where = f" at iteration {at.iteration} of {at.iterations}" if at else ""
    if not run.late:
        return news(f"Cancelled{where}.")
    most = seconds(session.limits.seconds)
    return news(f"Stopped{where}: a repair may take {most}. Try a smaller picture or a faster quality.")


def figures(session: Session, step: Step) -> str:
    """How near to the truth, where that is known, and the downloads of what was repaired."""
    if step.done is None and not step.after:
        return ""
    cells = []
    if step.done and step.done.near:
        (before, after), was = step.done.near, "bicubic" if step.done.job.factor > 1 else "before"
        cells = [
            (f"PSNR {was}", f"{before.db:.2f} dB", ""),
            ("PSNR after", f"{after.db:.2f} dB", "good"),
            ("Gain", f"{after.db - before.db:+.2f} dB", "good"),
            (f"SSIM {was}", f"{before.ssim:.3f}", ""),
            ("SSIM after", f"{after.ssim:.3f}", "good"),
        ]
    return chart.figures(cells, downloads(session, step))


def downloads(session: Session, step: Step) -> str:
    """Links to what was reached, in every format; written when they are followed."""
    picture = step.picture
    height, width = picture.pixels.shape[:2]
    first = own_format(picture)
    links = ""
    for ending in sorted(FORMATS, key=lambda one: one != first):
        name, left_out = f"{step.name}.{ending}", lost(picture, ending)
        write = partial(write_download, picture=picture, ending=ending)
        address = session.publish(f"download {ending}", name, write, later=True)
        said = f"Download {FORMATS[ending]}<small>{width} × {height}</small>" if ending == first else FORMATS[ending]
        links += chart.download(said, address, name, "download" if ending == first else "format", left_out)
    return f'<div class="downloads">{links}</div>'
