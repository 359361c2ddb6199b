"""The two buttons of a long run: one starts it, the other really stops it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import gradio as gr

from cosparse.studio.parts import AT_ONCE, WORK, Parts, Studio, Update, news, problem
from cosparse.studio.session import Session

Work = Callable[..., Iterator[Update]]
Also = Sequence[tuple[Any, Callable[[Session], None]]]


class RunButtons:
    """Start and Cancel. A run waits its turn in the queue; cancelling works while it waits, too.

    Each press makes a run, whose ticket the browser sends along with the work and with Cancel: what else was started
    meanwhile does not matter to either.
    """

    def __init__(self, studio: Studio, label: str, name: str, *, ready: bool) -> None:
        self.studio, self.name = studio, name
        self.ticket = gr.Textbox(visible=False)
        with gr.Row():
            self.go = gr.Button(label, variant="primary", interactive=ready, elem_id=name, scale=3)
            self.stop = gr.Button(
                "Cancel", variant="stop", interactive=False, elem_id=f"{name}-cancel", scale=1, min_width=90
            )

    def connect(
        self, status: Any, work: Work, inputs: Parts, outputs: Parts, *, js: str | None = None, also: Also = ()
    ) -> None:
        """Let the button start `work`, a generator of updates, which gets the session, the run and the inputs.

        So do the events in `also`, each after something was done to the session.
        """

        def ready(now: bool = True) -> Update:
            """Start is not disabled, or the focus would be lost; the page's script makes it do nothing."""
            return {self.go: gr.update(elem_classes=[] if now else ["busy"]), self.stop: gr.update(interactive=not now)}

        def enter(prepare: Callable[[Session], None], session: Session) -> Update:
            prepare(session)
            run = self.studio.visitors.start(session, self.name)
            return {self.ticket: run.ticket, **ready(False), status: news("Waiting for a free place…")}

        def entered(ticket: str, request: gr.Request) -> None:
            """Ends the chain here if there was no place; the person knows already."""
            run = self.studio.session(request).runs.get(self.name)
            if run is None or run.begun or run.ticket != ticket:
                raise gr.Error("no place", visible=False, print_exception=False)

        def begin(request: gr.Request, ticket: str, *values: Any) -> Iterator[Update]:
            try:
                session = self.studio.session(request)
                run = session.run(ticket)
                run.begin()
                if run.cancelled:  # while it waited
                    yield {status: news("Cancelled.")}
                else:
                    yield from work(session, run, *values)
            except Exception as error:
                yield {status: problem(error)}
            # Gradio sends the last update once more when a run is over, and meanwhile the page may show something else.
            yield {status: gr.skip()}

        def cancel(session: Session, ticket: str) -> Update:
            run = session.run(ticket)
            run.cancel()
            said = {} if run.begun else {status: news("Cancelled; it leaves the queue when its turn comes.")}
            return {self.stop: gr.update(interactive=False), **said}

        begin.__name__ = work.__name__
        for event, prepare in ((self.go.click, lambda session: None), *also):
            entering = partial(enter, prepare)
            pressed = self.studio.on(status, event, entering, [], [self.ticket, self.go, self.stop], brief=True)
            waited = pressed.then(entered, [self.ticket], None, **AT_ONCE)
            worked = waited.success(begin, [self.ticket, *inputs], [status, *outputs], js=js, **WORK)
            worked.then(ready, None, [self.go, self.stop], **AT_ONCE)  # also when the run failed
        self.studio.on(status, self.stop.click, cancel, [self.ticket], [self.stop], brief=True)
