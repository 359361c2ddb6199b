"""The run of a repair as the page shows it: preview, progress, result."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cosparse.reconstruction import Progress
from cosparse.reconstruction.tasks import TASKS
from cosparse.studio import repair_job, scene
from cosparse.studio.limits import Refused
from cosparse.studio.page_pictures import Mask, Source, open_mask, working, write_download
from cosparse.studio.page_tasks import Blur, Job
from cosparse.studio.parts import Studio, Update, figures, news, remaining, seconds
from cosparse.studio.repair_job import Result
from cosparse.studio.session import Session
from cosparse.studio.work import Run, watched

FAILED = "failed: "  # what the browser sends instead of a mask's key; a key has no blank


def job_of(session: Session, *controls: Any) -> Job:
    """What the controls of the tab say, of those that the task asks for."""
    name, sigma, factor, kind, size, angle, operator, quality = controls
    task = TASKS[name]
    return Job(
        task, float(sigma), quality, session.operator(operator),
        factor=int(factor) if "factor" in task.needs else 1,
        blur=Blur(kind, float(size), float(angle)) if "kernel" in task.needs else None,
    )  # fmt: skip


class RepairRun:
    """What happens after the button is pressed, and the three parts of the page that tell of it."""

    def __init__(self, studio: Studio, stage: Any, status: Any, figures: Any) -> None:
        self.studio, self.stage, self.status, self.figures = studio, stage, status, figures

    def repair(self, session: Session, run: Run, mask: str, *controls: Any) -> Iterator[Update]:
        """Preview, then the whole picture; says all the time how far it is."""
        source, job = session.chosen(), job_of(session, *controls)
        if job.task.masks:
            job = replace(job, missing=self._missing(session, source, mask))
        repair_job.check(source, job, self.studio.limits)
        if job.factor > 1:
            session.shown = {**session.shown, **scene.extent(session, source, job.factor)}
        started, at = time.monotonic(), ""

        def doing(progress: Progress) -> Update:
            nonlocal at
            at = f" at iteration {progress.iteration} of {progress.iterations}"
            return {self.status: _doing("Full picture", began, progress)}

        yield {self.status: news("Preview…", share=0.0), self.figures: ""}
        first = yield from watched(
            partial(repair_job.preview, source, job),
            run,
            lambda progress: {self.status: _doing("Preview", started, progress)},
        )
        if not run.over:
            after = scene.published(session, "after", first)
            yield {self.stage: scene.staged(session, job.task, after=after, stage="preview")}
        if not run.over:
            yield {self.status: news("Full picture…", share=0.0)}
            began = time.monotonic()
            result = yield from watched(partial(repair_job.full, source, job), run, doing)
        if run.over:
            yield {self.status: self._stopped(run, at)}
        else:
            yield self._finished(session, source, job, result, time.monotonic() - started)

    def _missing(self, session: Session, source: Source, key: str) -> Mask | None:
        """What was painted, at the picture's own size, and what was dropped."""
        if not key:
            return source.missing
        if key.startswith(FAILED):
            raise Refused(f"What you painted did not arrive: {key.removeprefix(FAILED)}")
        _, data = self.studio.visitors.take(session.visitor, key)
        painted = open_mask("the painted mask", data, self.studio.limits)
        rows, columns = (np.arange(n) * m // n for n, m in zip(source.shape, painted.shape, strict=True))
        whole = np.asarray(painted[rows[:, None], columns])
        return whole if source.missing is None else whole | source.missing

    def _finished(self, session: Session, source: Source, job: Job, result: Result, spent: float) -> Update:
        session.result = result = repair_job.measured(source, job, result)
        after = scene.published(session, "after", working(result.picture))
        name = f"{Path(source.name).stem}-{job.task.name}.png"
        whole = session.publish("download", name, lambda path: write_download(path, result.picture))
        height, width = result.picture.pixels.shape[:2]
        return {
            self.stage: scene.staged(session, job.task, after=after, stage="full"),
            self.status: news(f"Done in {seconds(spent)}.", "Drag the line, or use the slider, to compare."),
            self.figures: figures(_cells(result, job), f"Download PNG<small>{width} × {height}</small>", whole, name),
        }

    def _stopped(self, run: Run, at: str) -> str:
        if run.late:
            most = seconds(self.studio.limits.seconds)
            return news(f"Stopped{at}: a repair may take {most}. Try a smaller picture or a faster quality.")
        return news(f"Cancelled{at}.")


def _doing(what: str, began: float, at: Progress) -> str:
    share = min(1.0, (at.plane + at.iteration / max(at.iterations, 1)) / at.planes)
    colours = f", colour {at.plane + 1} of {at.planes}" if at.planes > 1 else ""
    left = (time.monotonic() - began) * (1 - share) / max(share, 1e-3)  # if it goes on as it went
    return news(
        f"{what}: iteration {at.iteration} of {at.iterations}{colours}", remaining(left) if share > 0.05 else "", share
    )


def _cells(result: Result, job: Job) -> list[tuple[str, str, str]]:
    """How near to the truth, where that is known."""
    before, after = result.before, result.after
    if before is None or after is None:
        return []
    was = "bicubic" if job.factor > 1 else "before"
    return [
        (f"PSNR {was}", f"{before.db:.2f} dB", ""),
        ("PSNR after", f"{after.db:.2f} dB", "good"),
        ("Gain", f"{after.db - before.db:+.2f} dB", "good"),
        (f"SSIM {was}", f"{before.ssim:.3f}", ""),
        ("SSIM after", f"{after.ssim:.3f}", "good"),
    ]
