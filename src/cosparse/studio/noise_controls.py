"""What the tab Repair asks about noise: of what kind it is, and how much of it should go."""

from __future__ import annotations

from functools import partial
from typing import Any

import gradio as gr
import numpy as np

from cosparse.noise import Gaussian, Map, Noise, PoissonGaussian
from cosparse.reconstruction.tasks import TASKS
from cosparse.studio import noise_seen
from cosparse.studio.limits import Refused
from cosparse.studio.page_pictures import must_agree, open_grey
from cosparse.studio.parts import Parts, Studio, Update, drop_box, news, plain
from cosparse.studio.session import Session

# All there are, whatever the task, as Gradio refuses what is not among a menu's choices, and the browser may still have
# sent what belonged to the task before. Of the first two, the style hides the one that is not the task's.
KINDS = [("Automatic", "auto"), ("None", "none"), ("One level", "level"), ("Photons", "photons"), ("A map", "map")]
SIGMA = "In grey levels of 255; 0 is none."
NOTHING = '<div class="noise-seen"><p>Choose a picture, and its noise is estimated.</p></div>'
STRENGTH = "1 is all, 0.5 leaves half, 2 smooths more."


class NoiseControls:
    """Its parts and what they do. Only those of the chosen kind are shown."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        with gr.Group(elem_id="noise-box") as self.box:
            self.kind = gr.Radio(
                KINDS, value="auto", label="What kind of noise?", elem_id="noise", elem_classes=["offers-auto"]
            )
            self.seen = plain(NOTHING, elem_id="noise-seen")
            self.sigma = gr.Slider(
                0, 100, 0, step=0.1, label="Noise σ", info=SIGMA, elem_id="sigma", buttons=[], visible=False
            )
            with gr.Column(visible=False, elem_id="photons") as self.for_photons:
                self.units = plain(_units(255.0))
                with gr.Row():
                    self.gain = gr.Number(1.0, label="Gain", minimum=0, min_width=90)
                    self.read = gr.Number(0.0, label="Read noise", minimum=0, min_width=90)
                    self.offset = gr.Number(0.0, label="Offset", min_width=90)
            with gr.Column(visible=False) as self.for_map:
                hint = "A grey picture of the same size; a grey level of 25 says σ = 25."
                self.drop = drop_box("Add a noise map", hint, studio.limits, small=True)
                self.map = plain("", elem_id="noise-map")
        with gr.Group(elem_id="strengths") as self.for_strengths:
            self.luma = _strength("Grain to remove", "luma", info=STRENGTH)
            self.chroma = _strength("Colour noise to remove", "chroma", visible=False)

    @property
    def inputs(self) -> Parts:
        """As :meth:`model` and the strengths of a job take them."""
        return [self.kind, self.sigma, self.gain, self.read, self.offset, self.luma, self.chroma]

    @property
    def outputs(self) -> Parts:
        """All that a new picture or another task may change."""
        numbers = [self.sigma, self.gain, self.read, self.offset]
        return [self.kind, self.seen, *numbers, self.units, *self._groups, self.map, self.chroma]

    @property
    def _groups(self) -> Parts:
        return [self.for_photons, self.for_map, self.for_strengths, self.box]

    def connect(self, status: Any) -> None:
        """Answer to what is chosen here."""
        self._status = status
        on = partial(self.studio.on, status)
        on(self.kind.input, self.choose, [self.kind], [self.seen, self.sigma, *self._groups])
        on(self.drop.upload, self.load_map, [self.drop], [self.map])

    # -- what is shown -----------------------------------------------------------------------------------

    def choose(self, session: Session, kind: str) -> Update:
        """A kind was picked: show what belongs to it."""
        return {
            self.seen: gr.update(visible=kind == "auto"),
            self.sigma: gr.update(visible=kind == "level"),
            self.for_photons: gr.update(visible=kind == "photons"),
            self.for_map: gr.update(visible=kind == "map"),
            self.for_strengths: gr.update(visible=kind != "none"),
        }

    def task(self, session: Session, task: str, kind: str) -> Update:
        """Another task: those that do not estimate the noise begin without any."""
        first = "auto" if TASKS[task].estimates_noise else "none"
        kept = first if kind in ("auto", "none") else kind
        known = TASKS[task].compressed  # which says it all
        return self.choose(session, kept) | {
            self.kind: gr.update(value=kept, elem_classes=[f"offers-{first}"]),
            self.box: gr.update(visible=not known),
        }

    def picture(self, session: Session, task: str, kind: str) -> Update:
        """Another picture, or the same one damaged: its noise was estimated; what was stated is kept where it fits."""
        source, seen = session.chosen(), session.estimate
        assert seen is not None
        update = self.task(session, task, kind)
        update[self.seen] = {**update[self.seen], "value": noise_seen.drawn(seen)}
        told = f"{SIGMA} Estimated here: {seen.level:.1f}."
        update[self.sigma] = {**update[self.sigma], "value": round(min(seen.level, 100), 1), "info": told}
        update[self.chroma] = gr.update(visible=source.picture.channel_axis is not None)
        if session.noise_map is not None and session.noise_map.sigma.shape != source.shape:
            session.noise_map, update[self.map] = None, ""
        if source.damage is None:
            update |= self._photons(seen.noise, source.picture.data_range)
        return update

    def told(self, session: Session) -> str:
        """What was estimated, for the line above the picture."""
        return f"Noise: {noise_seen.in_words(session.estimate)}" if session.estimate else ""

    def _photons(self, noise: Noise, white: float) -> Update:
        """The numbers to begin with, in the picture's own values: as estimated, or a photon a grey level of 255."""
        begin = noise if isinstance(noise, PoissonGaussian) else PoissonGaussian(1.0)
        own = begin.scaled(white / 255)
        gain, read, offset = (float(f"{np.mean(one):.4g}") for one in (own.gain, own.read, own.offset))
        return {self.gain: gain, self.read: read, self.offset: offset, self.units: _units(white)}

    def load_map(self, session: Session, keys: str) -> Update:
        """A map was dropped."""
        source = session.chosen()
        name, data = self.studio.uploads(session, keys)[0]
        levels = open_grey(name, data, self.studio.limits)
        must_agree(name, levels.shape, source)
        try:
            session.noise_map = Map(levels)
        except ValueError:
            raise Refused(f"{name}: has black pixels; give every one a level above 0.") from None
        drawn = noise_seen.level_map(levels, always=True)
        said = f"{name}: σ from {levels.min():.1f} to {levels.max():.1f} of 255."
        return {self.map: f'<div class="noise-seen">{drawn}</div>', self._status: news(said)}

    # -- what is asked for -------------------------------------------------------------------------------

    def model(self, session: Session, kind: str, sigma: float, *photons: float | None) -> Noise:
        """The noise on 0..255 that the controls state, or that was estimated."""
        source = session.chosen()
        if kind == "auto":
            return session.estimate.noise if session.estimate else Gaussian(0.0)
        if kind == "map":
            if session.noise_map is None:
                raise Refused("There is no noise map yet: add one, or choose another kind of noise.")
            return session.noise_map
        if kind == "photons":
            if None in photons:
                raise Refused("Photons: give the gain, the read noise and the offset as numbers.")
            try:
                return PoissonGaussian(*photons).scaled(255 / source.picture.data_range)
            except ValueError as error:
                raise Refused(f"Photons, {error}.") from None
        return Gaussian(float(sigma) if kind == "level" else 0.0)


def _units(white: float) -> str:
    said = (
        "The variance of a value is gain · (value − offset) + read noise², "
        f"in the picture's own values, of which {white:g} is white."
    )
    return f'<div class="noise-seen"><p>{said}</p></div>'


def _strength(label: str, name: str, **options: Any) -> Any:
    return gr.Slider(0, 2, 1, step=0.05, label=label, elem_id=name, buttons=[], **options)
