"""The run of a repair as the page shows it: preview, progress, result."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np

from cosparse.io.picture import Picture
from cosparse.studio import page_pictures, repair_job, scene
from cosparse.studio.page_pictures import Array, Blur, Mask, Source
from cosparse.studio.parts import Studio, Update, news, remaining, seconds, visitor
from cosparse.studio.repair_job import Job
from cosparse.studio.session import Refused, Run, Session
from cosparse.studio.uploads import mask_from
from cosparse.studio.work import Step, follow

Report = Callable[[Step], bool]
FAILED = "failed: "  # what the browser sends instead of a mask's key; a key has no blank


def current(session: Session) -> Source:
    """The page's picture."""
    if session.source is None:
        raise Refused("Choose a picture first.")
    source: Source = session.source
    return source


def staged(session: Session, task: str, **more: Any) -> dict[str, Any]:
    """What the stage shows: the picture, and with `after` its repair."""
    return {"after": None, "mask": None, **session.shown, "paint": task == "inpaint", "stage": "", **more}


class RepairRun:
    """What happens after the button is pressed, and the three parts of the page that tell of it."""

    def __init__(self, studio: Studio, stage: Any, status: Any, figures: Any) -> None:
        self.studio, self.stage, self.status, self.figures = studio, stage, status, figures

    def repair(
        self, ticket: str, mask: str, task: str, sigma: float, factor: int, kind: str, size: float, angle: float,
        operator: str, quality: str, request: gr.Request,
    ) -> Iterator[Update]:  # fmt: skip
        """Preview, then the whole picture; says all the time how far it is."""
        session = self.studio.session(request)
        run = session.run(ticket)
        run.begin()
        if run.cancelled:  # while it waited
            yield {self.status: self._stopped(run, None)}
            return
        source = current(session)
        chosen = session.operator(operator)
        missing = self._missing(source, mask, request) if task == "inpaint" else None
        blur = Blur(kind, float(size), float(angle))
        job = Job(task, float(sigma), int(factor), blur, missing, chosen, quality)
        repair_job.check(source, job, self.studio.limits)
        if task == "upscale":
            session.shown = {**session.shown, **scene.extent(source, self.studio.limits, job.factor)}

        def first(report: Report) -> Array:
            return repair_job.preview(source, job, report)

        def whole(report: Report) -> tuple[Picture, list[float]]:
            return repair_job.full(source, job, report)

        started = time.monotonic()
        yield {self.status: news("Preview…", share=0.0), self.figures: ""}
        for event in follow(first, run):
            if isinstance(event, Step):
                yield {self.status: _doing("Preview", event)}
            elif not run.over:
                after = session.publish("after", "preview.png", scene.viewer(event.value, self.studio.limits))
                yield {self.stage: staged(session, task, after=after, stage="preview")}
        last: Step | None = None
        if not run.over:
            yield {self.status: news("Full picture…", share=0.0)}
            for done in follow(whole, run):
                if isinstance(done, Step):
                    last = done
                    yield {self.status: _doing("Full picture", done)}
                elif not run.over:
                    yield self._finished(session, source, job, *done.value, time.monotonic() - started)
                    return
        yield {self.status: self._stopped(run, last)}

    def _finished(
        self, session: Session, source: Source, job: Job, found: Picture, energies: list[float], spent: float
    ) -> Update:
        result = repair_job.finish(source, job, found, energies, spent)
        session.result, session.trace = result, energies
        shown = scene.viewer(page_pictures.working(result.like), self.studio.limits)
        after = session.publish("after", "after.png", shown)
        name = f"{Path(source.name).stem}-{job.task}.png"
        whole = session.publish("download", name, lambda path: page_pictures.write_download(path, found.pixels, found))
        return {
            self.stage: staged(session, job.task, after=after, stage="full"),
            self.status: news(f"Done in {seconds(spent)}.", "Drag the line, or use the slider, to compare."),
            self.figures: scene.figures(result, job, whole, name),
        }

    def _missing(self, source: Source, key: str, request: gr.Request) -> Mask | None:
        """What was painted, at the picture's own size, and what was dropped."""
        if not key:
            return source.missing
        if key.startswith(FAILED):
            raise Refused(f"What you painted did not arrive: {key.removeprefix(FAILED)}")
        _, data = self.studio.visitors.take(visitor(request), key)
        painted = mask_from("the painted mask", data, self.studio.limits)
        rows = np.arange(source.shape[0]) * painted.shape[0] // source.shape[0]
        columns = np.arange(source.shape[1]) * painted.shape[1] // source.shape[1]
        whole = np.asarray(painted[rows[:, None], columns])
        return whole if source.missing is None else whole | source.missing

    def _stopped(self, run: Run, at: Step | None) -> str:
        where = f" at iteration {at.iteration} of {at.iterations}" if at else ""
        if run.late:
            most = seconds(self.studio.limits.seconds)
            return news(f"Stopped{where}: a repair may take {most}. Try a smaller picture or a faster quality.")
        return news(f"Cancelled{where}.")


def _doing(what: str, at: Step) -> str:
    colours = f", colour {at.plane + 1} of {at.planes}" if at.planes > 1 else ""
    left = remaining(at.left) if at.share > 0.05 else ""
    return news(f"{what}: iteration {at.iteration} of {at.iterations}{colours}", left, at.share)
