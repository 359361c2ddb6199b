"""The tab Repair: a picture, a task, before and after."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np

from cosparse.reconstruction.tasks import TASKS
from cosparse.studio import chart, scene
from cosparse.studio.buttons import RunButtons
from cosparse.studio.examples import EXAMPLES, example
from cosparse.studio.limits import Refused
from cosparse.studio.page_pictures import Source, open_mask, open_picture, write_overlay
from cosparse.studio.page_tasks import PAGE_TASKS, Blur
from cosparse.studio.parts import Studio, Update, drop_box, news, operator_choices, operator_menu, plain, scripted, step
from cosparse.studio.repair_run import RepairRun, job_of
from cosparse.studio.session import Session
from cosparse.studio.uploads import operator_from

KINDS = [("Gaussian", "gaussian"), ("Out of focus", "disk"), ("Motion", "motion"), ("Box", "box")]
QUALITIES = [("Fast", "fast"), ("Balanced", "balanced"), ("Best", "best")]
SIGMA = "In grey levels of 255; 0 is none."


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
        most = f"{limits.upload_bytes // 1_000_000} MB and {limits.pixels // 1_000_000} megapixels"
        hint = f"PNG, JPEG, TIFF or BMP, up to {most}"
        self.drop = drop_box("Drop a picture here, or choose one", hint, limits)
        buttons = "".join(
            f'<button type="button" data-name="{name}" title="{escape(title)}">'
            f'<img src="studio/{name}.jpg" alt="Example: {escape(title)}"></button>'
            for name, title in EXAMPLES.items()
        )
        examples = f'<div class="examples" role="group" aria-label="Examples">{buttons}</div>'
        self.examples = scripted(examples, "choices(element, props, trigger)")
        step("2. Task")
        names = [(task.capitalize(), task) for task in TASKS]
        self.task = gr.Radio(names, value="denoise", show_label=False, label="Task", elem_id="task", container=False)
        with gr.Group(visible=False) as self.for_mask:
            hint = "White is what should go. Or paint on the picture itself."
            self.mask_drop = drop_box("Add a mask picture", hint, limits, small=True)
        with gr.Group(visible=False) as self.for_factor:
            self.factor = gr.Radio([("x2", 2), ("x3", 3), ("x4", 4)], value=2, label="How much larger")
        with gr.Group(visible=False) as self.for_kernel:
            self.kind = gr.Radio(KINDS, value="gaussian", label="What blurred it")
            self.size = gr.Slider(0.5, 15, 2, step=0.1, label="Size, about half its width in pixels", buttons=[])
            self.angle = gr.Slider(
                0, 180, 0, step=1, label="Direction, degrees from the horizontal", visible=False, buttons=[]
            )
            self.kernel = plain(kernel_picture(Blur()))
        self.sigma = gr.Slider(0, 100, 0, step=0.1, label="Noise σ", info=SIGMA, elem_id="sigma", buttons=[])
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
        picture = [self.stage, self.figures, self.sigma, self.run.go, self.original]
        groups = [self.for_mask, self.for_factor, self.for_kernel]
        blur: list[Any] = [self.kind, self.size, self.angle]
        controls = [self.task, self.sigma, self.factor, *blur, self.operator, self.quality]  # as job_of takes them

        def on(event: Any, handler: Any, inputs: list[Any], outputs: list[Any]) -> None:
            self.studio.on(event, self.status, handler, inputs, outputs)

        on(self.drop.upload, self.load, [self.drop, self.task], picture)
        on(self.examples.select, self.load_example, [self.examples, self.task], picture)
        on(self.task.change, self.choose, [self.task], [*groups, self.attempt, *picture])
        on(self.mask_drop.upload, self.load_mask, [self.mask_drop, self.task], [self.stage])
        on(self.attempt.click, self.damage, controls, picture)
        on(self.original.click, self.restore, [self.task], picture)
        for control in blur:
            on(control.change, self.choose_blur, blur, [self.kernel, self.angle])
        on(self.operator_drop.upload, self.load_operator, [self.operator_drop], [self.operator])
        self.run.connect(
            RepairRun(self.studio, self.stage, self.status, self.figures).repair,
            [self.mask, *controls],
            [self.stage, self.figures],
            self.status,
            js="async (ticket, mask, ...rest) => [ticket, await cosparse.mask(), ...rest]",
        )

    # -- the picture -----------------------------------------------------------------------------------

    def load(self, session: Session, keys: str, task: str) -> Update:
        """A picture was dropped."""
        name, data = self.studio.uploads(session, keys)[0]
        return self._present(session, Source(name, open_picture(name, data, self.studio.limits)), task)

    def load_example(self, session: Session, name: str, task: str) -> Update:
        """One of the pictures that come along was chosen."""
        if name not in EXAMPLES:
            raise Refused("There is no such example.")
        return self._present(session, Source(f"{name}.png", example(name)), task)

    def restore(self, session: Session, task: str) -> Update:
        """As it was before the page damaged it."""
        source = session.chosen()
        return self._present(session, Source(source.name, source.original), task)

    def damage(self, session: Session, *controls: Any) -> Update:
        """Make the repair of this task necessary, keeping the truth to compare with."""
        source, job = session.chosen(), job_of(session, *controls)
        damage = PAGE_TASKS[job.task.name].damage(source.original, job)
        return self._present(session, Source(source.name, source.original, damage), job.task.name)

    def _present(self, session: Session, source: Source, task: str) -> Update:
        sigma = source.estimated_noise()
        scene.present(session, source)
        known = f", {source.damage.words}" if source.damage else ""
        text = f"Estimated noise: σ = {sigma:.1f} of 255." if TASKS[task].estimates_noise else "Ready."
        return {
            self.stage: scene.staged(session, TASKS[task]),
            self.status: news(f"{source.name}{known}. {text}"),
            self.figures: "",
            self.sigma: _sigma(task, sigma),
            self.run.go: gr.update(interactive=True),
            self.original: gr.update(visible=source.damage is not None),
        }

    # -- the settings ----------------------------------------------------------------------------------

    def choose(self, session: Session, task: str) -> Update:
        """A task was picked."""
        record = TASKS[task]
        update: Update = {
            self.for_mask: gr.update(visible=record.masks),
            self.for_factor: gr.update(visible="factor" in record.needs),
            self.for_kernel: gr.update(visible="kernel" in record.needs),
            self.attempt: gr.update(value=PAGE_TASKS[task].offer),
        }
        if session.source is not None:
            update[self.sigma] = _sigma(task, session.source.estimated_noise())
            update[self.stage] = scene.staged(session, record)
            update[self.figures] = ""
        return update

    def choose_blur(self, session: Session, kind: str, size: float, angle: float) -> Update:
        """The kernel was changed."""
        drawn = kernel_picture(Blur(kind, float(size), float(angle)))
        return {self.kernel: drawn, self.angle: gr.update(visible=kind == "motion")}

    def load_mask(self, session: Session, keys: str, task: str) -> Update:
        """A mask was dropped: it appears on the picture, where it can be painted on."""
        source = session.chosen()
        name, data = self.studio.uploads(session, keys)[0]
        mask = open_mask(name, data, self.studio.limits)
        if mask.shape != source.shape:
            raise Refused(
                f"{name}: is {mask.shape[1]} × {mask.shape[0]} pixels, the picture "
                f"{source.shape[1]} × {source.shape[0]}; they must agree."
            )
        if not mask.any():
            raise Refused(f"{name}: has no white pixel; white marks what should go.")
        overlay = session.publish("mask", "mask.png", lambda path: write_overlay(path, mask, self.studio.limits))
        session.shown = {**session.shown, "mask": overlay}
        marked = news(f"{name} marks {mask.mean():.1%} of the picture.")
        return {self.stage: scene.staged(session, TASKS[task]), self.status: marked}

    def load_operator(self, session: Session, keys: str) -> Update:
        """An operator file was dropped."""
        name, data = self.studio.uploads(session, keys)[0]
        kept = session.add_operator(Path(name).stem[:40], operator_from(name, data, session.folder))
        return {
            self.operator: gr.update(choices=operator_choices(session), value=kept),
            self.status: news(f"{name} is ready and chosen as the operator."),
        }


def _sigma(task: str, estimated: float) -> Any:
    used = round(min(estimated, 100), 1) if TASKS[task].estimates_noise else 0.0
    return gr.update(value=used, info=f"{SIGMA} Estimated here: {estimated:.1f}.")


def kernel_picture(blur: Blur) -> str:
    """A blurred point."""
    kernel = blur.kernel()
    grey = np.round(255 * np.sqrt(kernel / kernel.max())).astype(np.uint8)
    tall, wide = kernel.shape
    said = f"A point becomes this, {wide} × {tall} pixels."
    return f'<div class="scale kernel-line">{chart.picture(grey, said, "kernel")}<span>{said}</span></div>'
