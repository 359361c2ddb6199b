"""The tab Learn: atoms take shape while the objective falls."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from html import escape
from typing import Any

import gradio as gr
import numpy as np
from numpy.typing import NDArray

import cosparse
from cosparse.io.picture import read_grey
from cosparse.learning import LearnProgress, LearnResult
from cosparse.operators.make import photographs
from cosparse.patches import sample_up_to
from cosparse.studio import chart
from cosparse.studio.buttons import RunButtons
from cosparse.studio.page_pictures import open_picture, working
from cosparse.studio.parts import (
    IMAGES,
    LIGHT,
    Studio,
    Update,
    drop_box,
    news,
    operator_choices,
    plain,
    remaining,
    seconds,
    step,
    told,
)
from cosparse.studio.session import Refused, Run, Session
from cosparse.studio.work import follow

Grey = NDArray[np.float32]
BUNDLED = "The bundled pictures"
EMPTY = '<div class="placeholder">The atoms appear here and take shape while the operator is learned.</div>'


class LearnTab:
    """Its parts and what they do. `operator` is the menu of the tab Repair, `tabs` are all tabs."""

    def __init__(self, studio: Studio, operator: Any, inside: Any, tabs: Any) -> None:
        self.studio, self.operator, self.inside, self.tabs = studio, operator, inside, tabs
        with gr.Row(equal_height=False):
            with gr.Column(scale=4, min_width=300):
                self._controls()
            with gr.Column(scale=8, min_width=320):
                self.status = plain(news("Ready: the bundled pictures are chosen."), elem_id="learn-status")
                self.figures = plain("", elem_id="learn-figures")
                self.use = gr.Button("Use it in Repair", variant="primary", visible=False, elem_id="use")
                self.atoms = plain(EMPTY, elem_id="learn-atoms")
                self.curve = plain("", elem_id="learn-curve")
        self.name = gr.State("")
        self._events()

    def _controls(self) -> None:
        step("1. Pictures to learn from")
        self.drop = drop_box(
            "Drop a few pictures here, or choose them", "Four photographs of the kind you want to repair are enough",
            self.studio.limits, accept=IMAGES, many=True,
        )  # fmt: skip
        self.bundled = gr.Button("Use the bundled pictures", size="sm")
        step("2. Operator")
        self.side = gr.Radio([("4x4", 4), ("6x6", 6), ("8x8", 8), ("10x10", 10)], value=8, label="Size of a patch")
        self.rows = gr.Slider(64, 256, 128, step=1, label="Atoms", buttons=[])
        self.count = gr.Slider(2000, 200_000, 30_000, step=1000, label="Patches", elem_id="patches", buttons=[])
        self.iterations = gr.Slider(10, 600, 150, step=10, label="Iterations", elem_id="iterations", buttons=[])
        self.run = RunButtons(self.studio, "Learn", "learn", ready=True)

    def _events(self) -> None:
        self.drop.upload(told(self.status, self.load), [self.drop], [self.status], **LIGHT)
        self.bundled.click(told(self.status, self.load_bundled), None, [self.status], **LIGHT)
        self.side.change(told(self.status, self.choose_side), [self.side], [self.rows, self.status], **LIGHT)
        self.run.connect(
            self.learn,
            [self.side, self.rows, self.count, self.iterations],
            [self.status, self.atoms, self.curve, self.figures, self.use, self.name, self.operator, self.inside],
            self.status,
        )
        self.use.click(told(self.status, self.hand_over), [self.name], [self.operator, self.tabs, self.status], **LIGHT)

    def load(self, keys: str, request: gr.Request) -> Update:
        """Pictures were dropped; those that can be read are used, the others named."""
        session, limits = self.studio.session(request), self.studio.limits
        kept: list[tuple[str, Grey]] = []
        problems = []
        room = limits.training_pixels
        for name, data in self.studio.uploads(keys, request):
            try:
                grey = _grey(open_picture(name, data, limits).picture)
            except Refused as error:
                problems.append(str(error))
                continue
            if grey.size <= room:
                kept.append((name, grey))
                room -= grey.size
            else:
                most = f"{limits.training_pixels // 1_000_000} megapixels"
                problems.append(f"{name}: left out, the pictures are over {most} in all.")
        if not kept:
            raise Refused(" ".join(problems))
        session.training = kept
        names = ", ".join(name for name, _ in kept[:4]) + (f" and {len(kept) - 4} more" if len(kept) > 4 else "")
        return {self.status: news(f"Learning from {names}. {' '.join(problems)}")}

    def load_bundled(self, request: gr.Request) -> Update:
        """Back to the pictures that come along."""
        self.studio.session(request).training = []
        return {self.status: news("Learning from the bundled pictures: photographs and textures of scikit-image.")}

    def choose_side(self, side: int) -> Update:
        """An operator needs at least as many atoms as a patch has pixels."""
        return {self.rows: gr.update(minimum=side * side, maximum=4 * side * side, value=2 * side * side)}

    def learn(
        self, ticket: str, side: int, rows: int, count: int, iterations: int, request: gr.Request
    ) -> Iterator[Update]:
        """Sample, then learn, showing the atoms as they are."""
        session = self.studio.session(request)
        run = session.run(ticket)
        run.begin()
        if run.cancelled:  # while it waited
            yield {self.status: news("Cancelled.")}
            return
        yield {
            self.status: news("Taking patches from the pictures…"),
            self.use: gr.update(visible=False),
            self.figures: "",
        }
        images = [grey for _, grey in session.training] or [read_grey(path) / np.float32(255) for path in photographs()]
        try:
            patches = sample_up_to(images, int(side), int(count))
        except ValueError as error:
            raise Refused(f"These pictures do not do: {error}.") from None
        objectives: list[float] = []
        started = time.monotonic()

        def work(report: Callable[[LearnProgress], bool]) -> LearnResult:
            def watch(progress: LearnProgress) -> bool:
                objectives.append(progress.objective)
                return report(progress)

            settings = cosparse.Settings(iterations=int(iterations))
            return cosparse.learn_operator(patches, int(rows), settings=settings, callback=watch)

        try:
            for event in follow(work, run):
                if isinstance(event, LearnProgress):
                    spent = time.monotonic() - started
                    left = spent / max(event.iteration, 1) * (iterations - event.iteration)
                    yield {
                        self.status: news(
                            f"Iteration {event.iteration} of {iterations}, objective {event.objective:.5g}",
                            remaining(left), event.iteration / iterations,
                        ),
                        self.atoms: _atoms(event.operator),
                        self.curve: _curve(objectives, int(iterations)),
                    }  # fmt: skip
                else:
                    yield self._finished(session, event.value, run, time.monotonic() - started)
        except ValueError as error:
            raise Refused(f"This cannot be learned: {error}.") from None

    def _finished(self, session: Session, result: LearnResult, run: Run, spent: float) -> Update:
        operator = result.operator
        name = session.add_operator("mine", operator)
        file = f"{name.replace(' ', '-')}.safetensors"
        address = session.publish("operator", file, operator.save)
        cells = [
            ("Iterations", str(result.iterations)),
            ("Condition", f"{operator.condition:.2f}"),
            ("Coherence", f"{operator.coherence:.2f}"),
        ]
        body = "".join(f'<div class="figure"><small>{label}</small><b>{value}</b></div>' for label, value in cells)
        link = f'<a class="download" href="{address}" download="{escape(file)}">Download the operator</a>'
        said = f"Learned in {seconds(spent)}"
        if run.over:
            why = "Stopped at the time limit" if run.late else "Cancelled"
            said = f"{why} after {result.iterations} iterations; the operator so far is kept"
        menu = gr.update(choices=operator_choices(session))
        return {
            self.status: news(f"{said}, as {name!r}."),
            self.atoms: _atoms(operator),
            self.curve: _curve(list(result.objectives), None),
            self.figures: f'<div class="figures">{body}{link}</div>',
            self.use: gr.update(visible=True),
            self.name: name,
            self.operator: menu,
            self.inside: gr.update(choices=operator_choices(session)),
        }

    def hand_over(self, name: str, request: gr.Request) -> Update:
        """Choose the new operator in Repair, and go there."""
        choices = operator_choices(self.studio.session(request))
        return {self.operator: gr.update(choices=choices, value=name), self.tabs: gr.Tabs(selected="repair")}


def _grey(picture: Any) -> Grey:
    work = working(picture) / np.float32(255)
    return work if work.ndim == 2 else np.asarray(work @ np.array([0.2125, 0.7154, 0.0721], np.float32))


def _atoms(operator: cosparse.AnalysisOperator) -> str:
    said = f"{len(operator.matrix)} atoms, from smooth to fine"
    sheet = chart.picture(operator.atoms_image(scale=3), said)
    return f"<figure>{sheet}<figcaption>{said}. Grey is zero.</figcaption></figure>"


def _curve(objectives: list[float], last: int | None) -> str:
    return chart.line(objectives, x="iteration", y="objective", last=last)
