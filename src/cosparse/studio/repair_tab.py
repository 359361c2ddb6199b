"""The tab Repair: a picture, a task, before and after."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import gradio as gr

from cosparse.reconstruction.tasks import TASKS
from cosparse.studio import page_pictures, scene
from cosparse.studio.buttons import RunButtons
from cosparse.studio.examples import EXAMPLES, photograph
from cosparse.studio.page_pictures import Blur, Source
from cosparse.studio.parts import (
    IMAGES,
    LIGHT,
    Studio,
    Update,
    drop_box,
    news,
    operator_choices,
    plain,
    step,
    told,
    when_there,
)
from cosparse.studio.repair_run import RepairRun, current, staged
from cosparse.studio.session import Refused
from cosparse.studio.uploads import mask_from, operator_from

KINDS = [("Gaussian", "gaussian"), ("Out of focus", "disk"), ("Motion", "motion"), ("Box", "box")]
QUALITIES = [("Fast", "fast"), ("Balanced", "balanced"), ("Best", "best")]
TRY = {
    "denoise": "Add noise to try it",
    "inpaint": "Drop 90 % of the pixels to try it",
    "upscale": "Shrink it first to try it",
    "deblur": "Blur it first to try it",
}
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
                self.stage = gr.HTML(
                    value=None,
                    html_template='<div class="stage empty"></div>',
                    apply_default_css=False,
                    js_on_load=when_there("cosparse.stage(element, props, watch)"),
                    elem_id="stage",
                )
                self.figures = plain("", elem_id="figures")
        self._events()

    # -- what there is ---------------------------------------------------------------------------------

    def _controls(self) -> None:
        limits = self.studio.limits
        step("1. Picture")
        most = f"{limits.upload_bytes // 1_000_000} MB and {limits.pixels // 1_000_000} megapixels"
        hint = f"PNG, JPEG, TIFF or BMP, up to {most}"
        self.drop = drop_box("Drop a picture here, or choose one", hint, limits, accept=IMAGES)
        buttons = "".join(
            f'<button type="button" data-name="{name}" title="{escape(title)}">'
            f'<img src="studio/{name}.jpg" alt="Example: {escape(title)}"></button>'
            for name, title in EXAMPLES.items()
        )
        self.examples = gr.HTML(
            value="",
            html_template=f'<div class="examples" role="group" aria-label="Examples">{buttons}</div>',
            apply_default_css=False,
            js_on_load=when_there("cosparse.choices(element, props, trigger)"),
        )
        step("2. Task")
        names = [(task.capitalize(), task) for task in TASKS]
        self.task = gr.Radio(names, value="denoise", show_label=False, label="Task", elem_id="task", container=False)
        with gr.Group(visible=False) as self.for_inpaint:
            self.mask_drop = drop_box(
                "Add a mask picture", "White is what should go. Or paint on the picture itself.", limits,
                accept=IMAGES, small=True,
            )  # fmt: skip
        with gr.Group(visible=False) as self.for_upscale:
            self.factor = gr.Radio([("x2", 2), ("x3", 3), ("x4", 4)], value=2, label="How much larger")
        with gr.Group(visible=False) as self.for_deblur:
            self.kind = gr.Radio(KINDS, value="gaussian", label="What blurred it")
            self.size = gr.Slider(0.5, 15, 2, step=0.1, label="Size, about half its width in pixels", buttons=[])
            self.angle = gr.Slider(
                0, 180, 0, step=1, label="Direction, degrees from the horizontal", visible=False, buttons=[]
            )
            self.kernel = plain(scene.kernel_picture(Blur()))
        self.sigma = gr.Slider(0, 100, 0, step=0.1, label="Noise σ", info=SIGMA, elem_id="sigma", buttons=[])
        with gr.Row():
            self.attempt = gr.Button(TRY["denoise"], size="sm", elem_id="try")
            self.original = gr.Button("Back to the original", size="sm", visible=False)
        with gr.Accordion("Operator and quality", open=False, elem_id="more"):
            self.quality = gr.Radio(QUALITIES, value="balanced", label="Quality")
            self.operator = gr.Dropdown(operator_choices(), value="default", label="Operator", elem_id="operator")
            self.operator_drop = drop_box(
                "Add an operator file", "A .safetensors file from Learn or cosparse learn.", limits,
                accept=".safetensors", small=True,
            )  # fmt: skip
        self.run = RunButtons(self.studio, "Repair", "repair", ready=False)
        self.mask = gr.Textbox(visible=False)

    def _events(self) -> None:
        picture = [self.stage, self.status, self.figures, self.sigma, self.run.go, self.original]
        blur = [self.kind, self.size, self.angle]
        self.drop.upload(told(self.status, self.load), [self.drop, self.task], picture, **LIGHT)
        self.examples.select(told(self.status, self.load_example), [self.examples, self.task], picture, **LIGHT)
        self.task.change(
            told(self.status, self.choose),
            [self.task],
            [self.for_inpaint, self.for_upscale, self.for_deblur, self.attempt, *picture],
            **LIGHT,
        )
        self.mask_drop.upload(told(self.status, self.load_mask), [self.mask_drop], [self.stage, self.status], **LIGHT)
        self.attempt.click(
            told(self.status, self.damage), [self.task, self.sigma, self.factor, *blur], picture, **LIGHT
        )
        self.original.click(told(self.status, self.restore), [self.task], picture, **LIGHT)
        for control in (self.kind, self.size, self.angle):
            control.change(told(self.status, self.choose_blur), blur, [self.kernel, self.angle, self.status], **LIGHT)
        self.operator_drop.upload(
            told(self.status, self.load_operator), [self.operator_drop], [self.operator, self.status], **LIGHT
        )
        self.run.connect(
            RepairRun(self.studio, self.stage, self.status, self.figures).repair,
            [self.mask, self.task, self.sigma, self.factor, *blur, self.operator, self.quality],
            [self.stage, self.status, self.figures],
            self.status,
            js="async (ticket, mask, ...rest) => [ticket, await cosparse.mask(), ...rest]",
        )

    # -- the picture -----------------------------------------------------------------------------------

    def load(self, keys: str, task: str, request: gr.Request) -> Update:
        """A picture was dropped."""
        name, data = self.studio.uploads(keys, request)[0]
        return self._present(page_pictures.open_picture(name, data, self.studio.limits), task, request)

    def load_example(self, name: str, task: str, request: gr.Request) -> Update:
        """One of the pictures that come along was chosen."""
        if name not in EXAMPLES:
            raise Refused("There is no such example.")
        return self._present(page_pictures.example(name, photograph(name)), task, request)

    def restore(self, task: str, request: gr.Request) -> Update:
        """As it was before the page damaged it."""
        source = current(self.studio.session(request))
        plain = replace(source, picture=source.original, truth=None, missing=None, damage="")
        return self._present(plain, task, request)

    def damage(
        self, task: str, sigma: float, factor: int, kind: str, size: float, angle: float, request: gr.Request
    ) -> Update:
        """Make the repair of this task necessary, keeping the truth to compare with."""
        source = current(self.studio.session(request))
        if task == "denoise":
            # At the estimate of a clean picture one would see no difference.
            made = page_pictures.add_noise(source, sigma if sigma >= 10 else 25.0)
        elif task == "inpaint":
            made = page_pictures.drop_pixels(source, 0.9)
        elif task == "upscale":
            made = page_pictures.shrink(source, int(factor))
        else:
            made = page_pictures.blur(source, Blur(kind, float(size), float(angle)))
        return self._present(made, task, request)

    def _present(self, source: Source, task: str, request: gr.Request) -> Update:
        session = self.studio.session(request)
        session.source, session.result, session.trace = source, None, []
        sigma = scene.estimate(source)
        work = page_pictures.working(source.picture)
        before = session.publish("before", "before.png", scene.viewer(work, self.studio.limits))
        session.shown = {"before": before, **scene.extent(source, self.studio.limits)}
        known = f", {source.damage}" if source.damage else ""
        text = f"Estimated noise: σ = {sigma:.1f} of 255." if task in ("denoise", "deblur") else "Ready."
        return {
            self.stage: staged(session, task),
            self.status: news(f"{source.name}{known}. {text}"),
            self.figures: "",
            self.sigma: _sigma(task, sigma),
            self.run.go: gr.update(interactive=True),
            self.original: gr.update(visible=bool(source.damage)),
        }

    # -- the settings ----------------------------------------------------------------------------------

    def choose(self, task: str, request: gr.Request) -> Update:
        """A task was picked."""
        session = self.studio.session(request)
        update: Update = {
            self.for_inpaint: gr.update(visible=task == "inpaint"),
            self.for_upscale: gr.update(visible=task == "upscale"),
            self.for_deblur: gr.update(visible=task == "deblur"),
            self.attempt: gr.update(value=TRY[task]),
        }
        if session.source is not None:
            update[self.sigma] = _sigma(task, scene.estimate(session.source))
            update[self.stage] = staged(session, task)
            update[self.figures] = ""
        return update

    def choose_blur(self, kind: str, size: float, angle: float) -> Update:
        """The kernel was changed."""
        drawn = scene.kernel_picture(Blur(kind, float(size), float(angle)))
        return {self.kernel: drawn, self.angle: gr.update(visible=kind == "motion")}

    def load_mask(self, keys: str, request: gr.Request) -> Update:
        """A mask was dropped: it appears on the picture, where it can be painted on."""
        session = self.studio.session(request)
        source = current(session)
        name, data = self.studio.uploads(keys, request)[0]
        mask = mask_from(name, data, self.studio.limits)
        if mask.shape != source.shape:
            raise Refused(
                f"{name}: is {mask.shape[1]} × {mask.shape[0]} pixels, the picture "
                f"{source.shape[1]} × {source.shape[0]}; they must agree."
            )
        if not mask.any():
            raise Refused(f"{name}: has no white pixel; white marks what should go.")
        overlay = session.publish("mask", "mask.png", scene.overlay(mask, self.studio.limits))
        session.shown = {**session.shown, "mask": overlay}
        return {
            self.stage: staged(session, "inpaint"),
            self.status: news(f"{name} marks {mask.mean():.1%} of the picture."),
        }

    def load_operator(self, keys: str, request: gr.Request) -> Update:
        """An operator file was dropped."""
        session = self.studio.session(request)
        name, data = self.studio.uploads(keys, request)[0]
        kept = session.add_operator(Path(name).stem[:40], operator_from(name, data, session.folder))
        return {
            self.operator: gr.update(choices=operator_choices(session), value=kept),
            self.status: news(f"{name} is ready and chosen as the operator."),
        }


def _sigma(task: str, estimated: float) -> Any:
    used = round(min(estimated, 100), 1) if task in ("denoise", "deblur") else 0.0
    return gr.update(value=used, info=f"{SIGMA} Estimated here: {estimated:.1f}.")
