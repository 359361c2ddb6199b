"""The tab Learn: atoms take shape while the objective falls."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import gradio as gr
import numpy as np
from numpy.typing import NDArray

import cosparse
from cosparse.io.picture import read_grey
from cosparse.learning import LearnProgress, LearnResult
from cosparse.operators.make import photographs
from cosparse.patches import grey_images, sample_up_to
from cosparse.studio import chart
from cosparse.studio.buttons import RunButtons
from cosparse.studio.limits import Refused
from cosparse.studio.page_pictures import open_picture
from cosparse.studio.parts import Studio, Update, drop_box, news, operator_choices, plain, step
from cosparse.studio.session import Session
from cosparse.studio.work import Run, remaining, seconds, watched

Grey = NDArray[np.float32]
curve = partial(chart.line, x="iteration", y="objective")
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
        hint = "Four photographs of the kind you want to repair are enough"
        self.drop = drop_box("Drop a few pictures here, or choose them", hint, self.studio.limits, many=True, main=True)
        self.bundled = gr.Button("Use the bundled pictures", size="sm")
        step("2. Operator")
        self.side = gr.Radio([("4x4", 4), ("6x6", 6), ("8x8", 8), ("10x10", 10)], value=8, label="Size of a patch")
        self.rows = gr.Slider(64, 256, 128, step=1, label="Atoms", buttons=[])
        self.count = gr.Slider(2000, 200_000, 30_000, step=1000, label="Patches", elem_id="patches", buttons=[])
        self.iterations = gr.Slider(10, 600, 150, step=10, label="Iterations", elem_id="iterations", buttons=[])
        self.run = RunButtons(self.studio, "Learn", "learn", ready=True)

    def _events(self) -> None:
        on = partial(self.studio.on, self.status)
        on(self.drop.upload, self.load, [self.drop], [])
        on(self.bundled.click, self.load_bundled, [], [])
        on(self.side.change, self.choose_side, [self.side], [self.rows])
        on(self.use.click, self.hand_over, [self.name], [self.operator, self.tabs])
        settings = [self.side, self.rows, self.count, self.iterations]
        shown = [self.atoms, self.curve, self.figures, self.use, self.name, self.operator, self.inside]
        self.run.connect(self.status, self.learn, settings, shown)

    def load(self, session: Session, keys: str) -> Update:
        """Pictures were dropped; those that can be read are used, the others named."""
        limits = self.studio.limits
        kept: list[tuple[str, Grey]] = []
        problems = []
        room = limits.training_pixels
        for name, data in self.studio.uploads(session, keys):
            try:
                picture = open_picture(name, data, limits)
                (grey,) = grey_images([picture.pixels], picture.data_range)
                if grey.size > room:
                    most = f"{limits.training_pixels // 1_000_000} megapixels"
                    raise Refused(f"{name}: left out, the pictures are over {most} in all.")
            except Refused as error:
                problems.append(str(error))
            else:
                kept.append((name, grey))
                room -= grey.size
        if not kept:
            raise Refused(" ".join(problems))
        session.training = kept
        names = ", ".join(name for name, _ in kept[:4]) + (f" and {len(kept) - 4} more" if len(kept) > 4 else "")
        return {self.status: news(f"Learning from {names}. {' '.join(problems)}")}

    def load_bundled(self, session: Session) -> Update:
        """Back to the pictures that come along."""
        session.training = []
        return {self.status: news("Learning from the bundled pictures: photographs and textures of scikit-image.")}

    def choose_side(self, session: Session, side: int) -> Update:
        """An operator needs at least as many atoms as a patch has pixels."""
        return {self.rows: gr.update(minimum=side * side, maximum=4 * side * side, value=2 * side * side)}

    def learn(self, session: Session, run: Run, side: int, rows: int, count: int, iterations: int) -> Iterator[Update]:
        """Sample, then learn, showing the atoms as they are."""
        patching = news("Taking patches from the pictures…")
        yield {self.status: patching, self.use: gr.update(visible=False), self.figures: ""}
        images = [grey for _, grey in session.training] or [read_grey(path) for path in photographs()]
        try:
            patches = sample_up_to(images, int(side), int(count), data_range=255)
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

        def show(progress: LearnProgress) -> Update:
            done, left = progress.iteration, iterations - progress.iteration
            said = f"Iteration {done} of {iterations}, objective {progress.objective:.5g}"
            each = (time.monotonic() - started) / max(done, 1)
            return {
                self.status: news(said, remaining(each * left), done / iterations),
                self.atoms: chart.atoms(progress.operator),
                self.curve: curve(objectives, last=int(iterations)),
            }

        try:
            result = yield from watched(work, run, show)
        except ValueError as error:
            raise Refused(f"This cannot be learned: {error}.") from None
        yield self._finished(session, result, run, time.monotonic() - started)

    def _finished(self, session: Session, result: LearnResult, run: Run, spent: float) -> Update:
        operator = result.operator
        name = session.add_operator("mine", operator)
        file = f"{name.replace(' ', '-')}.safetensors"
        address = session.publish("operator", file, operator.save)
        cells = [
            ("Iterations", str(result.iterations), ""),
            ("Condition", f"{operator.condition:.2f}", ""),
            ("Coherence", f"{operator.coherence:.2f}", ""),
        ]
        said = f"Learned in {seconds(spent)}"
        if run.over:
            why = "Stopped at the time limit" if run.late else "Cancelled"
            said = f"{why} after {result.iterations} iterations; the operator so far is kept"
        menu = gr.update(choices=operator_choices(session))
        return {
            self.status: news(f"{said}, as {name!r}."),
            self.atoms: chart.atoms(operator),
            self.curve: curve(list(result.objectives)),
            self.figures: chart.figures(cells, chart.download("Download the operator", address, file)),
            self.use: gr.update(visible=True),
            self.name: name,
            self.operator: menu,
            self.inside: menu,
        }

    def hand_over(self, session: Session, name: str) -> Update:
        """Choose the new operator in Repair, and go there."""
        choices = operator_choices(session)
        return {self.operator: gr.update(choices=choices, value=name), self.tabs: gr.Tabs(selected="repair")}
