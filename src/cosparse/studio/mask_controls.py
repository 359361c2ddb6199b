"""What the tab Repair asks about what should go: a mask, scratches that are found, how wide holes are filled."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr
import numpy as np

from cosparse.reconstruction.tasks import TASKS
from cosparse.studio import page_pictures, scene, scratches
from cosparse.studio.limits import Refused
from cosparse.studio.page_pictures import Mask, Source, must_agree, open_mask
from cosparse.studio.parts import Parts, Studio, Update, drop_box, news
from cosparse.studio.session import Session
from cosparse.studio.stage import Stage

FAILED = "failed: "  # what the browser sends instead of a mask's key; a key has no blank
FILLS = [("Automatic", "auto"), ("Smooth", "smooth"), ("Copied from the picture", "copy")]
SEND = "async (...rest) => [await cosparse.mask(), ...rest.slice(1)]"  # the first input is what was painted


@dataclass(frozen=True)
class Painted:
    """Reads what was painted on the stage."""

    studio: Studio

    def mask(self, session: Session, source: Source, key: str) -> Mask | None:
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


class MaskControls:
    """Its parts and what they do."""

    def __init__(self, studio: Studio) -> None:
        self.studio, self.painted = studio, Painted(studio)
        with gr.Group(visible=False, elem_id="for-mask") as self.box:
            hint = "White is what should go. Or paint on the picture itself."
            self.drop = drop_box("Add a mask picture", hint, studio.limits, small=True)
            label, info = "Scratches that stand out", "Further right, fainter ones are found too."
            self.faint = gr.Slider(1, 5, 3, step=1, label=label, info=info, elem_id="faint", buttons=[])
            with gr.Row():
                self.find = gr.Button("Find scratches", size="sm", elem_id="find")
                self.save = gr.Button("Save the mask", size="sm", elem_id="save-mask")
            takes = TASKS["inpaint"].takes
            self.fill = gr.Radio(FILLS, value="auto", label="Wide holes", visible="fill" in takes, elem_id="fill")
        self.key = gr.Textbox(visible=False)  # what was painted, as the browser sent it
        self.saved = gr.Textbox(visible=False)  # where it can be fetched

    @property
    def inputs(self) -> Parts:
        """As :meth:`options` takes them."""
        return [self.fill]

    def connect(self, stage: Stage, task: Any) -> None:
        """Answer to what is chosen here."""
        on = partial(self.studio.on, stage.status)
        self.stage = stage
        on(self.drop.upload, self.load, [self.drop, task], [stage.picture])
        on(self.find.click, self.propose, [self.faint, task], [stage.picture])
        pressed = on(self.save.click, self.publish, [self.key], [self.saved], js=SEND)
        pressed.then(None, [self.saved], None, js="(address) => { cosparse.save(address, 'mask.png'); }")

    def options(self, fill: str, seed: int) -> dict[str, Any]:
        """Those that the library's inpainting takes."""
        asked = {"fill": fill, "seed": seed}
        return {name: value for name, value in asked.items() if name in TASKS["inpaint"].takes}

    def load(self, session: Session, keys: str, task: str) -> Update:
        """A mask was dropped: it appears on the picture, where it can be painted on."""
        name, data = self.studio.uploads(session, keys)[0]
        mask = open_mask(name, data, self.studio.limits)
        must_agree(name, mask.shape, session.chosen())
        if not mask.any():
            raise Refused(f"{name}: has no white pixel; white marks what should go.")
        return self._laid(session, mask, task, f"{name} marks {mask.mean():.1%} of the picture.")

    def propose(self, session: Session, faint: int, task: str) -> Update:
        """Mark what looks like scratches."""
        source = session.chosen()
        mask = scratches.find(source.picture.working, int(faint))
        if not mask.any():
            return {self.stage.status: news("No scratches were found; move the slider to the right, or paint them.")}
        said = f"What looks like scratches is marked, {mask.mean():.1%} of the picture; erase what should stay."
        return self._laid(session, mask, task, said)

    def _laid(self, session: Session, mask: Mask, task: str, said: str) -> Update:
        session.lay_over(partial(page_pictures.write_overlay, mask=mask, limits=session.limits))
        return {self.stage.picture: scene.staged(session, TASKS[task]), self.stage.status: news(said)}

    def publish(self, session: Session, key: str) -> Update:
        """The mask at the picture's own size, as a repair takes it."""
        mask = self.painted.mask(session, session.chosen(), key)
        if mask is None or not mask.any():
            raise Refused("Nothing is marked yet, so there is no mask to save.")
        address = session.publish("saved mask", "mask.png", partial(page_pictures.write_mask, mask=mask))
        said = news(f"The mask marks {mask.mean():.1%} of the picture; it can be added again with Add a mask picture.")
        return {self.saved: address, self.stage.status: said}
