"""What the tab Repair shows beside its settings: the picture, how things stand, what came of it, every step so far."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import gradio as gr

from cosparse.reconstruction.request import Task
from cosparse.studio import noise_seen, scene
from cosparse.studio.history import Done, Step
from cosparse.studio.limits import Refused
from cosparse.studio.page_pictures import Source, write_origins, write_thumbnail
from cosparse.studio.parts import Parts, Studio, Update, news, plain, scripted
from cosparse.studio.repair_job import PageResult, closeness
from cosparse.studio.session import Session

KEPT = 10_000  # files of steps: as many as there are
NOTHING = '<div class="stage empty"></div>'


class Stage:
    """Its parts, and what they show of a session."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        self.status = plain(news("Choose a picture to begin."), elem_id="status")
        self.picture = scripted(NOTHING, "stage(element, props, watch)", value=None, elem_id="stage")
        with gr.Row(visible=False, elem_id="further") as self.further:
            self.go_on = gr.Button("Continue with the result", size="sm", elem_id="go-on")
            self.another = gr.Button("Another attempt", size="sm", elem_id="another", visible=False)
        self.figures = plain("", elem_id="figures")
        strip = "strip(element, props, trigger, watch)"
        self.strip = scripted('<nav class="steps"></nav>', strip, value=None, elem_id="steps")

    @property
    def parts(self) -> Parts:
        """All that :meth:`shown` may change, but for the status."""
        return [self.picture, self.figures, self.further, self.another, self.strip]

    # -- steps -------------------------------------------------------------------------------------------

    def open(self, session: Session, source: Source, words: str, *, of: Step | None = None, after: str = "") -> Step:
        """A picture to be repaired comes onto the stage: a new one, or one made `of` a step."""
        number, work = session.history.numbered(), source.picture.working
        step = Step(
            number, of.root if of else number, words, source, scene.published(session, "step", work, KEPT),
            session.publish("thumbnail", "step.jpg", lambda path: write_thumbnail(path, work), keep=KEPT),
            noise_seen.look(source), after=after,
        )  # fmt: skip
        session.forget(session.history.add(step))
        session.seed = 0  # attempts are counted for each picture that is to be repaired
        return step

    def finish(self, session: Session, base: Step, done: Done) -> Step:
        """A repair of the picture of `base` comes onto the stage."""
        work = done.result.picture.working
        thumbnail = session.publish("thumbnail", "step.jpg", lambda path: write_thumbnail(path, work), keep=KEPT)
        step = replace(
            base, number=session.history.numbered(), words=scene.done_words(done.job), thumbnail=thumbnail, done=done
        )
        session.forget(session.history.add(step))
        return step

    def done(self, session: Session, base: Step, job: Any, result: PageResult) -> Done:
        """A repair with all that the page shows of it."""
        view = scene.published(session, "step", result.picture.working, KEPT)
        origins = None
        if result.origins is not None and (result.origins >= 0).any():
            draw = partial(write_origins, origins=result.origins, limits=session.limits)
            origins = session.publish("origins", "origins.png", draw, keep=KEPT)
        return Done(job, result, view, closeness(base.source, job, result.picture), origins)

    def take_result(self, session: Session) -> Step:
        """What was the result is now the picture to be repaired."""
        base = session.history.current
        if base is None or base.done is None:
            raise Refused("There is no result to continue with yet; press Repair first.")
        source = Source(f"{base.name}.png", base.done.result.picture)
        word = base.done.job.task.word
        return self.open(session, source, f"going on, {word}", of=base, after=word)

    # -- what is shown -----------------------------------------------------------------------------------

    def shown(self, session: Session, task: Task) -> Update:
        """All of it, as the session stands."""
        step = session.history.current
        done = step.done if step else None
        return {
            self.picture: scene.staged(session, task),
            self.figures: scene.figures(session, step) if step else "",
            self.further: gr.update(visible=done is not None),
            self.another: gr.update(visible=done is not None and done.origins is not None),
            self.strip: scene.steps(session.history),
        }

    def went(self, session: Session, value: Any) -> Step:
        """Go to the step that was chosen among all."""
        number = value.get("chosen") if isinstance(value, dict) else None
        if not isinstance(number, int):
            raise Refused("Choose a step first.")
        return session.history.go(number)


def kept(session: Session, task: str) -> str:
    """A word about a result of another task, which is still there."""
    step = session.history.current
    if step is None or step.done is None or step.done.job.task.name == task:
        return ""
    word = step.done.job.task.word
    return f"What was {word} is kept: continue with the result, or repair the picture as it was."
