"""Where several pictures are open: which of them is on the stage, and one button for all."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from functools import partial
from html import escape
from typing import Any

import gradio as gr

from cosparse.noise import Noise
from cosparse.reconstruction import Progress
from cosparse.studio import chart, many_pictures, repair_job
from cosparse.studio.buttons import RunButtons
from cosparse.studio.limits import Refused
from cosparse.studio.page_tasks import Job
from cosparse.studio.parts import Studio, Update, news, plain, sentence, step
from cosparse.studio.session import File, Session
from cosparse.studio.stage import Stage
from cosparse.studio.work import Run, remaining, seconds, watched

Asked = tuple[Job, Noise | None]  # what is to be done to every picture; noise None is estimated for each


class BatchControls:
    """Its parts and what they do."""

    def __init__(self, studio: Studio, stage: Stage) -> None:
        self.studio, self.stage = studio, stage
        with gr.Column(visible=False, elem_id="for-batch") as self.box:
            step("Several pictures")
            self.list = gr.Radio([], label="On the stage", elem_id="batch", show_label=False)
            self.run = RunButtons(studio, "Repair all", "all", ready=True)
            self.report = plain("", elem_id="batch-report")

    def offered(self, session: Session) -> Update:
        """What there is to choose from."""
        names = [(file.name, number) for number, file in enumerate(session.batch)]
        shown = session.source.name if session.source else ""
        at = next((number for name, number in names if name == shown), None)  # None: what came of one of them is shown
        return {
            self.box: gr.update(visible=len(names) > 1),
            self.list: gr.update(choices=names, value=at),
            self.report: session.report,
        }

    def chosen(self, session: Session, number: Any) -> File:
        """The file of a picture in the list."""
        if not isinstance(number, int) or not 0 <= number < len(session.batch):
            raise Refused("This picture is not there any more; drop it again.")
        return session.batch[number]

    def repair(self, session: Session, run: Run, asked: Callable[[], Asked]) -> Iterator[Update]:
        """One after the other; those that fail are named, the others go on. What is ready at the end is handed over."""
        job, noise = asked()
        files, problems, began = list(session.batch), list[str](), time.monotonic()
        archive = many_pictures.Archive(session.folder / "all.zip")
        for number, file in enumerate(files):
            if run.over:
                break
            said = f"{file.name}, {number + 1} of {len(files)}"
            yield {self.stage.status: news(f"{said}…", share=number / len(files))}

            def show(at: Progress, said: str = said, number: int = number) -> Update:
                within = (at.plane + at.iteration / max(at.iterations, 1)) / at.planes
                share = (number + min(1.0, within)) / len(files)
                left = (time.monotonic() - began) * (1 - share) / max(share, 1e-3)
                return {self.stage.status: news(said, remaining(left) if share > 0.05 else "", share)}

            try:
                source = many_pictures.opened(file, self.studio.limits)
                own = many_pictures.its_own(job, source, noise, self.studio.limits)
                result = yield from watched(partial(repair_job.full, source, own), run, show)
                if not run.over:
                    archive.add(source, own, result)
            except (Refused, ValueError) as error:
                problems.append(sentence(error))
        yield self._finished(session, run, archive, problems, time.monotonic() - began)

    def _finished(
        self, session: Session, run: Run, archive: many_pictures.Archive, problems: list[str], spent: float
    ) -> Update:
        ready, total = len(archive.names), len(session.batch)
        why = "" if not run.over else "the time limit" if run.late else "cancelled"
        said = (
            f"Stopped, {why}: {ready} of {total} are ready." if why else f"{ready} of {total} done in {seconds(spent)}."
        )
        body = "".join(f'<p class="problem">{escape(line)}</p>' for line in problems)
        if ready:
            address = session.publish("all", "repaired.zip", lambda path: shutil.move(archive.path, path))
            link = f"Download all as ZIP<small>{ready} picture{'s' if ready > 1 else ''}</small>"
            body = chart.figures([], chart.download(link, address, "repaired.zip")) + body
        session.report = body
        return {self.stage.status: news(said), self.report: body}
