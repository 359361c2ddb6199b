"""The tab Repair: a picture, a task, before and after."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np

from cosparse.noise import Gaussian
from cosparse.reconstruction import Progress, measurement
from cosparse.reconstruction.tasks import TASKS
from cosparse.studio import page_pictures, repair_job, scene
from cosparse.studio.buttons import RunButtons
from cosparse.studio.limits import Refused
from cosparse.studio.noise_controls import NoiseControls
from cosparse.studio.page_pictures import EXAMPLES, Mask, Source, example, must_agree, open_mask, open_picture
from cosparse.studio.page_tasks import PAGE_TASKS, Blur, Job
from cosparse.studio.parts import Studio, Update, drop_box, news, operator_choices, operator_menu, plain, scripted, step
from cosparse.studio.session import Session
from cosparse.studio.uploads import operator_from
from cosparse.studio.work import Run, seconds, watched

FAILED = "failed: "  # what the browser sends instead of a mask's key; a key has no blank
KINDS = [("Gaussian", "gaussian"), ("Out of focus", "disk"), ("Motion", "motion"), ("Box", "box")]
REDUCTIONS = [(name.capitalize(), name) for name in (*measurement.FILTERS, "gaussian")]
STATED = 8  # where among the controls of a job the kind of noise is
QUALITIES = [("Fast", "fast"), ("Balanced", "balanced"), ("Best", "best")]


class RepairTab:
    """Its parts and what they do."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        with gr.Row(equal_height=False):
            with gr.Column(scale=4, min_width=300):
                self._controls()
            with gr.Column(scale=8, min_width=320):
                self.status = plain(news("Choose a picture to begin."), elem_id="status")
                empty = '<div class="stage empty"></div>'
                self.stage = scripted(empty, "stage(element, props, watch)", value=None, elem_id="stage")
                self.figures = plain("", elem_id="figures")
        self._events()

    # -- what there is ---------------------------------------------------------------------------------

    def _controls(self) -> None:
        limits = self.studio.limits
        step("1. Picture")
        megabytes, megapixels = limits.upload_bytes // 1_000_000, limits.pixels // 1_000_000
        hint = f"PNG, JPEG, TIFF or BMP, up to {megabytes} MB and {megapixels} megapixels"
        self.drop = drop_box("Drop a picture here, or choose one", hint, limits)
        buttons = "".join(
            f'<button type="button" data-name="{name}" title="{escape(title)}">'
            f'<img src="studio/{name}.jpg" alt="Example: {escape(title)}"></button>'
            for name, title in EXAMPLES.items()
        )
        examples = f'<div class="examples" role="group" aria-label="Examples">{buttons}</div>'
        self.examples = scripted(examples, "choices(element, props, trigger)")
        step("2. Task")
        names = [(task.capitalize(), task) for task in PAGE_TASKS]
        self.task = gr.Radio(names, value="denoise", show_label=False, label="Task", elem_id="task", container=False)
        with gr.Group(visible=False) as self.for_mask:
            hint = "White is what should go. Or paint on the picture itself."
            self.mask_drop = drop_box("Add a mask picture", hint, limits, small=True)
        with gr.Group(visible=False) as self.for_factor:
            self.factor = gr.Radio([("x2", 2), ("x3", 3), ("x4", 4)], value=2, label="How much larger")
            self.made_by = gr.Radio(REDUCTIONS, value=measurement.USUAL, label="What made it small")
        with gr.Group(visible=False) as self.for_kernel:
            self.kind = gr.Radio(KINDS, value="gaussian", label="What blurred it")
            self.size = gr.Slider(0.5, 15, 2, step=0.1, label="Size, about half its width in pixels", buttons=[])
            label = "Direction, degrees from the horizontal"
            self.angle = gr.Slider(0, 180, 0, step=1, label=label, visible=False, buttons=[])
            self.kernel = plain(scene.kernel_picture(Blur()))
        self.noise = NoiseControls(self.studio)
        with gr.Row():
            self.attempt = gr.Button(PAGE_TASKS["denoise"].offer, size="sm", elem_id="try")
            self.original = gr.Button("Back to the original", size="sm", visible=False)
        with gr.Accordion("Operator and quality", open=False, elem_id="more"):
            self.quality = gr.Radio(QUALITIES, value="balanced", label="Quality")
            self.operator = operator_menu("operator")
            hint = "A .safetensors file from Learn or cosparse learn."
            self.operator_drop = drop_box("Add an operator file", hint, limits, accept=".safetensors", small=True)
        self.run = RunButtons(self.studio, "Repair", "repair", ready=False)
        self.mask = gr.Textbox(visible=False)

    def _events(self) -> None:
        kind, noise = self.noise.kind, self.noise.outputs
        picture = [self.stage, self.figures, *noise, self.run.go, self.original]
        groups = [self.for_mask, self.for_factor, self.for_kernel]
        blur: list[Any] = [self.kind, self.size, self.angle]
        sizes = [self.factor, self.made_by]
        controls = [self.task, *sizes, *blur, self.operator, self.quality, *self.noise.inputs]  # as _job takes them
        on = partial(self.studio.on, self.status)
        on(self.drop.upload, self.load, [self.drop, self.task, kind], picture)
        on(self.examples.select, self.load_example, [self.examples, self.task, kind], picture)
        on(self.task.change, self.choose, [self.task, kind], [*groups, self.attempt, self.stage, self.figures, *noise])
        on(self.mask_drop.upload, self.load_mask, [self.mask_drop, self.task], [self.stage])
        on(self.attempt.click, self.damage, controls, picture)
        on(self.original.click, self.restore, [self.task, kind], picture)
        for control in blur:
            on(control.change, self.choose_blur, blur, [self.kernel, self.angle])
        on(self.operator_drop.upload, self.load_operator, [self.operator_drop], [self.operator])
        self.noise.connect(self.status)
        script = "async (ticket, mask, ...rest) => [ticket, await cosparse.mask(), ...rest]"
        self.run.connect(self.status, self.repair, [self.mask, *controls], [self.stage, self.figures], js=script)

    # -- the picture -----------------------------------------------------------------------------------

    def load(self, session: Session, keys: str, task: str, kind: str) -> Update:
        """A picture was dropped."""
        name, data = self.studio.uploads(session, keys)[0]
        return self._present(session, Source(name, open_picture(name, data, self.studio.limits)), task, kind)

    def load_example(self, session: Session, name: str, task: str, kind: str) -> Update:
        """One of the pictures that come along was chosen."""
        if name not in EXAMPLES:
            raise Refused("There is no such example.")
        return self._present(session, Source(f"{name}.png", example(name)), task, kind)

    def restore(self, session: Session, task: str, kind: str) -> Update:
        """As it was before the page damaged it."""
        return self._present(session, replace(session.chosen(), damage=None), task, kind)

    def damage(self, session: Session, *controls: Any) -> Update:
        """Make the repair of this task necessary, keeping the truth to compare with."""
        source, job, kind = session.chosen(), self._job(session, *controls), controls[STATED]
        if kind == "auto":  # what is to be found out is not asked for
            job = replace(job, noise=Gaussian(0.0))
        damage = PAGE_TASKS[job.task.name].damage(source.original, job)
        return self._present(session, replace(source, damage=damage), job.task.name, kind)

    def _present(self, session: Session, source: Source, task: str, kind: str) -> Update:
        noise = self.noise.picture(session, source, task, kind)
        session.source, session.result = source, None
        before = scene.published(session, "before", source.picture.working)
        session.shown = {"before": before, **scene.extent(session, source)}
        known = f", {source.damage.words}" if source.damage else ""
        text = self.noise.told(session) if noise[self.noise.kind]["value"] == "auto" else "Ready."
        return {
            **noise,
            self.stage: scene.staged(session, TASKS[task]),
            self.status: news(f"{source.name}{known}. {text}"),
            self.figures: "",
            self.run.go: gr.update(interactive=True),
            self.original: gr.update(visible=source.damage is not None),
        }

    # -- the settings ----------------------------------------------------------------------------------

    def choose(self, session: Session, task: str, kind: str) -> Update:
        """A task was picked."""
        record = TASKS[task]
        update: Update = {
            **self.noise.task(session, task, kind),
            self.for_mask: gr.update(visible=record.masks),
            self.for_factor: gr.update(visible="factor" in record.needs),
            self.for_kernel: gr.update(visible="kernel" in record.needs),
            self.attempt: gr.update(value=PAGE_TASKS[task].offer),
        }
        if session.source is not None:
            update[self.stage] = scene.staged(session, record)
            update[self.figures] = ""
        return update

    def choose_blur(self, session: Session, kind: str, size: float, angle: float) -> Update:
        """The kernel was changed."""
        drawn = scene.kernel_picture(Blur(kind, float(size), float(angle)))
        return {self.kernel: drawn, self.angle: gr.update(visible=kind == "motion")}

    def load_mask(self, session: Session, keys: str, task: str) -> Update:
        """A mask was dropped: it appears on the picture, where it can be painted on."""
        source = session.chosen()
        name, data = self.studio.uploads(session, keys)[0]
        mask = open_mask(name, data, self.studio.limits)
        must_agree(name, mask.shape, source)
        if not mask.any():
            raise Refused(f"{name}: has no white pixel; white marks what should go.")
        overlay = partial(page_pictures.write_overlay, mask=mask, limits=session.limits)
        session.shown = {**session.shown, "mask": session.publish("mask", "mask.png", overlay)}
        marked = news(f"{name} marks {mask.mean():.1%} of the picture.")
        return {self.stage: scene.staged(session, TASKS[task]), self.status: marked}

    def load_operator(self, session: Session, keys: str) -> Update:
        """An operator file was dropped."""
        name, data = self.studio.uploads(session, keys)[0]
        kept = session.add_operator(Path(name).stem[:40], operator_from(name, data, session.folder))
        menu = gr.update(choices=operator_choices(session), value=kept)
        return {self.operator: menu, self.status: news(f"{name} is ready and chosen as the operator.")}

    # -- the repair ------------------------------------------------------------------------------------

    def repair(self, session: Session, run: Run, mask: str, *controls: Any) -> Iterator[Update]:
        """Preview, then the whole picture; says all the time how far it is."""
        source, job = session.chosen(), self._job(session, *controls)
        if job.task.masks:
            job = replace(job, missing=self._missing(session, source, mask))
        repair_job.check(source, job, self.studio.limits)
        if job.factor > 1:
            session.shown = {**session.shown, **scene.extent(session, source, job.factor)}
        latest: Progress | None = None
        started = began = time.monotonic()

        def doing(what: str, progress: Progress) -> Update:
            nonlocal latest
            latest = progress
            return {self.status: scene.doing(what, began, progress)}

        yield {self.status: news("Preview…", share=0.0), self.figures: ""}
        first = yield from watched(partial(repair_job.preview, source, job), run, partial(doing, "Preview"))
        latest = None
        if not run.over:
            after = scene.published(session, "after", first)
            yield {self.stage: scene.staged(session, job.task, after=after, stage="preview")}
        if not run.over:
            yield {self.status: news("Full picture…", share=0.0)}
            began = time.monotonic()
            result = yield from watched(partial(repair_job.full, source, job), run, partial(doing, "Full picture"))
        if run.over:
            yield {self.status: scene.stopped(session, run, latest)}
        else:
            yield self._finished(session, source, job, result, time.monotonic() - started)

    def _job(self, session: Session, *controls: Any) -> Job:
        """What the controls of the tab say, of those that the task asks for."""
        name, factor, made_by, kind, size, angle, operator, quality, *noise, luma, chroma = controls
        task = TASKS[name]
        return Job(
            task, self.noise.model(session, *noise), quality, session.operator(operator),
            factor=int(factor) if "factor" in task.needs else 1,
            made_by=made_by if "factor" in task.needs else None,
            blur=Blur(kind, float(size), float(angle)) if "kernel" in task.needs else None,
            strengths=(float(luma), float(chroma)),
        )  # fmt: skip

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

    def _finished(
        self, session: Session, source: Source, job: Job, result: repair_job.PageResult, spent: float
    ) -> Update:
        found, session.result = result.picture, result
        near = repair_job.closeness(source, job, found)
        after = scene.published(session, "after", found.working)
        name = f"{Path(source.name).stem}-{job.task.name}.png"
        whole = session.publish("download", name, lambda path: page_pictures.write_download(path, found))
        return {
            self.stage: scene.staged(session, job.task, after=after, stage="full"),
            self.status: news(f"Done in {seconds(spent)}.", "Drag the line, or use the slider, to compare."),
            self.figures: scene.figures(job, found, near, whole, name),
        }
