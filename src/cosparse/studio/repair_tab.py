"""The tab Repair: a picture, a task, before and after, step by step."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import gradio as gr

from cosparse.noise import Gaussian
from cosparse.reconstruction import Progress, measurement
from cosparse.reconstruction.tasks import TASKS
from cosparse.studio import many_pictures, repair_job, scene
from cosparse.studio.batch_controls import BatchControls
from cosparse.studio.buttons import RunButtons
from cosparse.studio.history import Step
from cosparse.studio.limits import Refused
from cosparse.studio.mask_controls import SEND, MaskControls
from cosparse.studio.noise_controls import NoiseControls
from cosparse.studio.page_pictures import EXAMPLES, Source, example, open_picture
from cosparse.studio.page_tasks import PAGE_TASKS, Blur, Job
from cosparse.studio.parts import (
    Parts,
    Studio,
    Update,
    drop_box,
    news,
    operator_choices,
    operator_menu,
    plain,
    scripted,
    step,
)
from cosparse.studio.session import Session
from cosparse.studio.stage import Stage, kept
from cosparse.studio.uploads import operator_from
from cosparse.studio.work import Run, seconds, watched

KINDS = [("Gaussian", "gaussian"), ("Out of focus", "disk"), ("Motion", "motion"), ("Box", "box")]
REDUCTIONS = [(name.capitalize(), name) for name in (*measurement.FILTERS, "gaussian")]
TIMES = [(f"x{factor:g}", factor) for factor in measurement.FACTORS]
STATED = 9  # where among the controls of a job the kind of noise is
QUALITIES = [("Fast", "fast"), ("Balanced", "balanced"), ("Best", "best")]
TABLES = "Goes by the tables in the JPEG file: open it as it was saved, not cropped or resized."
WAIT = 3.0  # seconds in which the server must see that a page that is loaded again was closed


class RepairTab:
    """Its parts and what they do."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        with gr.Row(equal_height=False, elem_id="bench"):
            with gr.Column(min_width=300, elem_id="bench-picture"):
                self._picture_controls()
            with gr.Column(min_width=320, elem_id="bench-stage"):
                self.stage = Stage(studio)
            with gr.Column(min_width=300, elem_id="bench-settings"):
                self._controls()
        self.status = self.stage.status
        self._events()

    # -- what there is ---------------------------------------------------------------------------------

    def _picture_controls(self) -> None:
        limits = self.studio.limits
        step("1. Picture")
        megabytes, megapixels = limits.upload_bytes // 1_000_000, limits.pixels // 1_000_000
        hint = f"PNG, JPEG, TIFF or BMP, up to {megabytes} MB and {megapixels} megapixels; several at once, too"
        self.drop = drop_box("Drop a picture here, or choose one", hint, limits, many=True, main=True)
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

    def _controls(self) -> None:
        limits = self.studio.limits
        self.masks = MaskControls(self.studio)
        with gr.Group(visible=False) as self.for_factor:
            self.factor = gr.Radio(TIMES, value=2, label="How much larger")
            self.made_by = gr.Radio(REDUCTIONS, value=measurement.USUAL, label="What made it small")
        with gr.Group(visible=False) as self.for_kernel:
            self.kind = gr.Radio(KINDS, value="gaussian", label="What blurred it")
            self.size = gr.Slider(0.5, 15, 2, step=0.1, label="Size, about half its width in pixels", buttons=[])
            label = "Direction, degrees from the horizontal"
            self.angle = gr.Slider(0, 180, 0, step=1, label=label, visible=False, buttons=[])
            self.kernel = plain(scene.kernel_picture(Blur()))
        with gr.Group(visible=False) as self.for_jpeg:
            plain(f'<div class="noise-seen"><p>{TABLES}</p></div>')
        self.noise = NoiseControls(self.studio)
        with gr.Row():
            self.attempt = gr.Button(PAGE_TASKS["denoise"].offer, size="sm", elem_id="try")
            self.original = gr.Button("Back to the original", size="sm", visible=False)
        with gr.Accordion("Operator and quality", open=False, elem_id="more"):
            self.quality = gr.Radio(QUALITIES, value="balanced", label="Quality")
            self.operator = operator_menu("operator")
            hint = "A .safetensors file from Learn or cosparse learn."
            self.operator_drop = drop_box("Add an operator file", hint, limits, accept=".safetensors", small=True)
        self.batch = BatchControls(self.studio, self.stage)
        self.run = RunButtons(self.studio, "Repair", "repair", ready=False)
        self.claim = gr.Textbox(visible=False)

    @property
    def _job_controls(self) -> Parts:
        """As :meth:`_job` takes them."""
        sizes, blur = [self.factor, self.made_by], [self.kind, self.size, self.angle]
        common = [self.operator, self.quality]
        return [self.task, *sizes, *blur, *common, *self.masks.inputs, *self.noise.inputs]

    @property
    def _picture(self) -> Parts:
        """What another picture changes."""
        return [*self.stage.parts, *self.noise.outputs, self.run.go, self.original]

    @property
    def _groups(self) -> Parts:
        """What another task changes."""
        return [self.masks.box, self.for_factor, self.for_kernel, self.for_jpeg, self.attempt]

    def _events(self) -> None:
        kind, controls = self.noise.kind, self._job_controls
        picture = self._picture
        several = [self.batch.box, self.batch.list, self.batch.report]
        blur: list[Any] = [self.kind, self.size, self.angle]
        on = partial(self.studio.on, self.status)
        on(self.drop.upload, self.load, [self.drop, self.task, kind], [*picture, *several])
        on(self.examples.select, self.load_example, [self.examples, self.task, kind], [*picture, *several])
        on(self.batch.list.input, self.load_one, [self.batch.list, self.task, kind], picture)
        on(self.task.input, self.choose, [self.task, kind], [*self._groups, *self.stage.parts, *self.noise.outputs])
        on(self.attempt.click, self.damage, controls, picture)
        on(self.original.click, self.restore, [self.task, kind], picture)
        on(self.stage.go_on.click, self.go_on, [self.task, kind], picture)
        on(self.stage.strip.select, self.go_back, [self.stage.strip, self.task, kind], picture)
        for control in blur:
            on(control.change, self.choose_blur, blur, [self.kernel, self.angle])
        on(self.operator_drop.upload, self.load_operator, [self.operator_drop], [self.operator])
        for control in controls:  # by the person: what the page itself sets is known
            self.studio.on(self.status, control.input, self.remember, controls, [], brief=True, last=True)
        self.noise.connect(self.status)
        self.masks.connect(self.stage, self.task)
        script = f"async (ticket, ...rest) => [ticket, ...await ({SEND})(...rest)]"
        painted, shown = [self.masks.key, *controls], [*self.stage.parts]
        another = [(self.stage.another.click, _next_attempt)]
        self.run.connect(self.status, self.repair, painted, shown, js=script, also=another)
        self.batch.run.connect(self.status, self.repair_all, painted, [self.batch.report], js=script)

    def connect_reload(self, page: Any) -> None:
        """Let a page that is loaded again find what it held; the browser keeps the claim to it, in this tab only."""
        shown = [*self._picture, *self._groups, self.batch.box, self.batch.list, self.batch.report]
        outputs = [*shown, *self._job_controls, self.claim]
        kept = "() => [sessionStorage.getItem(`cosparse ${location.pathname}`) ?? '']"
        shown = list(dict.fromkeys(outputs))
        loaded = self.studio.on(self.status, page.load, self.resume, [self.claim], shown, brief=True, js=kept)
        keep = "(claim) => { sessionStorage.setItem(`cosparse ${location.pathname}`, claim); }"
        loaded.then(None, [self.claim], None, js=keep)

    # -- the picture -----------------------------------------------------------------------------------

    def load(self, session: Session, keys: str, task: str, kind: str) -> Update:
        """A picture was dropped, or several."""
        files = self.studio.uploads(session, keys)
        if len(files) == 1:
            (name, data), session.batch, session.report = files[0], [], ""
            found = self._present(session, Source(name, open_picture(name, data, self.studio.limits)), task, kind)
            return found | self.batch.offered(session)
        (session.batch, problems), session.report = many_pictures.gather(session, files, self.studio.limits), ""
        if not session.batch:
            raise Refused(" ".join(problems))
        update = self._present(session, many_pictures.opened(session.batch[0], self.studio.limits), task, kind)
        said = f"{len(session.batch)} pictures are open, {session.batch[0].name} is shown. {' '.join(problems)}"
        return update | self.batch.offered(session) | {self.status: news(said)}

    def load_one(self, session: Session, number: Any, task: str, kind: str) -> Update:
        """Another of several pictures was chosen."""
        file = self.batch.chosen(session, number)
        return self._present(session, many_pictures.opened(file, self.studio.limits), task, kind)

    def load_example(self, session: Session, name: str, task: str, kind: str) -> Update:
        """One of the pictures that come along was chosen."""
        if name not in EXAMPLES:
            raise Refused("There is no such example.")
        session.batch, session.report = [], ""
        found = self._present(session, Source(f"{name}.png", example(name)), task, kind)
        return found | self.batch.offered(session)

    def restore(self, session: Session, task: str, kind: str) -> Update:
        """As it was before the page damaged it."""
        source, current = replace(session.chosen(), damage=None), session.history.current
        return self._present(session, source, task, kind, of=current)

    def damage(self, session: Session, *controls: Any) -> Update:
        """Make the repair of this task necessary, keeping the truth to compare with."""
        source, job, kind = session.chosen(), self._job(session, *controls), controls[STATED]
        if kind == "auto":  # what is to be found out is not asked for
            job = replace(job, noise=Gaussian(0.0))
        damage = PAGE_TASKS[job.task.name].damage(source.original, job)
        damaged = replace(source, damage=damage)
        return self._present(session, damaged, job.task.name, kind, of=session.history.current)

    def go_on(self, session: Session, task: str, kind: str) -> Update:
        """Repair the result further."""
        self.stage.take_result(session)
        said = news("The result is now the picture to repair. Choose the next task, or go back to a step below.")
        return self._shown(session, task, kind) | {self.status: said}

    def go_back(self, session: Session, value: Any, task: str, kind: str) -> Update:
        """To a step of before, or forth again."""
        found = self.stage.went(session, value)
        return self._shown(session, task, kind) | {self.status: news(f"Back at: {found.source.name}, {found.words}.")}

    def _present(self, session: Session, source: Source, task: str, kind: str, of: Step | None = None) -> Update:
        words = source.damage.words if source.damage else source.name
        self.stage.open(session, source, words, of=of)
        known = f", {source.damage.words}" if source.damage else ""
        update = self._shown(session, task, kind)
        text = self.noise.told(session) if update[self.noise.kind]["value"] == "auto" else "Ready."
        return update | {self.status: news(f"{source.name}{known}. {text}")}

    def _shown(self, session: Session, task: str, kind: str) -> Update:
        return {
            **self.noise.picture(session, task, kind),
            **self.stage.shown(session, TASKS[task]),
            self.run.go: gr.update(interactive=True),
            self.original: gr.update(visible=session.chosen().damage is not None),
        }

    def resume(self, session: Session, claim: str) -> Update:
        """A page was loaded: if it is the same one again, it gets what it held."""
        end = time.monotonic() + WAIT
        while claim and self.studio.visitors.inherit(session, str(claim)) and time.monotonic() < end:
            time.sleep(0.05)
        update: Update = {self.claim: session.claim}
        if session.settings:
            values = zip(self._job_controls, session.settings, strict=True)
            update |= {control: gr.update(value=value) for control, value in values}
        menu = gr.update(choices=operator_choices(session))
        update[self.operator] = {**update.get(self.operator, {}), **menu}
        task, kind = (session.settings[0], session.settings[STATED]) if session.settings else ("denoise", "auto")
        if session.settings or session.source is not None:
            update |= self.choose(session, task, kind)
        if session.source is not None:
            update |= self._shown(session, task, kind) | self.batch.offered(session)
            update[self.status] = news("The page was loaded again; what was done is still here.")
        return update

    # -- the settings ----------------------------------------------------------------------------------

    def remember(self, session: Session, *controls: Any) -> Update:
        """What the person chose, for when the page is loaded again."""
        session.settings = controls
        return {}

    def choose(self, session: Session, task: str, kind: str) -> Update:
        """A task was picked. What is on the stage stays there."""
        record = TASKS[task]
        update: Update = {
            **self.noise.task(session, task, kind),
            self.masks.box: gr.update(visible=record.masks),
            self.for_factor: gr.update(visible="factor" in record.needs),
            self.for_kernel: gr.update(visible="kernel" in record.needs),
            self.for_jpeg: gr.update(visible=record.compressed),
            self.attempt: gr.update(value=PAGE_TASKS[task].offer),
        }
        if session.source is not None:
            update |= self.stage.shown(session, record)
            if said := kept(session, task):
                update[self.status] = news(said)
        return update

    def choose_blur(self, session: Session, kind: str, size: float, angle: float) -> Update:
        """The kernel was changed."""
        drawn = scene.kernel_picture(Blur(kind, float(size), float(angle)))
        return {self.kernel: drawn, self.angle: gr.update(visible=kind == "motion")}

    def load_operator(self, session: Session, keys: str) -> Update:
        """An operator file was dropped."""
        name, data = self.studio.uploads(session, keys)[0]
        kept = session.add_operator(Path(name).stem[:40], operator_from(name, data, session.folder))
        menu = gr.update(choices=operator_choices(session), value=kept)
        return {self.operator: menu, self.status: news(f"{name} is ready and chosen as the operator.")}

    # -- the repair ------------------------------------------------------------------------------------

    def repair(self, session: Session, run: Run, mask: str, *controls: Any) -> Iterator[Update]:
        """Preview, then the whole picture; says all the time how far it is."""
        source, base, job = session.chosen(), session.history.current, self._job(session, *controls)
        assert base is not None
        if job.task.masks:
            job = replace(job, missing=self.masks.painted.mask(session, source, mask))
        repair_job.check(source, job, self.studio.limits)
        latest: Progress | None = None
        started = began = time.monotonic()

        def doing(what: str, progress: Progress) -> Update:
            nonlocal latest
            latest = progress
            return {self.status: scene.doing(what, began, progress)}

        if PAGE_TASKS[job.task.name].preview:
            yield {self.status: news("Preview…", share=0.0), self.stage.figures: ""}
            first = yield from watched(partial(repair_job.preview, source, job), run, partial(doing, "Preview"))
            latest = None
            if not run.over and session.history.current is base:
                view = scene.published(session, "preview", first)
                yield {self.stage.picture: scene.staged(session, job.task, view, job)}
        if not run.over:
            yield {self.status: news("Full picture…", share=0.0)}
            began = time.monotonic()
            result = yield from watched(partial(repair_job.full, source, job), run, partial(doing, "Full picture"))
        if run.over:
            yield self.stage.shown(session, job.task) | {self.status: scene.stopped(session, run, latest)}
            return
        self.stage.finish(session, base, self.stage.done(session, base, job, result))
        said = news(f"Done in {seconds(time.monotonic() - started)}.", "Drag the line, or use the slider, to compare.")
        yield self.stage.shown(session, job.task) | {self.status: said}

    def repair_all(self, session: Session, run: Run, mask: str, *controls: Any) -> Iterator[Update]:
        """All pictures that are open, with these settings."""

        def asked() -> tuple[Job, Any]:
            job = self._job(session, *controls)
            if job.task.masks:
                job = replace(job, missing=self.masks.painted.mask(session, session.chosen(), mask))
            return job, None if controls[STATED] == "auto" else job.noise

        yield {self.batch.report: ""}
        yield from self.batch.repair(session, run, asked)

    def _job(self, session: Session, *controls: Any) -> Job:
        """What the controls of the tab say, of those that the task asks for."""
        name, factor, made_by, kind, size, angle, operator, quality, fill, *noise, luma, chroma = controls
        task, session.settings = TASKS[name], controls
        if noise[0] == "auto" and not task.estimates_noise:
            noise[0] = "none"  # as the page says by now
        return Job(
            task, self.noise.model(session, *noise), quality, session.operator(operator),
            factor=float(factor) if "factor" in task.needs else 1,
            made_by=made_by if "factor" in task.needs else None,
            blur=Blur(kind, float(size), float(angle)) if "kernel" in task.needs else None,
            strengths=(float(luma), float(chroma)),
            options=self.masks.options(fill, session.seed) if task.masks else {},
        )  # fmt: skip


def _next_attempt(session: Session) -> None:
    """What is copied into wide holes is chosen anew."""
    session.seed += 1
