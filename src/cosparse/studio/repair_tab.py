"""The tab Repair: a picture, a task, before and after."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np

import cosparse
from cosparse.images import read_image
from cosparse.pictures import white_mask
from cosparse.studio import chart, pictures, repair
from cosparse.studio.parts import (
    AT_ONCE,
    AUTO,
    IMAGES,
    LIGHT,
    WORK,
    Studio,
    Update,
    drop_box,
    news,
    operator_choices,
    seconds,
    step,
    told,
)
from cosparse.studio.pictures import Blur, Source
from cosparse.studio.samples import EXAMPLES, photograph
from cosparse.studio.session import Refused, Run, Session
from cosparse.studio.uploads import operator_from
from cosparse.studio.work import Finished, Step, follow

KINDS = [("Gaussian", "gaussian"), ("Out of focus", "disk"), ("Motion", "motion"), ("Box", "box")]
QUALITIES = [("Fast", "fast"), ("Balanced", "balanced"), ("Best", "best")]
TRY = {
    "denoise": "Add noise to try it",
    "inpaint": "Drop 90 % of the pixels to try it",
    "upscale": "Shrink it first to try it",
    "deblur": "Blur it first to try it",
}
SIGMA = "Standard deviation in grey levels of 255. 0: the picture has none."


class RepairTab:
    """Its parts and what they do."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        with gr.Row(equal_height=False):
            with gr.Column(scale=4, min_width=300):
                self._controls()
            with gr.Column(scale=8, min_width=320):
                self.status = gr.HTML(news("Choose a picture to begin."), elem_id="status")
                self.stage = gr.HTML(
                    value=None,
                    html_template='<div class="stage empty"></div>',
                    js_on_load="cosparse.stage(element, props, watch)",
                    elem_id="stage",
                )
                self.figures = gr.HTML("", elem_id="figures")
        self._events()

    # -- what there is ---------------------------------------------------------------------------------

    def _controls(self) -> None:
        limits = self.studio.limits
        step("1. Picture")
        hint = f"PNG, JPEG, TIFF or BMP, up to {limits.upload_bytes // 1_000_000} MB and {limits.pixels // 1_000_000} megapixels"
        self.drop = drop_box("Drop a picture here, or choose one", hint, limits, accept=IMAGES)
        buttons = "".join(
            f'<button type="button" data-name="{name}" title="{escape(title)}">'
            f'<img src="studio/{name}.jpg" alt="Example: {escape(title)}"></button>'
            for name, title in EXAMPLES.items()
        )
        self.examples = gr.HTML(
            value="",
            html_template=f'<div class="examples" role="group" aria-label="Examples">{buttons}</div>',
            js_on_load="cosparse.choices(element, props, trigger)",
        )
        step("2. Task")
        names = [(task.capitalize(), task) for task in repair.TASKS]
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
            self.size = gr.Slider(0.5, 15, 2, step=0.1, label="Size of the blur", info="Roughly half its width, in pixels.")
            self.angle = gr.Slider(0, 180, 0, step=1, label="Direction", info="Degrees from the horizontal.", visible=False)
            self.kernel = gr.HTML(self._kernel_picture("gaussian", 2.0, 0.0))
        self.sigma = gr.Slider(0, 100, 0, step=0.1, label="Noise σ", info=SIGMA, elem_id="sigma")
        with gr.Row():
            self.attempt = gr.Button(TRY["denoise"], size="sm", elem_id="try")
            self.original = gr.Button("Back to the original", size="sm", visible=False)
        with gr.Accordion("Operator and quality", open=False, elem_id="more"):
            self.quality = gr.Radio(QUALITIES, value="balanced", label="Quality")
            self.operator = gr.Dropdown(operator_choices(), value=AUTO, label="Operator", elem_id="operator")
            self.operator_drop = drop_box(
                "Add an operator file", "A .safetensors file from Learn or cosparse learn.", limits,
                accept=".safetensors", small=True,
            )  # fmt: skip
        with gr.Row():
            self.go = gr.Button("Repair", variant="primary", interactive=False, elem_id="repair", scale=3)
            self.stop = gr.Button("Cancel", variant="stop", interactive=False, elem_id="cancel", scale=1, min_width=90)
        self.mask = gr.Textbox(visible=False)

    def _events(self) -> None:
        picture = [self.stage, self.status, self.figures, self.sigma, self.go, self.original]
        blur = [self.kind, self.size, self.angle]
        self.drop.upload(told(self.status, self.load), [self.drop, self.task], picture, **LIGHT)
        self.examples.select(told(self.status, self.load_example), [self.examples, self.task], picture, **LIGHT)
        self.task.change(
            self.choose,
            [self.task],
            [self.for_inpaint, self.for_upscale, self.for_deblur, self.attempt, *picture],
            **LIGHT,
        )
        self.mask_drop.upload(told(self.status, self.load_mask), [self.mask_drop], [self.stage, self.status], **LIGHT)
        self.attempt.click(
            told(self.status, self.damage), [self.task, self.sigma, self.factor, *blur], picture, **LIGHT
        )
        self.original.click(told(self.status, self.restore), [self.task], picture, **LIGHT)
        for control in blur:
            control.change(self.choose_blur, blur, [self.kernel, self.angle], **LIGHT)
        self.operator_drop.upload(
            told(self.status, self.load_operator), [self.operator_drop], [self.operator, self.status], **LIGHT
        )
        self.go.click(self.wait, None, [self.go, self.stop, self.status], **AT_ONCE).then(
            told(self.status, self.repair),
            [self.mask, self.task, self.sigma, self.factor, *blur, self.operator, self.quality],
            [self.stage, self.status, self.figures],
            js="async (mask, ...rest) => [await cosparse.mask(), ...rest]",
            **WORK,
        ).then(self.idle, None, [self.go, self.stop], **AT_ONCE)
        self.stop.click(self.cancel, None, [self.stop], **AT_ONCE)

    # -- the picture -----------------------------------------------------------------------------------

    def load(self, keys: str, task: str, request: gr.Request) -> Update:
        """A picture was dropped."""
        name, data = self.studio.uploads(keys, request)[0]
        return self._present(pictures.open_picture(name, data, self.studio.limits), task, request)

    def load_example(self, name: str, task: str, request: gr.Request) -> Update:
        """One of the pictures that come along was chosen."""
        if name not in EXAMPLES:
            raise Refused("There is no such example.")
        return self._present(pictures.example(name, photograph(name)), task, request)

    def restore(self, task: str, request: gr.Request) -> Update:
        """As it was before the page damaged it."""
        source = self._source(self.studio.session(request))
        plain = replace(source, picture=source.original, truth=None, missing=None, damage="")
        return self._present(plain, task, request)

    def damage(
        self, task: str, sigma: float, factor: int, kind: str, size: float, angle: float, request: gr.Request
    ) -> Update:
        """Make the repair of this task necessary, keeping the truth to compare with."""
        source = self._source(self.studio.session(request))
        if task == "denoise":
            # At the estimate of a clean picture one would see no difference.
            made = pictures.add_noise(source, sigma if sigma >= 10 else 25.0)
        elif task == "inpaint":
            made = pictures.drop_pixels(source, 0.9)
        elif task == "upscale":
            made = pictures.shrink(source, int(factor))
        else:
            made = pictures.blur(source, Blur(kind, float(size), float(angle)))
        return self._present(made, task, request)

    def _source(self, session: Session) -> Source:
        if session.source is None:
            raise Refused("Choose a picture first.")
        source: Source = session.source
        return source

    def _present(self, source: Source, task: str, request: gr.Request) -> Update:
        session = self.studio.session(request)
        session.source, session.result, session.trace = source, None, []
        sigma = self._estimate(source)
        work = pictures.working(source.picture)
        before = session.publish("before", "before.png", self._viewer(work))
        session.shown = {"before": before, **self._extent(source)}
        known = f", {source.damage}" if source.damage else ""
        text = f"Estimated noise: σ = {sigma:.1f} of 255." if task in ("denoise", "deblur") else "Ready."
        return {
            self.stage: self._scene(session, task),
            self.status: news(f"{source.name}{known}. {text}"),
            self.figures: "",
            self.sigma: self._sigma(task, sigma),
            self.go: gr.update(interactive=True),
            self.original: gr.update(visible=bool(source.damage)),
        }

    def _estimate(self, source: Source) -> float:
        if source.missing is not None:
            return 0.0
        work, axis = pictures.working(source.picture), source.picture.channel_axis
        return float(cosparse.estimate_sigma(work, data_range=255.0, channel_axis=axis))

    def _sigma(self, task: str, estimated: float) -> Any:
        used = round(min(estimated, 100), 1) if task in ("denoise", "deblur") else 0.0
        return gr.update(value=used, info=f"{SIGMA} Estimated here: {estimated:.1f}.")

    def _viewer(self, work: Any) -> Callable[[Path], None]:
        return lambda path: pictures.write_view(path, work, self.studio.limits.view_pixels)

    def _extent(self, source: Source) -> dict[str, Any]:
        height, width = source.shape
        factor = int(np.ceil(np.sqrt(height * width / self.studio.limits.view_pixels)))
        depth = {"u1": "8 bit", "u2": "16 bit"}.get(source.picture.pixels.dtype.str[1:], "float")
        colour = "colour" if source.picture.channel_axis is not None else "grey"
        shown = ", shown smaller here; the download is whole" if factor > 1 else ""
        damage = f" · {source.damage}" if source.damage else ""
        note = f"{source.name} · {width} × {height} · {colour} · {depth}{shown}{damage}"
        return {"width": -(-width // factor), "height": -(-height // factor), "note": note}

    def _scene(self, session: Session, task: str, **more: Any) -> dict[str, Any]:
        """What the stage shows."""
        return {"after": None, "mask": None, **session.shown, "paint": task == "inpaint", "stage": "", **more}

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
            update[self.sigma] = self._sigma(task, self._estimate(session.source))
            update[self.stage] = self._scene(session, task)
            update[self.figures] = ""
        return update

    def choose_blur(self, kind: str, size: float, angle: float) -> Update:
        """The kernel was changed."""
        drawn = self._kernel_picture(kind, float(size), float(angle))
        return {self.kernel: drawn, self.angle: gr.update(visible=kind == "motion")}

    def _kernel_picture(self, kind: str, size: float, angle: float) -> str:
        kernel = Blur(kind, size, angle).kernel()
        grey = np.round(255 * np.sqrt(kernel / kernel.max())).astype(np.uint8)
        tall, wide = kernel.shape
        said = f"A point becomes this, {wide} × {tall} pixels."
        return f'<div class="scale">{chart.picture(grey, said, "kernel")}<span>{said}</span></div>'

    def load_mask(self, keys: str, request: gr.Request) -> Update:
        """A mask was dropped: it appears on the picture, where it can be painted on."""
        session = self.studio.session(request)
        source = self._source(session)
        name, data = self.studio.uploads(keys, request)[0]
        mask = self._mask(name, data)
        if mask.shape != source.shape:
            raise Refused(
                f"{name}: is {mask.shape[1]} × {mask.shape[0]} pixels, the picture {source.shape[1]} × {source.shape[0]}; "
                "they must agree."
            )
        if not mask.any():
            raise Refused(f"{name}: has no white pixel; white marks what should go.")
        overlay = session.publish("mask", "mask.png", lambda path: self._write_overlay(path, mask))
        session.shown = {**session.shown, "mask": overlay}
        return {self.stage: self._scene(session, "inpaint"), self.status: news(f"{name} marks {mask.mean():.1%} of the picture.")}

    def _mask(self, name: str, data: bytes) -> pictures.Mask:
        try:
            picture = read_image(data, name=name, max_pixels=self.studio.limits.pixels)
        except ValueError as error:
            raise Refused(f"{error}.") from None
        if picture.stack:
            raise Refused(f"{name}: has several pages; a mask has one.")
        return white_mask(picture)

    def _write_overlay(self, path: Path, mask: pictures.Mask) -> None:
        from PIL import Image

        factor = int(np.ceil(np.sqrt(mask.size / self.studio.limits.view_pixels)))
        small = pictures.reduced(mask.astype(np.float32), factor)[0] > 0  # a thin scratch must not vanish
        rgba = np.zeros((*small.shape, 4), np.uint8)
        rgba[small] = (232, 51, 109, 255)
        Image.fromarray(rgba).save(path, "PNG")

    def load_operator(self, keys: str, request: gr.Request) -> Update:
        """An operator file was dropped."""
        session = self.studio.session(request)
        name, data = self.studio.uploads(keys, request)[0]
        kept = session.add_operator(Path(name).stem[:40], operator_from(name, data, session.folder))
        return {
            self.operator: gr.update(choices=operator_choices(session), value=kept),
            self.status: news(f"{name} is ready and chosen as the operator."),
        }

    # -- the work --------------------------------------------------------------------------------------

    def wait(self, request: gr.Request) -> Update:
        """The button was pressed; the run may have to wait for others."""
        self.studio.session(request).start()
        return {
            self.go: gr.update(interactive=False),
            self.stop: gr.update(interactive=True),
            self.status: news("Waiting for a free place…"),
        }

    def idle(self) -> Update:
        """The run is over, however it ended."""
        return {self.go: gr.update(interactive=True), self.stop: gr.update(interactive=False)}

    def cancel(self, request: gr.Request) -> Update:
        """Stop at the next iteration."""
        session = self.studio.session(request)
        if session.run:
            session.run.cancel()
        return {self.stop: gr.update(interactive=False)}

    def repair(
        self, mask: str, task: str, sigma: float, factor: int, kind: str, size: float, angle: float, operator: str,
        quality: str, request: gr.Request,
    ) -> Iterator[Update]:  # fmt: skip
        """Preview, then the whole picture; says all the time how far it is."""
        session = self.studio.session(request)
        run = session.run or session.start()
        run.begin()
        source = self._source(session)
        chosen = None if operator in (AUTO, None) else session.operator(operator)
        missing = self._missing(source, mask, request) if task == "inpaint" else None
        blur = Blur(kind, float(size), float(angle))
        job = repair.Job(task, float(sigma), int(factor), blur, missing, chosen, quality)
        repair.check(source, job, self.studio.limits)
        if job.task == "upscale":
            height, width = source.shape
            session.shown = {**session.shown, **self._grown(height, width, job.factor)}
        started = time.monotonic()
        yield {self.status: news("Preview…", share=0.0), self.figures: ""}
        for event in follow(lambda report: repair.preview(source, job, report), run):
            if isinstance(event, Step):
                yield {self.status: self._doing("Preview", event)}
            elif not run.over:
                after = session.publish("after", "preview.png", self._viewer(event.value))
                yield {self.stage: self._scene(session, task, after=after, stage="preview")}
        last: Step | None = None
        if not run.over:
            yield {self.status: news("Full picture…", share=0.0)}
            for event in follow(lambda report: repair.full(source, job, report), run):
                if isinstance(event, Step):
                    last = event
                    yield {self.status: self._doing("Full picture", event)}
                elif not run.over:
                    yield from self._finished(session, source, job, event, time.monotonic() - started)
        if run.over:
            yield {self.status: self._stopped(run, last)}

    def _finished(
        self, session: Session, source: Source, job: repair.Job, done: Finished[Any], spent: float
    ) -> Iterator[Update]:
        pixels, energies = done.value
        result = repair.finish(source, job, pixels, energies, spent)
        session.result, session.trace = result, energies
        after = session.publish("after", "after.png", self._viewer(pictures.working(result.like)))
        name = f"{Path(source.name).stem}-{job.task}.png"
        whole = session.publish(
            "download", name, lambda path: pictures.write_download(path, result.pixels, result.like)
        )
        yield {
            self.stage: self._scene(session, job.task, after=after, stage="full"),
            self.status: news(f"Done in {seconds(spent)}.", "Drag the line, or use the slider, to compare."),
            self.figures: self._figures(result, job, whole, name),
        }

    def _missing(self, source: Source, key: str, request: gr.Request) -> pictures.Mask | None:
        """What was painted, at the picture's own size, and what was dropped."""
        if not key:
            return source.missing
        _, data = self.studio.visitors.take(request.request.scope["visitor"], key)
        painted = self._mask("the painted mask", data)
        rows = np.arange(source.shape[0]) * painted.shape[0] // source.shape[0]
        columns = np.arange(source.shape[1]) * painted.shape[1] // source.shape[1]
        whole = np.asarray(painted[rows[:, None], columns])
        return whole if source.missing is None else whole | source.missing

    def _grown(self, height: int, width: int, factor: int) -> dict[str, int]:
        height, width = height * factor, width * factor
        smaller = int(np.ceil(np.sqrt(height * width / self.studio.limits.view_pixels)))
        return {"width": -(-width // smaller), "height": -(-height // smaller)}

    def _doing(self, what: str, at: Step) -> str:
        colours = f", colour {at.plane + 1} of {at.planes}" if at.planes > 1 else ""
        left = f"about {seconds(at.left)} left" if at.share > 0.05 else ""
        return news(f"{what}: iteration {at.iteration} of {at.iterations}{colours}", left, at.share)

    def _stopped(self, run: Run, at: Step | None) -> str:
        where = f" at iteration {at.iteration} of {at.iterations}" if at else ""
        if run.late:
            most = seconds(self.studio.limits.seconds)
            return news(f"Stopped{where}: a repair may take {most}. Try a smaller picture or a faster quality.")
        return news(f"Cancelled{where}.")

    def _figures(self, result: repair.Result, job: repair.Job, address: str, name: str) -> str:
        height, width = result.pixels.shape[:2]
        cells = []
        if result.before and result.after:
            gain = result.after.db - result.before.db
            was = "Bicubic" if job.task == "upscale" else "Before"
            cells = [
                (f"PSNR {was.lower()}", f"{result.before.db:.2f} dB", ""),
                ("PSNR after", f"{result.after.db:.2f} dB", "good"),
                ("Gain", f"{gain:+.2f} dB", "good"),
                (f"SSIM {was.lower()} → after", f"{result.before.ssim:.3f} → {result.after.ssim:.3f}", ""),
            ]
        body = "".join(
            f'<div class="figure {css}"><small>{escape(label)}</small><b>{escape(value)}</b></div>' for label, value, css in cells
        )
        save = f'<a class="download" href="{address}" download="{escape(name)}">Download PNG ({width} × {height})</a>'
        return f'<div class="figures">{body}{save}</div>'
